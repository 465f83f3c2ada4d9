"""Sample uniqueness: few records stand alone in the published table."""

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


class SampleUniqueness(AcrossModel):
    """At most a share of the published records look like no other.

    Why it is safe: only a record that stands alone can be linked for sure by someone who knows that the person is in
    the table, and at most that share do. Records in pairs are not counted, though a link to one of two is right every
    other time: ``k-anonymity`` bounds that.

    Where a table does not comply, records that stand alone are suppressed, the fewest that suffice. Searches that see
    some classes at a time leave nobody alone (k-anonymity for k = 2).

    Cost: the classes, sorted by size. Generalizing never leaves more records alone where nobody is suppressed.

    References
    ----------
    Dankar, F. K., El Emam, K., Neisa, A. and Roffey, T. (2012). Estimating the re-identification risk of clinical data
    sets. BMC Medical Informatics and Solution Making 12:66.

    Examples
    --------
    >>> SampleUniqueness(threshold=0.05).meets(0.05), SampleUniqueness(threshold=0).meets(0.01)
    (True, False)
    """

    thresholds = (Share("threshold"),)
    protects_from: ClassVar[str] = "Linking a record for sure: few records stand alone."
    leaves_open: ClassVar[str] = "Linking a record of a pair, right every other time; and the few that stand alone."

    threshold: Annotated[float, Field(ge=0.0, lt=1.0, allow_inf_nan=False)]
    """The greatest share of records that stand alone."""

    @property
    def by_class(self) -> KAnonymity:
        """Nobody alone."""
        return KAnonymity(k=2)

    def complies(self, sizes: Ints, background: Background) -> bool:
        """Compare those who stand alone with all, as whole numbers."""
        limit = decimal(self.threshold)
        return int((sizes == 1).sum()) * limit.denominator <= limit.numerator * int(sizes.sum())

    def measure(self, classes: Classes, background: Background) -> float | None:
        """Return the share of records that stand alone."""
        sizes = classes.sizes
        return round_up(Fraction(int((sizes == 1).sum()), int(sizes.sum()))) if classes.count else None

    def recount(self, census: Census) -> float | None:
        """Count those who stand alone again."""
        sizes = census.sizes.tolist()
        return round_up(Fraction(sizes.count(1), sum(sizes))) if sizes else None
