"""Bench `streaming`: each streaming model beside the baseline that it has to beat."""
