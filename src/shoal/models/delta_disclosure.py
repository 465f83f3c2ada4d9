"""δ-disclosure privacy: no sensitive value is much more, or much less, likely in a class than in the whole table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf, log
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import AfterValidator, Field

from shoal.encoding.types import Floats, Ints
from shoal.frequencies.frequencies import Background, Classes, Histogram
from shoal.models._conditions import Condition, find_shares
from shoal.models._exact import CLEAR
from shoal.models._formatting import check_digits, logarithm, short
from shoal.models._scores import score_by_change
from shoal.models._sensitive import SensitiveModel
from shoal.models._shares import Rises, falls
from shoal.models._thresholds import Gain
from shoal.models.base import Census, Holds, Need

_NEAR = 1e-9
"""Logarithms of an audit that differ by less are compared to fifty digits."""
_Moves = tuple[Ints, Floats, Callable[[int], Fraction]]
"""The class of each entry, the logarithm of how much more or less likely it is, and that ratio exactly."""


class DeltaDisclosure(SensitiveModel):
    """No sensitive value is more, or less, likely in a class than in the whole table by a factor of exp(δ).

    With a share p in the class and q in the table, \\|log(p / q)\\| is below δ for every value of the table, in natural
    logarithms; so every class holds every value.

    Why it is safe: whatever value someone has in mind, finding a person's class neither makes it much more likely nor
    rules it out. A missing value that may be any (``wildcard``), or whose record is suppressed (``suppress``), counts
    as each value, and as none, in the class and in the rest of the table. Where persons are counted, shares are those
    of the persons who have the value. The whole table are all records of the original, those too that are suppressed.
    Logarithms of fractions are no decimals, so no class is at the edge; attained is told to twelve digits, rounded up.

    Cost: one pass over the cells. A union of classes that comply complies: its shares are between theirs.

    References
    ----------
    Brickell, J. and Shmatikov, V. (2008). The cost of privacy: destruction of data-mining utility in anonymized data
    publishing. KDD.

    Examples
    --------
    >>> DeltaDisclosure(on="illness", delta=1).meets(0.7), DeltaDisclosure(on="illness", delta=1).meets(1.1)
    (True, False)
    """

    thresholds = (Gain("delta"),)
    protects_from: ClassVar[str] = (
        "Learning that any value is much more, or much less, likely for a person than for everyone."
    )
    leaves_open: ClassVar[str] = "What the distribution of the whole table says of everyone in it."
    measured_with: ClassVar[tuple[Mapping[str, Any], ...]] = ({"delta": 1},)
    measured_as: ClassVar[int] = 7

    delta: Annotated[float, Field(gt=0.0, allow_inf_nan=False), AfterValidator(check_digits)]
    """How far the logarithm of a likelihood may move."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """Values of classes and table."""
        return ("counts", "values", "table")

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether it has every value, about as often as the table."""
        owners, moves, exactly = self._moves(classes, background)
        broken = moves > self.delta
        for index in np.flatnonzero(np.abs(moves - self.delta) <= CLEAR).tolist():
            broken[index] = logarithm(exactly(index)) > Decimal(repr(self.delta))
        result = self._complete(self.histogram(classes, background), background)
        result[owners[broken]] = False
        return result

    def conditions(self, background: Background) -> Sequence[Condition]:
        """Ask of every value about its share in the table."""
        names = self.sensitive_columns
        shares, factor = find_shares(names, background), float(np.exp(min(self.delta, 700.0)))
        return Condition("caps", names, shares * factor), Condition("floors", names, shares / factor)

    def measure(self, classes: Classes, background: Background) -> float | None:
        """Return how far the logarithm of a likelihood moves at most; infinite where a class lacks a value."""
        if not classes.count:
            return None
        if not self._complete(self.histogram(classes, background), background).all():
            return inf
        _, moves, exactly = self._moves(classes, background)
        near = np.flatnonzero(moves >= moves.max() - CLEAR).tolist()
        ratios = {max(exactly(index), Fraction(1)) for index in near}
        return short(max(logarithm(ratio) for ratio in ratios), up=True)

    def _complete(self, own: Histogram, background: Background) -> Holds:
        result: Holds = np.diff(own.starts) == len(background.table(self.sensitive_columns).values)
        return result & (own.persons > 0)

    def _moves(self, classes: Classes, background: Background) -> _Moves:
        own, names = self.histogram(classes, background), self.sensitive_columns
        rises = Rises.of(own, background, names)
        above, below = falls(own, background, names)
        numerators, denominators = np.append(rises.above, below), np.append(rises.below, above)
        moves = np.log(numerators.astype(np.float64) / denominators.astype(np.float64))

        def exactly(index: int) -> Fraction:
            return Fraction(int(numerators[index]), int(denominators[index]))

        return np.append(rises.classes, own.classes), moves, exactly

    def recount(self, census: Census) -> float | None:
        """Look at every value of the table in every class again."""
        counted, everyone = self.read_counts(census), self.read_counts(census).table_persons
        ratios: set[Fraction] = set()
        worst = 0.0
        for values, blank, size in self.rows(census):
            for value, held in counted.table.items():
                mine = values.get(value, 0)
                if not mine:
                    return inf
                # a person who has no value here may have this one elsewhere, known or not
                mixed = 0 if counted.unknown is None else blank
                less = held + max(counted.table_blank - blank + mixed, 0)
                rise = Fraction(min(mine + blank, size) * everyone, min(held + blank - mixed, everyone) * size)
                fall = Fraction(min(less, everyone) * size, mine * everyone)
                for ratio in (max(rise, Fraction(1)), max(fall, Fraction(1))):
                    moved = log(ratio)
                    if moved >= worst - _NEAR:
                        worst = max(worst, moved)
                        ratios.add(ratio)
            if values.keys() - counted.table.keys():
                return inf  # a value that the table does not have
        furthest = [ratio for ratio in ratios if log(ratio) >= worst - _NEAR]
        if not furthest:  # nobody has a value that could be learned
            return 0.0 if len(census.sizes) else None
        return short(max(logarithm(ratio) for ratio in furthest), up=True)

    def score_classes(self, census: Census) -> Floats:
        """By the greatest change."""
        return score_by_change(census, self.read_counts(census))
