"""Benches: corpora loaders, scoring, scoreboards. Only the command line imports this package."""
