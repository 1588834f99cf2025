"""What engines yield, on disk: each result when it is done, all of them in order at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from relume.models.templates.history import TemplateHistory
from relume.serve.backtest.engines.lessons import InOrder
from relume.serve.backtest.engines.work import Advance, GivenUp, Piece, Played
from relume.serve.backtest.results import Results


@dataclass(slots=True)
class Record:
    """Takes what came of pieces, in any order.

    Parameters
    ----------
    results
        Where they go.
    units
        All units of the backtest, in their order.
    advance
        Is told how many of them are done.
    teaches
        Learns what healthy attempts printed, in the order of `units`; null for nobody.

    Attributes
    ----------
    pieces
        What is still to be replayed.
    """

    results: Results
    units: Sequence[str]
    advance: Advance
    teaches: TemplateHistory | None = None
    pieces: list[Piece] = field(init=False)

    def __post_init__(self) -> None:
        self.results.given_up.clear()
        self.pieces = [(one,) for one in self.units if one not in self.results.done]

    def take(self, found: Iterable[Played | GivenUp]) -> None:
        """Keep everything that is yielded, and bring it into order at the end.

        Raises
        ------
        OSError
            When results can't be written.
        """
        places = {piece: place for place, piece in enumerate(self.pieces)}
        learner = None if self.teaches is None else InOrder(self.teaches)
        done, total = len(self.units) - sum(map(len, self.pieces)), len(self.units)
        self.advance(done, total)
        try:
            for one in found:
                self._keep(one)
                if learner is not None:
                    learner.take(places[one.piece], getattr(one, "lessons", ()))
                done += len(one.piece)
                self.advance(done, total)
        finally:
            if learner is not None:
                learner.close()
        self.results.arrange(self.units)

    def _keep(self, one: Played | GivenUp) -> None:
        if isinstance(one, GivenUp):
            self.results.given_up |= dict.fromkeys(one.piece, one.reason)
            return
        for unit, record in zip(one.piece, one.results, strict=True):
            self.results.add_encoded(unit, record)
