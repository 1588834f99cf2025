"""Slurm's accounting: what `sacct -P` prints as rows, attempts and events."""
