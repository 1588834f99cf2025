from __future__ import annotations

from typing import Any

import pytest

from relume.models.worth.outcomes import SECOND, HangAlarm, Label, label_of


def alarm(**changes: Any) -> HangAlarm:
    """An alarm at 0; seconds."""
    fields: dict[str, Any] = {"resumed": None, "end": None, "seen_until": 0} | changes
    for name in ("resumed", "end", "seen_until"):
        fields[name] = None if fields[name] is None else fields[name] * SECOND
    return HangAlarm(time=0, **({"state": None} | fields))


@pytest.mark.parametrize(
    ("found", "label"),
    [
        (alarm(resumed=600), Label.FALSE),
        (alarm(resumed=601), Label.UNLABELLED),
        (alarm(resumed=3600), Label.TRUE),
        (alarm(end=30, state="FAILED"), Label.TRUE),
        (alarm(end=30, state="NODE_FAIL"), Label.TRUE),
        (alarm(resumed=500, end=700, state="FAILED"), Label.FALSE),
        (alarm(end=30, state="CANCELLED by 1000"), Label.UNLABELLED),
        (alarm(end=3600, state="CANCELLED by 1000"), Label.TRUE),
        (alarm(end=30, state="TIMEOUT"), Label.UNLABELLED),
        (alarm(end=30, state="COMPLETED"), Label.UNLABELLED),
        (alarm(end=30), Label.UNLABELLED),
        (alarm(seen_until=3599), Label.UNLABELLED),
        (alarm(seen_until=3600), Label.TRUE),
    ],
)
def test_alarms_label_themselves_by_what_comes_next(found: HangAlarm, label: Label) -> None:
    told, why = label_of(found)
    assert told is label
    assert why
