"""Runners that feed events through the one pipeline: offline here, live in a later change."""
