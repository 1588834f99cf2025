"""Bench `ingest`: a large recording into a lake, and a small one killed again and again."""
