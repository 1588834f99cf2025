"""What Slurm writes and reads, as pure functions: no commands are run here."""
