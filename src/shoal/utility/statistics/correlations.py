"""Associations of all pairs of columns, before and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Floats, Ints
from shoal.utility.statistics.columns import ColumnPair
from shoal.utility.statistics.threads import one_blas_thread

Matrix = tuple[tuple[float | None, ...], ...]
Strength = Callable[[ColumnPair, ColumnPair, bool], float | None]


@dataclass(frozen=True)
class Associations:
    """How strongly each pair of columns goes together, in the original and in the published table."""

    columns: tuple[str, ...]
    before: Matrix
    after: Matrix
    """``None`` where a column does not vary."""

    @property
    def largest(self) -> tuple[str, str, float, float] | None:
        """The pair that changed most, with its strength before and after."""
        pairs = [
            (self.columns[one], self.columns[other], first, second)
            for one in range(len(self.columns))
            for other in range(one)
            if (first := self.before[one][other]) is not None and (second := self.after[one][other]) is not None
        ]
        return max(pairs, key=lambda pair: abs(pair[3] - pair[2]), default=None)


@one_blas_thread
def associations(columns: Sequence[ColumnPair]) -> Associations:
    """Return the strength of all pairs: Pearson's r, Cramér's V, or the correlation ratio η.

    r for two numbers (-1 to 1), by what stands for them; V for two categories and η for a number and a category (0 to
    1), a published text in equal parts for each value that it covers. The 20 most frequent categories of a column are
    told apart.

    References
    ----------
    Cramér, H. (1946). Mathematical methods of statistics. Princeton, 21.9.
    Fisher, R. A. (1925). Statistical methods for research workers, 45 (η).

    Examples
    --------
    Two columns that say the same; the second is published as one label of both values:

    >>> from shoal.utility.statistics.covers import CoveredValues
    >>> codes, apart = np.array([0, 0, 1, 1]), CoveredValues.of([{0}, {1}], 2)
    >>> a = ColumnPair("a", codes, codes, apart)
    >>> b = ColumnPair("b", codes, np.zeros(4, np.int64), CoveredValues.of([{0, 1}], 2))
    >>> associations([a, b]).largest
    ('b', 'a', 1.0, 0.0)
    """
    return _pairs(columns, strength)


@one_blas_thread
def rank_correlations(columns: Sequence[ColumnPair]) -> Associations:
    """Return Spearman's ρ of all pairs of number columns."""
    return _pairs([column for column in columns if column.numbers is not None], _Spearman())


def _pairs(columns: Sequence[ColumnPair], of: Strength) -> Associations:
    count = len(columns)
    found: list[Matrix] = []
    for published in (False, True):
        cells: list[list[float | None]] = [[None] * count for _ in range(count)]
        for one in range(count):
            cells[one][one] = 1.0 if columns[one].varies(published=published) else None
            for other in range(one):
                cells[one][other] = cells[other][one] = of(columns[one], columns[other], published)
        found.append(tuple(map(tuple, cells)))
    return Associations(tuple(column.name for column in columns), found[0], found[1])


def measure(one: ColumnPair, other: ColumnPair) -> str:
    """Return what the strength of a pair is called."""
    numbers = (one.numbers is not None) + (other.numbers is not None)
    return ("cramer-v", "correlation-ratio", "pearson")[numbers]


def strength(one: ColumnPair, other: ColumnPair, published: bool) -> float | None:
    """Return the strength of a pair in one of the tables; ``None`` where a column does not vary."""
    if one.numbers is not None and other.numbers is not None:
        return _correlation(one.numbers[published], other.numbers[published])
    if one.numbers is None and other.numbers is None:
        return cramer(_contingency(one, other, published))
    number, category = (one, other) if one.numbers is not None else (other, one)
    return _ratio(number, category, published)


def _correlation(one: Floats, other: Floats) -> float | None:
    both = ~(np.isnan(one) | np.isnan(other))
    one, other = one[both], other[both]
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    one, other = one - one.mean(), other - other.mean()
    size = float(np.sqrt(float(one @ one) * float(other @ other)))
    return float(np.clip(float(one @ other) / size, -1.0, 1.0)) if size > 0 else None


