"""Slow steps: whether a job is slower than it was, and whether a node is to blame."""
