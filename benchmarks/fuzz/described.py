"""Requests made from the OpenAPI document, by Schemathesis, and what it says of the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from relume.benchmarks.fuzz.tally import Tally
from relume.errors import UnreachableError

if TYPE_CHECKING:
    from schemathesis.engine.events import ScenarioFinished
    from schemathesis.engine.recorder import ScenarioRecorder

ENDLESS = "/v1/advice/events"
"""A stream has no end; `relume.benchmarks.fuzz.addresses` asks for it."""
CHECKS = (
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
)
PATIENCE_SECONDS = 120
MAX_EXAMPLES = 30
"""Of one operation in one round."""
KNOWN_SHARE = 0.7
"""How often a name in a path is one that the service knows."""


class Asker:
    """Asks what a document describes.

    Parameters
    ----------
    document
        The OpenAPI document.
    url
        Of the service that it describes.
    known
        Names that the service knows, by the parameter of a path that they are good for.
    tally
        Where the answers are counted.

    Raises
    ------
    UnreachableError
        When Schemathesis isn't installed.
    """

    def __init__(
        self,
        document: Mapping[str, Any],
        url: str,
        *,
        known: Mapping[str, list[str]],
        tally: Tally,
    ) -> None:
        require_schemathesis()
        paths = {path: one for path, one in document["paths"].items() if path != ENDLESS}
        self._document = {**document, "paths": paths}
        self._url, self._known, self._tally = url, known, tally

    @property
    def operations(self) -> set[str]:
        """All that can be asked, as methods and paths."""
        paths: Mapping[str, Mapping[str, Any]] = self._document["paths"]
        return {f"{method.upper()} {path}" for path, those in paths.items() for method in those}

    def ask(
        self,
        headers: Mapping[str, str],
        *,
        seed: int,
        seconds: float | None,
        only: str | None = None,
        boundaries: bool = True,
    ) -> None:
        """Ask with these headers for so long, in whole seconds; one round when null.

        Parameters
        ----------
        seed
            What is asked follows from it.
        only
            A path, to ask nothing else.
        boundaries
            Whether the values at the borders of every parameter are asked as well; they are the
            same in every round.
        """
        from schemathesis.engine import from_schema  # noqa: PLC0415 - of the group dev only
        from schemathesis.engine.events import ScenarioFinished  # noqa: PLC0415

        schema = self._schema(headers, seed, seconds, boundaries=boundaries)
        if only is not None:
            schema = schema.include(path=only)
        for event in from_schema(schema).execute():
            if isinstance(event, ScenarioFinished):
                self._count(event)

    def _schema(
        self, headers: Mapping[str, str], seed: int, seconds: float | None, *, boundaries: bool
    ) -> Any:  # noqa: ANN401 - Schemathesis' own
        from schemathesis import openapi  # noqa: PLC0415 - of the group dev only
        from schemathesis.config import SchemathesisConfig  # noqa: PLC0415

        off, on = {"enabled": False}, {"enabled": True}
        config: dict[str, Any] = {
            "seed": seed,
            "suppress-health-check": ["all"],  # a machine that is slow is no finding
            "base-url": self._url,
            "headers": dict(headers),
            "request-timeout": PATIENCE_SECONDS,
            "continue-on-failure": True,
            "phases": {"stateful": off, "coverage": {"enabled": boundaries}},
            # Without shrinking: a failure is counted, and told as it was found.
            "generation": {"max-examples": MAX_EXAMPLES, "database": "none", "no-shrink": True},
            "checks": off | dict.fromkeys(CHECKS, on),
            "dictionaries": {name: {"values": those} for name, those in self._known.items()},
            "parameters": {
                f"path.{name}": {"dictionary": name, "probability": KNOWN_SHARE}
                for name in self._known
            },
        }
        if seconds is not None:
            config["max-time"] = max(1, round(seconds))
        return openapi.from_dict(self._document, config=SchemathesisConfig.from_dict(config))

    def _count(self, event: ScenarioFinished) -> None:
        recorder = event.recorder
        self._tally.operations.add(recorder.label)
        for case_id, interaction in recorder.interactions.items():
            response = interaction.response
            status = 0 if response is None else response.status_code
            self._tally.answered(status, _words(recorder, case_id))
        for case_id, checks in recorder.checks.items():
            for check in checks:
                if check.failure_info is not None:
                    words = f"{_words(recorder, case_id)}: {check.failure_info.failure.message}"
                    self._tally.violated(check.name, words)


def require_schemathesis() -> None:
    """Make sure that Schemathesis is there: it is no part of Relume, only of its development.

    Raises
    ------
    UnreachableError
        When it isn't.
    """
    try:
        import schemathesis  # noqa: F401, PLC0415 - of the group dev only
    except ModuleNotFoundError as error:
        raise UnreachableError(
            "schemathesis",
            found=str(error),
            expected="the Python package schemathesis",
            hint="make env, which installs what development needs",
        ) from error


def _words(recorder: ScenarioRecorder, case_id: str) -> str:
    interaction = recorder.interactions.get(case_id)
    if interaction is None:
        return recorder.label
    request = interaction.request
    body = "" if request.body is None else f" {request.body[:300]!r}"
    return f"{request.method} {request.uri}{body}"
