"""What exporters call a metric, and what Relume does: one table, which sites extend.

`names.toml` beside this file is the table, `docs/metrics.md` its form. Nothing is guessed: a name
that isn't in the table is no metric of Relume's, and whoever reads counts it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from math import isfinite
from types import MappingProxyType
from typing import Literal, NamedTuple

import msgspec

from relume.errors import ConfigError
from relume.features.metrics.points import Series

UNITS = (
    *("seconds", "bytes", "watts", "joules", "hertz", "celsius"),
    *("ratio", "count", "code", "bits", "flag", "second"),
)
"""What a name may end with, before the ``_total`` of a counter; ``…_per_second`` is a rate."""
_METRIC = re.compile(rf"[a-z][a-z0-9_]*_(?:{'|'.join(UNITS)})(?:_total)?", re.ASCII)
_SOURCE = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*", re.ASCII)
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)
_PORT = re.compile(r"(?:\[(?P<v6>[^\]]*)\]|(?P<host>[^:]*))(?::\d{1,5})?", re.ASCII)
_MAX_RANK = 2**31


class NameRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of the table, as its comment describes it."""

    to: str
    sources: tuple[str, ...] = msgspec.field(name="from")
    scale: float = 1.0
    device: tuple[str, ...] = ()
    unless: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    fold: Literal["sum"] | None = None


class LabelNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Labels that say where a series is from, the first that is there counts.

    `domains` are endings that are cut off the names of nodes (``.hpc.example``): Slurm's have none.
    """

    node: tuple[str, ...] = ()
    gpu: tuple[str, ...] = ()
    rank: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    labels: LabelNames = LabelNames()
    metric: tuple[NameRule, ...] = ()


class Named(NamedTuple):
    """What a series is to Relume.

    Attributes
    ----------
    series, rank
        What it is of; the rank is null where no label says it.
    scale
        What its values are multiplied with.
    is_summed
        Whether series with the same name and place are added up.
    """

    series: Series
    rank: int | None
    scale: float
    is_summed: bool


@dataclass(frozen=True, slots=True)
class NameTable:
    """The table, ready for use.

    Attributes
    ----------
    rules
        By the exporter's name.
    labels
        Which labels say where a series is from.

    Examples
    --------
    >>> table = load_names()
    >>> table.named("DCGM_FI_DEV_SM_CLOCK", {"Hostname": "n1", "gpu": "3"})
    Named(series=Series(metric='gpu_sm_clock_hertz', node='n1', gpu='3', device=None), \
rank=None, scale=1000000.0, is_summed=False)
    >>> table.named("go_goroutines", {})
    """

    rules: Mapping[str, NameRule]
    labels: LabelNames

    @property
    def node_labels(self) -> tuple[str, ...]:
        """Labels that may say the node, in that order."""
        return self.labels.node

    @property
    def other_labels(self) -> frozenset[str]:
        """All other labels that what a series is depends on."""
        rules = self.rules.values()
        used = (name for rule in rules for name in (*rule.device, *rule.unless))
        return frozenset((*self.labels.gpu, *self.labels.rank, *used))

    def knows(self, name: str) -> bool:
        """Whether a name is in the table."""
        return name in self.rules

    def named(self, name: str, labels: Mapping[str, str]) -> Named | None:
        """Return what a series is to Relume; null where its name or a label says it is nothing."""
        rule = self.rules.get(name)
        if rule is None or any(labels.get(key) in values for key, values in rule.unless.items()):
            return None
        parts = [labels[key] for key in rule.device if labels.get(key)]
        place = self._placed(rule.to, labels, "/".join(parts) or None)
        return Named(place, self._rank(labels), rule.scale, rule.fold == "sum")

    def called(self, metric: str, labels: Mapping[str, str]) -> Named:
        """Return what a series is that somebody has given a name of Relume's."""
        return Named(self._placed(metric, labels, None), self._rank(labels), 1.0, is_summed=False)

    def _placed(self, metric: str, labels: Mapping[str, str], device: str | None) -> Series:
        node = _first(self.labels.node, labels)
        return Series(metric, node and self.node(node), _first(self.labels.gpu, labels), device)

    def node(self, text: str) -> str:
        """Return the name of a node without a port and a site's domain."""
        found = _PORT.fullmatch(text)
        name = (found["v6"] or found["host"] or text) if found else text
        ending = next((x for x in self.labels.domains if name.endswith(x) and name != x), "")
        return name.removesuffix(ending)

    def _rank(self, labels: Mapping[str, str]) -> int | None:
        text = _first(self.labels.rank, labels)
        is_number = text is not None and text.isascii() and text.isdecimal() and len(text) < 11  # noqa: PLR2004
        rank = int(text) if text is not None and is_number else _MAX_RANK
        return rank if rank < _MAX_RANK else None


