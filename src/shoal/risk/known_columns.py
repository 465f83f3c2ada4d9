"""Known columns: the attacker knows any few of the quasi-identifiers."""

from __future__ import annotations

from math import comb
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Bools, Ints
from shoal.risk._subsets import MOST_CELLS, found_in_parts, list_groupings
from shoal.risk.base import Evidence, Finding, SmallGroupRisk, share, worst_of


class KnownColumns(SmallGroupRisk):
    """The attacker knows any few of the quasi-identifiers, and looks for who is alone in them.

    ``curve`` has, for each number of columns up to ``most``, the worst ``k`` over all sets of that many, the
    ``columns`` of a set that has it, and the share of records that are ``unique`` in one of the sets; ``k`` and
    ``unique`` are the worst of these.
    ``minimal_uniques`` counts, by size, the sets of columns in which a record is unique and in no smaller part of
    which it is: the special uniques of SUDA. Records with many and small ones are the easiest to find (``worst``).
    A leak is a set that has a k below ``least``.

    Cost: the classes, sorted for each set of columns. Sets are looked at from the smallest on; what is left out
    where there are too many is told.

    References
    ----------
    Elliot, M. J., Manning, A. M. and Ford, R. W. (2002). A computational algorithm for handling the special uniques
    problem. International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5).

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.risk.base import PublishedClasses
    >>> shown = np.array([[0, 0], [0, 1], [1, 0]])
    >>> release = PublishedClasses(np.arange(3), shown, np.array([1, 1, 1]))
    >>> evidence = Evidence(release.sizes, columns=("age", "sex"), release=release)
    >>> KnownColumns(most=2).run(evidence)[0].measured["minimal_uniques"]
    [2, 1]
    """

    needs: ClassVar[tuple[str, ...]] = ("release",)
    means: ClassVar[str] = "Somebody who knows little of a person finds the record."

    most: Annotated[int, Field(ge=1, le=20, strict=True)] = 3
    """How many columns the attacker knows, at most."""

    def run(self, evidence: Evidence) -> list[Finding]:
        """Group the classes by each set of columns."""
        assert evidence.release is not None
        release, least = evidence.release, self.enough(evidence)
        alone = np.flatnonzero(release.sizes == 1)  # no other record can be unique in fewer columns
        curve: list[dict[str, Any]] = []
        minimal: list[int] = []
        scores = np.zeros(len(alone), np.float64)
        before: dict[tuple[int, ...], Bools] = {(): np.zeros(len(alone), bool)}
        asked = self._sizes(release.shown)
        for many in asked:
            uniques, row = _of_size(evidence, many, alone)
            own = {known: mask & ~found_in_parts(known, before) for known, mask in uniques.items()}
            scores += sum((mask / 2.0**many for mask in own.values()), np.zeros(len(alone)))
            minimal.append(sum(int(mask.sum()) for mask in own.values()))
            found = np.logical_or.reduce(list(uniques.values())) if uniques else np.zeros(0, bool)
            curve.append({**row, "unique": share(int(found.sum()), evidence.records)})
            before = uniques
        measured = {
            "k": min((row["k"] for row in curve), default=0),
            "unique": max((row["unique"] for row in curve), default=0.0),
            "curve": curve,
            "minimal_uniques": minimal,
        }
        leak = bool(len(release.sizes)) and any(row["k"] < least for row in curve)
        indices = tuple(int(alone[index]) for index in worst_of(scores, scores > 0))
        return [Finding(leak, measured, indices, left_out=self._left_out(release.shown, len(asked)))]

    def _sizes(self, shown: Ints) -> range:
        """Return the sizes of sets that can be looked at."""
        columns, spent = shown.shape[1], 0
        for many in range(1, min(self.most, columns) + 1):
            spent += comb(columns, many) * max(len(shown), 1)
            if spent > MOST_CELLS:
                return range(1, max(many, 2))
        return range(1, min(self.most, columns) + 1)

    def _left_out(self, shown: Ints, looked_at: int) -> str:
        rest = range(looked_at + 1, min(self.most, shown.shape[1]) + 1)
        sets = sum(comb(shown.shape[1], many) for many in rest)
        return f"{sets:,} sets of {rest.start} columns or more: too many for so many classes" if sets else ""


def _of_size(evidence: Evidence, many: int, alone: Ints) -> tuple[dict[tuple[int, ...], Bools], dict[str, Any]]:
    """Return for each set of columns which lone records are unique in it, and the worst k with its columns."""
    assert evidence.release is not None
    release, total = evidence.release, comb(evidence.release.shown.shape[1], many)
    uniques: dict[tuple[int, ...], Bools] = {}
    worst, where = evidence.records, tuple(range(many))
    for number, (known, groups) in enumerate(list_groupings(release.shown, many)):
        evidence.progress(f"attackers who know {many} columns", number, total)
        held = np.bincount(groups, release.sizes).astype(np.int64)
        uniques[known] = held[groups[alone]] == 1
        if len(held) and int(held.min()) < worst:
            worst, where = int(held.min()), known
    return uniques, {"known": many, "k": worst, "columns": [evidence.columns[index] for index in where]}
