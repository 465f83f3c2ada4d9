"""BlockSearch: one block of a table, searched as if it were a table of its own.

It is a value that is sent to where the blocks are, and a function from an Arrow table to an Arrow table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pyarrow as pa

from shoal.encoding.types import Ints
from shoal.engines.blocks import BLOCK, ERROR, HIGH, LOW, SPLIT, codes_in, counts_in
from shoal.engines.counted import COUNTS
from shoal.errors import ShoalError
from shoal.frequencies.frequencies import Frequencies, SensitiveColumn
from shoal.pipeline.encode import BlockShare, count_codes
from shoal.pipeline.publish import divide_records, rank_classes
from shoal.pipeline.solve import solve_encoded
from shoal.policy import Policy
from shoal.recodings.base import Column


@dataclass(frozen=True, kw_only=True)
class BlockSearch:
    """Searches one block with what is known of the whole table.

    A block has the columns of ``keys``, the numbers of its quasi-identifiers and sensitive values (``q0``, …, ``s0``,
    …), how often each combination occurs, and its own number. What comes back has ``keys``, the texts that are
    published (``t0``, …), and which records of the combination show them.
    """

    policy: Policy
    columns: tuple[Column, ...]
    known: dict[str, SensitiveColumn]
    whole: Frequencies
    allowed: Mapping[int, int]
    """Block → how many of its records may be suppressed."""
    keys: tuple[str, ...]
    """What records are sorted by, so that no order of theirs decides anything, and brought back by."""

    def __call__(self, table: pa.Table) -> pa.Table:
        """Return what becomes of each combination of the block; or why nothing does."""
        block, table = int(table.column(BLOCK)[0].as_py()), self._sort(table)
        try:
            rows, shown = self._decide(table, block)
        except ShoalError as error:
            return self._answer(table, np.zeros(1, np.int64), self._nothing(), f"block {block}: {error}")
        return self._answer(table, rows, shown, None)

    def _sort(self, table: pa.Table) -> pa.Table:
        order = pl.DataFrame(
            [pl.from_arrow(table.column(name)).alias(str(index)) for index, name in enumerate(self.keys)]  # type: ignore[union-attr]
        ).with_row_index("row")
        return table.take(pa.array(order.sort(order.columns[1:], nulls_last=False)["row"].to_numpy()))

    def _decide(self, table: pa.Table, block: int) -> tuple[Ints, pl.DataFrame]:
        codes, sensitive, counts = codes_in(table, "q"), codes_in(table, "s"), counts_in(table)
        nobody = np.zeros(table.num_rows, bool)
        encoded = count_codes(
            self.columns,
            list(codes.T),
            list(sensitive.T),
            self.known,
            subjects=None,
            forced_suppression=nobody,
            record_counts=counts,
        )
        encoded = replace(encoded, part=BlockShare(self.whole, self.allowed[block]))
        classes = solve_encoded(encoded, self.policy).publication
        numbers = pl.Series(np.arange(table.num_rows))
        kept = pl.DataFrame([numbers.alias("row"), numbers.alias("index")])
        parts = divide_records(kept, encoded, classes, rank_classes(classes), counts)
        texts = [
            pl.Series(f"t{index}", list(column.texts), dtype=pl.String).gather(pl.Series(column.ids[parts.members]))
            for index, column in enumerate(classes.columns)
        ]
        often = pl.DataFrame([pl.Series("row", parts.rows), pl.Series(COUNTS, parts.counts)])
        high = often.select(pl.col(COUNTS).cum_sum().over("row")).to_series()
        low = high - often[COUNTS]
        split = (low > 0) | (high < pl.Series(counts[parts.rows]))
        return parts.rows, pl.DataFrame([*texts, often[COUNTS], low.alias(LOW), high.alias(HIGH), split.alias(SPLIT)])

    def _nothing(self) -> pl.DataFrame:
        texts = {f"t{index}": pl.Series([None], dtype=pl.String) for index in range(len(self.columns))}
        numbers = {name: pl.Series([0], dtype=pl.Int64) for name in (COUNTS, LOW, HIGH)}
        return pl.DataFrame({**texts, **numbers, SPLIT: [False]})

    def _answer(self, table: pa.Table, rows: Ints, shown: pl.DataFrame, error: str | None) -> pa.Table:
        given = table.select(list(self.keys)).take(pa.array(rows))
        for column in shown.with_columns(pl.lit(error, pl.String).alias(ERROR)):
            kind = {pl.String: pa.string(), pl.Boolean: pa.bool_()}.get(column.dtype.base_type(), pa.int64())
            given = given.append_column(column.name, column.to_arrow().cast(kind))
        return given
