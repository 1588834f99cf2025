"""Loaders of recorded corpora. Each takes the folder on the command line; none of it is committed."""
