"""A workload of random range counts: how wrong is the answer of the release?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Bools, Floats
from shoal.utility.statistics.columns import ColumnPair

QUERIES, COLUMNS, SELECTED, SANITY = 200, 3, 0.05, 0.001


@dataclass(frozen=True)
class Workload:
    """The relative errors of random counts, and what was asked."""

    errors: Floats
    most_columns: int
    """A query names one to so many columns."""
    selected: float
    """About the share of all combinations of values that a query selects."""
    sanity: float
    """The share of the records that a relative error is taken of at least: else a count of 1 rules all."""

    @property
    def median(self) -> float:
        """The median relative error."""
        return float(np.median(self.errors))

    def quantile(self, share: float) -> float:
        """Return the relative error that this share of the queries does not exceed."""
        return float(np.quantile(self.errors, share))


def answer_workload(
    columns: Sequence[ColumnPair],
    *,
    queries: int = QUERIES,
    most_columns: int = COLUMNS,
    selected: float = SELECTED,
    sanity: float = SANITY,
    seed: int = 0,
) -> Workload:
    """Ask random range counts of both tables and compare the answers.

    ``SELECT COUNT(*) WHERE a BETWEEN … AND b IN (…)``: each query draws its columns and, for each of them, a range of
    neighbouring values or a set of categories, of such a length that about ``selected`` of all combinations are in it.
    The release answers as if each text were each of its values in equal parts, columns independent within a record. The
    error is |answer - truth| / max(truth, sanity × records). Suppressed records are not in the answer.

    The cost is one look-up per record, query and column.

    References
    ----------
    Xiao, X. and Tao, Y. (2006). Anatomy: simple and effective privacy preservation. VLDB, 6.
    LeFevre, K., DeWitt, D. and Ramakrishnan, R. (2008). Workload-aware anonymization techniques. ACM TODS 33(3).
    Xiao, X., Wang, G. and Gehrke, J. (2011). Differential privacy via wavelet transforms. IEEE TKDE 23(8) (the sanity
    bound of 0.1 %).

    Examples
    --------
    >>> from shoal.utility.statistics.covers import CoveredValues
    >>> codes = np.arange(100) % 10
    >>> same = ColumnPair("age", codes, codes, CoveredValues.of([{place} for place in range(10)], 10), ordered=True)
    >>> answer_workload([same]).median
    0.0
    """
    usable = [column for column in columns if column.covers.size]
    if not usable or not len(usable[0].values):
        raise ValueError("a workload needs a column with values")
    rng = np.random.default_rng(seed)
    most = min(most_columns, len(usable))
    least = sanity * len(usable[0].values)
    errors = np.empty(queries)
    for number in range(queries):
        chosen = rng.choice(len(usable), int(rng.integers(1, most + 1)), replace=False)
        part = selected ** (1.0 / len(chosen))
        asked = [(usable[index], draw_condition(usable[index], part, rng)) for index in np.sort(chosen).tolist()]
        truth, answer = _truth(asked), _answer(asked)
        errors[number] = abs(answer - truth) / max(truth, least)
    return Workload(errors, most, selected, sanity)


Asked = Sequence[tuple[ColumnPair, Bools]]
"""Columns, and which of their values are asked for."""


def draw_condition(column: ColumnPair, part: float, rng: np.random.Generator) -> Bools:
    """Return which values of a column a query asks for: about a part of them, side by side where they have an order."""
    size = column.covers.size
    count = int(np.clip(round(part * size), 1, size))
    asked = np.zeros(size, bool)
    if column.ordered:
        start = int(rng.integers(0, size - count + 1))
        asked[start : start + count] = True
    else:
        asked[rng.choice(size, count, replace=False)] = True
    return asked


def _truth(asked: Asked) -> float:
    inside = [np.append(values, False)[column.values] for column, values in asked]  # -1, missing, is the last
    return float(np.count_nonzero(np.logical_and.reduce(inside)))


def _answer(asked: Asked) -> float:
    parts = [column.covers.means(values.astype(np.float64))[column.texts] for column, values in asked]
    return float(np.multiply.reduce(parts).sum())
