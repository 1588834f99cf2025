"""Every error that Relume raises on purpose, and how its message is put together.

::

    RelumeError            exit 2   anything we can name
    ├── InputError         exit 2   a file, line, argument or request that we can't use
    ├── ConfigError        exit 2   the configuration file, environment or flags are wrong
    ├── RuleError          exit 2   a signature or metric rule is wrong
    └── UnreachableError   exit 3   a dependency (Slurm, database, service) doesn't answer

    Permanent    mixin: the same call fails again, don't retry
    Retryable    mixin: the same call may pass after `after_seconds`

`InputError`, `ConfigError` and `RuleError` are permanent, `UnreachableError` is retryable. A
message has four parts: what failed, what was found, what was expected, what to do. `error_type` and
`stage` are closed sets for metric labels; free text belongs in the message only.
"""

from __future__ import annotations

from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_SHOWN = 80
"""Characters of a value that a message shows."""


class Stage(StrEnum):
    """Where in the flow an error arose: a bounded metric label."""

    STARTING = "starting"
    """Reading configuration or rules, before any event."""
    RECEIVING = "receiving"
    """Taking something in: files, requests, answers of Slurm."""
    PROCESSING = "processing"
    """Between taking in and giving out."""
    SENDING = "sending"
    """Giving something out: lake, ledger, Slurm, HTTP answers."""


class Permanent:
    """Mixin: trying the same again fails the same way."""


class Retryable:
    """Mixin: the same call may pass later; wait at least `after_seconds` before the next try."""

    after_seconds: float = 1.0


class RelumeError(Exception):
    """Base of all errors that Relume raises on purpose.

    Parameters
    ----------
    what
        What failed, with the id of the object: a file and line, a command, a job.
    found
        What was there instead; left out of the message when null.
    expected
        What would have been right; left out when null.
    hint
        What to do about it, a clause without a full stop; left out when null.

    Attributes
    ----------
    exit_code
        What the command line exits with (2 usage or configuration, 3 dependency unreachable).
    error_type
        A slug from a closed set, one a class, for metric labels.
    stage
        Where the error arose, for metric labels; subclasses narrow it.
    listed
        The lines of a message that lists several errors; empty for one error.

    Examples
    --------
    >>> print(InputError("x.log:3", found="a NUL byte", expected="text", hint="is it a core file?"))
    x.log:3; found a NUL byte; expected text; is it a core file?
    """

    exit_code: ClassVar[int] = 2
    error_type: ClassVar[str] = "relume"
    stage: ClassVar[Stage] = Stage.PROCESSING
    listed: tuple[str, ...] = ()

    def __init__(
        self,
        what: str,
        *,
        found: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        parts = (
            what,
            None if found is None else f"found {found}",
            None if expected is None else f"expected {expected}",
            hint,
        )
        # One argument only: an exception is unpickled as cls(*args), from worker processes too.
        super().__init__("; ".join(part for part in parts if part is not None))
        self.what = what
        self.found = found
        self.expected = expected
        self.hint = hint


class InputError(Permanent, RelumeError):
    """Something a user or another program handed in can't be used."""

    error_type = "input"
    stage = Stage.RECEIVING


class ConfigError(Permanent, RelumeError):
    """The configuration file, an environment variable or a flag is wrong."""

    error_type = "config"
    stage = Stage.STARTING


class RuleError(Permanent, RelumeError):
    """A signature or metric rule is malformed, or fails its own samples."""

    error_type = "rule"
    stage = Stage.STARTING


class UnreachableError(Retryable, RelumeError):
    """A dependency doesn't answer: Slurm, a database, a log store, the service.

    Parameters
    ----------
    after_seconds
        How long to wait before the next try, at least.
    """

    exit_code = 3
    error_type = "unreachable"
    stage = Stage.RECEIVING

    def __init__(
        self,
        what: str,
        *,
        found: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
        after_seconds: float = Retryable.after_seconds,
    ) -> None:
        super().__init__(what, found=found, expected=expected, hint=hint)
        self.after_seconds = after_seconds


Error = TypeVar("Error", bound=RelumeError)


def first_of(errors: Sequence[Error], *, see: str | None = None) -> Error:
    """Return the first of several errors, which counts the others and says where to `see` them.

    Examples
    --------
    >>> print(first_of([InputError("a", hint="mend it"), InputError("b")], see="`relume x`"))
    a; mend it; and 1 more error: see `relume x`
    """
    first, *others = errors
    if not others:
        return first
    more = f"and {counted(len(others), 'more error')}" + (f": see {see}" if see else "")
    hint = "; ".join(filter(None, (first.hint, more)))
    return type(first)(first.what, found=first.found, expected=first.expected, hint=hint)


def all_of(errors: Sequence[Error], what: str) -> Error:
    """Return one error that lists all of several, each on a line of its own.

    Examples
    --------
    >>> print(all_of([InputError("a", hint="mend it"), InputError("b")], "in x"))
    2 errors in x:
    - a; mend it
    - b
    """
    if len(errors) == 1:
        return errors[0]
    listed = (f"{counted(len(errors), 'error')} {what}:", *(f"- {error}" for error in errors))
    error = type(errors[0])("\n".join(listed))
    error.listed = listed
    return error


def counted(count: int, noun: str, form: str = "") -> str:
    """Return a number, formatted as `form` says, with its noun; the plural ends in s.

    Examples
    --------
    >>> counted(1, "line"), counted(0, "line"), counted(12_000, "line", ",")
    ('1 line', '0 lines', '12,000 lines')
    """
    return f"{count:{form}} {noun}" if count == 1 else f"{count:{form}} {noun}s"


def shown(value: object) -> str:
    """Return a value of a TOML or JSON document the way people write it there, cut if it is long.

    Examples
    --------
    >>> print(shown("a b"), shown(True), shown({"x": [1, None]}), shown(None))
    'a b' true {"x": [1, null]} nothing
    """
    import json  # noqa: PLC0415 - only messages need it, `--help` doesn't

    if value is None:
        return "nothing"
    if isinstance(value, str):
        return repr(value[:MAX_SHOWN])
    if isinstance(value, bool | dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)[:MAX_SHOWN]
    return str(value)[:MAX_SHOWN]


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the one of `names` that `name` is most likely a misspelling of, null if none is close.

    Letter case and the difference between ``-`` and ``_`` don't count.

    Examples
    --------
    >>> nearest("Confidence-Treshold", ["max_evidence", "confidence_threshold"])
    'confidence_threshold'
    >>> nearest("walrus", ["max_evidence"]) is None
    True
    """
    folded = {candidate.lower().replace("-", "_"): candidate for candidate in names}
    close = get_close_matches(name.lower().replace("-", "_"), folded, n=1)
    return folded[close[0]] if close else None


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """Return the hint ``did you mean 'x'?`` for a misspelt `name`, null if nothing is close."""
    close = nearest(name, names)
    return None if close is None else f"did you mean {close!r}?"