def load_names(site: Iterable[tuple[str, str]] = ()) -> NameTable:
    """Return the table that comes with Relume, extended by those of a site.

    Parameters
    ----------
    site
        Where each is from, for messages, and its text (TOML). A name that is there already gets
        the site's entry; its labels are looked at before the others.

    Raises
    ------
    ConfigError
        For what can't be used, with its place.
    """
    own = (files("relume.features.metrics") / "names.toml").read_text(encoding="utf-8")
    rules: dict[str, NameRule] = {}
    labels = LabelNames()
    for origin, text in (("<relume>/names.toml", own), *site):
        file = _read(origin, text)
        labels = _before(file.labels, labels)
        for number, rule in enumerate(file.metric):
            _check(f"{origin}: metric {number + 1}", rule)
            rules |= dict.fromkeys(rule.sources, rule)
    return NameTable(MappingProxyType(rules), labels)


def is_metric(name: str) -> bool:
    """Whether a name may be one of Relume's: small letters, and a unit at its end.

    >>> is_metric("gpu_power_watts"), is_metric("nic_sent_bytes_total"), is_metric("node_load1")
    (True, True, False)
    """
    return _METRIC.fullmatch(name) is not None


def _read(origin: str, text: str) -> _File:
    try:
        return msgspec.convert(tomllib.loads(text), _File)
    except (ValueError, RecursionError) as error:  # msgspec.ValidationError is one
        raise ConfigError(
            f"{origin}: names of metrics",
            found=str(error),
            expected="[labels] and [[metric]] tables in TOML",
            hint="docs/metrics.md describes them",
        ) from error


def _check(where: str, rule: NameRule) -> None:
    if not is_metric(rule.to):
        unit = ", ".join(f"_{unit}" for unit in UNITS)
        raise ConfigError(
            f"{where}: to",
            found=repr(rule.to)[:80],
            expected=f"a name that ends with one of {unit}",
        )
    for field, names, form in (
        ("from", rule.sources, _SOURCE),
        ("device", rule.device, _LABEL),
        ("unless", tuple(rule.unless), _LABEL),
    ):
        for name in names:
            if form.fullmatch(name) is None:
                expected = "a metric's name" if form is _SOURCE else "a label's name"
                raise ConfigError(
                    f"{where}: {field}", found=repr(name)[:80], expected=f"{expected} in Prometheus"
                )
    if not rule.sources or not isfinite(rule.scale) or rule.scale == 0:
        field, found = ("scale", str(rule.scale)) if rule.sources else ("from", "no name")
        raise ConfigError(f"{where}: {field}", found=found, expected="at least one, not zero")


def _before(first: LabelNames, then: LabelNames) -> LabelNames:
    pairs = ((getattr(first, name), getattr(then, name)) for name in LabelNames.__struct_fields__)
    return LabelNames(*((*own, *(x for x in other if x not in own)) for own, other in pairs))


def _first(names: Iterable[str], labels: Mapping[str, str]) -> str | None:
    return next((labels[name] for name in names if labels.get(name)), None)
