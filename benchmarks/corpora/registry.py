"""Which corpora there are a loader for. Their code is imported only when one is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from relume.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from relume.ingest.datasets import Dataset


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus that can be made a data set: its name, what it is, and what it needs.

    `data` is empty for one that is generated: it needs nothing.
    """

    name: str
    what: str
    data: str
    module: str

    def write(self, data: Path | None, out: Path) -> Dataset:
        """Read the recording in the folder `data`; write its data set into `out`.

        Only what is generated does without `data`.

        Raises
        ------
        InputError
            When `data` doesn't hold the recording, or `out` is a data set already.
        """
        if data is None and self.data:
            raise InputError(
                f"corpus {self.name}",
                found="no folder of recordings",
                expected=self.data,
                hint="name it with --data",
            )
        call: Callable[[Path | None, Path], Dataset] = import_module(self.module).write
        return call(data, out)


def _corpus(name: str, module: str, what: str, data: str) -> Corpus:
    return Corpus(name, what, data, f"relume.benchmarks.corpora.{module}")


CORPORA: tuple[Corpus, ...] = (
    _corpus(
        "failure-cases",
        "excerpts",
        "excerpts of real failures and of harmless logs, without a clock",
        "failure-cases/",
    ),
    _corpus(
        "bigscience",
        "bigscience",
        "runs on many nodes that no infrastructure failure ended",
        "bigscience/",
    ),
    _corpus(
        "m4",
        "m4",
        "a file system that froze, nodes that failed, and what went well",
        "m4-logs/",
    ),
    _corpus("mlperf", "mlperf", "whole runs that ended in success", "mlperf-training-v2.1/"),
    _corpus("gpud", "gpud", "kernel logs without labels", "gpud-kernel-logs/"),
    _corpus("loghub", "loghub", "logs of other systems, most of them harmless", "loghub/"),
    _corpus(
        "spliced",
        "spliced",
        "failures at known times at the end of healthy runs: latency can be measured",
        "failure-cases/ and mlperf-training-v2.1/",
    ),
    _corpus(
        "episodes",
        "episodes",
        "generated failures of 8 to 1,024 ranks with their logs side by side",
        "",
    ),
)


def find(name: str) -> Corpus:
    """Return the corpus of that name.

    Raises
    ------
    InputError
        With the nearest name, when there is none.
    """
    for corpus in CORPORA:
        if corpus.name == name:
            return corpus
    names = [corpus.name for corpus in CORPORA]
    raise InputError(
        "unknown corpus",
        found=name,
        expected=f"one of {', '.join(names)}",
        hint=did_you_mean(name, names) or "see relume bench dataset --list",
    )
