"""Labels under labels: one form for every way to write the same tree, and rows as ARX writes them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shoal.encoding.domains import STAR

Branches = dict[str, Any]
"""Label → what is under it, as the same kind of mapping; nothing under a value."""

DEEPEST = 100
"""More levels than anyone draws; a file that nests deeper is a mistake or an attack."""

_DELIMITERS = ";\t|,"
_UNSAFE = re.compile(r"""[;,\t|"\r\n]|^[\s\ufeff]|\s$""")


class CanonicalTree(dict[str, Any]):
    """A tree in its one form."""


def canonical(nodes: Mapping[Any, Any]) -> CanonicalTree:
    """Return the one form of a tree: one root, values in lists, and no step that renames a value to itself.

    Two trees that give every value the same labels at every level have the same form, so that a tree is equal
    to itself after writing and reading in any notation.

    Raises
    ------
    ValueError
        For a value with two parents, a label under itself, or too many levels.

    Examples
    --------
    >>> canonical({"Idle": {"None": None}, "Employed": ["Private", "State"]})
    {'*': {'Idle': ['None'], 'Employed': ['Private', 'State']}}
    >>> canonical({"*": {"Europe": {"Alps": ["Austria"]}, "Asia": ["Asia"]}})
    {'*': {'Europe': {'Alps': ['Austria']}, 'Asia': []}}
    """
    if isinstance(nodes, CanonicalTree):
        return nodes
    branches = _grown(nodes, ())
    if not branches:
        raise ValueError("the tree is empty")
    _check_places(branches)
    root = branches if len(branches) == 1 and all(branches.values()) else {STAR: branches}
    ((top, under),) = root.items()
    height = _height(under)
    short = {label: _shortened(label, below) for label, below in under.items()}
    # branches are aligned at the root: a value may end early as long as another one keeps the number of levels
    even = short if _height(short) == height else {label: _padded(label, b, height - 1) for label, b in under.items()}
    return CanonicalTree({top: _compact(even)})


