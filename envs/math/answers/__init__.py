"""Answers to mathematics problems: finding them in a text, reading them, comparing them. No processes, no clocks."""
