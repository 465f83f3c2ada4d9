"""The tables that perturbations are tested with."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl


def people(records: int = 400, seed: int = 1) -> pl.DataFrame:
    """Return a table with columns of all kinds: skewed, tied, correlated, without order."""
    rng = np.random.default_rng(seed)
    income = rng.lognormal(8, 1, records)
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(int(day)) for day in rng.integers(0, 900, records)]
    return pl.DataFrame(
        {
            "zip": rng.integers(10, 14, records).astype(str),
            "age": rng.integers(20, 60, records),
            "income": income,
            "tax": 0.3 * income + rng.normal(0, 200, records),
            "hours": rng.integers(0, 50, records),
            "day": days,
            "job": rng.choice(list("abc"), records, p=[0.6, 0.3, 0.1]),
            "illness": rng.choice(["flu", "cold", "asthma"], records),
        }
    )
