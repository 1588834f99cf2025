"""Hang detectors: pure state machines that learn how long a job's silences are."""
