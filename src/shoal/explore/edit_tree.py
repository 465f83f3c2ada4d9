"""rename_label(), merge_labels(), move_label(): a tree that a person improves by hand; values are never lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shoal.errors import HierarchyError, nearest
from shoal.hierarchies._branches import nest, paths

Path = tuple[str, ...]
"""Labels from the root to a value, both included."""


def rename_label(nodes: dict[str, Any], label: str, name: str) -> dict[str, Any]:
    """Return the tree with another name for a label; values keep theirs.

    Examples
    --------
    >>> rename_label({"*": {"A": ["x", "y"], "B": ["z"]}}, "A", "Early")
    {'*': {'Early': ['x', 'y'], 'B': ['z']}}
    """
    _require_label(nodes, label)
    _require_name(name)
    return _rebuild(nodes, lambda path: (*(name if one == label else one for one in path[:-1]), path[-1]))


def merge_labels(nodes: dict[str, Any], labels: Sequence[str], name: str) -> dict[str, Any]:
    """Return the tree with several labels of one parent as one.

    Examples
    --------
    >>> merge_labels({"*": {"A": ["x"], "B": ["z"], "C": ["w"]}}, ["A", "B"], "AB")
    {'*': {'AB': ['x', 'z'], 'C': ['w']}}
    """
    _require_name(name)
    for label in labels:
        _require_label(nodes, label)
    above = {path[: path.index(label)] for path in paths(nodes) for label in labels if label in path[:-1]}
    if len(labels) < 2 or len(above) != 1:
        raise HierarchyError("merge two or more labels of one parent", got=", ".join(labels))
    return _rebuild(nodes, lambda path: (*(name if one in labels else one for one in path[:-1]), path[-1]))


def move_label(nodes: dict[str, Any], moved: str, under: str) -> dict[str, Any]:
    """Return the tree with a value, or a label with all that is under it, in another place.

    Examples
    --------
    >>> move_label({"*": {"A": ["x", "y"], "B": ["z"]}}, "y", "B")
    {'*': {'A': ['x'], 'B': ['y', 'z']}}
    """
    target = next((path[: path[:-1].index(under) + 1] for path in paths(nodes) if under in path[:-1]), None)
    if target is None or not any(moved in path for path in paths(nodes)):
        _require_label(nodes, under if target is None else moved)
    assert target is not None
    if moved in target:
        raise HierarchyError("a label cannot be moved under itself", got=moved)
    return _rebuild(nodes, lambda path: (*target, *path[path.index(moved) :]) if moved in path else path)


def _rebuild(nodes: dict[str, Any], change: Callable[[Path], Path]) -> dict[str, Any]:
    """Return the tree of changed paths; rows are written from the value up, branches of equal depth."""
    changed = [change(path) for path in paths(nodes)]
    depth = max(map(len, changed))
    # a short branch is drawn out at its value, as trees are aligned at the root
    rows = [(*[path[-1]] * (depth - len(path)), *reversed(path)) for path in changed]
    try:
        return dict(nest([list(row) for row in rows]))
    except ValueError as error:
        raise HierarchyError(" ".join(str(error).split())) from None


def _require_label(nodes: dict[str, Any], label: str) -> None:
    labels = {one for path in paths(nodes) for one in path[:-1]}
    if label not in labels:
        raise HierarchyError("no such label in the tree", got=repr(label), hint=nearest(label, labels))


def _require_name(name: str) -> None:
    if not name.strip():
        raise HierarchyError("a label needs a name")
