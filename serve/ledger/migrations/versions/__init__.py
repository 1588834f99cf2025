"""The changes of the tables, oldest first."""
