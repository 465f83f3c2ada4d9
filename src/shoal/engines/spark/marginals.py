"""Columns of a table, each counted by itself, put side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from pyspark.sql import DataFrame

from shoal.engines.counted import COUNTS, CountedTable
from shoal.engines.spark.columns import Layout
from shoal.engines.spark.tally import count_each
from shoal.policy import Policy


def count_marginals(combinations: DataFrame, layout: Layout, policy: Policy) -> CountedTable:
    """Return a table whose columns are those of a larger one, the sensitive ones together, but whose records are not.

    Domains, hierarchies, losses and the distributions that promises are compared with follow from it, whatever the size
    of the larger table.
    """
    sensitive = [layout.key(name) for name in layout.counted if name in policy.sensitive]
    units = [[layout.key(name)] for name in layout.counted if name in policy.quasi_identifiers]
    table = side_by_side(count_each(combinations, [*units, *([sensitive] if sensitive else [])]))
    named = {name: table[layout.key(name)] for name in layout.names if layout.key(name) in table.columns}
    blank = pl.Series([None] * table.height, dtype=pl.String)
    every = {name: named.get(name, blank) for name in layout.names if name in named or name in policy.identifiers}
    return CountedTable(pl.DataFrame(every), table[COUNTS], apart=True)


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
