"""Sets of columns that somebody may know: who looks alike in each of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from shoal.encoding.types import Bools, Ints

MOST_CELLS = 500_000_000
"""So many cells (sets of columns times classes) are looked at, at most."""


def list_groupings(shown: Ints, many: int) -> Iterator[tuple[tuple[int, ...], Ints]]:
    """Yield each set of columns, and the group of each class in it."""
    columns = [np.unique(shown[:, index], return_inverse=True)[1].astype(np.int64) for index in range(shown.shape[1])]
    for known in combinations(range(len(columns)), many):
        groups = columns[known[0]]
        for index in known[1:]:
            width = int(columns[index].max(initial=0)) + 1
            groups = np.unique(groups * width + columns[index], return_inverse=True)[1].astype(np.int64)
        yield known, groups


def found_in_parts(known: tuple[int, ...], before: dict[tuple[int, ...], Bools]) -> Bools:
    """Return which records are unique in some part of a set; who is unique in a part of that is so in it too."""
    parts = [before[part] for part in combinations(known, len(known) - 1)]
    held: Bools = np.logical_or.reduce(parts)
    return held
