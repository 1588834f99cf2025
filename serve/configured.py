"""The analyzer and the names of metrics that a configuration means, the same for every command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from relume.errors import ConfigError, RuleError, all_of
from relume.features.metrics.names import NameTable, load_names
from relume.features.progress.user import user_format
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.models.signatures.loader import load_catalogue
from relume.models.signatures.ruleset import Catalogue
from relume.models.thresholds.checks import check_metric_rules, describe_metric_failure
from relume.models.thresholds.loader import read_metric_rules
from relume.models.thresholds.rule import MetricRule
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


def load_metric_rules(settings: Settings, rules: Sequence[Path] = ()) -> list[MetricRule]:
    """Load the metric rules of the configured folders, and of `rules`.

    Raises
    ------
    RuleError
        That lists everything that is wrong with them, their samples too.
    """
    found, errors = read_metric_rules([*map(Path, settings.rules.folders), *rules])
    failures = check_metric_rules(found).failures
    errors += [RuleError(describe_metric_failure(failure)) for failure in failures]
    if errors:
        raise all_of(errors, "in metric rules")
    return found


def diagnosis_of(settings: Settings) -> DiagnosisSettings:
    """Return the thresholds of a configuration."""
    return DiagnosisSettings(
        confidence_threshold=settings.diagnose.confidence_threshold,
        max_evidence=settings.diagnose.max_evidence,
        max_mentions=settings.diagnose.max_mentions,
    )


def names_of(settings: Settings) -> NameTable:
    """Return the names of metrics with the site's files.

    Raises
    ------
    ConfigError
        For a file that can't be read or used.
    """
    texts = []
    for name in settings.metrics.names:
        try:
            texts.append((name, Path(name).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            found = getattr(error, "strerror", None) or "bytes that are no UTF-8"
            raise ConfigError(f"{name}: names of metrics", found=found, expected="TOML") from error
    return load_names(texts)
