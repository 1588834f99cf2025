"""Bench `nab`: general detectors on general series, without tuning and without a bar."""
