"""Relume keeps large GPU training jobs alive: it finds crashes, hangs, stragglers, and says why."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
