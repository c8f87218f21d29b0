"""What is shown: tables of measured and published results."""
