"""Small cells are left out, and no total gives one back."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.gateway.cells import suppress_cells


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    shape = draw(st.sampled_from([(5,), (3, 3), (2, 4), (2, 2, 3)]))
    cells = [cell for cell in product(*map(range, shape)) if draw(st.integers(0, 4))]
    cells = cells or [tuple(0 for _ in shape)]
    persons = draw(st.lists(st.integers(1, 9), min_size=len(cells), max_size=len(cells)))
    return np.array(cells), np.array(persons), draw(st.integers(2, 5))


@given(tables())
def test_no_small_cell_is_told(table: tuple[np.ndarray, np.ndarray, int]) -> None:
    cells, persons, k = table
    suppressed = suppress_cells(cells, persons, k)
    assert suppressed[persons < k].all()
    assert suppressed.any() == (persons < k).any()  # and nothing is left out without a reason


@given(tables())
def test_no_total_less_the_cells_that_are_told_leaves_a_small_one(table: tuple[np.ndarray, np.ndarray, int]) -> None:
    cells, persons, k = table
    suppressed = suppress_cells(cells, persons, k)
    width = cells.shape[1]
    for size in range(width):
        for kept in combinations(range(width), size):
            for key in {tuple(cell[list(kept)]) for cell in cells}:
                members = np.array([tuple(cell[list(kept)]) == key for cell in cells])
                total = persons[members].sum()
                gone = persons[members & suppressed]
                if total < k or not len(gone):
                    continue  # such a total is not told itself, or gives nothing back
                assert gone.sum() >= k
                assert len(gone) > 1 or gone[0] >= k


def test_the_smallest_other_cell_goes_too() -> None:
    assert suppress_cells(np.array([[0], [1], [2], [3]]), np.array([50, 1, 20, 7]), 5).tolist() == [
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("largest", [0, 400])
def test_rows_and_columns_are_both_looked_at(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there are too many cells to solve equations for."""
    monkeypatch.setattr("shoal.gateway.cells._MAX_SOLVED", largest)
    cells = np.array(list(product(range(3), range(3))))
    persons = np.array([1, 4, 9, 9, 9, 9, 9, 9, 9])
    suppressed = suppress_cells(cells, persons, 3).reshape(3, 3)
    assert suppressed[0, 0]
    for line in (*suppressed, *suppressed.T):
        assert line.sum() != 1


@pytest.mark.parametrize("several", [False, True])
def test_a_person_in_several_cells_counts_once(several: bool) -> None:
    """Two cells of one person each may be the same one: a third has to go with them."""
    suppressed = suppress_cells(np.array([[0], [1], [2], [3]]), np.array([1, 1, 5, 9]), 2, several=several)
    assert suppressed.tolist() == [True, True, several, False]


@given(tables())
def test_all_totals_together_do_not_fix_a_small_cell(table: tuple[np.ndarray, np.ndarray, int]) -> None:
    """Solved as equations: another table with the same totals and the same told cells has another figure there."""
    cells, persons, k = table
    suppressed = suppress_cells(cells, persons, k)
    gone = np.flatnonzero(suppressed)
    if suppressed.all():
        return
    lines = []
    for size in range(cells.shape[1]):
        for kept in combinations(range(cells.shape[1]), size):
            for key in {tuple(cell[list(kept)]) for cell in cells}:
                members = np.array([tuple(cell[list(kept)]) == key for cell in cells])
                if persons[members].sum() >= k:
                    lines.append(members[gone].astype(float))
    for index in np.flatnonzero(persons[gone] < k):
        alone = np.eye(len(gone))[index]
        rank = np.linalg.matrix_rank(np.array(lines))
        assert np.linalg.matrix_rank(np.array([*lines, alone])) > rank
