"""Reads rule files (TOML) into a checked `Catalogue`: the packaged families and a site's own.

Nothing is guessed: a key that isn't known, a value outside its list or a pattern that one of the
engines would refuse is a `RuleError` that names the file, the rule and the field. Samples of
packaged rules are run by `relume.models.signatures.checks` in the tests, those of a site's rules
whenever a command loads them.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from relume.errors import RuleError, all_of, did_you_mean, shown
from relume.files import special_kind
from relume.models.signatures.checks import check_catalogue, describe_failure
from relume.models.signatures.fields import BadRuleError, read_signature
from relume.models.signatures.ruleset import Catalogue
from relume.models.signatures.site import as_site_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from importlib.resources.abc import Traversable

    from relume.models.signatures.checks import ParseLine
    from relume.models.signatures.rule import Signature

__all__ = ["Catalogue", "load_catalogue", "read_rules", "read_tables"]

PACKAGED = "<relume>/"
"""How the origin of a packaged rule begins, and no path does."""
Source = TypeVar("Source", Path, "Traversable")
_TOP_LEVEL = ("category", "signature", "metric")
_EXPECTED = "a file of rules (TOML), or a folder of them"
_CHECK = "check --rules, and rules.folders in the configuration"
_LIST = "`relume rules list` shows them"


def load_catalogue(
    site: Iterable[Path] = (), *, packaged: bool = True, parse_line: ParseLine | None = None
) -> Catalogue:
    """Load the packaged rules and the rule files or folders of `site`.

    Parameters
    ----------
    site
        TOML files, or folders whose ``*.toml`` are read in order of name (not deeper folders).
    packaged
        Whether to start from the rules that come with Relume.
    parse_line
        Runs the samples of site rules; see `checks.check_catalogue`. Null: they aren't run.

    Raises
    ------
    RuleError
        That lists everything that is wrong.

    Examples
    --------
    >>> load_catalogue().by_id["cuda_oom"].cause
    'gpu_out_of_memory'
    """
    signatures, errors = read_rules(site, packaged=packaged)
    if parse_line is not None:
        own = Catalogue.of(rule for rule in signatures if not is_packaged(rule))
        failures = check_catalogue(own, parse_line, prefer="re2").failures  # compiles a few at once
        errors += [RuleError(describe_failure(failure)) for failure in failures]
    if errors:
        raise all_of(errors, "in rules")
    return Catalogue.of(signatures)


def is_packaged(rule: Signature) -> bool:
    """Whether `rule` comes with Relume."""
    return rule.origin.startswith(PACKAGED)


def read_rules(
    site: Iterable[Path] = (), *, packaged: bool = True
) -> tuple[list[Signature], list[RuleError]]:
    """Read the same files as `load_catalogue`; return the good rules and every error found.

    Samples are not run.
    """
    rules: dict[str, Signature] = {}
    errors: list[RuleError] = []
    for item in _read_all(site, packaged=packaged):
        if isinstance(item, RuleError):
            errors.append(item)
        elif problem := _misplaced(item, rules):
            errors.append(problem)
        else:
            rules[item.id] = item
    # A rule that failed isn't there: only when none did is a name that is missing really unknown.
    return list(rules.values()), errors or list(_unknown_names(rules))


def read_tables(site: Iterable[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the files of a site that can be read, with their names: for rules of other kinds.

    What can't be read `read_rules` tells of.
    """
    for item in _site_files(site):
        if isinstance(item, Path):
            table = _read_table(str(item), item, packaged=False)
            if isinstance(table, dict):
                yield str(item), table


def _misplaced(rule: Signature, rules: Mapping[str, Signature]) -> RuleError | None:
    """Say why `rule` can't join `rules`: an id is used once, packaged rules go on purpose only."""
    first = rules.get(rule.id)
    if first is not None and is_packaged(first) and not is_packaged(rule) and rule.override:
        return None
    if first is not None:
        hint = "rename the rule"
        if is_packaged(first):
            hint += ", or put it in the place of the packaged one with override = true"
        return RuleError(
            f"{rule.origin}: rule {rule.id}: field id",
            found="the same id in "
            + ("the same file" if rule.origin == first.origin else first.origin),
            expected="an id of its own",
            hint=hint,
        )
    if rule.override:
        return RuleError(
            f"{rule.origin}: rule {rule.id}: field override",
            found="no packaged rule of this id",
            expected=f"the id of the packaged rule to replace ({_LIST})",
            hint=did_you_mean(rule.id, rules),
        )
    return None


