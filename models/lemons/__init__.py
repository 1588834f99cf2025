"""Nodes that break jobs again and again although their health checks pass."""
