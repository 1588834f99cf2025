"""Dumps of hung jobs: PyTorch's flight recorder, stacks of processes, reports of NCCL's RAS."""
