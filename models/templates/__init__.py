"""Templates of log lines: what is left of a line without its values, mined by a small Drain."""
