"""Population uniqueness: few persons are unique in the population, as far as a sample of it tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Background, Classes
from shoal.models._across import AcrossModel
from shoal.models._exact import decimal
from shoal.models._thresholds import Share
from shoal.models.base import Census, Need
from shoal.models.k_anonymity import KAnonymity
from shoal.models.statistics.recounted_uniques import RECOUNTS
from shoal.models.statistics.uniques import ESTIMATORS

_SURE, _TOLD = 10, 6
"""Digits to which estimates are solved, and to which they are told, rounded up."""
_SMALL = 0.1
"""The share of the population up to which Dankar's rule takes Pitman's estimate."""


class PopulationUniqueness(AcrossModel):
    """At most a share of the population is unique in it, as estimated from the published records, which are a sample.

    Only a record that stands alone can be of a person who is unique in the population; how many are is estimated:

    * ``zayatz``: classes of the population are taken to be as large as those of the sample;
    * ``pitman``: their sizes follow Pitman's sampling formula, fitted by maximum likelihood;
    * ``snb``: they follow a shifted negative binomial law, fitted to the classes of one and of two;
    * ``dankar``: Dankar's rule, Pitman's estimate for samples of at most a tenth of the population, for larger ones
      the lower of Zayatz's and the SNB's.

    Where an estimate has no solution, Dankar's rule takes Zayatz's, and the others take every record that stands alone
    for a person who is unique.

    Why it is safe: it is an estimate, no proof. Someone who does not know who is in the sample can link a record for
    sure only if its person is unique in the population; where the estimate is right, no more than that share are.
    Where no record stands alone nobody is, whatever is estimated. Weights of a survey give the size of the population.

    Where a table does not comply, records that stand alone are suppressed, the fewest that suffice. Searches that see
    some classes at a time leave nobody alone (k-anonymity for k = 2). Estimates are told to six digits, rounded up.

    Cost: some thousand operations for each table that is looked at. Not monotone: an estimate may rise when classes
    are joined.

    References
    ----------
    Dankar, F. K., El Emam, K., Neisa, A. and Roffey, T. (2012). Estimating the re-identification risk of clinical data
    sets. BMC Medical Informatics and Solution Making 12:66.
    Hoshino, N. (2001). Applying Pitman's sampling formula to microdata disclosure risk assessment. Journal of Official
    Statistics 17(4).
    Zayatz, L. (1991). Estimation of the number of unique population elements using a sample. US Bureau of the Census.
    Chen, G. and Keller-McNulty, S. (1998). Estimation of identification disclosure risk in microdata. Journal of
    Official Statistics 14(1).

    Examples
    --------
    >>> PopulationUniqueness(threshold=0.01, fraction=0.1).meets(0.0125)
    False
    """

    thresholds = (Share("threshold"),)
    protects_from: ClassVar[str] = "Linking a record for sure without knowing that the person is in the table."
    leaves_open: ClassVar[str] = "An attacker who knows who is in the table; and estimates may be wrong."

    threshold: Annotated[float, Field(ge=0.0, lt=1.0, allow_inf_nan=False)]
    """The greatest share of the population that may be unique."""
    estimator: Literal["dankar", "pitman", "zayatz", "snb"] = "dankar"
    """How it is estimated."""
    population_size: Annotated[int, Field(ge=1, strict=True)] | None = None
    """How many persons the population has; the policy's population or survey weights tell it too."""
    fraction: Annotated[float, Field(gt=0.0, le=1.0, allow_inf_nan=False)] | None = None
    """The share of the population that is in the table, where its size is not given."""

    @field_validator("threshold")
    @classmethod
    def _digits(cls, value: float) -> float:
        if _format_share(value) != value:
            raise ValueError(f"must have at most {_TOLD} digits")
        return value

    @model_validator(mode="after")
    def _one_size(self) -> PopulationUniqueness:
        if self.population_size is not None and self.fraction is not None:
            raise ValueError("population_size and fraction say the same: give one of them")
        return self

    @property
    def needs(self) -> tuple[Need, ...]:
        """Sizes, and that of the population where the model does not give it."""
        given = self.population_size is not None or self.fraction is not None
        return ("counts",) if given else ("counts", "population")

    @property
    def monotone(self) -> bool:
        """An estimate may rise when classes are joined."""
        return False

    @property
    def by_class(self) -> KAnonymity:
        """Nobody alone."""
        return KAnonymity(k=2)

    def size_of(self, records: int, known: int | None) -> int:
        """Return the size of the population, from the size of the sample where its share is given."""
        if self.population_size is not None:
            return self.population_size
        return int(records / decimal(self.fraction)) if self.fraction is not None else known or records

    def complies(self, sizes: Ints, background: Background) -> bool:
        """Compare the estimate."""
        return self._estimate(sizes, background) <= self.threshold

    def measure(self, classes: Classes, background: Background) -> float | None:
        """Return the estimate."""
        return self._estimate(classes.sizes, background) if classes.count else None

    def _estimate(self, sizes: Ints, background: Background) -> float:
        if not (sizes == 1).any():
            return 0.0
        distinct, counts = np.unique(sizes, return_counts=True)
        n = int(sizes.sum())
        everyone = max(self.size_of(background.whole.persons, background.everyone), n)
        rounds = self._rounds(n, everyone)
        estimates = ([ESTIMATORS[name](distinct, counts, everyone) for name in names] for names in rounds)
        return _format_share(_lowest(estimates, int(counts[0]) / n))

    def recount(self, census: Census) -> float | None:
        """Estimate again, by other ways to solve the same equations."""
        sizes = Counter(census.sizes.tolist())
        if not sizes[1]:
            return 0.0 if sizes else None
        n = sum(size * count for size, count in sizes.items())
        everyone = max(self.size_of(census.records, census.population), n)
        estimates = ([RECOUNTS[name](sizes, everyone) for name in names] for names in self._rounds(n, everyone))
        return _format_share(_lowest(estimates, sizes[1] / n))

    def _rounds(self, n: int, everyone: int) -> Sequence[Sequence[str]]:
        """The estimators to be asked together, round by round until one answers."""
        if self.estimator != "dankar":
            return ((self.estimator,),)
        return (("pitman",), ("zayatz",)) if n <= _SMALL * everyone else (("snb", "zayatz"),)


def _format_share(value: float) -> float:
    """Return a number with six digits, rounded up; what is less than a solution's error above one counts as that."""
    sure = Context(prec=_SURE, rounding=ROUND_HALF_EVEN).create_decimal(Decimal(repr(value)))
    return float(Context(prec=_TOLD, rounding=ROUND_CEILING).create_decimal(sure))


def _lowest(estimates: Iterable[Sequence[float | None]], worst: float) -> float:
    """Return the lowest answer of the first round that has one; everyone who stands alone where none has."""
    for answers in estimates:
        found = [value for value in answers if value is not None]
        if found:
            return min(*found, worst)
    return worst
