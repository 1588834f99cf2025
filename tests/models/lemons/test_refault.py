"""A model of who faults again: it learns from the past only, and from what could be seen."""

from __future__ import annotations

import pytest

from relume.errors import InputError
from relume.models.lemons.quarantine import DAY
from relume.models.lemons.refault import RefaultModel, RefaultSettings

SETTINGS = RefaultSettings(refit_days=40, min_returns=20, min_each=5, strength=1.0)


def fleet(model: RefaultModel, days: int = 200) -> None:
    """Every day another node has its first fault; every third day a lemon faults once more."""
    for day in range(days):
        model.fault(f"n{day}", day * DAY, "GPU")
        model.returned(f"n{day}", day * DAY + DAY // 2, began=day * DAY)
        if day % 3 == 0:
            lemon = f"lemon{day % 4}"
            model.fault(lemon, day * DAY + DAY // 2, "GPU")
            model.returned(lemon, (day + 1) * DAY, began=day * DAY + DAY // 2)


def returned(model: RefaultModel, node: str, day: float) -> float | None:
    model.fault(node, round(day * DAY), "GPU")
    return model.returned(node, round((day + 0.5) * DAY), began=round(day * DAY))


def test_who_faulted_often_is_likelier_to_fault_again() -> None:
    model = RefaultModel(SETTINGS, nodes=400)
    fleet(model)
    lemon, fresh = returned(model, "lemon0", 201), returned(model, "fresh", 201)
    assert lemon is not None
    assert fresh is not None
    assert lemon > 2 * fresh


def test_before_enough_is_known_it_says_nothing() -> None:
    model = RefaultModel(SETTINGS, nodes=400)
    fleet(model, days=25)
    assert (returned(model, "lemon0", 26), model.fits) == (None, 0)


def test_what_comes_later_changes_nothing_that_was_said() -> None:
    """Two futures: until they part, both models say the same."""
    one, other = (RefaultModel(SETTINGS, nodes=400) for _ in range(2))
    for model in (one, other):
        fleet(model, days=120)
    said = [returned(model, "lemon1", 121) for model in (one, other)]
    assert said[0] == said[1] is not None
    for day in range(122, 150):
        one.fault("lemon1", day * DAY, "NIC")
    assert returned(one, "fresh", 151) != returned(other, "fresh", 151)


def test_a_node_that_is_held_shows_nothing_until_it_is_let_go() -> None:
    """All that are let go fault at once, and held ones never: else the model learns the reverse."""
    seen, held = (RefaultModel(SETTINGS, nodes=400) for _ in range(2))
    for model in (seen, held):
        fleet(model, days=100)
        for number in range(30):
            node = f"more{number}"
            model.fault(node, 100 * DAY, "GPU")
            model.returned(node, 101 * DAY, began=100 * DAY)
            if model is held:
                model.held(node)
    for model in (seen, held):  # far beyond the horizon
        model.fault("x", 160 * DAY, "GPU")
        model.returned("x", 161 * DAY, began=160 * DAY)
    quiet = [sum(one.faulted is False for one in model._returns) for model in (seen, held)]  # noqa: SLF001
    assert quiet[0] - quiet[1] == 30
    held.let_go("more0", 162 * DAY)
    held.fault("more0", 163 * DAY, "GPU")
    again = [one for one in held._returns if one.node == "more0"]  # noqa: SLF001
    assert [one.faulted for one in again] == [True]


@pytest.mark.parametrize("name", ["horizon_days", "refit_days", "min_returns", "strength"])
def test_settings_have_a_range(name: str) -> None:
    with pytest.raises(InputError, match=name):
        RefaultSettings(**{name: 0})
