"""Input that is written to mislead, to stall or to fill the memory."""
