"""The facts of one game: what the PDDL problem of an ALFWorld game says, and nothing else."""
