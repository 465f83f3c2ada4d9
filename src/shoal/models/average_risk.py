"""Average risk: a link from a record to a person is seldom right, on the average over all records."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar

from pydantic import Field

from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Background, Classes
from shoal.models._across import AcrossModel
from shoal.models._exact import decimal
from shoal.models._formatting import round_up
from shoal.models._thresholds import Share
from shoal.models.base import Census
from shoal.models.k_anonymity import KAnonymity


class AverageRisk(AcrossModel):
    """The chance to link a record to its person is at most a threshold, on the average over all published records.

    A record of a class of s is linked right with a chance of 1/s, so the average is the number of classes by the number
    of records.

    Why it is safe: whoever links every record to a person is right in no more than that share of them. It says nothing
    of a single record, which may stand alone: join it with ``k-anonymity``. Starred records are a class too.

    Where a table does not comply, its smallest classes are suppressed, the fewest that suffice. Searches that see some
    classes at a time keep k-anonymity for k = 1/threshold instead, from which it follows.

    Cost: the classes, sorted by size. Generalizing never raises the average where nobody is suppressed.

    References
    ----------
    El Emam, K. (2013). Guide to the De-Identification of Personal Health Information. CRC Press: marketer risk.
    Prasser, F. and Kohlmayer, F. (2015). Putting statistical disclosure control into practice: the ARX data
    anonymization tool. Medical Data Privacy Handbook, Springer.

    Examples
    --------
    >>> AverageRisk(threshold=0.1).meets(0.1), AverageRisk(threshold=0.1).by_class
    (True, KAnonymity(k=10))
    """

    thresholds = (Share("threshold"),)
    protects_from: ClassVar[str] = "Linking records to persons in bulk: only a small share of all links is right."
    leaves_open: ClassVar[str] = "Finding a single person: one record may stand alone while most are in large classes."

    threshold: Annotated[float, Field(gt=0.0, lt=1.0, allow_inf_nan=False)]
    """The greatest average chance."""

    @property
    def mean_risk(self) -> float:
        """What is asked."""
        return self.threshold

    @property
    def by_class(self) -> KAnonymity:
        """Classes that are all so large keep the average low."""
        return KAnonymity(k=-(-1 // decimal(self.threshold)))

    def complies(self, sizes: Ints, background: Background) -> bool:
        """Compare classes and records as whole numbers."""
        limit = decimal(self.threshold)
        return len(sizes) * limit.denominator <= limit.numerator * int(sizes.sum())

    def measure(self, classes: Classes, background: Background) -> float | None:
        """Return classes by records."""
        return round_up(Fraction(classes.count, int(classes.sizes.sum()))) if classes.count else None

    def recount(self, census: Census) -> float | None:
        """Add the chances up again, record by record."""
        sizes = census.sizes.tolist()
        return round_up(sum((size * Fraction(1, size) for size in sizes), Fraction(0)) / sum(sizes)) if sizes else None