def _unknown_names(rules: Mapping[str, Signature]) -> Iterator[RuleError]:
    for rule in rules.values():
        names = [("closes", name) for name in rule.closes]
        if rule.refines is not None:
            names.append(("refines", rule.refines))
        for field, name in names:
            if name not in rules or (field, name) == ("refines", rule.id):
                yield RuleError(
                    f"{rule.origin}: rule {rule.id}: field {field}",
                    found=shown(name),
                    expected=f"ids of other rules ({_LIST})",
                    hint=did_you_mean(name, rules),
                )


def _read_all(site: Iterable[Path], *, packaged: bool) -> Iterator[Signature | RuleError]:
    if packaged:
        yield from _read_packaged()
    for found in _site_files(site):
        if isinstance(found, RuleError):
            yield found
        else:
            yield from _read_file(str(found), found, packaged=False)


@cache
def _read_packaged() -> tuple[Signature | RuleError, ...]:
    """Read what comes with Relume, once a process: it doesn't change, and takes half a second."""
    folder = files("relume.models.signatures") / "catalogue"
    return tuple(
        rule
        for item in _toml_files(folder)
        for rule in _read_file(PACKAGED + item.name, item, packaged=True)
    )


def _site_files(site: Iterable[Path]) -> Iterator[Path | RuleError]:
    seen: set[Path] = set()
    for path in site:
        try:
            found = _toml_files(path) if path.is_dir() else [path]
        except OSError as error:
            yield _unreadable(str(path), error.strerror or str(error))
            continue
        if not found:
            what = "no *.toml in the folder"
            yield RuleError(f"{path}: no rules", found=what, expected=_EXPECTED, hint=_CHECK)
        for item in found:
            if item.resolve() not in seen:  # named by the configuration and on the command line
                seen.add(item.resolve())
                yield item


def _toml_files(folder: Source) -> list[Source]:
    found = (item for item in folder.iterdir() if item.name.endswith(".toml"))
    return sorted(found, key=lambda item: item.name)


def _read_file(
    label: str, source: Traversable, *, packaged: bool
) -> Iterator[Signature | RuleError]:
    table = _read_table(label, source, packaged=packaged)
    if isinstance(table, RuleError):
        yield table
        return
    for number, entry in enumerate(table.get("signature", ()), start=1):
        yield from _read_entry((label, number), entry, table["category"], packaged=packaged)


def _read_table(label: str, source: Traversable, *, packaged: bool) -> dict[str, Any] | RuleError:
    try:
        kind = None if packaged else special_kind(Path(label))
        if kind is not None:
            return _unreadable(label, kind)
        table = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        return _unreadable(label, error.strerror or str(error))
    except UnicodeDecodeError:
        return RuleError(f"{label}: not a TOML file", found="bytes that are no UTF-8")
    except (ValueError, RecursionError) as error:
        return RuleError(f"{label}: not a TOML file", found=str(error))
    return _top_level_problem(label, table) or table


def _unreadable(label: str, found: str) -> RuleError:
    return RuleError(f"{label}: can't be read", found=found, expected=_EXPECTED, hint=_CHECK)


def _read_entry(
    place: tuple[str, int], entry: object, category: str, *, packaged: bool
) -> Iterator[Signature | RuleError]:
    origin, number = place
    name = entry.get("id", f"number {number}") if isinstance(entry, dict) else f"number {number}"
    try:
        rule = replace(read_signature(entry, category), origin=origin)
        yield rule if packaged else as_site_rule(rule)
    except BadRuleError as error:
        yield from field_errors(f"{origin}: rule {name}", error)


def field_errors(where: str, error: BadRuleError) -> Iterator[RuleError]:
    """Yield all that is wrong with one rule, which `where` names with its file."""
    for problem in error.problems:
        yield RuleError(
            f"{where}: field {problem.name}",
            found=problem.found,
            expected=problem.expected,
            hint=problem.hint,
        )


def _top_level_problem(source: str, table: dict[str, Any]) -> RuleError | None:
    for key in table:
        if key not in _TOP_LEVEL:
            hint = did_you_mean(key, _TOP_LEVEL)
            return RuleError(f"{source}: unknown key", found=shown(key), hint=hint)
    if not isinstance(table.get("category"), str) or not table["category"].isidentifier():
        found = shown(table.get("category"))
        return RuleError(f"{source}: category", found=found, expected="a name such as 'cuda'")
    entries = [table.get(key) for key in _TOP_LEVEL[1:] if key in table]
    if not entries or not all(isinstance(entry, list) and entry for entry in entries):
        return RuleError(f"{source}: no rules", expected="[[signature]] tables, or [[metric]] ones")
    return None
