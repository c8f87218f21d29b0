"""What is played: tasks, panels and Gymnasium environments."""
