"""What each preset of the policy would have been worth, as a part of a goodput document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from relume.advice import Operation
from relume.models.policy.policy import Preset
from relume.models.worth.counterfactual import Hand
from relume.serve.backtest.runs import HOUR
from relume.serve.backtest.worth import Worth
from relume.serve.reports.titled import TitledTable, number

if TYPE_CHECKING:
    from rich.console import Group


def preset_records(worths: Mapping[Preset, Worth]) -> list[dict[str, Any]]:
    """Return what each preset of the policy would have been worth, the most careful one first."""
    return [
        {
            "preset": preset.value,
            "advised": dict(_advised(worth)),
            "false_alarms": sum(rule.false_alarms for rule in found.by_rule.values()),
            "lost_gpu_hours": found.lost[Hand.RELUME] / HOUR,
            "goodput": found.goodput[Hand.RELUME],
            "oracle_fraction": found.oracle_fraction,
        }
        for preset, worth in worths.items()
        for found in [worth.hindsight.counterfactual]
    ]


def _advised(worth: Worth) -> Counter[str]:
    """How many attempts got each operation in the end."""
    settled = (
        [found.advice.operation.value for found in one.decisions if found.advice.settled]
        for one in worth.lives.attempts
    )
    return Counter(operations[-1] for operations in settled if operations)


def presets_table(presets: Iterable[Mapping[str, Any]]) -> Group:
    """Return the table of the records."""
    operations = [operation.value for operation in Operation]
    table = TitledTable(
        "Presets of the policy",
        ("preset", *operations, "lost GPU-hours", "goodput", "oracle fraction"),
    )
    for one in presets:
        advised = (str(one["advised"].get(name, 0)) for name in operations)
        numbers = (number(one["goodput"]), number(one["oracle_fraction"]))
        table.add(one["preset"], *advised, f"{one['lost_gpu_hours']:,.2f}", *numbers)
    return table.under("attempts by what was advised in the end")
