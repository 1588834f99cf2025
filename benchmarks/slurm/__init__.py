"""A real Slurm cluster on one machine, for tests, demos and benches; `docs/slurm.md` shows it."""
