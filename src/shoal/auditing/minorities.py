"""count_minorities(): how many published records do not have the most frequent value of their class."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.auditing.census import Counted
from shoal.auditing.reading import numbered
from shoal.auditing.tallies import count_pairs
from shoal.auditing.texts import texts_of
from shoal.engines.counted import CountedTable
from shoal.policy import Policy


def count_minorities(published: CountedTable, counted: Counted, policy: Policy) -> dict[str, int]:
    """Return for each published sensitive column the kept records in the minority of their class."""
    kept = ~counted.is_starred.to_numpy()
    records = counted.classes["records"].cast(pl.Int64).to_numpy()
    found = {}
    for name in policy.sensitive:
        if name in published.frame.columns:
            values = pl.Series(numbered(texts_of(published.frame[name]))[1])
            held, most = count_pairs(values, counted.of_each, published), np.zeros(len(records), np.int64)
            np.maximum.at(most, held["class"].to_numpy(), held["count"].to_numpy())
            found[name] = int((records - most)[kept].sum())
    return found
