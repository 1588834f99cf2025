"""Where an attempt stands now: the phase that it entered, and the step that it showed last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relume.features.progress.markers import MarkerKind, Phase

if TYPE_CHECKING:
    from relume.features.progress.series import Series
    from relume.features.progress.tracker import ProgressTracker


def entered_phase(tracker: ProgressTracker) -> Phase | None:
    """Return the phase with legal silences that the job is in by its own words; null for none.

    That is an evaluation or a checkpoint that began and did not end, the end of its work, the way
    back to it where workers start again within the attempt, and the first step, until it is done.
    """
    if tracker.open_phase is not None:
        return tracker.open_phase
    if tracker.last_progress is None:
        return None if tracker.started is None else Phase.FIRST_STEP
    done = tracker.last_progress.order
    end, restart = (
        place.order if place is not None else 0
        for place in map(tracker.markers.get, (MarkerKind.CLEAN_END, MarkerKind.RESTART))
    )
    if max(end, restart) > done:
        return Phase.TEARDOWN if end > restart else Phase.LAUNCH
    newest = _newest(tracker)
    return Phase.TEARDOWN if newest is not None and newest.is_whole else None


def last_shown_step(tracker: ProgressTracker) -> int | None:
    """Return the number of the newest step, as printed; null where none is."""
    series = _newest(tracker)
    return None if series is None else series.last_step


def _newest(tracker: ProgressTracker) -> Series | None:
    """Return the printer of training progress that advanced last."""
    trained = (one for one in tracker.series() if one.phase == Phase.TRAIN and one.order > 0)
    return max(trained, key=lambda one: one.order, default=None)
