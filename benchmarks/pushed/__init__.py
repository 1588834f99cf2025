"""Telemetry pushed over HTTP, as agents do: stories of attempts, at any speed."""
