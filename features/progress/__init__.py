"""How jobs show progress: points read from lines, markers of phases, pace over time."""

from __future__ import annotations
