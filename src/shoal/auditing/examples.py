"""ExampleRecords: some records as they are published, for people who want to see what a release looks like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.auditing.texts import read_texts
from shoal.engines.counted import CountedTable

EXAMPLES = 10
"""So many records are shown."""


@dataclass(frozen=True)
class ExampleRecords:
    """Some records of a published table, evenly spread over it.

    Why it is safe: they are records of the table that is published, as they stand in it; who has the table has them.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()

    @classmethod
    def pick(cls, published: CountedTable, most: int = EXAMPLES) -> ExampleRecords:
        """Return the first, the last and others at the same distance: the same ones for the same table.

        Examples
        --------
        >>> import polars as pl
        >>> table = CountedTable(pl.DataFrame({"age": ["*", "20-29", "30-39"]}), pl.Series([1, 6, 3]))
        >>> ExampleRecords.pick(table, 4).rows
        (('*',), ('20-29',), ('20-29',), ('30-39',))
        """
        if not published.frame.height:
            return cls(tuple(published.frame.columns))
        ends = np.cumsum(published.record_counts)
        count = min(most, int(ends[-1]))
        # whole numbers: the first record, the last, and those between
        wanted = np.arange(count) * (int(ends[-1]) - 1) // max(count - 1, 1)
        shown = published.frame[np.searchsorted(ends, wanted, side="right")]
        return cls(tuple(shown.columns), tuple(zip(*(read_texts(column).to_list() for column in shown), strict=True)))
