"""Bench `peers`: what others do, beside ours, on the same job-days."""
