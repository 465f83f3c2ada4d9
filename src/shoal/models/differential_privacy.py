"""(ε, δ)-differential privacy: whether one person is in the original hardly changes what is published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from shoal.frequencies.frequencies import Background, Classes
from shoal.models._exact import decimal
from shoal.models.base import Census, Holds, PrivacyModel
from shoal.models.statistics.sampling import drawable, greatest_share, least_alike

Attained = tuple[float, float, int]
"""ε, δ and k."""


class DifferentialPrivacy(PrivacyModel):
    """Whether one person is in the original hardly changes what is published.

    Each record is drawn with a chance of β, drawn ones are published at levels that were fixed beforehand
    (``fixed-levels``), and only where at least k of them look alike; nothing else is published. β and k follow from ε
    and δ: β is 1 - exp(-ε) unless a smaller ``beta`` is given, and k the least for which the theorem gives δ. Values
    stay true: no noise is added. Attained is told as ε, δ and the size of the smallest class.

    Why it is safe: take two tables that differ in one record, and any set of releases. The chance to get one of these
    from the one table is at most exp(ε) times the chance from the other, plus δ (Li et al., Theorem 5). That needs more
    of the policy, and the policy is refused without it: the levels and hierarchies do not follow the data; every
    published column is a quasi-identifier; suppressed records are left out, however many (``suppressed: drop``,
    ``max_suppressed: 1``); records are not of the same persons; no other model reads further columns. β is a binary
    fraction below the exact number, and k is found with sixty digits, rounded to the safe side.

    What it needs of people: **the seed is a secret**, drawn at random (128 bits) and used once. Who knows it can draw
    the sample again. Levels that were chosen after looking at the data, and a second release of the same data, are not
    covered. Nor are audit, report and manifest, which say how many records the original has: they stay with the owner.

    What an audit can say: the sizes of classes, the columns, and that k follows from ε and δ, by a computation of its
    own. Whether the sample was drawn at random and the levels fixed beforehand no table can tell.

    Levels are given, not searched: SafePub finds them by the exponential mechanism, which this does not do.

    Cost: one pass over the records; for k, milliseconds, or seconds where ε is below .01.

    References
    ----------
    Bild, R., Kuhn, K. A. and Prasser, F. (2018). SafePub: a truthful data anonymization algorithm with strong privacy
    guarantees. Proceedings on Privacy Enhancing Technologies 2018(1). Li, N., Qardaji, W. and Su, D. (2012). On
    sampling, anonymization, and differential privacy: or, k-anonymization meets differential privacy. ASIACCS.

    Examples
    --------
    >>> model = DifferentialPrivacy(epsilon=1, delta=1e-5)
    >>> model.k, round(float(model.sample_share), 4)
    (61, 0.6321)
    """

    absorbing: ClassVar[bool] = True
    protects_from: ClassVar[str] = (
        "Learning much from the release that could not be learned without a person's record: not even whether it "
        "was in the original, as long as the seed is secret."
    )
    leaves_open: ClassVar[str] = (
        "What holds for people in general, and so for a person too. A release of the same data again, levels that were "
        "chosen by looking at the data, and a seed that somebody knows."
    )

    epsilon: Annotated[float, Field(ge=0.001, le=5.0, allow_inf_nan=False)]
    """How much more likely a release may be with a person than without: at most exp(ε) times."""
    delta: Annotated[float, Field(ge=1e-30, lt=1.0, allow_inf_nan=False)]
    """The chance that this may fail; far below one in the number of records."""
    beta: Annotated[float, Field(ge=1e-4, lt=1.0, allow_inf_nan=False)] | None = None
    """The chance to draw a record, where it is to be smaller than ε allows."""

    @model_validator(mode="after")
    def _beta_is_small_enough(self) -> DifferentialPrivacy:
        if self.beta is not None and decimal(self.beta) > greatest_share(decimal(self.epsilon)):
            most = float(greatest_share(decimal(self.epsilon)))
            raise ValueError(f"beta must be at most 1 - exp(-epsilon), here {math.floor(most * 1e6) / 1e6}")
        return self

    @property
    def sample_share(self) -> Fraction:
        """The chance to draw a record."""
        return greatest_share(decimal(self.epsilon)) if self.beta is None else drawable(decimal(self.beta))

    @property
    def k(self) -> int:
        """How many records must look alike to be published."""
        return least_alike(decimal(self.epsilon), decimal(self.delta), self.sample_share)

    @property
    def least_records(self) -> int:
        """A class of fewer records cannot comply."""
        return self.k

    @property
    def asked(self) -> Attained:
        """ε, δ, and the k that follows."""
        return self.epsilon, self.delta, self.k

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether k of the drawn records are in it."""
        return classes.records >= self.k

    def measure(self, classes: Classes, background: Background) -> Attained | None:
        """Return ε, δ, and the size of the smallest class."""
        return (self.epsilon, self.delta, int(classes.records.min())) if classes.count else None

    def recount(self, census: Census) -> Attained | None:
        """Return the smallest count of the census, and δ once more, where a plain computation does not confirm it."""
        smallest = min(census.sizes.tolist(), default=None)
        if smallest is None:
            return None
        again = _delta_again(self.k, self.epsilon, float(self.sample_share))
        return self.epsilon, self.delta if again <= self.delta * (1 + 1e-6) else again, smallest

    def meets(self, attained: Attained | None) -> bool:
        """Compare k as integers, ε and δ as they are written."""
        return attained is None or (attained[0] <= self.epsilon and attained[1] <= self.delta and attained[2] >= self.k)

    def relaxed(self, attained: Attained | None) -> DifferentialPrivacy | None:
        """Return nothing: ε and δ are not to be chosen by what the data allow."""
        return None

    @property
    def weaker_thresholds(self) -> Sequence[Attained]:
        """Nothing less is offered, for the same reason."""
        return ()


def _delta_again(k: int, epsilon: float, beta: float) -> float:
    """Return δ once more, by floating point numbers: it is among the first n, as from one share of γ n to the next."""
    gamma = 1.0 - (1.0 - beta) * math.exp(-epsilon)
    first = max(math.ceil(k / gamma - 1.0 - 1e-9), 1)
    worst = 0.0
    for n in range(first, first + math.ceil(1.0 / gamma) + 1):
        j = math.floor(gamma * n + 1e-9) + 1
        log = math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1)
        term = math.exp(log + j * math.log(beta) + (n - j) * math.log1p(-beta)) if j <= n else 0.0
        total = 0.0
        while j <= n and term > 1e-17 * total:
            total += term
            term *= (n - j) / (j + 1) * beta / (1.0 - beta)
            j += 1
        worst = max(worst, total)
    return worst
