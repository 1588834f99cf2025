"""Faults around a real service: a full disk, a database that is away, clients that mean no good."""
