"""How fast progress is read out of logs."""
