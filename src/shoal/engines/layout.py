"""What stands in a CSV file beside its records: no names of columns, names further down or twice, a line of totals.

Nothing of it is guessed without a word: a table of persons whose first one became the names of its columns is
published with that person. What looks so is refused, with what to say.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import mode

from shoal.engines.cells import PLACEHOLDERS
from shoal.errors import Fault

Line = tuple[int, list[str]]
"""The number of a line, from 1, and its cells."""

_SUMS = (
    "total totals sum subtotal summe gesamt insgesamt gesamtsumme zusammen totale somma somme totaal som suma łącznie "
    "razem celkem součet összesen toplam yhteensä summa totalt sammanlagt итого всего разом общо ukupno skupaj σύνολο "
    "合計 总计 合计 總計 합계 รวม कुल المجموع סהכ"
)
_TOTALS = frozenset(_SUMS.split())
_SURE = 2
"""A vote that one vote against it does not outweigh."""
_MARKS = re.compile(r"[\s:.\"'״=]+")


def find_layout_fault(lines: Sequence[Line]) -> Fault | None:
    """Return what is to be said of the header of a file, from its first lines.

    Examples
    --------
    >>> rows = [["Ann", "34"], ["Bob", "36"], ["Cy", "47"]]
    >>> print(find_layout_fault(list(enumerate(rows, 1))))
    the first line looks like a record, not like names of columns; got line 1: 'Ann', '34'. Hint: ...
    """
    if len(lines) < 2:
        return None
    return _find_later_header(lines) or _find_no_header(lines) or _find_second_header(lines)


def find_totals(lines: Sequence[Line], last: list[str]) -> Fault | None:
    """Return a fault where the last line of a file looks like one of totals, or like a note."""
    filled = [cell for cell in last if cell.strip()]
    label = _MARKS.sub(" ", filled[0]).strip().casefold() if filled else ""
    place = last.index(filled[0]) if filled else 0
    others = [cells[place].strip().casefold() for _, cells in lines[1:] if len(cells) > place and cells != last]
    if len(last) == 1 and label and lines and mode(len(cells) for _, cells in lines) > 2:
        hint = "say totals: true (--totals) and the last line is left out"
        return Fault("the last line looks like a note below the table", got=tell_cells(last), hint=hint)
    if label not in _TOTALS or label in others or len(others) < 2:
        return None
    hint = "say totals: true (--totals) and it is left out, or totals: false if it is a record"
    return Fault("the last line looks like one of totals", got=tell_cells(last), hint=hint)


def _find_later_header(lines: Sequence[Line]) -> Fault | None:
    """A title above the names: the first lines have one cell or none, the others have many."""
    width = mode(len(cells) for _, cells in lines)
    usual = [len(cells) == width for _, cells in lines]
    if width < 2 or sum(usual) < 3 or _count_filled(lines[0][1]) > width // 2:
        return None
    for number, cells in lines:
        if _count_filled(cells) > width // 2:
            named = len(cells) == width == len(set(cells)) == _count_filled(cells)
            if not named or any(re.search("[0-9]", _shape(cell)[:1]) for cell in cells):
                return None
            what = f"the names of the columns seem to stand in line {number}"
            hint = f"say header: {number} (--header {number}), and the lines above are left out"
            return Fault(what, got=f"line 1: {tell_cells(lines[0][1])}; line {number}: {tell_cells(cells)}", hint=hint)
    return None


def _find_no_header(lines: Sequence[Line]) -> Fault | None:
    """The first line looks like the others: its cells are written as those below, or are among them."""
    first, below = lines[0][1], [cells for _, cells in lines[1:] if len(cells) == len(lines[0][1])]
    if len(below) < 2:
        return None
    votes = [_compare(cell, [cells[place] for cells in below]) for place, cell in enumerate(first)]
    sure = sum(vote >= _SURE for vote in votes)
    if max(votes) < 1 or min(votes) <= -_SURE or (min(votes) < 0 and not sure):
        return None
    what = "the first line looks like a record, not like names of columns"
    hint = "say header: false (--no-header) and they are called column_1, column_2, …; or header: true (--header 1)"
    return Fault(what, got=f"line {lines[0][0]}: {tell_cells(first)}", hint=hint)


def _compare(cell: str, below: list[str]) -> int:
    """Return how sure a cell is one like those below it: 2 written as only records are, 1 the same, -1 another value
    than those that return, -2 a word where all others have digits; 0 where that cannot be told."""
    known = [text for text in below if text.strip() and text.strip().casefold() not in PLACEHOLDERS]
    if not known or not cell.strip():
        return 0
    shapes = {_shape(text) for text in known}
    if len(shapes) <= 2 and all("9" in shape for shape in shapes):
        if _shape(cell) in shapes:
            return 1 if _shape(cell) == "9" else _SURE  # 2019 may name a column, 03.05.1961 hardly does
        return -_SURE * int(_is_word(cell))
    few = len(set(known)) * 2 <= len(known)
    if few and len(known) >= 4:
        return 1 if cell in known else -1
    return 0


def _shape(text: str) -> str:
    """Return how a text is written: each number as a 9."""
    text = text.strip()
    if re.fullmatch(r"-?[0-9]+([.,][0-9]+)?", text):
        return "9"
    return re.sub("[0-9]+", "9", text)


def _find_second_header(lines: Sequence[Line]) -> Fault | None:
    """The second line has words where all others have numbers or dates: units, or a second line of names."""
    if len(lines) < 4:
        return None
    (number, second), below = lines[1], [cells for _, cells in lines[2:] if len(cells) == len(lines[1][1])]
    words = [
        cell
        for place, cell in enumerate(second)
        if below and _is_word(cell) and _has_numbers([cells[place] for cells in below])
    ]
    numbers = sum(_has_numbers([cells[place] for cells in below]) for place in range(len(second))) if below else 0
    others = [place for place in range(len(second)) if second[place].strip() and not _is_word(second[place])]
    if not words or len(words) < numbers / 2 or others:
        return None
    what = f"line {number} looks like a second line of names"
    got = f"{words[0]!r} where the others have numbers"
    names = len(set(second)) == len(second)  # a line of units may say one of them twice
    instead = f"say header: {number} to leave the first out, or " if names else "say "
    hint = f"join the two, or delete one; or {instead}header: true if line {number} is a record"
    return Fault(what, got=got, hint=hint)


def _is_word(cell: str) -> bool:
    text = cell.strip()
    return bool(text) and text.casefold() not in PLACEHOLDERS and not any(mark.isdigit() for mark in text)


def _has_numbers(texts: list[str]) -> bool:
    known = [text for text in texts if text.strip()]
    return len(known) >= 2 and all(not _is_word(text) for text in known)


def _count_filled(cells: list[str]) -> int:
    return sum(bool(cell.strip()) for cell in cells)


def tell_cells(cells: list[str]) -> str:
    """Return the first cells of a line, for people."""
    shown = ", ".join(repr(cell[:30]) for cell in cells[:4])
    return f"{shown}, …" if len(cells) > 4 else shown
