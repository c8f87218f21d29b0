"""One self-contained HTML file in which the episodes of a run are read, searched and compared."""
