"""(α, k)-anonymity: k records look alike, and no sensitive value has more than a share α of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Floats, Ints
from shoal.frequencies.frequencies import Background, Classes
from shoal.models._conditions import Condition, find_shares
from shoal.models._exact import compare_ratio, decimal, find_greatest_ratio
from shoal.models._formatting import round_up
from shoal.models._scores import score_by_share
from shoal.models._sensitive import SensitiveModel
from shoal.models._thresholds import RecordCount, ValueShare
from shoal.models.base import Census, Holds

Attained = tuple[float, int]
"""The greatest share, and k."""


class AlphaKAnonymity(SensitiveModel):
    """Every class has at least k records, and no sensitive value more than a share α of them.

    Why it is safe: someone who finds a person's class cannot say with a chance of more than α which value is theirs,
    and a link to one record is right with a chance of at most 1/k. This is the general model of the paper, which
    protects every value. A missing value that may be any (``wildcard``) counts as the most frequent one. Where persons
    are counted, the share is that of the persons who have the value. Attained is told as the greatest share and k.

    Cost: one pass over the cells. A union of classes that comply complies: its shares are between theirs.

    References
    ----------
    Wong, R. C.-W., Li, J., Fu, A. W.-C. and Wang, K. (2006). (α, k)-anonymity: an enhanced k-anonymity model for
    privacy preserving data publishing. KDD.

    Examples
    --------
    >>> AlphaKAnonymity(on="illness", alpha=0.5, k=2).meets((0.5, 2))
    True
    """

    thresholds = (ValueShare("alpha"), RecordCount("k"))
    protects_from: ClassVar[str] = "Naming a person's sensitive value with a chance of more than α."
    leaves_open: ClassVar[str] = (
        "That a rare value is much more likely in a class than in the table, or that all mean much the same."
    )
    measured_with: ClassVar[tuple[Mapping[str, Any], ...]] = ({"alpha": 1, "k": 2},)
    measured_as: ClassVar[int] = 4

    alpha: Annotated[float, Field(gt=0.0, le=1.0, allow_inf_nan=False)]
    """The greatest share of one value in a class."""
    k: Annotated[int, Field(ge=2, strict=True)]
    """The least number of records (or persons) that look alike."""

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether it has k persons, and no value too large a share."""
        large: Holds = classes.sizes >= self.k
        held = self._most(classes, background)
        large[large] = compare_ratio(held[large], classes.sizes[large], decimal(self.alpha)) <= 0
        return large

    def conditions(self, background: Background) -> Sequence[Condition]:
        """Ask of no value more than the greatest share."""
        names = self.sensitive_columns
        return (Condition("caps", names, np.full(len(find_shares(names, background)), self.alpha)),)

    def measure(self, classes: Classes, background: Background) -> Attained | None:
        """Return the greatest share of a value in a class, and the size of the smallest class."""
        if not classes.count:
            return None
        share = find_greatest_ratio(self._most(classes, background), classes.sizes)
        return round_up(min(share, Fraction(1))), int(classes.sizes.min())

    def _most(self, classes: Classes, background: Background) -> Ints:
        histogram = self.histogram(classes, background)
        return histogram.most(histogram.counts) + histogram.wild

    def recount(self, census: Census) -> Attained | None:
        """Find the greatest share again, class by class."""
        sizes = census.sizes.tolist()
        worst = Fraction(0)
        for values, blank, size in self.rows(census):
            most = max(values.values(), default=0) + blank
            if most * worst.denominator > worst.numerator * size:
                worst = Fraction(min(most, size), size)
        return (round_up(worst), min(sizes)) if sizes else None

    def score_classes(self, census: Census) -> Floats:
        """By the greatest share."""
        return score_by_share(census, self.read_counts(census))

    def of_values(self, attained: Attained | None) -> float | None:
        """Return the share."""
        return attained and attained[0]
