"""CountedTable: a table by its distinct records, each once with how often it occurs.

Whoever can count a table elsewhere (a stream over a file that is larger than memory, Spark) hands the counts over, not
the records: everything that a search, a release and an audit need follows from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.encoding.types import Ints
from shoal.errors import TableError

COUNTS = "times"
"""What the column of counts is called wherever a counted table is one frame."""
_MOST = 2.0**53
"""Counts are added up as floating-point numbers too, and those are whole up to here only."""


@dataclass(frozen=True)
class CountedTable:
    """A table by its records and how often each occurs; a record may be there in several parts.

    Without counts each record stands by itself, in the order in which the table holds them.

    Examples
    --------
    >>> table = CountedTable(pl.DataFrame({"age": [21, 24]}), pl.Series([3, 1]))
    >>> table.records, table.expand()["age"].to_list()
    (4, [21, 21, 21, 24])
    >>> CountedTable(pl.DataFrame({"age": [21, 24]})).records
    2
    """

    frame: pl.DataFrame
    counts: pl.Series | None = None
    apart: bool = False
    """Whether only each column by itself (and the sensitive ones together) is that of the table, not its records."""

    def __post_init__(self) -> None:
        if self.counts is not None:
            object.__setattr__(self, "counts", _require_counts(self.counts, self.frame.height))

    @property
    def is_counted(self) -> bool:
        """Whether records were counted: then nothing is known of their order, and none stands for itself."""
        return self.counts is not None

    @property
    def records(self) -> int:
        """How many records there are, the same ones counted as often as they occur."""
        return self.frame.height if self.counts is None else int(self.counts.sum())

    @property
    def weights(self) -> Ints | None:
        """How often each record occurs as an array, for ``np.bincount``."""
        return None if self.counts is None else self.counts.to_numpy()

    @property
    def record_counts(self) -> Ints:
        """How often each record occurs, also where each occurs once."""
        return np.ones(self.frame.height, np.int64) if self.counts is None else self.counts.to_numpy()

    def with_frame(self, frame: pl.DataFrame) -> CountedTable:
        """Return other columns of the same records."""
        return replace(self, frame=frame)

    def expand(self) -> pl.DataFrame:
        """Return each record as often as it occurs."""
        if self.counts is None:
            return self.frame
        return self.frame[np.repeat(np.arange(self.frame.height), self.counts.to_numpy())]

    def sample(self, most: int, seed: int) -> pl.DataFrame:
        """Return records one by one: all of them, or of a table with more about as many as that, drawn at random.

        They are put in the order of what they hold, for whoever counted had none, and cut into parts of the same
        length, give or take one; of each part one record is drawn, so that what occurs often is there in its share.
        (Every so-many-th one would be the same year of everybody, where each has a record of each year.) No record is
        drawn twice.

        Examples
        --------
        >>> table = CountedTable(pl.DataFrame({"age": [21, 24, 30]}), pl.Series([600, 300, 100]))
        >>> table.sample(10, seed=0)["age"].value_counts(sort=True)["count"].to_list()
        [6, 3, 1]
        """
        if not self.is_counted and self.records <= most:
            return self.frame
        ordered = self._in_order_of_values()
        if self.records <= most:
            return ordered.expand()
        ends = np.cumsum(ordered.record_counts)
        long, rest = divmod(int(ends[-1]), most)
        cuts = np.arange(most + 1) * long + np.arange(most + 1) * rest // most
        drawn = np.random.default_rng(seed).integers(cuts[:-1], cuts[1:])
        rows: Ints = np.searchsorted(ends, drawn, side="right")
        return ordered.frame[rows]

    def _in_order_of_values(self) -> CountedTable:
        keys = [str(index) for index in range(self.frame.width)]  # polars reads "^…$" in a name as a pattern
        named = pl.DataFrame([column.alias(key) for key, column in zip(keys, self.frame, strict=True)])
        order = named.with_row_index("row").sort(keys, nulls_last=False)["row"]
        return CountedTable(self.frame[order], None if self.counts is None else self.counts.gather(order), self.apart)

    def count_where(self, chosen: pl.Series) -> int:
        """Return how many records are chosen by a mask."""
        return int(chosen.sum()) if self.counts is None else int(self.counts.filter(chosen).sum())

    def count_missing(self, column: pl.Series) -> int:
        """Return how many records have no value in a plain column of theirs.

        Examples
        --------
        >>> ages = pl.DataFrame({"age": [1, None]})
        >>> CountedTable(ages, pl.Series([2, 5])).count_missing(ages["age"])
        5
        """
        return column.null_count() if self.counts is None else self.count_where(column.is_null())

    def count_codes(self, codes: npt.NDArray[np.integer], size: int) -> Ints:
        """Return how many records have each code.

        Examples
        --------
        >>> CountedTable(pl.DataFrame({"age": [7, 8, 8]}), pl.Series([5, 1, 1])).count_codes(np.array([0, 2, 2]), 4)
        array([5, 0, 2, 0])
        """
        return np.bincount(codes, self.weights, minlength=size).astype(np.int64)

    def count_values(self, column: pl.Series, name: str) -> pl.DataFrame:
        """Return each value of a column (``values``) and how many records have it (under a name)."""
        column = column.alias("values")  # a name of our own: polars reads "^…$" in a name as a pattern
        if self.counts is None:
            return column.value_counts(name=name)
        return pl.DataFrame([column, self.counts.alias(name)]).group_by("values").agg(pl.col(name).sum())


def _require_counts(counts: pl.Series, records: int) -> pl.Series:
    """Return counts as whole numbers, or raise what is wrong with them."""
    if len(counts) != records or not counts.dtype.is_integer() or counts.null_count():
        raise TableError("counts must be a whole number for each record", got=f"{len(counts)} of {counts.dtype}")
    if bool((counts < 1).any()):
        raise TableError("a record that is there occurs at least once", where="counts", got=str(counts.min()))
    if (counts.cast(pl.Float64).sum() or 0.0) >= _MOST:
        raise TableError("more records than can be counted exactly", where="counts", got="2**53 or more")
    return counts.cast(pl.Int64).alias(COUNTS)


def side_by_side(counts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return one table of the columns of several that have as many records.

    Examples
    --------
    >>> ages = pl.DataFrame({"age": [20, 30], "times": [2, 2]})
    >>> side_by_side([ages, pl.DataFrame({"sex": ["f", "m"], "times": [3, 1]})]).rows()
    [(20, 'f', 2), (30, 'f', 1), (30, 'm', 1)]
    """
    ordered = [one.sort([name for name in one.columns if name != COUNTS], nulls_last=True) for one in counts]
    reached = [np.cumsum(one[COUNTS].to_numpy()) for one in ordered]
    ends = np.unique(np.concatenate(reached))
    columns = [
        column
        for one, reach in zip(ordered, reached, strict=True)
        for column in one.drop(COUNTS)[np.searchsorted(reach, ends)].get_columns()
    ]
    return pl.DataFrame([*columns, pl.Series(COUNTS, np.diff(ends, prepend=0))])
