"""measure_identifying(): how much each column helps to tell records apart, alone and together with others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from shoal.encoding.types import Ints
from shoal.engines.columns import codes_of, domain_of, to_plain
from shoal.kernels.group import group

HEAVIEST = 5
"""The weight of the most identifying column; identifiers weigh one more, which is the threshold."""
_RECORDS = 10_000
"""Records that are looked at: a sample tells both ratios well enough."""
_SETS = 300
"""Sets of columns that are looked at: all of three, or of two where that is more."""


@dataclass(frozen=True)
class Identifying:
    """How identifying a column was measured to be."""

    distinction: float
    """Distinct values over records, the column alone."""
    separation: float
    """The share of pairs of records that the column alone tells apart."""
    gain: float
    """What it adds, on average, to the distinction and the separation of up to two other columns; 0 to 1."""
    weight: int
    """From 1 to 5, in proportion to the gain."""

    def __str__(self) -> str:
        apart = "> 99" if 0.99 < self.separation < 1 else f"{self.separation:.0%}".rstrip("%")
        return f"tells {apart} % of pairs apart: weight {self.weight}"


def measure_identifying(frame: pl.DataFrame, columns: Sequence[str]) -> dict[str, Identifying]:
    """Measure how identifying some columns are.

    *Distinction* is the number of distinct combinations over that of records, *separation* the share of pairs of
    records that differ. Each column is measured alone, and by what it adds to combinations of up to two of the others
    (a column that others follow from adds little). The weight is in proportion to the mean gain: 5 for the most
    identifying column, 1 at least.

    References
    ----------
    Motwani, R. and Xu, Y. (2007). Efficient algorithms for masking and finding quasi-identifiers. VLDB.
    Hussien, A. A. et al. (2015). Utility-based anonymization using generalization boundaries. Section 2.4: weights
    follow how much a column is involved in revealing who someone is, alone or in a group of columns.

    Examples
    --------
    >>> table = pl.DataFrame({"age": [21, 22, 31, 32], "sex": ["f", "m", "f", "m"], "twin": ["F", "M", "F", "M"]})
    >>> {name: found.weight for name, found in measure_identifying(table, table.columns).items()}
    {'age': 5, 'sex': 1, 'twin': 1}
    """
    sample = frame.gather_every(max(-(-frame.height // _RECORDS), 1))
    codes = [_codes(sample[name]) for name in columns]
    measured = {chosen: _ratios([codes[index] for index in chosen], sample.height) for chosen in _sets(len(codes))}
    gains = [_gain(index, measured) for index in range(len(codes))]
    most = max(gains, default=0.0)
    measures = {}
    for index, name in enumerate(columns):
        weight = max(1, round(HEAVIEST * gains[index] / most)) if most > 0 else 1
        measures[name] = Identifying(*measured[(index,)], gains[index], weight)
    return measures


def _codes(column: pl.Series) -> tuple[Ints, int]:
    values = to_plain(column)
    domain = domain_of(values)
    return codes_of(values, domain), len(domain) + 1


def _sets(count: int) -> Iterator[tuple[int, ...]]:
    """Yield the sets of one, two and three columns, as far as they are not too many."""
    yield ()
    listed = 0
    for size in (1, 2, 3):
        chosen = list(combinations(range(count), size))
        listed += len(chosen)
        if size > 1 and listed > _SETS:
            return
        yield from chosen


def _ratios(columns: Sequence[tuple[Ints, int]], records: int) -> tuple[float, float]:
    if records < 2:
        return (0.0, 0.0)
    if not columns:
        return (1 / records, 0.0)  # all look alike
    numbers, rows = group([codes for codes, _ in columns], [size for _, size in columns])
    sizes = np.bincount(numbers).astype(np.float64)
    alike = float((sizes * (sizes - 1)).sum()) / (records * (records - 1))
    return len(rows) / records, 1.0 - alike


def _gain(index: int, measured: dict[tuple[int, ...], tuple[float, float]]) -> float:
    """Return what a column adds to the sets without it, on average over their sizes and both ratios."""
    by_size: dict[int, list[float]] = {}
    for chosen, (distinction, separation) in measured.items():
        if index in chosen:
            rest = measured[tuple(other for other in chosen if other != index)]
            by_size.setdefault(len(chosen), []).append((distinction - rest[0] + separation - rest[1]) / 2)
    return float(np.mean([np.mean(gains) for gains in by_size.values()]))
