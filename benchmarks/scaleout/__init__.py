"""Bench `scale-out`: a backtest by Dask workers that are jobs of a real Slurm."""
