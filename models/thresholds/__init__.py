"""Rules of sites about metrics: a condition that a value meets for some time."""

from __future__ import annotations
