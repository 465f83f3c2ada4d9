"""What executors do with Python: count into bins, find the block of a record, search a block.

Each is a value that Spark sends to its executors, and a function from Arrow tables to Arrow tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from shoal.encoding.types import Ints
from shoal.engines.counted import TIMES
from shoal.engines.spark.cutting import Tree, binned
from shoal.errors import ShoalError
from shoal.frequencies.frequencies import Frequencies, SensitiveColumn
from shoal.pipeline.encode import Part, counted_codes
from shoal.pipeline.publish import rank_of_class, shared_out
from shoal.pipeline.solve import solve_encoded
from shoal.policy import Policy
from shoal.recodings.base import Column

BLOCK, ERROR = "block", "error"


def codes_in(table: pa.Table | pa.RecordBatch, prefix: str) -> npt.NDArray[np.int64]:
    """Return the columns ``prefix0``, ``prefix1``, … as a matrix."""
    count = sum(name.startswith(prefix) and name[len(prefix) :].isdigit() for name in table.schema.names)
    columns = [table.column(f"{prefix}{index}").to_numpy(zero_copy_only=False) for index in range(count)]
    return np.stack(columns, axis=1).astype(np.int64) if columns else np.zeros((table.num_rows, 0), np.int64)


def _times(table: pa.Table | pa.RecordBatch) -> Ints:
    times: Ints = table.column(TIMES).to_numpy(zero_copy_only=False).astype(np.int64)
    return times


@dataclass(frozen=True)
class Bins:
    """Counts the records of a partition into the bins of their blocks."""

    tree: Tree
    places: Mapping[int, tuple[Ints, ...]]
    schema = "node bigint, col int, bin int, combinations bigint, records bigint"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one table with the counts of all batches."""
        added: dict[tuple[int, int], tuple[Ints, Ints]] = {}
        for batch in batches:
            for key, (more, heavier) in binned(self.tree, self.places, codes_in(batch, "q"), _times(batch)).items():
                old = added.get(key, (0, 0))
                added[key] = (old[0] + more, old[1] + heavier)
        rows = [
            np.stack([np.full(len(c), node), np.full(len(c), column), np.arange(len(c)), c, r], axis=1)
            for (node, column), (c, r) in added.items()
        ]
        table = np.concatenate(rows) if rows else np.zeros((0, 5), np.int64)
        table = table[table[:, 3] > 0]
        kinds = (pa.int64(), pa.int32(), pa.int32(), pa.int64(), pa.int64())
        names = ["node", "col", "bin", "combinations", "records"]
        yield pa.RecordBatch.from_arrays([pa.array(table[:, n], kind) for n, kind in enumerate(kinds)], names)


@dataclass(frozen=True)
class Blocks:
    """Adds the block of each record."""

    tree: Tree

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield each batch with one more column."""
        for batch in batches:
            leaves = pa.array(self.tree.leaves_of(codes_in(batch, "q")), pa.int64())
            yield pa.RecordBatch.from_arrays([*batch.columns, leaves], [*batch.schema.names, BLOCK])


@dataclass(frozen=True)
class Search:
    """Searches one block as if it were a table, with what is known of the whole one."""

    policy: Policy
    columns: tuple[Column, ...]
    known: dict[str, SensitiveColumn]
    whole: Frequencies
    allowed: Mapping[int, int]
    """Block → how many of its records may be suppressed."""
    keys: tuple[str, ...]
    """What records are sorted by, so that no order of theirs decides anything, and brought back by."""

    def of_block(self) -> Callable[[pa.Table], pa.Table]:
        """Return the search as a function of one argument: Spark counts the arguments of what it is given."""

        def search(table: pa.Table) -> pa.Table:
            return self.search(table)

        return search

    def search(self, table: pa.Table) -> pa.Table:
        """Return what becomes of each combination of the block; or why nothing does."""
        block = int(table.column(BLOCK)[0].as_py())
        order = pl.DataFrame(
            [pl.from_arrow(table.column(name)).alias(str(index)) for index, name in enumerate(self.keys)]  # type: ignore[union-attr]
        ).with_row_index("row")
        table = table.take(pa.array(order.sort(order.columns[1:], nulls_last=False)["row"].to_numpy()))
        try:
            rows, shown = self._decided(table, block)
        except ShoalError as error:
            return self._table(table, np.zeros(1, np.int64), None, f"block {block}: {error}")
        return self._table(table, rows, shown, None)

    def _decided(self, table: pa.Table, block: int) -> tuple[Ints, pl.DataFrame]:
        codes, sensitive, times = codes_in(table, "q"), codes_in(table, "s"), pl.Series(TIMES, _times(table))
        nobody = np.zeros(table.num_rows, bool)
        encoded = counted_codes(self.columns, list(codes.T), list(sensitive.T), self.known, None, nobody, times)
        encoded = replace(encoded, part=Part(self.whole, self.allowed[block]))
        publication = solve_encoded(encoded, self.policy).publication
        numbers = pl.Series(np.arange(table.num_rows))
        kept = pl.DataFrame([numbers.alias("row"), numbers.alias("place")])
        parts = shared_out(kept, encoded, publication, rank_of_class(publication), times)
        members = parts.members
        texts = [
            pl.Series(f"t{index}", list(shown.texts), dtype=pl.String).gather(pl.Series(shown.ids[members]))
            for index, shown in enumerate(publication.columns)
        ]
        often = pl.DataFrame([pl.Series("row", parts.rows), pl.Series(TIMES, parts.times)])
        high = often.select(pl.col(TIMES).cum_sum().over("row")).to_series()
        low = high - often[TIMES]
        split = (low > 0) | (high < times[parts.rows])
        return parts.rows, pl.DataFrame(
            [*texts, often[TIMES], low.alias("low"), high.alias("high"), split.alias("split")]
        )

    def _table(self, table: pa.Table, rows: Ints, shown: pl.DataFrame | None, error: str | None) -> pa.Table:
        given = table.select(list(self.keys)).take(pa.array(rows))
        if shown is None:
            names = [f"t{index}" for index in range(len(self.columns))]
            nothing = {name: pl.Series([None], dtype=pl.String) for name in names}
            numbers = {name: pl.Series([0], dtype=pl.Int64) for name in (TIMES, "low", "high")}
            shown = pl.DataFrame({**nothing, **numbers, "split": [False]})
        for column in shown.with_columns(pl.lit(error, pl.String).alias(ERROR)):
            kind = {pl.String: pa.string(), pl.Boolean: pa.bool_()}.get(column.dtype.base_type(), pa.int64())
            given = given.append_column(column.name, column.to_arrow().cast(kind))
        return given
