"""Who plays: agents, episodes and trajectories."""
