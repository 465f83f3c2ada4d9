"""minorities(): how many published records do not have the most frequent value of their class."""

from __future__ import annotations

import polars as pl

from shoal.auditing.census import Counted, texts_of
from shoal.domains import STAR
from shoal.policy import Policy


def minorities(frame: pl.DataFrame, counted: Counted, policy: Policy) -> dict[str, int]:
    """Return for each published sensitive column the kept records in the minority of their class."""
    keys = [f"q{place}" for place in range(len(policy.quasi_identifiers))]
    texts = [texts_of(frame[name]).alias(key) for name, key in zip(policy.quasi_identifiers, keys, strict=True)]
    kept = frame.height - counted.starred
    starred = pl.all_horizontal((pl.col(key) == STAR).fill_null(False) for key in keys)
    found = {}
    for name in policy.sensitive:
        if name in frame.columns:
            held = pl.DataFrame([*texts, texts_of(frame[name]).alias("value")]).group_by([*keys, "value"]).len()
            if counted.starred:
                held = held.filter(~starred)
            most = held.group_by(keys).agg(pl.col("len").max())
            found[name] = kept - int(most["len"].sum())
    return found
