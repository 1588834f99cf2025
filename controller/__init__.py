"""The Slurm controller. Not built yet: the folder settles where it goes and what it may import."""
