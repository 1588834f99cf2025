"""Alembic's folder: what it runs (`env.py`), and the changes of the tables, oldest first.

A change of `tables.py` comes with a new file in `versions/`; a test compares the two.
"""
