"""A policy in short: large hierarchies by reference, or by their first values; its hash vouches for the whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

LARGEST = 2_000
"""So many characters of a column's parameter are written out; what is longer is abridged."""
SHOWN = 20
"""So many values of a large hierarchy are shown in an excerpt."""

Column = dict[str, Any]
"""What a policy says of one column, as plain data."""


def reference_large(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return a policy's plain data with the number and the hash of the values in the place of each large hierarchy.

    Examples
    --------
    >>> tree = {"*": {str(ten): [str(ten * 10 + one) for one in range(10)] for ten in range(100)}}
    >>> short = reference_large({"quasi_identifiers": {"zip": {"hierarchy": "tree", "nodes": tree}}})
    >>> short["quasi_identifiers"]["zip"]["nodes"]["values"]
    1000
    """
    return _map_columns(policy, lambda column: {key: _reference(value) for key, value in column.items()})


def excerpt_large(policy: Mapping[str, Any]) -> dict[str, Any]:
    """Return a policy's plain data with the first values of each large hierarchy, and how many more there are.

    Examples
    --------
    >>> order = [str(number) for number in range(1000)]
    >>> short = excerpt_large({"quasi_identifiers": {"size": {"hierarchy": "ordering", "order": order}}})
    >>> short["quasi_identifiers"]["size"]["…"]
    '980 more values, see policy.yaml'
    """
    return _map_columns(policy, _excerpt_column)


def hash_data(data: Any) -> str:
    """Return the SHA-256 of plain data, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _map_columns(policy: Mapping[str, Any], shorten: Callable[[Column], Column]) -> dict[str, Any]:
    """Shorten what is said of each column; a role may be a list of names, which says nothing of them."""
    roles = {role: policy[role] for role in ("quasi_identifiers", "sensitive") if isinstance(policy.get(role), dict)}
    short = {role: {name: shorten(column) for name, column in columns.items()} for role, columns in roles.items()}
    return {**policy, **short}


def _is_large(value: Any) -> bool:
    return isinstance(value, dict | list) and len(json.dumps(value, indent=2, ensure_ascii=False)) > LARGEST


def _reference(value: Any) -> Any:
    return {"values": _count_values(value), "sha256": hash_data(value)} if _is_large(value) else value


def _excerpt_column(column: Column) -> Column:
    large = [key for key, value in column.items() if _is_large(value)]
    first = {key: _first_values(column[key], SHOWN) for key in large}
    more = sum(_count_values(column[key]) - _count_values(first[key]) for key in large)
    return {**column, **first, **({"…": f"{more:,} more values, see policy.yaml"} if more else {})}


def _count_values(value: Any) -> int:
    if isinstance(value, dict):
        return sum(_count_values(under) or 1 for under in value.values())
    return sum(map(_count_values, value)) if isinstance(value, list) else 1


def _first_values(value: Any, room: int) -> Any:
    """Return a tree or list with its first values only."""
    if isinstance(value, list):
        return value[:room]
    first: dict[str, Any] = {}
    for label, under in value.items():
        if room <= 0:
            break
        first[label] = _first_values(under, room) if isinstance(under, dict | list) else under
        room -= _count_values(first[label]) or 1
    return first
