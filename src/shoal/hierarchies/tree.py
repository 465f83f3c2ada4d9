"""Tree: a hierarchy written down by hand, nested or one row per value."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import field_validator, model_validator

from shoal import notation
from shoal.domains import STAR, Domain
from shoal.errors import Fault, HierarchyError, examples
from shoal.hierarchies.base import Hierarchy, Step


class Tree(Hierarchy):
    """A hierarchy written down by hand, nested or one row per value.

    Nested: each key is a label, what is under it are labels or values. Rows: the layout that ARX uses, one row
    per value, one column per level. Branches may differ in depth: they are aligned at the root, so a value on a
    short branch stays as it is for longer.

    Why it is safe: a value may stand in one place only; a value that the tree does not name is an error before
    anything is published.

    Examples
    --------
    >>> tree = Tree(nodes={"*": {"Employed": ["Private", "State"], "Idle": ["None"]}})
    >>> tree.build(Domain.of("text", ["None", "Private", "State"]), missing=None).labels[1]
    ('Idle', 'Employed')
    """

    nodes: dict[str, Any]
    """The tree: label → labels or a list of values. One root, or several that ``*`` joins."""

    @model_validator(mode="before")
    @classmethod
    def _from_file_or_rows(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if len(data.keys() & {"file", "rows", "nodes"}) > 1:
            raise ValueError("needs one of nodes, rows, file; not several")
        if "file" in data:
            rest = {key: value for key, value in data.items() if key != "file"}
            return {"nodes": read_nodes(Path(str(data["file"]))), **rest}
        if "rows" in data:
            rest = {key: value for key, value in data.items() if key != "rows"}
            return {"nodes": nest(data["rows"]), **rest}
        return data

    @field_validator("nodes", mode="before")
    @classmethod
    def _plain(cls, nodes: Any) -> Any:
        if not isinstance(nodes, Mapping) or not nodes:
            raise ValueError("must be a mapping from labels to what is under them")
        plain = _as_text(nodes)
        _check_single_parents(plain)
        return plain

    @classmethod
    def read(cls, path: str | Path) -> Tree:
        """Read a tree from nested YAML or from CSV as ARX writes it."""
        return cls(nodes=read_nodes(Path(path)))

    def leaves(self) -> tuple[str, ...]:
        """Return the values that the tree names."""
        return tuple(self._paths())

    def knows(self, label: str, domain: Domain) -> bool:
        """Return whether the tree names a label, with or without values that occur."""
        return any(label in path for path in self._paths().values())

    def faults(self, domain: Domain) -> Iterator[Fault]:
        """Yield a fault that names the values which the tree does not know."""
        known = self._paths()
        unknown = [text for text in domain.texts if text not in known]
        if unknown:
            yield Fault(
                f"{len(unknown)} of {len(domain)} values are missing from the tree",
                got=examples(unknown),
                hint="add each under its label",
            )

    def steps(self, domain: Domain) -> Iterator[Step]:
        """Yield the labels by depth from the root, deepest first."""
        paths = self._paths()
        depth = max(len(path) for path in paths.values())
        for level in range(depth - 1, 0, -1):
            yield Step.of([path[min(level, len(path)) - 1] for path in (paths[t] for t in domain.texts)])

    def _paths(self) -> dict[str, tuple[str, ...]]:
        """Value → labels from the root to the value itself."""
        roots = self.nodes if len(self.nodes) == 1 else {STAR: self.nodes}
        return {path[-1]: path for path in _walk(roots, ())}


def _walk(nodes: Any, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(nodes, dict):
        for label, under in nodes.items():
            if under:
                yield from _walk(under, (*above, label))
            else:
                yield (*above, label)
    else:
        for value in nodes:
            if isinstance(value, dict):
                yield from _walk(value, above)
            else:
                yield (*above, value)


def _as_text(nodes: Any) -> Any:
    if isinstance(nodes, Mapping):
        return {_text(label): _as_text(under) for label, under in nodes.items()}
    if isinstance(nodes, (list, tuple)):
        return [_as_text(item) if isinstance(item, Mapping) else _text(item) for item in nodes]
    return [] if nodes is None else [_text(nodes)]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_single_parents(nodes: Any) -> None:
    seen: dict[str, tuple[str, ...]] = {}
    for path in _walk(nodes, ()):
        value = path[-1]
        if value in seen:
            parents = sorted({seen[value][-2] if len(seen[value]) > 1 else STAR, path[-2] if len(path) > 1 else STAR})
            raise ValueError(f"the value {value!r} has two parents: {' and '.join(map(repr, parents))}")
        seen[value] = path


def nest(rows: Sequence[Sequence[object]]) -> dict[str, Any]:
    """Turn rows (value, level 1, level 2, …) into nested labels.

    Examples
    --------
    >>> nest([["a", "vowel", "*"], ["b", "consonant", "*"]])
    {'*': {'vowel': ['a'], 'consonant': ['b']}}
    """
    root: dict[str, Any] = {}
    parent: dict[str, list[str]] = {}
    for row in rows:
        texts = [_text(cell) for cell in row]
        if texts[0] in parent and parent[texts[0]] != texts:
            raise ValueError(f"the value {texts[0]!r} has two rows: {parent[texts[0]]} and {texts}")
        if texts[0] in parent or not texts:
            continue
        parent[texts[0]] = texts
        inner = root
        for label in reversed(texts[2:]):
            inner = inner.setdefault(label, {})
        if len(texts) == 1:
            inner.setdefault(STAR, []).append(texts[0])
        else:
            inner.setdefault(texts[1], []).append(texts[0])
    return root


def read_nodes(path: Path) -> dict[str, Any]:
    """Read a tree's labels from nested YAML, or from delimited rows as ARX writes them."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise HierarchyError("cannot read the hierarchy file", where=str(path), got=str(error)) from None
    try:
        if path.suffix.lower() in (".yaml", ".yml", ".json"):
            loaded = notation.load(text)
            if not isinstance(loaded, dict):
                raise ValueError("is not a mapping from labels to what is under them")
            return loaded
        return nest(_rows(text))
    except (ValueError, yaml.YAMLError) as error:
        raise HierarchyError(str(error), where=str(path)) from None


def _rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError("the file is empty")
    delimiter = max(";,\t|", key=lines[0].count)
    rows = list(csv.reader(lines, delimiter=delimiter))
    ragged = next((row for row in rows if len(row) != len(rows[0])), None)
    if ragged is not None:
        raise ValueError(f"a row has {len(ragged)} levels where the first has {len(rows[0])}: {ragged}")
    return rows
