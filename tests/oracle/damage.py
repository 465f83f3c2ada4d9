"""Ways to make a good release wrong: each returns another list of published records, or ``None`` where it cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from .setting import Setting

Record = dict[str, Any]


def swap_sensitive(draw: Random, setting: Setting, rows: list[Record]) -> list[Record] | None:
    """Swap what is kept between two records of different classes."""
    return _swap(draw, setting, rows, list(setting.sensitive))


def swap_kept(draw: Random, setting: Setting, rows: list[Record]) -> list[Record] | None:
    """Swap a column that is published as it is."""
    return _swap(draw, setting, rows, [name for name in setting.kept if name not in setting.sensitive])


def _swap(draw: Random, setting: Setting, rows: list[Record], names: list[str]) -> list[Record] | None:
    if not names:
        return None
    name = draw.choice(names)
    pairs = [
        (a, b)
        for a in range(len(rows))
        for b in range(a)
        if rows[a][name] != rows[b][name] and _texts(setting, rows[a]) != _texts(setting, rows[b])
    ]
    if not pairs:
        return None
    a, b = draw.choice(pairs)
    rows[a][name], rows[b][name] = rows[b][name], rows[a][name]
    return rows


def change_label(draw: Random, setting: Setting, rows: list[Record]) -> list[Record] | None:
    """Write the text of another record into a cell."""
    cells = [(row, name, other[name]) for row in rows for name in setting.columns for other in rows]
    cells = [(row, name, text) for row, name, text in cells if text != row[name]]
    if not cells:
        return None
    row, name, text = draw.choice(cells)
    row[name] = text
    return rows


def change_class_label(draw: Random, setting: Setting, rows: list[Record]) -> list[Record] | None:
    """Write the text of another class into a whole class."""
    cells = [(row, name, other[name]) for row in rows for name in setting.columns for other in rows]
    cells = [(row, name, text) for row, name, text in cells if text != row[name]]
    if not cells:
        return None
    picked, name, text = draw.choice(cells)
    whole = _texts(setting, picked)
    for row in rows:
        if _texts(setting, row) == whole:
            row[name] = text
    return rows


def restore_raw(draw: Random, setting: Setting, rows: list[Record]) -> list[Record] | None:
    """Write a raw value where a more general text stood."""
    name = draw.choice(setting.columns)
    reader = setting.readers[setting.columns.index(name)]
    if not reader.known:
        return None
    raw = reader.text_of(draw.choice(reader.known))
    some = [row for row in rows if row[name] != raw]
    if not some:
        return None
    draw.choice(some)[name] = raw
    return rows


def delete_one(draw: Random, setting: Setting, rows: list[Record]) -> list[Record] | None:
    """Take a record out of the smallest class."""
    sizes = Counter(_texts(setting, row) for row in rows)
    least = min(sizes.values())
    some = [row for row in rows if sizes[_texts(setting, row)] == least]
    rows.remove(draw.choice(some))
    return rows or None


def repeat_one(draw: Random, setting: Setting, rows: list[Record]) -> list[Record] | None:
    """Publish a record twice."""
    rows.append(dict(draw.choice(rows)))
    return rows


def replace_one(draw: Random, setting: Setting, rows: list[Record]) -> list[Record] | None:
    """Publish a copy of another record in a record's place."""
    if len(rows) < 2:
        return None
    a, b = draw.sample(range(len(rows)), 2)
    if rows[a] == rows[b]:
        return None
    rows[a] = dict(rows[b])
    return rows


def star_one(draw: Random, setting: Setting, rows: list[Record]) -> list[Record] | None:
    """Suppress one record more."""
    some = [row for row in rows if any(row[name] != "*" for name in setting.columns)]
    if not some:
        return None
    draw.choice(some).update(dict.fromkeys(setting.columns, "*"))
    return rows


def change_sensitive(draw: Random, setting: Setting, rows: list[Record]) -> list[Record] | None:
    """Write another value of the column into a kept cell."""
    if not setting.kept:
        return None
    name = draw.choice(setting.kept)
    values = sorted({row[name] for row in rows}, key=repr)
    row = draw.choice(rows)
    others = [value for value in values if value != row[name]]
    if not others:
        return None
    row[name] = draw.choice(others)
    return rows


def _texts(setting: Setting, row: Record) -> tuple[Any, ...]:
    return tuple(row[name] for name in setting.columns)


DAMAGES: dict[str, Callable[[Random, Setting, list[Record]], list[Record] | None]] = {
    damage.__name__: damage
    for damage in (
        swap_sensitive,
        swap_kept,
        change_label,
        change_class_label,
        restore_raw,
        delete_one,
        repeat_one,
        replace_one,
        star_one,
        change_sensitive,
    )
}