def paths(nodes: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the labels from the root to each value of a tree in its one form."""
    if isinstance(nodes, dict):
        for label, under in nodes.items():
            if under:
                yield from paths(under, (*above, label))
            else:
                yield (*above, label)
    else:
        for value in nodes:
            yield (*above, value)


def _grown(nodes: Any, within: tuple[int, ...]) -> Branches:
    """Read mappings, lists, values and mixtures of them as branches."""
    if nodes is None:
        return {}
    if not isinstance(nodes, (Mapping, list, tuple)):
        return {text(nodes): {}}
    if id(nodes) in within:
        raise ValueError("a label stands under itself: the tree has a cycle")
    if len(within) > DEEPEST:
        raise ValueError(f"the tree has more than {DEEPEST} levels")
    inner = (*within, id(nodes))
    if isinstance(nodes, Mapping):
        parts = [{text(label): _grown(under, inner)} for label, under in nodes.items()]
    else:
        parts = [_grown(item, inner) if isinstance(item, Mapping) else {text(item): {}} for item in nodes]
    grown: Branches = {}
    for part in parts:
        _merge(grown, part)
    return grown


def text(value: object) -> str:
    """Return a label or value as its column publishes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _merge(grown: Branches, part: Branches) -> None:
    for label, under in part.items():
        if label not in grown:
            grown[label] = under
        elif not grown[label] and not under:
            raise ValueError(f"the value {label!r} stands twice at the same place")
        else:  # a value that is also the name of its group is one of the group
            grown[label] = grown[label] or {label: {}}
            _merge(grown[label], under or {label: {}})


def _check_places(branches: Branches) -> None:
    seen: dict[str, tuple[str, ...]] = {}
    for path in _every_path(branches, ()):
        value = path[-1]
        if value in seen:
            parents = sorted({_parent(seen[value]), _parent(path)})
            raise ValueError(f"the value {value!r} has two parents: {' and '.join(map(repr, parents))}")
        seen[value] = path
        _check_cycle(path)


def _every_path(branches: Branches, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for label, under in branches.items():
        if under:
            yield from _every_path(under, (*above, label))
        else:
            yield (*above, label)


def _parent(path: tuple[str, ...]) -> str:
    return path[-2] if len(path) > 1 else STAR


def _check_cycle(path: tuple[str, ...]) -> None:
    # a table may hold the value *, which is then no label of the tree
    labels = path[:-1] if path[-1] == STAR else path
    # a label may stay the same for some levels, as in rows that are filled up; it may not come back later
    steps = [label for index, label in enumerate(labels) if not index or label != labels[index - 1]]
    if len(set(steps)) < len(steps):
        label = next(label for label in steps if steps.count(label) > 1)
        first = steps.index(label)
        circle = steps[first : steps.index(label, first + 1) + 1]
        raise ValueError(f"the label {label!r} stands under itself: the tree has a cycle: {' → '.join(circle)}")


def _height(branches: Branches) -> int:
    return 1 + max((_height(under) for under in branches.values()), default=-1)


def _shortened(label: str, under: Branches) -> Branches:
    shorter = {name: _shortened(name, below) for name, below in under.items()}
    return {} if shorter == {label: {}} else shorter


def _padded(label: str, under: Branches, height: int) -> Branches:
    if height == 0:
        return {}
    return {name: _padded(name, below, height - 1) for name, below in (under or {label: {}}).items()}


def _compact(branches: Branches) -> Any:
    if not any(branches.values()):
        return list(branches)
    return {label: _compact(under) if under else [] for label, under in branches.items()}


def nest(rows: Sequence[Sequence[object]]) -> dict[str, Any]:
    """Turn rows (value, level 1, level 2, …) into nested labels.

    Examples
    --------
    >>> nest([["a", "vowel", "*"], ["b", "consonant", "*"]])
    {'*': {'vowel': ['a'], 'consonant': ['b']}}
    """
    root: dict[str, Any] = {}
    seen: dict[str, tuple[int, list[str]]] = {}
    for number, texts in ((number, [text(cell) for cell in row]) for number, row in enumerate(rows, 1) if row):
        value, *above = texts
        before, same = seen.setdefault(value, (number, texts))
        if same != texts:
            raise ValueError(f"rows {before} and {number} say different labels of the same value")
        if before != number:  # the same row again
            continue
        if len(texts) > DEEPEST:
            raise ValueError(f"row {number} has more than {DEEPEST} levels")
        inner = root
        for label in reversed(above[1:]):
            inner = inner.setdefault(label, {})
        inner.setdefault(above[0] if above else STAR, []).append(value)
    return root


def rows_of(nodes: Mapping[str, Any]) -> list[list[str]]:
    """Return the rows of a tree: the value and its label at each level, branches aligned at the root.

    Examples
    --------
    >>> rows_of({"*": {"vowel": ["a"], "y": []}})
    [['a', 'vowel', '*'], ['y', 'y', '*']]
    """
    every = list(paths(nodes))
    depth = max(len(path) for path in every)
    return [[path[-1], *(path[min(level, len(path)) - 1] for level in range(depth - 1, 0, -1))] for path in every]


def to_csv(rows: Sequence[Sequence[str]]) -> str:
    """Write rows as ARX does, semicolons between cells; a cell that could be misread is quoted."""
    return "".join(";".join(_cell(cell) for cell in row) + "\n" for row in rows)


def _cell(value: str) -> str:
    if value and not _UNSAFE.search(value):
        return value
    doubled = value.replace('"', '""')
    return f'"{doubled}"'


def from_csv(content: str) -> list[list[str]]:
    """Read rows; semicolons are ARX's own, other delimiters are taken where only they give even rows."""
    readings: list[list[list[str]]] = []
    for delimiter in _DELIMITERS:
        rows = _read(content, delimiter)
        if not rows:
            raise ValueError("the file is empty")
        if len(rows[0]) > 1 and _is_even(rows):
            return rows
        readings.append(rows)
    if all(map(_is_even, readings)):  # no delimiter at all: a list of values
        return readings[0]
    rows = max(readings, key=lambda rows: max(len(row) for row in rows))
    number, ragged = next((number, row) for number, row in enumerate(rows, 1) if len(row) != len(rows[0]))
    raise ValueError(f"row {number} has {len(ragged)} levels where the first has {len(rows[0])}")


def _is_even(rows: list[list[str]]) -> bool:
    return len({len(row) for row in rows}) == 1


def _read(content: str, delimiter: str) -> list[list[str]]:
    try:
        rows = list(csv.reader(io.StringIO(content, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise ValueError(f"the rows cannot be read: {error}") from None
    return [row for row in rows if any(cell.strip() for cell in row) or len(row) > 1]
