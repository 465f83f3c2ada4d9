"""β-likeness: no sensitive value is much more likely in a class than in the whole table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats, Ints
from shoal.frequencies.frequencies import Background, Classes, Frequencies
from shoal.models._conditions import Condition, find_shares
from shoal.models._exact import CLEAR, compare_ratio, decimal, find_greatest_ratio
from shoal.models._formatting import logarithm, round_up
from shoal.models._scores import score_by_gain
from shoal.models._sensitive import SensitiveModel
from shoal.models._shares import Rises, least_for_share
from shoal.models._thresholds import Gain
from shoal.models.base import Census, Holds, Need


class BetaLikeness(SensitiveModel):
    """No sensitive value is more likely in a class than in the whole table by more than β times that likelihood.

    With a share p in the class and q in the table, (p - q) / q is at most β wherever p is above q. *Enhanced* asks
    besides that it is at most -log q, so that frequent values cannot become certain.

    Why it is safe: someone who finds a person's class gains at most that much in any one value, rare ones included;
    distances that sum over values leave rare ones open. What becomes less likely is not bounded. A missing value that
    may be any (``wildcard``), or whose record is suppressed (``suppress``), counts as each value in turn: in the class
    as the value that is looked at, in the rest of the table as another. Where persons are counted, shares are those of
    the persons who have the value. The whole table are all records of the original, those too that are suppressed.

    Cost: one pass over the cells. A union of classes that comply complies: its shares are between theirs.

    References
    ----------
    Cao, J. and Karras, P. (2012). Publishing microdata with a robust privacy guarantee. PVLDB 5(11).

    Examples
    --------
    >>> BetaLikeness(on="illness", beta=1).meets(1.0), BetaLikeness(on="illness", beta=1).meets(1.5)
    (True, False)
    """

    thresholds = (Gain("beta"),)
    protects_from: ClassVar[str] = (
        "Finding any one value much more likely for a person than for everyone, rare ones included."
    )
    leaves_open: ClassVar[str] = "Ruling values out: how much less likely a value becomes is not bounded."
    measured_with: ClassVar[tuple[Mapping[str, Any], ...]] = ({"beta": 1, "enhanced": False},)
    measured_as: ClassVar[int] = 6

    beta: Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
    """How much more likely a value may be, as a multiple of its likelihood in the whole table."""
    enhanced: bool = True
    """Whether the gain is also at most -log of the likelihood in the whole table."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """Values of classes and table."""
        return ("counts", "values", "table")

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether no value gains too much."""
        rises = self._rises(classes, background)
        broken = compare_ratio(rises.above, rises.below, 1 + decimal(self.beta)) > 0
        if self.enhanced:
            broken |= _certain(rises)
        result: Holds = classes.sizes > 0
        result[rises.classes[broken]] = False
        return result

    def conditions(self, background: Background) -> Sequence[Condition]:
        """Ask of no value more than its share in the table and what it may gain."""
        shares = find_shares(self.sensitive_columns, background)
        gains = np.minimum(self.beta, -np.log(shares)) if self.enhanced else self.beta
        return (Condition("caps", self.sensitive_columns, shares * (1.0 + gains)),)

    def measure(self, classes: Classes, background: Background) -> float | None:
        """Return the greatest gain; infinite where a value gains more than -log of its likelihood."""
        if not classes.count:
            return None
        rises = self._rises(classes, background)
        if self.enhanced and _certain(rises).any():
            return inf
        return round_up(max(find_greatest_ratio(rises.above, rises.below) - 1, Fraction(0)))

    def least_with(self, background: Background, frequencies: Frequencies) -> Ints:
        """Return how many records a class needs so that one of a rare value is no greater share than it may be."""
        likely = self.likely_values(background, frequencies)
        gains = np.full(len(likely), float(self.beta))
        if self.enhanced:
            gains = np.minimum(gains, -np.log(likely))
        return np.maximum(least_for_share(likely * (1.0 + gains)), self.least_of(background))

    def _rises(self, classes: Classes, background: Background) -> Rises:
        return Rises.of(self.histogram(classes, background), background, self.sensitive_columns)

    def recount(self, census: Census) -> float | None:
        """Look at every value of every class again."""
        counted, everyone = self.read_counts(census), self.read_counts(census).table_persons
        worst = Fraction(0)
        for values, blank, size in self.rows(census):
            for value in values if not blank else {*values, *counted.table}:
                # a person who has no value here may have this one elsewhere, and be counted already
                held = counted.table.get(value, 0) + (blank if counted.unknown is None else 0)
                if not held:
                    return inf  # no such value in the table
                mine, often = min(values.get(value, 0) + blank, size), min(held, everyone)
                # whole numbers: there is one such question for each value of each class
                if mine * everyone * worst.denominator > (worst.numerator + worst.denominator) * size * often:
                    worst = Fraction(mine * everyone, size * often) - 1
                if self.enhanced and _gains_too_much(Fraction(mine, size), Fraction(often, everyone)):
                    return inf
        return round_up(worst) if len(census.sizes) else None

    def score_classes(self, census: Census) -> Floats:
        """By the greatest gain."""
        return score_by_gain(census, self.read_counts(census))


def _certain(rises: Rises) -> Holds:
    """Return which entries gain more than -log of the likelihood in the table."""
    gains = rises.above.astype(np.float64) / rises.below.astype(np.float64) - 1.0
    bounds = -np.log(rises.held / max(rises.everyone, 1))
    result: Holds = gains > bounds
    for index in np.flatnonzero(np.abs(gains - bounds) <= CLEAR * np.maximum(bounds, 1.0)).tolist():
        gain = Fraction(int(rises.above[index]), int(rises.below[index])) - 1
        bound = -logarithm(Fraction(int(rises.held[index]), rises.everyone))
        result[index] = Decimal(gain.numerator) / gain.denominator > bound and gain > 0
    return result


def _gains_too_much(share: Fraction, likely: Fraction) -> bool:
    """The audit's question: (p - q) / q > -log q, that is q exp(p / q - 1) > 1."""
    if share <= likely:
        return False
    more = share / likely - 1
    power = (Decimal(more.numerator) / more.denominator).exp()
    return power * likely.numerator > likely.denominator
