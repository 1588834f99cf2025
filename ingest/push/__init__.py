"""What agents push, decoded: bodies in, lines, samples and events out. No HTTP, no clock."""
