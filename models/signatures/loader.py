"""Reads rule files (TOML) into a checked `Catalogue`: the packaged families and a site's own.

Nothing is guessed: a key that isn't known, a value outside its list or a pattern that one of the
engines would refuse is a `RuleError` that names the file, the rule and the field. Samples are read
here and run by `relume.models.signatures.checks`.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relume.errors import RuleError, did_you_mean, first_of, shown
from relume.files import special_kind
from relume.models.signatures.fields import FieldError, read_signature
from relume.models.signatures.ruleset import Catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from importlib.resources.abc import Traversable

    from relume.models.signatures.rule import Signature

__all__ = ["Catalogue", "load_catalogue", "read_rules"]

_TOP_LEVEL = ("category", "signature")
_EXPECTED = "a file of rules (TOML), or a folder of them"
_CHECK = "check --rules, and rules.folders in the configuration"


def load_catalogue(site: Iterable[Path] = (), *, packaged: bool = True) -> Catalogue:
    """Load the packaged rules and the rule files or folders of `site`.

    Parameters
    ----------
    site
        TOML files, or folders whose ``*.toml`` are read in order of name (not deeper folders).
    packaged
        Whether to start from the rules that come with Relume.

    Raises
    ------
    RuleError
        For the first thing that is wrong, counting the others.

    Examples
    --------
    >>> load_catalogue().by_id["cuda_oom"].cause
    'gpu_out_of_memory'
    """
    signatures, errors = read_rules(site, packaged=packaged)
    if errors:
        raise first_of(errors, see="`relume rules test`")
    return Catalogue.of(signatures)


def read_rules(
    site: Iterable[Path] = (), *, packaged: bool = True
) -> tuple[list[Signature], list[RuleError]]:
    """Read the same files as `load_catalogue`; return the good rules and every error found."""
    signatures: list[Signature] = []
    errors: list[RuleError] = []
    homes: dict[str, str] = {}
    for label, source, is_packaged in _sources(site, packaged=packaged):
        for item in _read_file(label, source, packaged=is_packaged):
            if isinstance(item, RuleError):
                errors.append(item)
            elif item.id in homes:
                errors.append(_clash(item.id, label, homes[item.id]))
            else:
                homes[item.id] = label
                signatures.append(item)
    # A rule that failed has no home: only when none did is a name that is missing really unknown.
    return signatures, errors or list(_unknown_names(signatures, homes))


def _unknown_names(signatures: list[Signature], homes: dict[str, str]) -> Iterator[RuleError]:
    for rule in signatures:
        for name in rule.closes:
            if name not in homes:
                yield RuleError(
                    f"{homes[rule.id]}: rule {rule.id}: field closes",
                    found=shown(name),
                    expected="ids of rules (`relume rules list` shows them)",
                    hint=did_you_mean(name, homes),
                )


def _sources(site: Iterable[Path], *, packaged: bool) -> Iterator[tuple[str, Traversable, bool]]:
    """Yield every file with the name that messages give it, and whether it is packaged."""
    if packaged:
        for item in _toml_files(files("relume.models.signatures") / "catalogue"):
            yield f"catalogue/{item.name}", item, True
    for path in site:
        if path.is_dir() and not _toml_files(path):
            raise RuleError(
                f"{path}: no rules",
                found="no *.toml in the folder",
                expected=_EXPECTED,
                hint=_CHECK,
            )
        for item in _toml_files(path) if path.is_dir() else [path]:
            yield str(item), item, False


def _toml_files(folder: Traversable) -> list[Traversable]:
    found = (item for item in folder.iterdir() if item.name.endswith(".toml"))
    return sorted(found, key=lambda item: item.name)


def _read_file(
    label: str, source: Traversable, *, packaged: bool
) -> Iterator[Signature | RuleError]:
    try:
        kind = None if packaged else special_kind(Path(label))
        if kind is not None:
            yield _unreadable(label, kind)
            return
        table = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        yield _unreadable(label, error.strerror or str(error))
        return
    except UnicodeDecodeError:
        yield RuleError(f"{label}: not a TOML file", found="bytes that are no UTF-8")
        return
    except (ValueError, RecursionError) as error:
        yield RuleError(f"{label}: not a TOML file", found=str(error))
        return
    problem = _top_level_problem(label, table)
    if problem:
        yield problem
        return
    for number, entry in enumerate(table["signature"], start=1):
        yield _read_entry((label, number), entry, table["category"], packaged=packaged)


def _unreadable(label: str, found: str) -> RuleError:
    return RuleError(f"{label}: can't be read", found=found, expected=_EXPECTED, hint=_CHECK)


def _read_entry(
    place: tuple[str, int], entry: object, category: str, *, packaged: bool
) -> Signature | RuleError:
    source, number = place
    name = entry.get("id", f"number {number}") if isinstance(entry, dict) else f"number {number}"
    try:
        return read_signature(entry, category, packaged=packaged)
    except FieldError as error:
        return RuleError(
            f"{source}: rule {name}: field {error.name}",
            found=error.found,
            expected=error.expected,
            hint=error.hint,
        )


def _top_level_problem(source: str, table: dict[str, Any]) -> RuleError | None:
    for key in table:
        if key not in _TOP_LEVEL:
            hint = did_you_mean(key, _TOP_LEVEL)
            return RuleError(f"{source}: unknown key", found=shown(key), hint=hint)
    if not isinstance(table.get("category"), str) or not table["category"].isidentifier():
        found = shown(table.get("category"))
        return RuleError(f"{source}: category", found=found, expected="a name such as 'cuda'")
    if not isinstance(table.get("signature"), list) or not table["signature"]:
        return RuleError(f"{source}: no rules", expected="[[signature]] tables")
    return None


def _clash(rule_id: str, source: str, first: str) -> RuleError:
    where = "the same file" if source == first else first
    return RuleError(
        f"{source}: rule {rule_id}: field id",
        found=f"the same id in {where}",
        expected="an id of its own",
        hint="rename the rule; a packaged rule can't be replaced",
    )
