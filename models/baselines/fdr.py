"""Across jobs: which alarms hold although many streams were watched (online false discovery rate).

A budget per job-day keeps each job's false alarms rare; over ten thousand jobs they are many. Here
every stream is one hypothesis a window (its e-value: the evidence at any time of the window over
the samples of the window, see `e_value`). Of the alarms that hold, a share of at most `alpha` is
expected to be false, whatever depends on what: two streams of one job, all jobs of a hot afternoon.

Source: e-LORD (e-GAI, arXiv:2506.01452). A window is given the level

    alpha_t = share * (alpha - sum_{j < t} alpha_j / (R_{j-1} + 1)) * (R_{t-1} + 1)

where R counts the alarms that held before it; it holds once its e-value reaches 1 / alpha_t. Since
the level is fixed when the window begins, windows may overlap: R then counts what is known by then.

In a service that never ends all levels would go to nothing. With `memory` d < 1 discoveries fade
(arXiv:1710.00499: the rate among sum_j d^(t-j) of them). One that is false then
counts at most min(d^(t-j), 1 / (d R_{j-1} + 1)), so it is enough that one of the two sums

    sum_j d^(t-j) alpha_j        sum_j alpha_j / (d R_{j-1} + 1)

stays within alpha; the level is what the roomier one allows. With d = 1 this is e-LORD.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from relume.models.baselines.ranges import require_within


def e_value(evidence: float, samples: int) -> float:
    """Return the e-value of a window, of an e-detector's evidence at any time within it.

    Parameters
    ----------
    evidence
        The detector's sum of e-processes; it was 0 when the window began.
    samples
        How many samples the window has room for: without a change the evidence grows by one a
        sample on average, and this is what it comes to at most.

    Examples
    --------
    >>> e_value(1_728_000.0, 17_280)
    100.0
    """
    return evidence / max(1, samples)


_ENOUGH = 1e30
CONFIRMING = 60
"""Samples after an alarm in which another one confirms it."""


def e_value_of_alarms(places: Sequence[int], alpha: float, samples: int) -> float:
    """Return the e-value of a window in which an e-detector alarmed at these samples.

    The first alarm stands for the evidence that it needs. Another one within the next `CONFIRMING`
    samples is new evidence, which began at nothing after it: their e-values multiply, up to the
    first that isn't followed so. A slowdown that lasts confirms itself within a minute or two; a
    single wild stretch doesn't.

    Parameters
    ----------
    places
        Samples that alarmed, in order.
    alpha
        Of the e-detector.
    samples
        How many samples the window has room for.

    Examples
    --------
    >>> alpha, day = 0.01 / 17_280, 17_280
    >>> e_value_of_alarms([], alpha, day), round(e_value_of_alarms([900], alpha, day))
    (0.0, 100)
    >>> e_value_of_alarms([900, 912], alpha, day) > 1e6
    True
    """
    if not len(places):
        return 0.0
    value = e_value(1.0 / alpha, samples)
    for one, other in pairwise(places):
        if other - one > CONFIRMING or value > _ENOUGH:
            break
        value *= e_value(1.0 / alpha, CONFIRMING)
    return value


@dataclass(slots=True)
class OnlineFdr:
    """Gives out levels, and learns which alarms held. Three numbers, however many streams.

    Attributes
    ----------
    alpha
        Share of false ones among the alarms that hold (0-1).
    share
        What a window gets of what is left (0-1). Large: the first ones get most of it.
    memory
        d: 1 remembers for ever, 0.999 a thousand windows.
    rejections
        Alarms that held, faded.
    spent, faded
        The two sums.

    Raises
    ------
    InputError
        For a value out of its range.

    Examples
    --------
    >>> fdr = OnlineFdr(alpha=0.1, share=0.01, memory=1.0)
    >>> level = fdr.begin()
    >>> round(level, 6), fdr.holds(level, 900.0), fdr.holds(level, 2000.0)
    (0.001, False, True)
    >>> round(fdr.begin(), 6)  # a discovery earns more room
    0.00198
    """

    alpha: float = 0.1
    share: float = 0.001
    memory: float = 0.999
    rejections: float = 0.0
    spent: float = 0.0
    faded: float = 0.0

    def __post_init__(self) -> None:
        require_within(self, "fdr", dict.fromkeys(("alpha", "share", "memory"), (0, 1)))

    def begin(self) -> float:
        """Return the level of a new window."""
        self.rejections *= self.memory
        self.faded *= self.memory
        gain = self.rejections + 1.0
        room = max(self.alpha - self.faded, (self.alpha - self.spent) * gain, 0.0)
        level = min(1.0, self.share * room)
        self.spent += level / gain
        self.faded += level
        return level

    def holds(self, level: float, value: float) -> bool:
        """Return whether an e-value holds at its window's level; ask on once it did not, not after.

        The first time that it holds counts as a discovery.
        """
        held = level > 0.0 and value >= 1.0 / level
        self.rejections += held
        return held
