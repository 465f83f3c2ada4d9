"""measure_information(): how much columns tell about a column that readers want to explain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.encoding.types import Ints
from shoal.engines.columns import codes_of, domain_of, to_plain
from shoal.profiling.identifying import HEAVIEST

_RECORDS, _EIGHTHS, _FREQUENT = 10_000, 8, 30


def measure_information(frame: pl.DataFrame, columns: Sequence[str], target: str) -> dict[str, int]:
    """Return a weight from 1 to 5 for each column: in proportion to the share of the target that it tells.

    The share is the mutual information over the entropy of the target, of numbers in eighths and of the frequent
    categories; what columns of as many values tell by chance is taken off.

    Examples
    --------
    >>> table = pl.DataFrame({"dose": [0, 1, 2, 3] * 50, "sex": [*"ffmmm"] * 40, "well": [0, 0, 1, 1] * 50})
    >>> measure_information(table, ["dose", "sex"], "well")
    {'dose': 5, 'sex': 1}
    """
    sample = frame.gather_every(max(-(-frame.height // _RECORDS), 1))
    wanted = _bins(sample[target])
    shares = {name: _information(_bins(sample[name]), wanted) for name in columns}
    most = max(shares.values(), default=0.0)
    return {name: max(1, round(HEAVIEST * share / most)) if most > 0 else 1 for name, share in shares.items()}


def _bins(column: pl.Series) -> Ints:
    values = to_plain(column)
    domain = domain_of(values)
    codes = codes_of(values, domain).astype(np.int64)
    counts = np.bincount(codes, minlength=len(domain) + 1)
    if domain.ordered and len(domain) > _EIGHTHS:
        return ((np.cumsum(counts) - counts) * _EIGHTHS // max(len(codes), 1))[codes]
    frequent = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
    return np.minimum(frequent[codes], _FREQUENT).astype(np.int64)


def _information(ours: Ints, theirs: Ints) -> float:
    """Return the mutual information in nats, less what chance gives (Miller 1955)."""
    width = int(theirs.max(initial=0)) + 1
    table = np.bincount(ours * width + theirs, minlength=(int(ours.max(initial=0)) + 1) * width).reshape(-1, width)
    shares = table / max(table.sum(), 1)
    apart = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    there = shares > 0
    found = float((shares[there] * np.log(shares[there] / apart[there])).sum())
    freedom = (np.count_nonzero(table.sum(axis=1)) - 1) * (np.count_nonzero(table.sum(axis=0)) - 1)
    return max(found - freedom / (2 * max(len(ours), 1)), 0.0)
