"""Runs in the forms that others read: tables of episodes, and the result files of two other projects."""
