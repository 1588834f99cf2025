"""Settings that must lie within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relume.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping


def require_within(
    settings: object, section: str, ranges: Mapping[str, tuple[float, float]]
) -> None:
    """Refuse a value that isn't more than the lower bound, and at most the upper one.

    Parameters
    ----------
    section
        What the settings are called in messages.
    ranges
        Both bounds of each attribute.

    Raises
    ------
    InputError
        For the first value out of its range.
    """
    for name, (low, high) in ranges.items():
        value = getattr(settings, name)
        if not low < value <= high:
            expected = f"more than {low}, at most {high}"
            raise InputError(f"{section}.{name} = {value}", expected=expected)
