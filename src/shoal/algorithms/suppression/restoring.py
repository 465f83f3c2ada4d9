"""restore_cells(): what need not be suppressed where an attacker knows only some of the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.encoding.types import Bools, Floats, Ints

_PASSES = 20
"""So often all cells are looked at, at most: what one record shows may let another one show more."""


@dataclass(frozen=True)
class ColumnSet:
    """Columns that an attacker knows together, by their numbers, and how many records must look alike in them."""

    columns: tuple[int, ...]
    k: int


def restore_cells(blank: Bools, codes: Ints, records: Ints, weights: Floats, known: Sequence[ColumnSet]) -> Bools:
    """Return fewer suppressed cells under which as many records as is asked look alike to each attacker.

    Each ``*`` is taken away again where the records of its piece then look like enough others in all sets of columns
    that it is in, and those that they leave are still enough, or none. A ``*`` is a value of its own. Records that show
    nothing stay so, and speak for nobody: they may be left out of the table.

    Parameters
    ----------
    blank
        ``[piece, column]``: whether it shows ``*``; all that is asked holds of it.
    codes
        ``[piece, column]``: its own values.
    records
        How many records each piece has.
    weights
        What a suppressed cell of each column costs: the dearest are restored first.
    known
        What is asked.

    Examples
    --------
    >>> codes, stars = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.ones((4, 2), bool)
    >>> stars[:, 0] = False
    >>> single = [ColumnSet((column,), 2) for column in (0, 1)]
    >>> restore_cells(stars, codes, np.ones(4, np.int64) * 2, np.ones(2), single).any()
    np.False_
    """
    left = blank.copy()
    places = [[at for at, one in enumerate(known) if column in one.columns] for column in range(blank.shape[1])]
    groups = [_Groups.of(one, left, codes, records) for one in known]
    for _ in range(_PASSES):
        before = int(left.sum())
        for piece, column in _list_cells(left, weights):
            moved, code = int(records[piece]), int(codes[piece, column]) + 1
            if all(groups[at].can_show(piece, column, code, moved) for at in places[column]):
                left[piece, column] = False
                for at in places[column]:
                    groups[at].show(piece, column, code, moved)
        if int(left.sum()) == before:
            break
    return left


def _list_cells(blank: Bools, weights: Floats) -> Iterator[tuple[int, int]]:
    """Yield suppressed cells of records that show something, those of the dearest columns first."""
    partly = blank & ~blank.all(axis=1, keepdims=True)
    for column in np.argsort(-weights, kind="stable").tolist():
        for piece in np.flatnonzero(partly[:, column]).tolist():
            yield piece, column


@dataclass(frozen=True)
class _Groups:
    """The records that look alike in some columns, by a number for what they show there; ``*`` is 0."""

    k: int
    steps: dict[int, int]
    """How much a number grows with a code of each column."""
    numbers: list[int]
    sizes: dict[int, int]

    @classmethod
    def of(cls, known: ColumnSet, blank: Bools, codes: Ints, records: Ints) -> _Groups:
        steps: dict[int, int] = {}
        step, numbers = 1, [0] * len(codes)
        for column in known.columns:
            steps[column] = step
            shown = np.where(blank[:, column], 0, codes[:, column] + 1).tolist()
            numbers = [number + step * code for number, code in zip(numbers, shown, strict=True)]
            step *= int(codes[:, column].max(initial=0)) + 2
        speaking: Ints = np.where(blank.all(axis=1), 0, records)
        sizes: dict[int, int] = {}
        for number, count in zip(numbers, speaking.tolist(), strict=True):
            sizes[number] = sizes.get(number, 0) + count
        return cls(known.k, steps, numbers, sizes)

    def can_show(self, piece: int, column: int, code: int, moved: int) -> bool:
        """Whether a piece may show a code in place of a ``*``."""
        number = self.numbers[piece]
        rest = self.sizes[number] - moved
        joined = self.sizes.get(number + self.steps[column] * code, 0) + moved
        return (rest == 0 or rest >= self.k) and joined >= self.k

    def show(self, piece: int, column: int, code: int, moved: int) -> None:
        """Let a piece show a code in place of a ``*``."""
        self.sizes[self.numbers[piece]] -= moved
        number = self.numbers[piece] = self.numbers[piece] + self.steps[column] * code
        self.sizes[number] = self.sizes.get(number, 0) + moved
