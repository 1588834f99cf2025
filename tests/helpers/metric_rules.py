"""A metric rule of a site."""

from __future__ import annotations

GPU_HOT = """
category = "site"

[[metric]]
id = "gpu_hot"
metric = "gpu_temperature_celsius"
condition = "> 90"
hold_seconds = 60
domain = "facility"
summary = "A GPU is hot."
positive = [[[0, 95], [60, 91]], [[0, 95], [90, 99]]]
negative = [[[0, 95], [30, 95]], [[0, 80], [600, 90]]]
"""
