"""k where a missing or suppressed cell could be any value: as other tools tell it, and as a model promises it."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.encoding.domains import STAR
from shoal.encoding.labels import SIGNS
from shoal.encoding.types import Bools, Ints

_PAIRS = 1_024
"""So many pairs of patterns are compared, at most."""


def _shows_nothing(column: pl.Series) -> pl.Series:
    """Return which cells show nothing: missing, ``*``, or a sign for it."""
    return column.is_null() | column.is_in(sorted(SIGNS)).fill_null(False)


def count_matching_anything(classes: pl.DataFrame) -> int | None:
    """Return with how many records, itself included, the loneliest record agrees wherever both show something.

    Never less than k where such cells are values of their own: equal records agree. It is what other tools count
    (missing values as wildcards), and the weaker statement: a reader who knows why cells are missing may tell more.
    ``None`` without records, and where the cells that show nothing lie in too many ways to be compared.

    Cost: one sort of classes for each union of two patterns, a pattern being the set of columns that show nothing.

    Examples
    --------
    >>> count_matching_anything(pl.DataFrame({"q0": ["1", "1", "2"], "q1": ["a", "*", "b"], "records": [3, 1, 2]}))
    2
    """
    keys = [name for name in classes.columns if name.startswith("q")]
    bits = sum(_shows_nothing(classes[key]).cast(pl.Int64).to_numpy() << index for index, key in enumerate(keys))
    patterns, which = np.unique(np.asarray(bits, np.int64), return_inverse=True)
    if not classes.height or len(patterns) ** 2 > _PAIRS:
        return None
    if patterns.tolist() == [0]:
        return int(classes["records"].min())  # type: ignore[arg-type]
    codes = [classes[key].rank("dense").fill_null(0).to_numpy().astype(np.int64) for key in keys]
    records = classes["records"].cast(pl.Int64).to_numpy()
    totals = np.zeros(classes.height, np.int64)
    alike: dict[int, Ints] = {}
    for mine, own in enumerate(patterns.tolist()):
        for theirs, other in enumerate(patterns.tolist()):
            if own | other not in alike:
                alike[own | other] = _number_rows(
                    [code for bit, code in enumerate(codes) if not (own | other) >> bit & 1]
                )
            rows, agreeing = np.flatnonzero(which == mine), alike[own | other]
            if len(agreeing):
                counts = np.bincount(agreeing, np.where(which == theirs, records, 0))
                totals[rows] += counts[agreeing[rows]].astype(np.int64)
            else:
                totals[rows] += records[which == theirs].sum()
    return int(totals.min())


def _number_rows(columns: list[Ints]) -> Ints:
    """Number equal rows of codes; none where there is no column."""
    if not columns:
        return np.zeros(0, np.int64)
    key, bound = columns[0], int(columns[0].max()) + 1
    for column in columns[1:]:
        width = int(column.max()) + 1
        if bound > 2**62 // width:
            _, key = np.unique(key, return_inverse=True)
            bound = int(key.max()) + 1
        key, bound = key * width + column, bound * width
    return np.unique(key, return_inverse=True)[1]


def count_agreeing(classes: pl.DataFrame) -> int | None:
    """Return with how many records, itself included, the loneliest record agrees wherever both show something.

    As :func:`count_matching_anything`, but ``*`` alone is read so, as a release of ours writes it, and records that
    show nothing at all agree with each other only: else a few of them would speak for all. It is what
    ``wildcard-k-anonymity`` promises, so it is always counted, whatever it takes; ``None`` without records.

    Cost: for each pattern the classes, sorted; those that have enough records of their own are not looked at.

    Examples
    --------
    >>> both = pl.DataFrame({"q0": ["1", "1", "*"], "q1": ["a", "*", "*"], "records": [2, 1, 4]})
    >>> count_agreeing(both), count_agreeing(both.with_columns(q1=pl.Series(["a", "b", "*"])))
    (3, 1)
    """
    if not classes.height:
        return None
    keys = [name for name in classes.columns if name.startswith("q")]
    blank = np.stack([(classes[key] == STAR).fill_null(False).to_numpy() for key in keys], axis=1)
    codes = np.stack([classes[key].rank("dense").fill_null(0).cast(pl.Int64).to_numpy() for key in keys], axis=1)
    sizes = classes["records"].cast(pl.Int64).to_numpy()
    patterns, first, of = np.unique(blank, axis=0, return_index=True, return_inverse=True)
    of = of.ravel()
    members = [np.flatnonzero(of == number) for number in range(len(first))]
    found, looked_at = np.full(len(sizes), -1, np.int64), int(sizes.min()) + 1
    while True:
        asking = np.flatnonzero((sizes < looked_at) & (found < 0))
        for row_pattern in np.unique(of[asking]).tolist():
            rows = asking[of[asking] == row_pattern]
            found[rows] = sizes[rows] + _sum_others(patterns, members, row_pattern, codes, sizes, rows)
        least = int(found[found >= 0].min())
        if least <= looked_at:
            return least
        looked_at = least


def _sum_others(patterns: Bools, members: list[Ints], own: int, codes: Ints, sizes: Ints, rows: Ints) -> Ints:
    """Return for classes of one pattern the records of all other patterns that agree with each."""
    total = np.zeros(len(rows), np.int64)
    if patterns[own].all():
        return total
    for other, held in enumerate(members):
        if other == own or patterns[other].all():
            continue
        compared = np.flatnonzero(~(patterns[own] | patterns[other]))
        both = np.append(rows, held)
        alike = (
            _number_rows([codes[both, column] for column in compared]) if len(compared) else np.zeros(len(both), int)
        )
        counts = np.bincount(alike[len(rows) :], sizes[held], minlength=int(alike.max()) + 1)
        total += counts[alike[: len(rows)]].astype(np.int64)
    return total
