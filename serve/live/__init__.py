"""Watching attempts as they run: the same evidence, verdicts and decisions live and in a replay."""
