"""Bench `fuzz`: a real service under requests and bodies that nobody should send."""
