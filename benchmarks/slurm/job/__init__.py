"""The job that tests and demos train: it runs under `srun`, apart from Relume."""
