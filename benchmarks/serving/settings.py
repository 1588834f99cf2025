"""The configuration file of a service, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relume.settings import to_toml


def configuration(*parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the TOML of sections; later parts add to earlier ones, and take their place.

    >>> print(configuration({"serve": {"mode": "monitor"}}, {"serve": {"mode": "act"}}), end="")
    [serve]
    mode = "act"
    """
    sections: dict[str, dict[str, Any]] = {}
    for part in parts:
        for section, values in part.items():
            sections.setdefault(section, {}).update(values)
    lines: list[str] = []
    for section, values in sections.items():
        lines += [f"[{section}]", *(f"{key} = {to_toml(one)}" for key, one in values.items())]
    return "\n".join(lines) + "\n"
