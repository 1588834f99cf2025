"""Bench `false-alarms`: what detectors say of job-days in which nothing is wrong."""
