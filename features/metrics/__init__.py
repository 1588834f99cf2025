"""Metrics of nodes, GPUs and NICs: names and units, rates of counters, second signals, peers.

Everything here speaks the canonical names of `names.toml`: gauges in the unit that the name ends
with, counters (`…_total`) as they count, or per second where it says *rates*.
"""

from __future__ import annotations
