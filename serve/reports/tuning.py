"""What `relume backtest --tune` found: as one document, and as words and tables for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from relume.clock import to_iso
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
            half: {"present": _tally(present), "chosen": _tally(chosen)}
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
    needed = NO_EVENT / tuning.budget
    days = max((one.earlier[0].quiet_days for one in tuning.tuned), default=0.0)
    if days < needed:
        yield (
            f"{days:.1f} quiet job-days can't show that {tuning.budget:g} false alarms a job-day "
            f"are kept to: that takes {needed:.0f}; so nothing is proposed that alarms sooner"
        )
    for one in tuning.tuned:
        if one.changed and not one.holds(tuning.budget):
            yield f"{one.kind}: what was chosen doesn't hold on later jobs: leave it as it is"


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
        f"{tally.found} of {tally.found + tally.missed}",
        "-" if tally.delay is None else f"{tally.delay:.0f} s",
    )


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
