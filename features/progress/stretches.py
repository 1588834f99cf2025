"""What a stretch of steps took: from one line of progress to a later one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relume.features.progress.samples import Sample

if TYPE_CHECKING:
    from relume.features.progress.point import ProgressPoint
    from relume.features.progress.run import Run, Wording


@dataclass(slots=True)
class Anchor:
    """Where the stretch in progress began."""

    step: int
    epoch: float | None
    elapsed: float | None
    event_time: int | None


@dataclass(slots=True)
class Stretches:
    """The samples of the lines of a run that close a stretch, each with the one before."""

    first: Anchor
    segment: int
    file: str
    run: Run | None
    closing: list[int]
    kept: list[tuple[Wording, bytes, int]] = field(default_factory=list)
    kept_from: int = 0

    def make(self, index: int) -> Sample:
        """Return the sample of that number."""
        wording, text, line = self._entry(index)
        point, event_time = wording.read(text)
        before = self.first if index == 0 else self.anchor(index - 1)
        sample = measure(point, before, anchor_at(point, event_time))
        sample.line, sample.file, sample.segment = line, self.file, self.segment
        return sample

    def anchor(self, index: int) -> Anchor:
        """Return where the stretch of that number ends."""
        wording, text, _ = self._entry(index)
        return anchor_at(*wording.read(text))

    def keep_from(self, index: int) -> None:
        """Let go of the run, but for the lines of these samples."""
        self.kept_from = max(0, index - 1)  # a stretch begins where the one before ends
        self.kept = [self._entry(n) for n in range(self.kept_from, len(self.closing))]
        self.run = None

    def _entry(self, index: int) -> tuple[Wording, bytes, int]:
        if self.run is None:
            return self.kept[index - self.kept_from]
        at = self.closing[index]
        return self.run.wording(at), self.run.text(at), int(self.run.lines[at])


def is_rounded(wording: Wording) -> bool:
    """Whether only a clock of whole seconds tells the pace of such lines."""
    point = wording.point
    return point.is_bar and point.step_time_seconds is None and point.elapsed_seconds is not None


def anchor_at(point: ProgressPoint, event_time: int | None) -> Anchor:
    """Return where a stretch ends or begins that this line closes or opens."""
    return Anchor(point.step or 0, point.epoch, point.elapsed_seconds, event_time)


def printed_seconds(point: ProgressPoint, steps: int) -> float | None:
    """Seconds of one step as printed, null when neither they nor those since the last line are."""
    if point.step_time_seconds is not None or point.interval_seconds is None or steps <= 0:
        return point.step_time_seconds
    return point.interval_seconds / steps


def measure(point: ProgressPoint, anchor: Anchor | None, here: Anchor) -> Sample:
    """Return what the stretch from `anchor` to `here` took, by every clock there is."""
    sample = Sample(here.step)
    sample.printed_seconds, sample.rate = point.step_time_seconds, point.rate
    sample.data_seconds = point.data_seconds
    steps = here.step - anchor.step if anchor is not None else 0
    if anchor is None or steps <= 0:
        return sample
    sample.steps = steps
    sample.printed_seconds = printed_seconds(point, steps)
    if here.elapsed is not None and anchor.elapsed is not None:
        sample.elapsed_delta = (here.elapsed - anchor.elapsed) / steps
    if here.event_time is not None and anchor.event_time is not None:
        sample.clock_delta = (here.event_time - anchor.event_time) / 1e6 / steps
    return sample
