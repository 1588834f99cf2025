"""Metrics as samples: from Prometheus, from its answers in files, from scrapes in files."""

from __future__ import annotations
