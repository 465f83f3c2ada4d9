"""Similarity of values by how frequent they are, and distances by similarity (Sarrafi Aghdam 2017, chapter 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Codes, Floats, Ints
from shoal.kernels.group import group as grouped
from shoal.recodings.base import Column

# Section 3.4: similarity


@dataclass
class Contingency:
    """How many of the records left have each value of a column (across), by value of the column before it (down).

    Only pairs of values that occur are kept.
    """

    width: int
    starts: Ints
    """Where each row starts."""
    values: Ints
    """The value of each pair, row after row."""
    counts: Ints
    """The records of each pair."""
    pair_of: Ints
    """The pair of each tuple."""

    @classmethod
    def of(cls, down: Codes, across: Codes, counts: Ints, height: int, width: int) -> Contingency:
        """Count the pairs of values."""
        pair_of, rows = grouped([down, across], [height, width])
        starts = np.searchsorted(down[rows], np.arange(height + 1))
        counted = np.bincount(pair_of, counts, minlength=len(rows)).astype(np.int64)
        return cls(width, starts.astype(np.int64), across[rows].astype(np.int64), counted, pair_of)

    def merge_rows(self, rows: Ints) -> Ints:
        """Return how many records have each value, in some rows taken as one (Tables 3-2 and 3-3)."""
        result = np.zeros(self.width, np.int64)
        for row in rows:
            held = slice(self.starts[row], self.starts[row + 1])
            result[self.values[held]] += self.counts[held]
        return result

    def take(self, tuples: Ints, records: Ints) -> None:
        """Take records out of the table: they are in a class now."""
        np.subtract.at(self.counts, self.pair_of[tuples], records)


def choose_rows(totals: Ints, order: Ints, k: int) -> Ints:
    """Return the rows that have k records together: the first tuple's, and the most similar ones if it needs them.

    ``totals`` are the records of each row; ``order`` is the similarity order of the column that is down.
    """
    return order[: int(np.searchsorted(np.cumsum(totals[order]), k)) + 1]


def order_by_similarity(row: Ints, first: int, totals: Ints) -> Ints:
    """Return the values that are left, ordered by how near their observation probability is to the first tuple's.

    The probabilities of a row (equation 3-1) share a denominator, so counts are compared. Of equally near values
    the first comes first.
    """
    values = np.flatnonzero(totals)
    gaps = np.abs(row[values] - row[first])
    gaps[values == first] = -1
    return values[np.argsort(gaps, kind="stable")]


# Section 3.5: distance


def measure_by_order(order: Ints, width: int) -> Floats:
    """Return how far each value is from the first of the order: its index, as a share of the last one's."""
    result = np.zeros(width)
    result[order] = np.arange(len(order)) / max(len(order) - 1, 1)
    return result


def measure_by_range(points: Floats, first: int) -> Floats:
    """Return how far each number is from the first tuple's (equation 3-2); a missing value is as far as can be.

    ``points`` are the values as shares of the column's range, not a number for the missing one.
    """
    result: Floats = np.abs(points - points[first])
    result[np.isnan(result)] = 1.0
    result[first] = 0.0
    return result


class SimilarityTables:
    """How far each value of each column is from the first tuple's, by the records that are left."""

    def __init__(self, columns: Sequence[Column], codes: Codes, counts: Ints, k: int) -> None:
        self.k = k
        self.weights = [column.weight for column in columns]
        sizes = [column.levels.size for column in columns]
        self.offsets = np.cumsum([0, *sizes]).astype(np.int64)
        self.codes = codes
        self.totals = [
            np.bincount(codes[:, index], counts, minlength=size).astype(np.int64) for index, size in enumerate(sizes)
        ]
        numbers, self.order = arrange_columns(columns, codes)
        self.points = {index: columns[index].points for index in numbers}
        self.tables = []
        down, height = np.zeros(len(codes), np.int32), 1  # without a column before it, all records are one row (3.8)
        for index in self.order:
            self.tables.append(Contingency.of(down, codes[:, index], counts, height, sizes[index]))
            down, height = codes[:, index], sizes[index]

    def distances(self, first: Codes) -> Floats:
        """Return the weighted distance of each code, column after column."""
        result = np.empty(self.offsets[-1])
        rows = np.zeros(1, np.int64)
        for index, table in zip(self.order, self.tables, strict=True):
            order = order_by_similarity(table.merge_rows(rows), int(first[index]), self.totals[index])
            self._of(result, index)[:] = measure_by_order(order, table.width) * self.weights[index]
            rows = choose_rows(self.totals[index], order, self.k)
        for index, points in self.points.items():
            self._of(result, index)[:] = measure_by_range(points, int(first[index])) * self.weights[index]
        return result

    def take(self, tuples: Ints, records: Ints) -> None:
        """Take records out of every table: they are in a class now."""
        for index in self.order:
            np.subtract.at(self.totals[index], self.codes[tuples, index], records)
        for table in self.tables:
            table.take(tuples, records)

    def _of(self, distances: Floats, index: int) -> Floats:
        return distances[self.offsets[index] : self.offsets[index + 1]]


def arrange_columns(columns: Sequence[Column], codes: Codes) -> tuple[list[int], list[int]]:
    """Return the numerical columns, and the categorical ones in order of their cardinality.

    Numbers under a hierarchy in another order than theirs are categories: their differences mean nothing.
    """
    indices = range(len(columns))
    numbers = [index for index in indices if columns[index].levels.domain.ordered and columns[index].levels.natural]
    categories = [index for index in indices if index not in numbers]
    return numbers, sorted(categories, key=lambda index: len(np.unique(codes[:, index])))
