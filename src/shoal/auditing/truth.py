"""Truth: what is published of a record covers what the record holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from shoal.auditing.reading import Reader
from shoal.errors import Fault
from shoal.policy import Policy
from shoal.tables.tallied import Times

Pairs = Iterable[tuple[str | None, str | None]]
"""What a record holds and what is published of it; each pair once."""


def truth_faults(pairs: Mapping[str, Pairs], raw: pl.DataFrame, policy: Policy, times: Times = None) -> list[Fault]:
    """Return a fault for each column where a published text does not cover the value that it stands for.

    The recoding says which record is published as what; the texts are read as a reader of the release reads them.
    """
    faults = []
    for name, column in pairs.items():
        reader = Reader(raw, name, policy, times)
        false = sum(not reader.covers(shown, value) for value, shown in column)
        if false:
            faults.append(Fault("published texts that are not true of their records", name, f"{false} kinds of cells"))
    return faults
