"""Bench `load`: as much as 100,000 GPUs send, for ten minutes, at a service on two cores."""
