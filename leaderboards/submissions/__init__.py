"""Runs that are handed in to a board."""
