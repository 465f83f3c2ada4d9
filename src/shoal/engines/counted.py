"""CountedTable: a table by its distinct records, each once with how often it occurs.

Whoever can count a table elsewhere (a stream over a file that is larger than memory, Spark) hands the counts over, not
the records: everything that a search, a release and an audit need follows from them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.errors import Fault, TableError
from shoal.models.differential_privacy import DifferentialPrivacy
from shoal.models.personal_k import PersonalK
from shoal.policy import Policy
from shoal.policy.outputs import Generalized

Ints = npt.NDArray[np.int64]
TIMES = "times"
"""What the column of counts is called wherever a tallied table is one frame."""
_MOST = 2.0**53
"""Counts are added up as floating-point numbers too, and those are whole up to here only."""
Times = pl.Series | None
"""How often each record of a table occurs; ``None``: once."""


@dataclass(frozen=True)
class CountedTable:
    """A table by its records and how often each occurs; a record may be there in several parts.

    Examples
    --------
    >>> table = CountedTable(pl.DataFrame({"age": [21, 24]}), pl.Series([3, 1]))
    >>> table.records, table.expanded()["age"].to_list()
    (4, [21, 21, 21, 24])
    """

    frame: pl.DataFrame
    times: pl.Series
    apart: bool = False
    """Whether only each column by itself (and the sensitive ones together) is that of the table, not its records."""

    def __post_init__(self) -> None:
        times = self.times
        if len(times) != self.frame.height or not times.dtype.is_integer() or times.null_count():
            raise TableError("times must be a whole number for each record", got=f"{len(times)} of {times.dtype}")
        if bool((times < 1).any()):
            raise TableError("a record that is there occurs at least once", where="times", got=str(times.min()))
        if (times.cast(pl.Float64).sum() or 0.0) >= _MOST:
            raise TableError("more records than can be counted exactly", where="times", got="2**53 or more")
        object.__setattr__(self, "times", times.cast(pl.Int64).alias(TIMES))

    @property
    def records(self) -> int:
        """How many records there are, the same ones counted as often as they occur."""
        return int(self.times.sum())

    def expanded(self) -> pl.DataFrame:
        """Return each record as often as it occurs."""
        return expanded(self.frame, self.times)


def expanded(frame: pl.DataFrame, times: Times) -> pl.DataFrame:
    """Return each record as often as it occurs."""
    return frame if times is None else frame[np.repeat(np.arange(frame.height), times.to_numpy())]


def sampled(frame: pl.DataFrame, times: Times, most: int, seed: int) -> pl.DataFrame:
    """Return records one by one: all of them, or of a tallied table with more about as many as that, drawn at random.

    They are put in the order of what they hold, for whoever counted had none, and cut into parts of the same length,
    give or take one; of each part one record is drawn, so that what occurs often is there in its share. (Every
    so-many-th one would be the same year of everybody, where each has a record of each year.) No record is drawn
    twice. A table that is not tallied is returned as it is.

    Examples
    --------
    >>> frame, times = pl.DataFrame({"age": [21, 24, 30]}), pl.Series([600, 300, 100])
    >>> sampled(frame, times, 10, seed=0)["age"].value_counts(sort=True)["count"].to_list()
    [6, 3, 1]
    """
    if times is None:
        return frame
    keys = [str(index) for index in range(frame.width)]  # names of our own: polars reads "^…$" in a name as a pattern
    named = pl.DataFrame([column.alias(key) for key, column in zip(keys, frame, strict=True)])
    order = named.with_row_index("row").sort(keys, nulls_last=False)["row"]
    frame, times = frame[order], times.gather(order)
    if times.sum() <= most:
        return expanded(frame, times)
    ends = np.cumsum(times.to_numpy())
    long, rest = divmod(int(ends[-1]), most)
    cuts = np.arange(most + 1) * long + np.arange(most + 1) * rest // most
    indices = np.random.default_rng(seed).integers(cuts[:-1], cuts[1:])
    rows: Ints = np.searchsorted(ends, indices, side="right")
    return frame[rows]


def records_of(frame: pl.DataFrame, times: Times) -> int:
    """Return how many records a table has."""
    return frame.height if times is None else int(times.sum())


def count_missing(column: pl.Series, times: Times) -> int:
    """Return how many records have no value in a plain column.

    Examples
    --------
    >>> count_missing(pl.Series([1, None]), pl.Series([2, 5]))
    5
    """
    return column.null_count() if times is None else int(times.filter(column.is_null()).sum())


def as_weights(times: Times) -> Ints | None:
    """Return how often each record occurs as an array, for ``np.bincount``."""
    return None if times is None else times.to_numpy()


def counted(codes: npt.NDArray[np.integer], times: Times, count: int) -> Ints:
    """Return how many records have each code.

    Examples
    --------
    >>> counted(np.array([0, 2, 2]), pl.Series([5, 1, 1]), 4)
    array([5, 0, 2, 0])
    """
    return np.bincount(codes, as_weights(times), minlength=count).astype(np.int64)


def value_counts(column: pl.Series, times: Times, name: str) -> pl.DataFrame:
    """Return each value of a column (``values``) and how many records have it."""
    column = column.alias("values")  # a name of our own: polars reads "^…$" in a name as a pattern
    if times is None:
        return column.value_counts(name=name)
    return pl.DataFrame([column, times.alias(name)]).group_by("values").agg(pl.col(name).sum())


def untallied(policy: Policy) -> list[Fault]:
    """Return what a policy asks for that follows from the records of a table only, not from how often each occurs."""
    faults = []
    if policy.output != Generalized():
        faults.append(Fault("this form of release needs the records one by one", "output", policy.output.form))
    if policy.pseudonyms:
        faults.append(Fault("pseudonyms need the records one by one", "identifiers"))
    for index, model in enumerate(policy.models):
        if isinstance(model, (DifferentialPrivacy, PersonalK)):
            faults.append(Fault("this model needs the records one by one", f"models[{index}]", model.key()))
    if policy.population is not None or policy.survey_weight is not None:
        where = "population" if policy.survey_weight is None else "survey_weight"
        faults.append(Fault("a population is compared with records one by one", where))
    return faults
