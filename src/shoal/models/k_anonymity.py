"""k-anonymity: every record looks like at least k - 1 others."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from shoal.frequencies.frequencies import Background, Classes
from shoal.models._thresholds import RecordCount
from shoal.models.base import Census, Holds, PrivacyModel


class KAnonymity(PrivacyModel):
    """Every record looks like at least k - 1 others on the quasi-identifiers.

    Why it is safe: someone who knows a person's quasi-identifiers finds at least k records, so a link to one of
    them is right with a chance of at most 1/k. With a ``subject`` column persons are counted, not records. It
    does not protect from classes whose sensitive values agree: add a diversity model.

    References
    ----------
    Sweeney, L. (2002). k-anonymity: a model for protecting privacy. International Journal on Uncertainty,
    Fuzziness and Knowledge-based Systems 10(5).

    Examples
    --------
    >>> KAnonymity(k=5).meets(5), KAnonymity(k=5).meets(4)
    (True, False)
    >>> KAnonymity(k=1)
    Traceback (most recent call last):
    shoal.errors.PolicyError: KAnonymity.k: must be at least 2; got 1.
    """

    absorbing: ClassVar[bool] = True
    only_asks = "records"
    thresholds = (RecordCount("k"),)
    protects_from: ClassVar[str] = "Finding a person's record: at least k records look alike."
    leaves_open: ClassVar[str] = "Reading a sensitive value that all records of a class share."

    k: Annotated[int, Field(ge=2, strict=True)]
    """The least number of records (or persons) that look alike."""

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether it has k persons."""
        return classes.sizes >= self.k

    def measure(self, classes: Classes, background: Background) -> int | None:
        """Return the size of the smallest class."""
        return int(classes.sizes.min()) if classes.count else None

    def recount(self, census: Census) -> int | None:
        """Return the smallest count of the census."""
        return min(census.sizes.tolist(), default=None)
