"""β-likeness: no sensitive value is much more likely in a class than in the whole table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats
from shoal.frequencies.frequencies import Background, Classes
from shoal.models._exact import CLEAR, compare_ratio, decimal, find_greatest_ratio
from shoal.models._formatting import brief, logarithm, round_up
from shoal.models._scores import score_by_gain
from shoal.models._sensitive import SensitiveModel
from shoal.models._shares import Rises
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

    @property
    def asked(self) -> float:
        """The β that is asked for."""
        return self.beta

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether no value gains too much."""
        rises = self._rises(classes, background)
        broken = compare_ratio(rises.above, rises.below, 1 + decimal(self.beta)) > 0
        if self.enhanced:
            broken |= _certain(rises)
        result: Holds = classes.sizes > 0
        result[rises.classes[broken]] = False
        return result

    def measure(self, classes: Classes, background: Background) -> float | None:
        """Return the greatest gain; infinite where a value gains more than -log of its likelihood."""
        if not classes.count:
            return None
        rises = self._rises(classes, background)
        if self.enhanced and _certain(rises).any():
            return inf
        return round_up(max(find_greatest_ratio(rises.above, rises.below) - 1, Fraction(0)))

    def _rises(self, classes: Classes, background: Background) -> Rises:
        return Rises.of(self.histogram(classes, background), background, self.sensitive_columns)

    def recount(self, census: Census) -> float | None:
        """Look at every value of every class again."""
        tally, everyone = self.tally(census), self.tally(census).table_persons
        worst = Fraction(0)
        for (values, blank), size in zip(tally.rows, census.sizes.tolist(), strict=True):
            for value in values if not blank else {*values, *tally.table}:
                # a person who has no value here may have this one elsewhere, and be counted already
                held = tally.table.get(value, 0) + (blank if tally.unknown is None else 0)
                if not held:
                    return inf  # no such value in the table
                mine, likely = min(values.get(value, 0) + blank, size), Fraction(min(held, everyone), everyone)
                if mine * worst.denominator * likely.numerator > (
                    (worst.numerator + worst.denominator) * size * likely.numerator * likely
                ):
                    worst = Fraction(mine, size) / likely - 1
                if self.enhanced and _gains_too_much(Fraction(mine, size), likely):
                    return inf
        return round_up(worst) if len(census.sizes) else None

    def score_classes(self, census: Census) -> Floats:
        """By the greatest gain."""
        return score_by_gain(census, self.tally(census))

    def meets(self, attained: float | None) -> bool:
        """Compare the decimals that are written."""
        return attained is None or attained <= self.beta

    def relaxed(self, attained: float | None) -> BetaLikeness | None:
        """Return the same model with the attainable β."""
        if attained is None or attained == inf:
            return None
        return BetaLikeness(on=self.on, beta=max(brief(attained, up=True), 0.001), enhanced=self.enhanced)

    @property
    def weaker_thresholds(self) -> Sequence[float]:
        """Up to about a hundred times what is asked."""
        return [brief(self.beta * 1.26**step, up=True) for step in range(20, 0, -1)]


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
