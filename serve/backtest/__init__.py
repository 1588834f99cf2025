"""Recorded attempts through the pipeline that runs live, by the clocks of their own logs."""
