"""`relume explain`: what the detectors saw of one attempt, and why they did or didn't fire."""
