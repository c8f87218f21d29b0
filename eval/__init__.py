"""How well: run folders, outcomes, rates and intervals."""
