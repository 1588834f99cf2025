"""The analyzer that a configuration means, the same for every command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from relume.features.progress.user import user_format
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.models.signatures.loader import load_catalogue
from relume.models.signatures.ruleset import Catalogue
from relume.serve.databases import DatabaseFolder, cache_folder
from relume.serve.healthy import load_history
from relume.serve.offline import Analyzer
from relume.settings import Settings


def analyzer_of(
    settings: Settings,
    *,
    rules: Sequence[Path] = (),
    engine: str = "hyperscan",
    lake: Path | None = None,
) -> Analyzer:
    """Compile the rules and patterns of a configuration, and `rules` besides.

    It takes a second, or half of one where the user's cache folder has them compiled.

    What is usual it knows from the healthy attempts of `lake`, else of the configured lake.

    Raises
    ------
    RelumeError
        For rules or patterns that can't be used, and for a history that can't be read.
    """
    known = lake or (Path(settings.diagnose.lake) if settings.diagnose.lake else None)
    folder = cache_folder()
    return Analyzer(
        load_rules(settings, rules),
        user_formats=[user_format(pattern) for pattern in settings.progress.patterns],
        settings=diagnosis_of(settings),
        zone=settings.cluster.timezone,
        engine=engine,
        history=None if known is None else load_history(known),
        store=None if folder is None else DatabaseFolder(folder),
    )


def load_rules(settings: Settings, rules: Sequence[Path] = ()) -> Catalogue:
    """Load the packaged rules, those of the configured folders, and `rules`.

    Raises
    ------
    RuleError
        That lists everything that is wrong with them.
    """
    parser = LineParser("sample")
    return load_catalogue(
        [*map(Path, settings.rules.folders), *rules],
        parse_line=lambda text: parser.parse(text, 0, 0),
    )


def diagnosis_of(settings: Settings) -> DiagnosisSettings:
    """Return the thresholds of a configuration."""
    return DiagnosisSettings(
        confidence_threshold=settings.diagnose.confidence_threshold,
        max_evidence=settings.diagnose.max_evidence,
        max_mentions=settings.diagnose.max_mentions,
    )
