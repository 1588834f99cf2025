"""What isn't measured any more: findings of their own, which say nothing of health."""

from __future__ import annotations
