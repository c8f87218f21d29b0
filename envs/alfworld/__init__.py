"""ALFWorld: household tasks as text games."""
