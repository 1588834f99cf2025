"""Sources: one module per kind of telemetry, each parsing into events at the border."""
