"""Trained on the release, tested on the original: can a class still be learned? Needs the extra ``ml``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.encoding.types import Bools, Ints
from shoal.errors import MissingExtra
from shoal.utility.statistics.columns import ColumnPair, Features, features
from shoal.utility.statistics.threads import one_blas_thread

TRAIN, TEST = 20_000, 10_000
"""The most records that are learned from, and that are tested on."""


@dataclass(frozen=True)
class Learned:
    """The share of original records whose class is found."""

    published: float
    """By what was learned from the release."""
    original: float
    """By what was learned from other records of the original."""
    majority: float
    """By always saying the most frequent class: who learns nothing."""
    trained: tuple[int, int]
    """Records of the original and of the release that were learned from."""
    tested: int

    @property
    def kept(self) -> float | None:
        """The part of what the original teaches beyond the majority that the release teaches too."""
        gain = self.original - self.majority
        return (self.published - self.majority) / gain if gain > 0 else None


@one_blas_thread
def compare_learning(columns: Sequence[ColumnPair], target: ColumnPair, *, seed: int = 0) -> Learned:
    """Train a logistic regression on each table and test both on original records.

    Three tenths of the original, drawn by the seed, are tested on; one model learns from the others, one from as large
    a part of the release. Persons of the test are in the release too, generalized: which ones is not known, as it
    should be. So a release as good as the original may look a little better than it.

    A published text counts in equal parts for each value that it covers, a range for the number that stands for it.

    References
    ----------
    Fung, B. C. M., Wang, K. and Yu, P. S. (2007). Anonymizing classification data for privacy preservation. IEEE TKDE
    19(5).
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.flatnonzero(target.values >= 0))
    tested, rest = order[: max(len(order) * 3 // 10, 1)][:TEST], order[max(len(order) * 3 // 10, 1) :][:TRAIN]
    classes, readable = _classes(target)
    shown = rng.permutation(np.flatnonzero(readable))
    shown = shown[: max(len(shown) * 7 // 10, 1)][:TRAIN]
    if not len(rest) or not len(shown):
        raise ValueError("a class needs records to learn from, in both tables")
    truth = target.values[tested]
    test = features(columns, tested, published=False)
    by_original = _fit(features(columns, rest, published=False), target.values[rest]).predict(test)
    by_release = _fit(features(columns, shown, published=True), classes[shown]).predict(test)
    majority = np.bincount(target.values[rest]).argmax()
    scores = [float((found == truth).mean()) for found in (by_release, by_original, majority)]
    return Learned(scores[0], scores[1], scores[2], (len(rest), len(shown)), len(tested))


def _classes(target: ColumnPair) -> tuple[Ints, Bools]:
    """The class of each published record, and whether it is one: the target must be published as it is."""
    single = target.covers.sizes == 1
    indices = np.round(target.covers.means(np.arange(target.covers.size, dtype=np.float64))).astype(np.int64)
    return indices[target.texts], single[target.texts]


class _Always:
    """Predicts the only class that there is."""

    def __init__(self, answer: int) -> None:
        self.answer = answer

    def predict(self, rows: Features) -> Ints:
        return np.full(len(rows), self.answer, np.int64)


def _fit(rows: Features, classes: Ints) -> Any:
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise MissingExtra.of("scikit-learn", "ml", "learning from a release") from None
    if len(np.unique(classes)) == 1:
        return _Always(int(classes[0]))
    return LogisticRegression(max_iter=300, tol=1e-3).fit(rows, classes)
