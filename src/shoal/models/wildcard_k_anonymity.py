"""Wildcard k-anonymity: every record agrees with k - 1 others wherever both show something. Weaker than k-anonymity."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Ints
from shoal.frequencies.frequencies import Background, Classes
from shoal.kernels.group import group
from shoal.models._thresholds import RecordCount
from shoal.models.base import Census, Holds, PrivacyModel
from shoal.models.k_anonymity import KAnonymity


class WildcardKAnonymity(PrivacyModel):
    """Every record agrees with at least k - 1 others wherever both show something: ``*`` may be any value.

    It is what sdcMicro and µ-ARGUS count after local suppression, and a *weaker* promise than ``k-anonymity``, which
    takes ``*`` for a value of its own. Nobody can tell by the table alone that a record is the only one that looks
    like a person of whom the published cells are known. But whoever also knows what a ``*`` hides can: of the records
    ``(31, *)`` and ``(31, flu)`` the first is the one of a person aged 31 without flu. Promise ``k-anonymity`` where
    such attackers are to be feared.

    Why it is safe, as far as it goes: whoever knows a person's published cells finds at least k records that agree with
    them. Records that show ``*`` in every quasi-identifier agree with nobody but each other; else a few of them would
    make any table comply. Searches that do not suppress cells keep ``k-anonymity``, from which it follows, and so is it
    counted where persons are counted (``subject``), who may have several agreeing records.

    References
    ----------
    Hundepool, A. et al. (2012). Statistical disclosure control. Wiley, 3.4 (local suppression).
    Templ, M., Kowarik, A. and Meindl, B. (2015). Statistical disclosure control for micro-data using the R package
    sdcMicro. Journal of Statistical Software 67(4).

    Examples
    --------
    >>> WildcardKAnonymity(k=5).meets(5), WildcardKAnonymity(k=5).by_class
    (True, KAnonymity(k=5))
    """

    classwise: ClassVar[bool] = False
    thresholds = (RecordCount("k"),)
    protects_from: ClassVar[str] = (
        "Finding a person's record by its published cells: at least k records agree wherever they show something."
    )
    leaves_open: ClassVar[str] = (
        "Finding it by what a * hides, and reading a sensitive value that all agreeing records share."
    )

    k: Annotated[int, Field(ge=2, strict=True)]
    """The least number of records that agree, the record itself included."""

    @property
    def wildcard_k(self) -> int:
        """What is asked."""
        return self.k

    @property
    def by_class(self) -> KAnonymity:
        """Records that look alike agree."""
        return KAnonymity(k=self.k)

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return for each class whether enough records of those that are kept agree with it."""
        kept: Holds = classes.sizes > 0
        if classes.kept is not None:
            kept &= classes.kept
        left = -1
        while left != (left := int(kept.sum())):
            kept &= _count_agreeing(classes, np.where(kept, classes.sizes, 0), self.k) >= self.k
        return kept

    def measure(self, classes: Classes, background: Background) -> int | None:
        """Return the least number of records that agree."""
        if not classes.count:
            return None
        sizes, least = classes.sizes, int(classes.sizes.min()) + 1
        while True:  # whoever has so many of its own need not be looked at
            found = int(_count_agreeing(classes, sizes, least)[sizes < least].min())
            if found <= least:
                return found
            least = found

    def recount(self, census: Census) -> int | None:
        """Return what the audit counted: of agreeing records, or of equal ones where it could not tell."""
        return min(census.sizes.tolist(), default=None) if census.agreeing is None else census.agreeing


def _count_agreeing(classes: Classes, sizes: Ints, enough: int) -> Ints:
    """Return how many records agree with each class; where those of its own are enough, only these."""
    totals = sizes.copy()
    if classes.blank is None or classes.shown is None or classes.frequencies.subjects is not None:
        return totals
    shown, blank = classes.shown(), classes.blank()
    patterns, of = np.unique(blank, axis=0, return_inverse=True)
    of = of.ravel()
    table = np.zeros(classes.count, np.int64)
    if classes.ends is not None:
        table = np.repeat(np.arange(len(classes.ends)), np.diff(classes.ends, prepend=0)).astype(np.int64)
    silent = np.logical_and.reduce(patterns, axis=1)
    looking = [np.flatnonzero((of == number) & (sizes < enough)) for number in range(len(patterns))]
    others = [np.flatnonzero(of == number) for number in range(len(patterns))]
    for mine, rows in enumerate(looking):
        for theirs, held in enumerate(others):
            if mine != theirs and len(rows) and not silent[mine] and not silent[theirs]:
                both = ~(patterns[mine] | patterns[theirs])
                totals[rows] += _sum_equal(table, shown[:, both], sizes, rows, held)
    return totals


def _sum_equal(table: Ints, shown: Ints, sizes: Ints, rows: Ints, others: Ints) -> Ints:
    """Return for some classes the records of others that show the same in some columns."""
    which = np.append(rows, others)
    columns = [table[which], *(column[which] for column in shown.T)]
    numbers, _ = group(columns, [int(column.max(initial=0)) + 1 for column in columns])
    held = np.bincount(numbers[len(rows) :], sizes[others], minlength=int(numbers.max()) + 1)
    return held[numbers[: len(rows)]].astype(np.int64)
