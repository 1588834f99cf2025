"""How likely a repaired node faults again soon: a model that learns from what came of others.

It is fitted on returns whose outcome is known by then, and says nothing about any before. A node
that is held can't show whether it would have faulted: its time begins when it is let go.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from relume.errors import InputError
from relume.models.lemons.history import NodeHistory
from relume.models.lemons.quarantine import DAY

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

MAX_RETURNS: Final = 5000
"""Returns that it learns from, the newest ones."""


@dataclass(frozen=True, slots=True)
class RefaultSettings:
    """What it predicts, and when it is fitted.

    Attributes
    ----------
    horizon_days
        A node that faults within it has faulted again.
    refit_days
        How often it is fitted anew.
    min_returns, min_each
        Returns of known outcome that it needs, and of either outcome.
    strength
        Of the regularisation's inverse: less trusts the data less.
    """

    horizon_days: float = 30.0
    refit_days: float = 7.0
    min_returns: int = 60
    min_each: int = 10
    strength: float = 0.1

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if not getattr(self, name) > 0:
                raise InputError(f"refault.{name} = {getattr(self, name)}", expected="above 0")


@dataclass(slots=True)
class _Return:
    """A node that came back: when its time began (null while it is held), and what came of it."""

    node: str
    features: tuple[float, ...]
    since: int | None
    faulted: bool | None = None


class RefaultModel:
    """Logistic regression on features of a node's history. Events come in order of their times.

    Parameters
    ----------
    settings
        What it predicts.
    nodes
        Nodes in service.

    Examples
    --------
    >>> model = RefaultModel(RefaultSettings(), nodes=400)
    >>> model.fault("n1", 0, "GPU")
    >>> model.returned("n1", DAY, began=0) is None  # nothing is known yet
    True
    """

    def __init__(self, settings: RefaultSettings, nodes: int) -> None:
        self.settings, self.fits = settings, 0
        self._history = NodeHistory(nodes)
        self._returns: deque[_Return] = deque(maxlen=MAX_RETURNS)
        self._last: dict[str, _Return] = {}
        self._fitted_at: int | None = None
        self._model: Pipeline | None = None
        self._usual = 1.0

    def fault(self, node: str, at: int, kind: str) -> None:
        """Take a fault that was seen."""
        self._settle(at)
        known = self._last.pop(node, None)
        if known is not None and known.faulted is None and known.since is not None:
            known.faulted = True
        self._history.fault(node, at, kind)

    def returned(self, node: str, at: int, *, began: int) -> float | None:
        """Take that a node is repaired; return how many times as likely as usual it faults again.

        It was out since `began`. Null before enough is known, and of a node without a fault.
        """
        features = self._history.returned(node, at, began=began)
        if features is None:
            return None
        if self._fitted_at is None or at - self._fitted_at >= self.settings.refit_days * DAY:
            self._settle(at)
            self._fit(at)
        self._last[node] = _Return(node, features, at)
        self._returns.append(self._last[node])
        if self._model is None:
            return None
        chance = self._model.predict_proba(np.array([features]))[0, 1]
        return float(chance) / self._usual

    def held(self, node: str) -> None:
        """Take that a node is kept out of use: what it would have done nobody sees."""
        if node in self._last:
            self._last[node].since = None

    def let_go(self, node: str, at: int) -> None:
        """Take that a node is in use again."""
        known = self._last.get(node)
        if known is not None and known.since is None:
            known.since = at

    def _settle(self, now: int) -> None:
        """Note who has been quiet for long enough."""
        horizon = round(self.settings.horizon_days * DAY)
        for node, known in list(self._last.items()):
            if known.since is not None and known.since + horizon <= now:
                known.faulted = False
                del self._last[node]

    def _fit(self, now: int) -> None:
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - takes a second
        from sklearn.pipeline import make_pipeline  # noqa: PLC0415
        from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

        known = [one for one in self._returns if one.faulted is not None]
        outcomes = np.array([one.faulted for one in known], bool)
        again = int(outcomes.sum())
        s = self.settings
        if len(known) < s.min_returns or min(again, len(known) - again) < s.min_each:
            return
        model = make_pipeline(StandardScaler(), LogisticRegression(C=s.strength))
        self._model = model.fit(np.array([one.features for one in known]), outcomes)
        self._usual, self._fitted_at = again / len(known), now
        self.fits += 1
