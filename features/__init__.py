"""Pure features: progress, phases, step-time series. Nothing here reads a clock, a file or a socket."""
