"""KnownRecords: finds tables that are the same records under two names, which would double what a client may have."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import polars as pl

from shoal.engines.columns import to_texts

_Content = tuple[int, int]
"""A hash of a column's values, whatever their order."""


@dataclass
class KnownRecords:
    """What the tables of all owners hold, in the order in which they are configured.

    A view or a copy of a table holds as many records and, column for column, the same values. That a table holds a part
    of another's records is not found.

    Examples
    --------
    >>> known = KnownRecords([("north", "people"), ("north", "copy")])
    >>> known.note("north", "copy", pl.DataFrame({"alter": [41, 30], "geschlecht": ["F", "M"]}))
    >>> known.note("north", "people", pl.DataFrame({"age": [30, 41], "sex": ["M", "F"], "zip": ["a", "b"]}))
    >>> known.find_double("north", "people"), known.find_double("north", "copy")
    (None, 'people')
    """

    order: list[tuple[str, str]]
    """Owners and tables."""
    _contents: dict[tuple[str, str], tuple[int, frozenset[_Content]]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def note(self, owner: str, table: str, frame: pl.DataFrame) -> None:
        """Note what a table holds; a join of tables holds other tables' columns, and is not noted."""
        if (owner, table) in self.order:
            content = frame.height, frozenset(_hash_column(column) for column in frame)
            with self._lock:
                self._contents[owner, table] = content

    def find_double(self, owner: str, table: str) -> str | None:
        """Return the name of a table before this one that holds the same records, if one is known."""
        with self._lock:
            known = dict(self._contents)
        if (owner, table) not in known:
            return None
        height, columns = known[owner, table]
        for other in self.order[: self.order.index((owner, table))]:
            heights, others = known.get(other, (-1, frozenset()))
            fewer = min(columns, others, key=len)
            if heights == height and len(fewer) > 1 and fewer == columns & others:
                return other[1]
        return None


def _hash_column(column: pl.Series) -> _Content:
    hashes = to_texts(column).hash(seed=0).to_numpy()
    with np.errstate(over="ignore"):
        return int(hashes.sum(dtype=np.uint64)), int(np.bitwise_xor.reduce(hashes, initial=0))
