"""Loaders of recorded corpora, which are never committed: each takes the user's folder."""
