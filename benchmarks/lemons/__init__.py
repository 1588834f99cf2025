"""Bench `lemons`: who holds which nodes, walking forward through recorded faults."""
