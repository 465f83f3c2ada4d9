"""matching_anything(): k where a missing or suppressed cell could be any value."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.encoding.labels import SIGNS

_PAIRS = 1_024
"""So many pairs of patterns are compared, at most."""


def shows_nothing(column: pl.Series) -> pl.Series:
    """Return which cells show nothing: missing, ``*``, or a sign for it."""
    return column.is_null() | column.is_in(sorted(SIGNS)).fill_null(False)


def matching_anything(classes: pl.DataFrame) -> int | None:
    """Return with how many records, itself included, the loneliest record agrees wherever both show something.

    Never less than k where such cells are values of their own: equal records agree. It is what other tools count
    (missing values as wildcards), and the weaker statement: a reader who knows why cells are missing may tell more.
    ``None`` without records, and where the cells that show nothing lie in too many ways to be compared.

    Cost: one join of classes for each pair of patterns, a pattern being the set of columns that show nothing.

    Examples
    --------
    >>> matching_anything(pl.DataFrame({"q0": ["1", "1", "2"], "q1": ["a", "*", "b"], "records": [3, 1, 2]}))
    2
    """
    keys = [name for name in classes.columns if name.startswith("q")]
    bits = sum(shows_nothing(classes[key]).cast(pl.Int64).to_numpy() << index for index, key in enumerate(keys))
    patterns, which = np.unique(np.asarray(bits, np.int64), return_inverse=True)
    if not classes.height or len(patterns) ** 2 > _PAIRS:
        return None
    if patterns.tolist() == [0]:
        return int(classes["records"].min())  # type: ignore[arg-type]
    table = classes.select(*keys, pl.col("records").cast(pl.Int64)).with_columns(pl.Series("p", which))
    parts = [table.filter(pl.col("p") == number) for number in range(len(patterns))]
    least = []
    for mine, own in zip(patterns, parts, strict=True):
        total = np.zeros(own.height, np.int64)
        for theirs, other in zip(patterns, parts, strict=True):
            total += _agreeing(own, other, _shown(keys, int(mine | theirs)))
        least.append(int(total.min()))
    return min(least)


def _shown(keys: list[str], hidden: int) -> list[str]:
    return [key for index, key in enumerate(keys) if not hidden >> index & 1]


def _agreeing(own: pl.DataFrame, other: pl.DataFrame, keys: list[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each class of one part the records of the other that agree on some columns."""
    if not keys:
        return np.full(own.height, other["records"].sum(), np.int64)
    counts = other.group_by(keys).agg(pl.col("records").sum().alias("more"))
    joined = own.select(keys).join(counts, on=keys, how="left", maintain_order="left")
    return joined["more"].fill_null(0).to_numpy()
