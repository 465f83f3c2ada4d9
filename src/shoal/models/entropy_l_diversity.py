"""Entropy l-diversity: the values of every class are as uncertain as l even ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from math import ceil, fsum, gcd, inf, log, prod
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field

from shoal.encoding.types import Floats, Ints
from shoal.frequencies.frequencies import Background, Classes, Histogram
from shoal.models import _entropy
from shoal.models._conditions import Condition, tabulate_entropy
from shoal.models._exact import CLEAR, decimal
from shoal.models._formatting import check_digits, short
from shoal.models._scores import score_by_evenness
from shoal.models._sensitive import SensitiveModel
from shoal.models._thresholds import EvenValueCount
from shoal.models.base import Census, Holds


class EntropyLDiversity(SensitiveModel):
    """The sensitive values of every class have an entropy of at least log l: they are as uncertain as l even ones.

    Why it is safe: a value that is much more likely than the others lowers the entropy, so it cannot be guessed as
    from fewer than l even ones, on average. It is stronger than distinct l-diversity. A missing value that may be any
    (``wildcard``) counts as the most frequent one, which is the worst it can be. Where persons are counted, a class
    must also have l of them. Attained is told as exp(entropy), to twelve digits, rounded down; the edge (l even
    values) is decided by whole numbers.

    ``grassberger`` estimates the entropy that the records of a class were drawn from, which is more than theirs:
    it asks for less, and a union of classes that comply may not comply. A class with wildcards then never complies.

    Cost: one pass over the cells. By Shannon a union of classes that comply complies, for entropy is concave.

    References
    ----------
    Machanavajjhala, A., Kifer, D., Gehrke, J. and Venkitasubramaniam, M. (2007). l-diversity: privacy beyond
    k-anonymity. ACM Transactions on Knowledge Discovery from Data 1(1).
    Grassberger, P. (2003). Entropy estimates from insufficient samplings. arXiv physics/0307138.

    Examples
    --------
    >>> EntropyLDiversity(on="illness", l=2.5).meets(2.5), EntropyLDiversity(on="illness", l=2.5).meets(2.49)
    (True, False)
    """

    thresholds = (EvenValueCount("l"),)
    protects_from: ClassVar[str] = "Naming a person's value: on average it is as hard as among l even ones."
    leaves_open: ClassVar[str] = "That the values of a class mean much the same, or are unlike those of the table."
    measured_with: ClassVar[tuple[Mapping[str, Any], ...]] = ({"l": 2},)
    measured_as: ClassVar[int] = 2

    l: Annotated[float, Field(gt=1.0, allow_inf_nan=False), AfterValidator(check_digits)]  # noqa: E741 - its own letter
    """How many even values are as uncertain."""
    estimator: Literal["shannon", "grassberger"] = "shannon"
    """Whether the entropy of the records counts, or an estimate of the one that they were drawn from."""

    @property
    def monotone(self) -> bool:
        """Shannon's entropy of a union is no less than the least."""
        return self.estimator == "shannon"

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether its entropy is at least log l."""
        histogram = self.histogram(classes, background)
        counts, entropies = self._entropies(histogram)
        result: Holds = (entropies >= log(self.l)) & (self._cap(histogram, classes) >= self.l)
        if self.estimator == "shannon":  # the edge is a whole number's
            near = np.abs(entropies - log(self.l)) <= CLEAR
            for index in np.flatnonzero(near & (self._cap(histogram, classes) >= self.l)).tolist():
                held = counts[histogram.starts[index] : histogram.starts[index + 1]].tolist()
                result[index] = _entropy.shannon_is_at_least(held, decimal(self.l))
        return result

    def conditions(self, background: Background) -> Sequence[Condition]:
        """Ask for values as even; an estimate besides asks for l of them."""
        names = self.sensitive_columns
        most = int(background.table(names).counts.max(initial=0))
        numbers = tabulate_entropy(most) if self.estimator == "shannon" else _entropy.tabulate_estimate(most)
        even = Condition("evenness", names, numbers, log(self.l))
        return even, Condition("distinct", names, np.zeros(0), ceil(self.l))

    def measure(self, classes: Classes, background: Background) -> float | None:
        """Return exp of the least entropy of a class."""
        if not classes.count:
            return None
        histogram = self.histogram(classes, background)
        counts, entropies = self._entropies(histogram)
        least = float(self._cap(histogram, classes).min())
        told = {least} if least > 1.0 else {1.0}
        near = np.flatnonzero(entropies <= entropies.min() + CLEAR).tolist() if least > 1.0 else []
        for held in {tuple(counts[histogram.starts[index] : histogram.starts[index + 1]].tolist()) for index in near}:
            told.add(self._told(held))
        return max(min(told), 1.0)

    def _told(self, counts: Sequence[int]) -> float:
        if self.estimator == "shannon":
            return _entropy.effective(counts)
        with localcontext(Context(prec=60)):
            return short(_entropy.grassberger_exactly(counts).exp(), up=False)

    def _entropies(self, histogram: Histogram) -> tuple[Ints, Floats]:
        if self.estimator == "shannon":
            counts = _entropy.worst_counts(histogram)
            return counts, _entropy.shannon(histogram, counts)
        return histogram.counts, _entropy.grassberger(histogram)

    def _cap(self, histogram: Histogram, classes: Classes) -> Ints:
        """What no class exceeds: its values and its persons; 1 where nothing can be said."""
        values = np.minimum(np.diff(histogram.starts), classes.sizes)
        return values if self.estimator == "shannon" else np.where(histogram.wild > 0, np.minimum(values, 1), values)

    def recount(self, census: Census) -> float | None:
        """Add up each class again, and tell the least exactly."""
        attained = inf
        least = [(self._estimate(row), row) for row in self._worst_rows(census)]
        edge = min((entropy for entropy, _ in least), default=0.0) + 1e-9
        for row in {row for entropy, row in least if entropy <= edge}:
            attained = min(attained, self._counted(row))
        return None if not least else max(attained, 1.0)

    def _worst_rows(self, census: Census) -> Iterator[tuple[int, ...]]:
        """Yield the counts of each class, the most frequent first; of one value where nothing more can be said."""
        for values, blank, size in self.rows(census):
            counts = sorted(values.values(), reverse=True) or [blank]
            if blank and self.estimator == "grassberger":
                yield (size,)
            elif size < len(counts):  # fewer persons than values
                yield (1,) * size if size > 1 else (size,)
            else:
                yield (counts[0] + (blank if values else 0), *counts[1:])

    def _estimate(self, row: tuple[int, ...]) -> float:
        total = sum(row)
        if self.estimator == "shannon" or len(row) == 1:
            return fsum(count / total * log(total / count) for count in row)
        sums = (count * (fsum(2 / odd for odd in range(1, count, 2)) - float(_entropy.EULER) - log(2)) for count in row)
        return min(log(total) - fsum(sums) / total, log(len(row)))

    def _counted(self, row: tuple[int, ...]) -> float:
        """The number of even values of a class, twelve digits, rounded down."""
        total = sum(row)
        if len(row) == 1:
            return 1.0
        with localcontext(Context(prec=50)):
            if self.estimator == "grassberger":
                power = Decimal(0)
                for count in row:
                    power += count * (sum(2 / Decimal(odd) for odd in range(1, count, 2)) - _entropy.EULER)
                return min(short(2 * total / (power / total).exp(), up=False), float(len(row)))
            product = Decimal(1)
            for count in row:
                product *= (Decimal(total) / count) ** (Decimal(count) / total)
            told = float(f"{product:.11e}")
        shared = gcd(*row)
        row, total = tuple(count // shared for count in row), total // shared
        number = Fraction(repr(told))
        if abs(Fraction(product) - number) < Fraction(1, 10**30):  # the edge: whole numbers decide
            above = (total * number.denominator) ** total
            exact = above >= number.numerator**total * prod(count**count for count in row)
            return told if exact else short(product, up=False)
        return short(product, up=False)

    def score_classes(self, census: Census) -> Floats:
        """By the entropy."""
        return score_by_evenness(census, self.read_counts(census))
