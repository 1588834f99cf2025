"""Endings that are alike: failures that nobody knows, put into families by the words they end with.

TF-IDF over the masked words of the lines that are shown of each failure, and agglomerative
clustering by cosine distance with average linkage: two groups become one as long as their members
are, on average, closer to each other than `MAX_DISTANCE`. Only who clusters imports this module: it
loads scikit-learn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from sklearn.cluster import AgglomerativeClustering
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_distances

from relume.models.templates.masking import MASK, Masker

MAX_DISTANCE = 0.6
"""Cosine distance (0 to 1) up to which endings are of one family. Higher makes fewer families."""
MAX_DISTINCT = 2000
"""Different endings that are clustered: the time grows with their square. The rarer ones beyond
that join the family that is closest, or are a family of their own."""


def ending_words(lines: Sequence[str]) -> tuple[str, ...]:
    """Return what an ending is compared by: the constant words of its lines, and pairs of them.

    Examples
    --------
    >>> ending_words(["[rank3]: seal 4 is open"])
    ('seal', 'is', 'open', 'seal is', 'is open')
    """
    masker, words = Masker(), list[str]()
    for line in lines:
        masked = masker.words(line.encode("utf-8", "replace"))
        constant = [word.decode().lower() for word in masked if MASK not in word]
        words += constant
        words += [f"{a} {b}" for a, b in pairwise(constant)]
    return tuple(words)


def cluster(endings: Sequence[Sequence[str]]) -> list[int]:
    """Return the number of each ending's family, from 0 on, by where a family comes first.

    Deterministic. Takes a second for 2,000 different endings. Those without any word are a family.

    Parameters
    ----------
    endings
        Each as `ending_words` gives it.

    Examples
    --------
    >>> texts = ["seal 4 is open", "keeper went home early", "seal 7 is open"]
    >>> cluster([ending_words([text]) for text in texts])
    [0, 1, 0]
    """
    distinct = Counter(tuple(ending) for ending in endings)
    if len(distinct) < 2:  # noqa: PLR2004 - one alone is a family
        return [0] * len(endings)
    common = [ending for ending, _ in distinct.most_common()]
    labels = dict(zip(common, _labels(common), strict=True))
    numbers: dict[int, int] = {}
    return [numbers.setdefault(labels[tuple(ending)], len(numbers)) for ending in endings]


def _labels(endings: Sequence[Sequence[str]]) -> list[int]:
    vectors = TfidfVectorizer(analyzer=_same, sublinear_tf=True).fit_transform(
        [list(ending) or [""] for ending in endings]
    )
    head = vectors[:MAX_DISTINCT]
    model = AgglomerativeClustering(
        n_clusters=None, distance_threshold=MAX_DISTANCE, metric="precomputed", linkage="average"
    )
    labels = [int(label) for label in model.fit_predict(cosine_distances(head))]
    for row in range(MAX_DISTINCT, len(endings)):
        near = (head @ vectors[row].T).toarray().ravel()
        closest = int(near.argmax())
        is_alike = 1 - near[closest] <= MAX_DISTANCE
        labels.append(labels[closest] if is_alike else max(labels) + 1)
    return labels


def _same(words: list[str]) -> list[str]:
    return words
