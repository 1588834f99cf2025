"""Models of river that learn from every sample, each beside a baseline that it has to beat."""
