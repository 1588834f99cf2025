"""The fault kit: faults at known times in recorded or simulated telemetry, with their labels."""
