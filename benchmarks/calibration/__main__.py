"""Print the table of confidence, fitted anew: ``python -m relume.benchmarks.calibration DATA``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from relume.benchmarks.calibration.bench import document, observe_simulated
from relume.benchmarks.calibration.fitting import fit
from relume.benchmarks.calibration.observing import observe_cases
from relume.benchmarks.corpora import failure_cases
from relume.clock import SystemClock, to_iso

_HEADER = """\
# How sure a verdict is that the kind is right: weights in log-odds (docs/confidence.md). Made by
#   python -m relume.benchmarks.calibration DATA > models/diagnosis/confidence.toml
# and measured by `relume bench run calibration`. Don't edit it by hand.
"""


def to_toml(content: dict[str, Any]) -> str:
    """Return `content` (numbers, texts and lists, one level of tables) as TOML."""
    lines = [_HEADER.rstrip()]
    for key, value in content.items():
        if isinstance(value, dict):
            lines += ["", f"[{key}]", *(f"{name} = {json.dumps(v)}" for name, v in value.items())]
        else:
            lines.append(f"{key} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    """Fit and print."""
    corpus = failure_cases.load(folder)
    recorded, simulated = observe_cases(corpus.cases), observe_simulated()
    table = fit(simulated.observations, recorded)
    content = document(table, corpus.hash, len(recorded), simulated)
    content["made"]["date"] = to_iso(SystemClock().now())[:10]
    sys.stdout.write(to_toml(content))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