class _Spearman:
    """Spearman's ρ of two columns; each column is ranked once, if none of its numbers is missing."""

    def __init__(self) -> None:
        self.ranks: dict[tuple[str, bool], Floats] = {}

    def __call__(self, one: ColumnPair, other: ColumnPair, published: bool) -> float | None:
        assert one.numbers is not None
        assert other.numbers is not None
        first, second = one.numbers[published], other.numbers[published]
        both = ~(np.isnan(first) | np.isnan(second))
        if both.all():
            return _correlation(self._rank(one.name, published, first), self._rank(other.name, published, second))
        return _correlation(_rank_average(first[both]), _rank_average(second[both]))

    def _rank(self, name: str, published: bool, numbers: Floats) -> Floats:
        if (name, published) not in self.ranks:
            self.ranks[name, published] = _rank_average(numbers)
        return self.ranks[name, published]


def _rank_average(numbers: Floats) -> Floats:
    """Return the rank of each number, the mean of their ranks for equal ones."""
    _, indices, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[indices], np.float64)


def cramer(table: Floats) -> float | None:
    """Return Cramér's V of a contingency table; ``None`` where one side does not vary.

    Examples
    --------
    >>> cramer(np.array([[10.0, 0], [0, 10]])), cramer(np.array([[10.0, 10]]))
    (1.0, None)
    """
    table = table[table.sum(axis=1) > 1e-9][:, table.sum(axis=0) > 1e-9]
    least = min(table.shape, default=0) - 1
    if least < 1:
        return None
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    square = float(((table - expected) ** 2 / expected).sum() / table.sum())
    return float(np.clip(np.sqrt(square / least), 0.0, 1.0))


def _contingency(one: ColumnPair, other: ColumnPair, published: bool) -> Floats:
    """Records of each pair of groups."""
    rows, columns = one.shares.shape[1], other.shares.shape[1]
    if not published:
        both = (one.values >= 0) & (other.values >= 0)
        pairs = one.groups[one.values[both]] * columns + other.groups[other.values[both]]
        return np.bincount(pairs, minlength=rows * columns).reshape(rows, columns).astype(np.float64)
    pairs, counts = _count_keys(one.texts * len(other.covers) + other.texts, len(one.covers) * len(other.covers))
    first, second = np.divmod(pairs, len(other.covers))
    return np.asarray((one.shares[first] * counts[:, None]).T @ other.shares[second], np.float64)


_FEW = 1 << 22


def _count_keys(keys: Ints, most: int) -> tuple[Ints, Floats]:
    """Return the different keys and how often each occurs."""
    if most > _FEW:
        found, counts = np.unique(keys, return_counts=True)
        return found, counts.astype(np.float64)
    held = np.bincount(keys, minlength=1)
    found = np.flatnonzero(held)
    return found, held[found].astype(np.float64)


def _ratio(number: ColumnPair, category: ColumnPair, published: bool) -> float | None:
    """The correlation ratio η: the part of a number's deviation that lies between the groups of a category."""
    assert number.numbers is not None
    values = number.numbers[published]
    held = ~np.isnan(values)
    kinds, parts = _kinds(category, published)
    held &= (kinds >= 0) & (parts.sum(axis=1) > 0)[kinds]
    values, kinds = values[held], kinds[held]
    if len(values) < 2 or np.ptp(values) == 0:
        return None
    values = values - values.mean()
    records, sums = (
        np.einsum("kg,k->g", parts, np.bincount(kinds, amounts, minlength=len(parts))) for amounts in (None, values)
    )
    filled = records > 1e-9
    if filled.sum() < 2:
        return None
    between = float((sums[filled] ** 2 / records[filled]).sum())
    return float(np.sqrt(np.clip(between / float(values @ values), 0.0, 1.0)))


def _kinds(category: ColumnPair, published: bool) -> tuple[Ints, Floats]:
    """The kind of each record, and the part of each group in a kind."""
    if published:
        return category.texts, category.shares
    parts = np.zeros((category.covers.size, category.shares.shape[1]))
    parts[np.arange(category.covers.size), category.groups] = 1.0
    return category.values, parts
