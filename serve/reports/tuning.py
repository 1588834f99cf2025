"""What `relume backtest --tune` found: as one document, and as words and tables for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from relume.clock import to_iso
from relume.models.scoring.document import proportion
from relume.models.scoring.intervals import NO_EVENT
from relume.models.tuning.choice import Tally
from relume.serve.backtest.tune import Tuned, Tuning

_COLUMNS = ("", "false alarms", "a quiet job-day", "95 %", "found", "delay (median)")


def to_document(tuning: Tuning, corpus: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON form; `corpus` says of which data. Described in `docs/backtest.md`."""
    halves = tuning.split
    return {
        "budget": tuning.budget,
        "corpus": corpus,
        "cut": None if halves.cut is None else to_iso(halves.cut),
        "runs": {
            "earlier": len(halves.earlier),
            "later": len(halves.later),
            "astride": len(halves.astride),
        },
        "kinds": {str(one.kind): _kind(one, tuning.budget) for one in tuning.tuned},
        "proposed": tuning.proposed,
    }


def _kind(one: Tuned, budget: float) -> dict[str, Any]:
    halves = {"earlier": one.earlier, "later": one.later}
    return {
        "changed": one.changed,
        "holds": one.holds(budget),
        **{
            half: {
                "enough_job_days": present.tells(budget),
                "present": _tally(present),
                "chosen": _tally(chosen),
            }
            for half, (present, chosen) in halves.items()
        },
    }


def _tally(tally: Tally) -> dict[str, Any]:
    rate = tally.rate
    return {
        "false_alarms": tally.false_alarms,
        "quiet_job_days": round(tally.quiet_days, 4),
        "false_alarms_per_job_day": rate.value,
        "interval": rate.interval,
        "found": tally.found,
        "missed": tally.missed,
        "recall": proportion(tally.recall),
        "delay_seconds": tally.delay,
    }


def sentences(tuning: Tuning) -> Iterator[str]:
    """Yield what a person should know of the split and of what it can show."""
    halves = tuning.split
    if halves.cut is not None:
        aside = f"; {len(halves.astride)} that ran then are left out" if halves.astride else ""
        yield (
            f"chosen on {len(halves.earlier)} runs that were over by {to_iso(halves.cut)}, "
            f"judged on {len(halves.later)} that began later{aside}"
        )
    yield from _too_few(tuning)
    for one in tuning.tuned:
        if one.changed and not one.holds(tuning.budget):
            yield f"{one.kind}: what was chosen doesn't hold on later jobs: leave it as it is"


def _too_few(tuning: Tuning) -> Iterator[str]:
    """Yield what can't be told by so few job-days."""
    needed = NO_EVENT / tuning.budget
    first = tuning.tuned[0]
    for half, (present, _), so in (
        ("earlier", first.earlier, "so nothing is proposed that alarms sooner"),
        ("later", first.later, "so what was chosen is judged by what it changed alone"),
    ):
        if not present.tells(tuning.budget):
            yield (
                f"not enough job-days to tell: the {present.quiet_days:.1f} quiet ones of {half} "
                f"runs can't show that {tuning.budget:g} false alarms a job-day are kept to, that "
                f"takes {needed:.0f}; {so}"
            )


def tables(tuning: Tuning) -> Iterator[Table]:
    """Yield a table for each kind."""
    for one in tuning.tuned:
        table = Table(*_COLUMNS, title=str(one.kind), title_justify="left", box=SIMPLE_HEAD)
        for half, (present, chosen) in (("earlier", one.earlier), ("later", one.later)):
            table.add_row(f"{half}: as it is", *_cells(present))
            if one.changed:
                table.add_row(f"{half}: as chosen", *_cells(chosen))
        yield table


def _cells(tally: Tally) -> tuple[str, ...]:
    interval = tally.rate.interval
    return (
        f"{tally.false_alarms} in {tally.quiet_days:.1f} days",
        "-" if tally.rate.value is None else f"{tally.rate.value:.4f}",
        "-" if interval is None else f"{interval[0]:.4f} to {interval[1]:.4f}",
        _found(tally),
        "-" if tally.delay is None else f"{tally.delay:.0f} s",
    )


def _found(tally: Tally) -> str:
    recall = tally.recall
    low, high = recall.interval
    interval = f" ({low:.2f} to {high:.2f})" if recall.total else ""
    return f"{recall.right} of {recall.total}{interval}"


def as_toml(proposed: dict[str, float]) -> str:
    """Return settings as lines for the configuration.

    Examples
    --------
    >>> print(as_toml({"hang.actionable_seconds": 180.0, "straggler.effect_ratio": 0.1}))
    [hang]
    actionable_seconds = 180.0
    [straggler]
    effect_ratio = 0.1
    """
    lines, section = [], ""
    for name, value in sorted(proposed.items()):
        of, key = name.split(".")
        if of != section:
            lines.append(f"[{of}]")
        section = of
        lines.append(f"{key} = {value!r}")
    return "\n".join(lines)
