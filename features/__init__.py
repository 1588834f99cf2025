"""Pure features: progress, phases, step-time series. Nothing here does I/O or reads a clock."""
