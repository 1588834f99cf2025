"""What one progress line says: a step that was done, and what was printed about its pace."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProgressPoint:
    """One progress line, read. A null field was not printed, nor follows from what was.

    Attributes
    ----------
    format
        Id of the format that read the line, such as ``megatron`` or ``tqdm``.
    step
        The number that grows, as printed; null when the line gives none (metric lines that belong
        to the step before, OVERFLOW lines, dicts with an epoch only).
    total
        The printed end of that count; null when unknown.
    epoch
        As printed, with its fraction; null when the line has none.
    step_time_seconds
        Printed time of one step, waiting for input included where the line has both parts.
    interval_seconds
        Printed time since the printer's line before, whatever the number of steps between.
    rate, rate_unit
        Printed speed and its words (``samples/s``); units are not converted, only ratios count.
    elapsed_seconds
        A clock of the bar's or the job's own; differences mean something, the origin does not.
    data_seconds
        Part of the step that was spent waiting for input.
    loss, grad_norm, loss_scale
        Numbers of the model; NaN and infinity are kept.
    skipped, skipped_total
        Steps given up for overflow, since the line before and since the start.
    is_bar
        A redrawn bar: its rate is smoothed and its clock has whole seconds.
    epoch_bar
        `step` starts again with each epoch.
    phase
        ``train``, ``evaluation``, ``launch`` or ``checkpoint``: what the counted thing belongs to.
    """

    format: str
    step: int | None = None
    total: int | None = None
    epoch: float | None = None
    step_time_seconds: float | None = None
    interval_seconds: float | None = None
    rate: float | None = None
    rate_unit: str = ""
    elapsed_seconds: float | None = None
    data_seconds: float | None = None
    loss: float | None = None
    grad_norm: float | None = None
    loss_scale: float | None = None
    skipped: int | None = None
    skipped_total: int | None = None
    is_bar: bool = False
    epoch_bar: bool = False
    phase: str = "train"
