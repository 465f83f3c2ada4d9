"""A last line that nothing names, and whose numbers are the sums of those above: one of totals, and no record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

from shoal.engines.layout import Line, tell_cells
from shoal.errors import Fault

_MARKS = ((".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"))
"""Decimal mark and mark between thousands that a column may be written with."""
_FEWEST = 3
"""Of fewer records any number may be the sum."""
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?")
_NAMED = 0.9
"""So many cells of a column are filled, where an empty one says that the line is no record."""

Marks = tuple[str, str]


def may_be_sums(lines: Sequence[Line], last: list[str]) -> bool:
    """Return whether the last line of a file may hold the sums of its columns, from the first lines.

    Only then all lines are worth a look: that no number is less than what the first lines sum to is rare.

    Examples
    --------
    >>> lines = list(enumerate([["ward", "cost"], ["a", "5"], ["b", "7"], ["c", "1"], ["", "13"]], 1))
    >>> may_be_sums(lines, ["", "13"]), may_be_sums(lines[:4], ["", "3"]), may_be_sums(lines, ["d", "13"])
    (True, False, False)
    """
    records = [cells for _, cells in lines[1:] if len(cells) == len(last)]
    records = records[:-1] if records and records[-1] == last else records
    filled = [place for place, cell in enumerate(last) if cell.strip()]
    if len(records) < _FEWEST - 1 or not filled:
        return False
    if len(filled) == len(last) and (len(filled) < 2 or len(records) < _FEWEST):
        return False
    usual = [place for place, cell in enumerate(last) if not cell.strip() and _is_filled(records, place)]
    if len(filled) < len(last) and not usual:
        return False
    return all(_may_be_sum([cells[place] for cells in records], last[place]) for place in filled)


def find_sums(rows: Iterable[list[str]], last: list[str]) -> Fault | None:
    """Return a fault where the numbers of the last line are the sums of the others; ``rows`` are all records, the last
    one among them."""
    filled = [place for place, cell in enumerate(last) if cell.strip()]
    sums = {(place, marks): Decimal(0) for place in filled for marks in _MARKS if _read(last[place], marks) is not None}
    parts = dict.fromkeys(sums, 0)
    records = -1  # without the last
    for cells in rows:
        records += 1
        for place, marks in sums:
            if len(cells) == len(last) and (number := _read(cells[place], marks)):
                sums[place, marks] += number
                parts[place, marks] += 1
    found = {
        place
        for (place, marks), total in sums.items()
        if parts[place, marks] > 2 and _is_sum(total, last[place], marks)
    }
    needed = len(filled) if len(filled) == len(last) else (len(filled) + 1) // 2
    if records < _FEWEST or len(found) < needed:
        return None
    hint = "say totals: true (--totals) and it is left out, or totals: false if it is a record"
    return Fault(
        "the last line looks like one of totals: its numbers are the sums of those above",
        got=tell_cells(last),
        hint=hint,
    )


def _is_filled(records: Sequence[list[str]], place: int) -> bool:
    return sum(bool(cells[place].strip()) for cells in records) >= _NAMED * len(records)


def _may_be_sum(above: Sequence[str], last: str) -> bool:
    """Whether a number is no less than what some numbers sum to; where one is negative, it may be the sum as well."""
    for marks in _MARKS:
        numbers = [_read(cell, marks) for cell in above if cell.strip()]
        known, total = [number for number in numbers if number is not None], _read(last, marks)
        if total is None or len(known) < _NAMED * len(numbers):
            continue
        if min(known, default=Decimal(0)) < 0 or total >= sum(known, Decimal(0)) - _half_unit(total):
            return True
    return False


def _is_sum(with_itself: Decimal, last: str, marks: Marks) -> bool:
    total = _read(last, marks)
    return total is not None and total != 0 and abs(with_itself - 2 * total) <= _half_unit(total)


def _half_unit(number: Decimal) -> Decimal:
    """A total may be rounded to its last digit."""
    return Decimal(1).scaleb(int(number.as_tuple().exponent)) / 2


def _read(text: str, marks: Marks) -> Decimal | None:
    decimal, thousands = marks
    plain = text.strip().replace(thousands, "") if thousands else text.strip()
    plain = plain.replace(decimal, ".") if decimal != "." else plain
    return Decimal(plain) if _NUMBER.fullmatch(plain) else None
