"""Scenarios: k records look alike to whoever knows only some of the quasi-identifiers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from shoal.encoding.types import Ints
from shoal.errors import PolicyError
from shoal.frequencies.frequencies import Background, Classes
from shoal.kernels.group import group
from shoal.models._exact import compare_ratio, decimal, find_greatest_ratio
from shoal.models._formatting import round_up
from shoal.models._thresholds import RecordCount, ValueShare
from shoal.models.base import Census, Holds, Need, PrivacyModel

Attained = int | tuple[float, int]
"""k, or the greatest share and k."""
Names = Annotated[tuple[str, ...], Field(min_length=1)]

_MOST = 5_000
"""Sets of columns that are looked at, at most."""


class Scenarios(PrivacyModel):
    """Every record looks like at least k - 1 others to whoever knows only some of the quasi-identifiers.

    k-anonymity thinks that an attacker knows all quasi-identifiers, which costs much detail where there are many. Here
    the attacker knows any ``any_of`` of them (the L of LKC-privacy), or one of the sets that are listed (``known``);
    for sets with a k of their own ask for this model several times. With ``on`` and ``confidence`` no value of a
    sensitive column has more than that share among the records that look alike (the C of LKC-privacy). Attained is k,
    or the greatest share and k.

    Why it is safe: for each set of columns, the records that show the same in these columns are counted, and are at
    least k. Whoever knows these columns of a person finds all of them, and more where labels overlap. Knowing fewer
    of the columns never helps: the groups then are unions of these. A search that knows what classes show
    (full-domain) counts just that, over the classes that stay; others make every class comply by itself, which is
    more than is asked, but for shares among persons who are in several classes: these are counted when the search is
    done, and where one is too large there is no release.

    What it does not protect from: an attacker who knows more columns than was thought. Say k-anonymity besides with a
    smaller k where that may be.

    Cost: for each set of columns one count of the classes, and again while classes are suppressed.

    References
    ----------
    Mohammed, N., Fung, B. C. M., Hung, P. C. K. and Lee, C.-K. (2009). Anonymizing healthcare data: a case study on
    the blood transfusion service. KDD.

    Examples
    --------
    >>> Scenarios(any_of=2, k=5).scenarios(["age", "zip", "job"])
    (('age', 'zip'), ('age', 'job'), ('zip', 'job'))
    >>> Scenarios(known=[["age", "zip"]], k=5).meets(4)
    False
    """

    classwise: ClassVar[bool] = False
    thresholds = (ValueShare("confidence"), RecordCount("k"))
    protects_from: ClassVar[str] = (
        "Finding a person's record by some of the quasi-identifiers, as many or those that the scenario names: at "
        "least k records look alike in them."
    )
    leaves_open: ClassVar[str] = "Finding a person's record by more quasi-identifiers than the scenario thinks of."

    k: Annotated[int, Field(ge=2, strict=True)]
    """The least number of records (or persons) that look alike."""
    any_of: Annotated[int, Field(ge=1, strict=True)] | None = None
    """How many of the quasi-identifiers an attacker may know, whichever they are."""
    known: Annotated[tuple[Names, ...], Field(min_length=1)] | None = None
    """The sets of quasi-identifiers that an attacker may know."""
    on: str | Names | None = None
    """The sensitive column whose values must not be too likely; a list of several is taken as one."""
    confidence: Annotated[float, Field(gt=0.0, le=1.0, allow_inf_nan=False)] | None = None
    """The greatest share of one sensitive value among the records that look alike."""

    @model_validator(mode="after")
    def _one_of_each(self) -> Scenarios:
        if (self.any_of is None) == (self.known is None):
            raise ValueError("say how many columns an attacker knows (any_of), or which (known): one of the two")
        if (self.on is None) != (self.confidence is None):
            raise ValueError("on and confidence go together")
        return self

    @property
    def absorbing(self) -> bool:  # type: ignore[override]
        """Groups only grow when classes are joined, so that what stays can stay; a share may rise."""
        return self.confidence is None

    @property
    def by_class(self) -> Scenarios:
        """Where it is not known what classes show, each has to comply by itself."""
        return self

    @property
    def scenario_k(self) -> int | None:
        """What is asked, where no share is."""
        return self.k if self.confidence is None else None

    @property
    def needs(self) -> tuple[Need, ...]:
        """Sizes, what classes show, and the sensitive values where a share is asked."""
        return ("counts",) if self.on is None else ("counts", "values")

    @property
    def sensitive_columns(self) -> tuple[str, ...]:
        """The columns whose values must not be too likely."""
        return () if self.on is None else (self.on,) if isinstance(self.on, str) else self.on

    def scenarios(self, columns: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return the sets of columns that an attacker may know.

        Smaller sets follow from larger ones, but for shares where persons are counted: who is in two of the groups
        counts once in their union, and the share may rise.
        """
        if self.known is not None:
            return tuple(dict.fromkeys(tuple(dict.fromkeys(names)) for names in self.known))
        most = min(self.any_of or 1, len(columns))
        sizes = [most] if self.confidence is None else range(1, most + 1)
        count = sum(comb(len(columns), size) for size in sizes)
        if count > _MOST:
            raise PolicyError(
                f"any {most} of {len(columns)} quasi-identifiers are {count:,} sets, more than the {_MOST:,} looked at",
                hint="name the sets that matter (known)",
            )
        return tuple(names for size in sizes for names in combinations(columns, size))

    def holds(self, classes: Classes, background: Background) -> Holds:
        """Return which classes may stay: those all of whose groups comply, counted without those that may not."""
        kept = np.ones(classes.count, bool) if classes.kept is None else classes.kept.copy()
        if classes.shown is None:
            return kept & self._complies(classes, background)
        groups = list(self._groups(classes, background))
        left = -1
        while left != (left := int(kept.sum())):
            for group_of, count in groups:
                kept &= self._complies(_joined(classes, np.where(kept, group_of, -1), count), background)[group_of]
        return kept

    def _groups(self, classes: Classes, background: Background) -> Iterator[tuple[Ints, int]]:
        """Yield for each set of columns the group of each class, and how many groups there are."""
        assert classes.shown is not None
        labels, ends = classes.shown(), [classes.count] if classes.ends is None else classes.ends
        table = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        for names in self.scenarios(background.quasi_identifiers):
            shown = [labels[:, background.quasi_identifiers.index(name)] for name in names]
            numbers, rows = group([table, *shown], [len(ends), *(int(own.max(initial=0)) + 1 for own in shown)])
            yield numbers, len(rows)

    def _complies(self, groups: Classes, background: Background) -> Holds:
        large: Holds = groups.sizes >= self.k
        if self.confidence is not None:
            most = self._most(groups, background)
            large[large] = compare_ratio(most[large], groups.sizes[large], decimal(self.confidence)) <= 0
        return large

    def _most(self, groups: Classes, background: Background) -> Ints:
        """How many have the most frequent value; a missing one that may be any has it."""
        histogram = groups.histogram(background.known(self.sensitive_columns))
        return histogram.most(histogram.counts) + histogram.wild

    def measure(self, classes: Classes, background: Background) -> Attained | None:
        """Return the size of the smallest group, and the greatest share."""
        if not classes.count:
            return None
        tables = [classes]
        if classes.shown is not None:
            tables = [_joined(classes, *groups) for groups in self._groups(classes, background)]
        k = min(int(groups.sizes.min()) for groups in tables)
        if self.confidence is None:
            return k
        share = max(find_greatest_ratio(self._most(groups, background), groups.sizes) for groups in tables)
        return round_up(min(share, Fraction(1))), k

    def recount(self, census: Census) -> Attained | None:
        """Find the smallest group and the greatest share again, among those that were counted for each set."""
        if not len(census.sizes):
            return None
        counted = [census.known[names] for names in self.scenarios(census.columns)]
        k = int(min(min(groups.sizes.tolist()) for groups in counted))
        if self.confidence is None:
            return k
        worst = Fraction(0)
        for groups in counted:
            rows = groups.value_counts[self.sensitive_columns].rows
            for (values, blank), size in zip(rows, groups.sizes.tolist(), strict=True):
                worst = max(worst, Fraction(min(max(values.values(), default=0) + blank, size), size))
        return round_up(worst), k


def _joined(classes: Classes, group_of: Ints, count: int) -> Classes:
    """Return the classes that some classes make together; -1 is in none."""
    inside = group_of >= 0
    counted = np.bincount(group_of[inside], classes.records[inside], minlength=count).astype(np.int64)
    members = np.where(classes.members >= 0, group_of[classes.members], -1)
    return Classes(count, members, classes.cells, classes.weights, classes.frequencies, counted)
