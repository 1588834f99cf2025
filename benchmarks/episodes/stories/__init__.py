"""The stories: each tells one accident on a stage, in wordings that rules know and in others."""

from __future__ import annotations

from relume.benchmarks.episodes.stories import (
    hangs,
    hardware,
    machine,
    memory,
    network,
    scheduler,
    startup,
    storage,
    traps,
    workload,
)
from relume.benchmarks.episodes.stories.story import Story

__all__ = ["STORIES", "Story"]

STORIES: tuple[Story, ...] = (
    *hardware.STORIES,
    *network.STORIES,
    *storage.STORIES,
    *memory.STORIES,
    *startup.STORIES,
    *workload.STORIES,
    *hangs.STORIES,
    *scheduler.STORIES,
    *machine.STORIES,
    *traps.STORIES,
)
"""All of them, in a fixed order; the name of each seeds its episodes."""
