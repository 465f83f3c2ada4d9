"""FullDomain: one level per column, for the whole table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.encoding.types import Codes, Ints
from shoal.recodings.base import Column, ColumnLabels, GlobalRecoding, Proof


@dataclass(frozen=True)
class FullDomain(GlobalRecoding):
    """Every value of a column is published at the same level; some tuples may be suppressed.

    References
    ----------
    Samarati, P. (2001). Protecting respondents' identities in microdata release. IEEE Transactions on Knowledge
    and Data Engineering 13(6).
    """

    kind: ClassVar[str] = "full-domain"

    levels: dict[str, int]
    proof: Proof | None = None

    def number_codes(self, column: Column) -> Ints:
        """Number codes by their labels."""
        numbers: Ints = column.levels.codes[self.levels[column.name]].astype(np.int64)
        return numbers

    def show(self, column: Column, codes: Codes, chosen: Ints) -> ColumnLabels:
        """Show the labels of the column's level."""
        levels, level, own = column.levels, self.levels[column.name], codes[chosen]
        start = int(levels.label_offsets[level])
        return ColumnLabels(
            levels.labels[level],
            levels.codes[level][own].astype(np.int64),
            levels.penalties[level][own],
            levels.lowest[level][own],
            levels.records[level][own],
            lambda: levels.covers[start : start + len(levels.labels[level])],
        )

    def summarize(self) -> dict[str, Any]:
        """Return the levels."""
        return {"levels": dict(self.levels)}
