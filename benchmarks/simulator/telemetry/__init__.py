"""The full telemetry of a simulated cluster: logs, metrics and accounting of the same truth."""
