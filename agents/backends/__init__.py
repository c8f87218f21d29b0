"""Language models behind one interface: tokens in; tokens, log-probabilities and a finish reason out."""
