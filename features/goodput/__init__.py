"""Where the time of GPUs goes, and what it would have been worth."""
