"""Inference: the attacker learns from the release how sensitive values follow from the quasi-identifiers."""

from __future__ import annotations

from math import sqrt
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats, Ints
from shoal.risk._cells import Cells
from shoal.risk.base import Attribute, AttributeRisk, Evidence, Finding

_BLOCK = 20_000
_MOST_VALUES = 200
_CERTAIN = 1.96
"""Standard deviations on both sides that hold 95 of 100 draws."""


class Inference(AttributeRisk):
    """The attacker learns from the release how sensitive values follow from what records show, and guesses.

    The rule is naive Bayes over what records show in each quasi-identifier, and in all of them (their class), with
    counts smoothed. ``main`` is the share of records whose value it guesses, ``control`` the same where the record
    itself was taken out of what is learned: what would be guessed about a person who is not in the table. ``baseline``
    is the share of the most frequent value. ``gain`` is how far ``control`` goes from baseline to certainty,
    ``own`` how far ``main`` goes from control to certainty: what being in the table adds. A leak is a main rate that
    goes further than ``most`` from baseline to certainty, by the lower end of a 95 % interval. High gain with little of
    one's own is what the table teaches about everyone; it can harm all the same.

    Cost: for each distinct combination of class and value, the number of values times the columns. At most the 200 most
    frequent values are guessed.

    References
    ----------
    Giomi, M., Boenisch, F., Wehmeyer, C. and Tasnádi, B. (2023). A unified framework for quantifying privacy risk in
    synthetic data. PoPETs 2023(2).
    Kifer, D. (2009). Attacks on privacy and deFinetti's theorem. SIGMOD.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.risk.base import PublishedClasses
    >>> classes = np.repeat([0, 1], 50)
    >>> release = PublishedClasses(classes, np.array([[0], [1]]), np.array([50, 50]))
    >>> illness = Attribute(classes, np.array([50, 50]))  # it follows from the class
    >>> evidence = Evidence(np.array([50, 50]), release=release, sensitive={"illness": illness})
    >>> Inference().run(evidence)[0].measured
    {'main': 1.0, 'control': 1.0, 'baseline': 0.5, 'gain': 1.0, 'own': 0.0}
    """

    means: ClassVar[str] = "What the release teaches lets somebody guess a person's sensitive value."

    most: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.5
    """How far from baseline to certainty the rate may go."""

    def about(self, evidence: Evidence, attribute: Attribute) -> Finding | None:
        """Learn, and guess each record's value."""
        assert evidence.release is not None
        cells, release = Cells.about(evidence, attribute), evidence.release
        total = int(cells.counts.sum())
        if not total:
            return None
        frequent = np.argsort(-np.bincount(cells.values, cells.counts), kind="stable")[:_MOST_VALUES]
        index = np.full(int(cells.values.max()) + 1, -1, np.int64)
        index[frequent] = np.arange(len(frequent))
        values = index[cells.values]
        rule = _Rule(release.shown, cells.classes, values, cells.counts, len(frequent))
        main = control = 0
        for begin in range(0, len(values), _BLOCK):
            evidence.progress("guessing sensitive values", begin, len(values))
            part = slice(begin, begin + _BLOCK)
            own, counts = values[part], cells.counts[part]
            main += int(counts[rule.guess(cells.classes[part]) == own].sum())
            control += int(counts[rule.guess(cells.classes[part], without=own) == own].sum())
        baseline = int(rule.prior.max()) / total
        rates = main / total, control / total
        measured = {
            "main": rates[0],
            "control": rates[1],
            "baseline": baseline,
            "gain": _further(rates[1], baseline),
            "own": _further(rates[0], rates[1]),
        }
        certain = rates[0] - _CERTAIN * sqrt(rates[0] * (1 - rates[0]) / total)
        left = len(np.unique(cells.values)) - len(frequent)
        left_out = f"{left:,} rare values are never guessed" if left > 0 else ""
        return Finding(_further(certain, baseline) > self.most, measured, left_out=left_out)


def _further(rate: float, start: float) -> float:
    """Return how far a rate goes from a start to certainty."""
    return max((rate - start) / (1.0 - start), 0.0) if start < 1.0 else 0.0


class _Rule:
    """Naive Bayes over counts, from which any one record can be taken out again."""

    def __init__(self, shown: Ints, classes: Ints, values: Ints, counts: Ints, width: int) -> None:
        self.width = width
        inside = values >= 0  # a value that is never guessed
        classes, values, counts = classes[inside], values[inside], counts[inside]
        self.prior = np.bincount(values, counts, width).astype(np.float64)
        features = [*shown.T, np.arange(len(shown))]
        self.tables = [self._table(feature, classes, values, counts) for feature in features]

    def _table(self, feature: Ints, classes: Ints, values: Ints, counts: Ints) -> tuple[Ints, Floats]:
        """Return the number of each class's text, and ``[text, value]``: how many have both."""
        texts, numbers = np.unique(feature, return_inverse=True)
        numbers = numbers.ravel().astype(np.int64)
        held = np.bincount(numbers[classes] * self.width + values, counts, len(texts) * self.width).astype(np.float64)
        return numbers, held.reshape(len(texts), self.width)

    def guess(self, classes: Ints, without: Ints | None = None) -> Ints:
        """Return the likeliest value in each class; ``without`` one record that has this value."""
        rows = np.arange(len(classes))
        own = np.zeros((len(classes), self.width))
        if without is not None:
            known = without >= 0
            own[rows[known], without[known]] = 1.0
        prior = self.prior - own
        scores = np.log(np.maximum(prior, 0.0) + 1e-9)
        for numbers, table in self.tables:
            held = table[numbers[classes]] - own
            # smoothed as if one more record of each value were there, spread over the texts as all records are
            spread = held.sum(axis=1, keepdims=True) / np.maximum(prior.sum(axis=1, keepdims=True), 1.0)
            scores += np.log((held + spread + 1e-9) / (prior + 1.0))
        guessed: Ints = np.argmax(scores, axis=1)
        return guessed
