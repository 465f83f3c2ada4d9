"""What executors do with Python while a table is cut: count into bins, find the block of a record.

Each is a value that Spark sends to its executors, and a function from Arrow tables to Arrow tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from shoal.encoding.types import Ints
from shoal.engines.blocks import BLOCK, codes_in, counts_in
from shoal.engines.cutting import CutTree, count_bins


@dataclass(frozen=True)
class Bins:
    """Counts the records of a partition into the bins of their blocks."""

    tree: CutTree
    indices: Mapping[int, tuple[Ints, ...]]
    schema = "node bigint, col int, bin int, combinations bigint, records bigint"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield one table with the counts of all batches."""
        added: dict[tuple[int, int], tuple[Ints, Ints]] = {}
        for batch in batches:
            found = count_bins(self.tree, self.indices, codes_in(batch, "q"), counts_in(batch))
            for key, (more, heavier) in found.items():
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

    tree: CutTree

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield each batch with one more column."""
        for batch in batches:
            leaves = pa.array(self.tree.leaves_of(codes_in(batch, "q")), pa.int64())
            yield pa.RecordBatch.from_arrays([*batch.columns, leaves], [*batch.schema.names, BLOCK])
