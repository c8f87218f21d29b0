"""A policy small enough to be trained in minutes on a laptop, in the form of an ordinary checkpoint."""
