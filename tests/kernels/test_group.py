"""Grouping numbers equal rows in lexicographic order, however wide the rows are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels import group as module
from shoal.kernels.group import group


def plain(columns: list[np.ndarray], count: int) -> list[int]:
    rows = [tuple(int(column[i]) for column in columns) for i in range(count)]
    numbers = {row: number for number, row in enumerate(sorted(set(rows)))}
    return [numbers[row] for row in rows]


@given(st.integers(1, 6), st.integers(0, 30), st.integers(0, 2**32 - 1), st.booleans())
def test_as_sorting_does(width: int, count: int, seed: int, wide: bool) -> None:
    random = np.random.default_rng(seed)
    size = 2**20 if wide else 3
    columns = [random.integers(0, 3, count) * (size // 3) for _ in range(width)]
    groups, rows = group(columns, [size] * width)
    assert groups.tolist() == plain(columns, count)
    assert groups[rows].tolist() == list(range(len(rows)))


@pytest.mark.parametrize("columns", [8, 20])
def test_keys_beyond_64_bits_are_made_dense(columns: int) -> None:
    values = np.array([2**30 - 1, 0, 2**30 - 1])
    groups, _ = group([values] * columns, [2**30] * columns)
    assert groups.tolist() == [1, 0, 1]


def test_no_columns_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least one"):
        module.group([], [])
