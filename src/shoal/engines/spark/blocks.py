"""Tables whose combinations do not fit the driver: Spark cuts them, and lets each block be searched on an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from operator import and_
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from shoal.encoding.domains import STAR
from shoal.encoding.types import Codes, Ints
from shoal.engines.blocks import BLOCK, ERROR, HIGH, LOW, SPLIT, CutRequest, NumberedColumn
from shoal.engines.counted import COUNTS, CountedTable
from shoal.engines.cutter import BlockCutter
from shoal.engines.cutting import Block, CutTree
from shoal.engines.spark.binning import Bins, Blocks
from shoal.engines.spark.columns import Layout
from shoal.engines.spark.counting import cache, collect, count_each, name_columns
from shoal.engines.spark.lookup import checkpoint, count_task_slots, create, join_others, repeat
from shoal.engines.spark.recount import find_moved_faults

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.engines.spark.engine import SparkTable

_IN_A_TASK = 200_000
"""So many combinations are counted by one task when a table is cut: each task costs some time of its own."""
_AT_ONCE = 10_000
"""A record that occurs more often is repeated in parts of so many."""
_FORCED = "forced"
"""Tells which combinations are suppressed for their missing values."""


@contextmanager
def cut_table(table: SparkTable, combinations: DataFrame, request: CutRequest) -> Iterator[SparkCut]:
    """Cut a table, given also by its combinations, into blocks, which Spark keeps while they are searched."""
    parts = max(count_task_slots(combinations.sparkSession), -(-table.count_combinations() // _IN_A_TASK))
    with cache(_number(combinations.coalesce(parts), table.layout, request.columns)) as coded:
        keys = [column.key for column in request.columns]
        counter = _SparkCounter(
            coded=coded.where(~F.col(_FORCED)),
            numbers=[key for key in keys if key.startswith("q")],
            sensitive=[key for key in keys if key.startswith("s")],
        )

        def tell(blocks: int) -> None:
            table.stages.begin(f"Spark: cutting into blocks ({blocks})")

        cutter = BlockCutter(counter, request.problem, table.block, tell)
        cutter.cut()
        yield SparkCut(table=table, coded=coded, cutter=cutter, texts=len(request.problem.columns))


def _number(combinations: DataFrame, layout: Layout, columns: Sequence[NumberedColumn]) -> DataFrame:
    """Return the combinations with the number of each value, and whether they are suppressed for a missing one."""
    table, forced = combinations, F.lit(False)
    for column in columns:
        key = layout.key(column.name)
        numbers = F.broadcast(create(combinations.sparkSession, column.numbers))
        table = table.join(numbers, F.col(key).eqNullSafe(F.col("value")), "inner").drop("value")
        if column.suppresses_missing:
            forced = forced | F.col(key).isNull()
    return table.withColumn(_FORCED, forced)


@dataclass(frozen=True, kw_only=True)
class SparkCut:
    """A table in blocks."""

    table: SparkTable
    coded: DataFrame
    cutter: BlockCutter
    texts: int
    """How many texts are published of a record."""

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks."""
        return self.cutter.done

    @property
    def suppressed(self) -> int:
        """How many records are suppressed for their missing values: they are in no block."""
        return int(self.coded.where(_FORCED).agg(F.sum(COUNTS)).collect()[0][0] or 0)

    @property
    def keys(self) -> tuple[str, ...]:
        """What the counted columns are called."""
        return tuple(self.table.layout.keys(self.table.layout.counted))

    def search(self, search: Callable[[pa.Table], pa.Table]) -> SparkPieces:
        """Let each block be searched on an executor."""

        def search_block(block: pa.Table) -> pa.Table:  # Spark counts the arguments of what it is given
            return search(block)

        self.table.stages.begin("Spark: searching the blocks")
        texts = [T.StructField(f"t{index}", T.StringType()) for index in range(self.texts)]
        numbers = [T.StructField(name, T.LongType()) for name in (COUNTS, LOW, HIGH)]
        last = [T.StructField(SPLIT, T.BooleanType()), T.StructField(ERROR, T.StringType())]
        schema = T.StructType([*(self.coded.schema[name] for name in self.keys), *texts, *numbers, *last])
        blocks = _find_blocks(self.coded.where(~F.col(_FORCED)), self.cutter.tree)
        # as many tasks as blocks: a block is small to send and long to search
        found = blocks.repartition(len(self.blocks), BLOCK).groupBy(BLOCK).applyInArrow(search_block, schema)
        return SparkPieces(table=self.table, pieces=checkpoint(found))


def _find_blocks(table: DataFrame, tree: CutTree) -> DataFrame:
    """Return a table with the block of each record."""
    return table.mapInArrow(Blocks(tree), T.StructType([*table.schema.fields, T.StructField(BLOCK, T.LongType())]))


@dataclass(frozen=True, kw_only=True)
class _SparkCounter:
    """Lets executors count; only sums come to the driver."""

    coded: DataFrame
    numbers: Sequence[str]
    """The numbers of quasi-identifiers, ``q0``, …"""
    sensitive: Sequence[str]

    def count_all(self) -> tuple[int, int]:
        """Return how many combinations and how many records there are."""
        total = self.coded.agg(F.count(F.lit(1)), F.sum(COUNTS)).collect()[0]
        return int(total[0]), int(total[1] or 0)

    def count_bins(
        self, tree: CutTree, indices: Mapping[int, tuple[Ints, ...]]
    ) -> dict[tuple[int, int], tuple[Ints, Ints]]:
        """Return combinations and records of each bin."""
        parts = self.coded.select(*self.numbers, COUNTS).mapInArrow(Bins(tree, indices), Bins.schema)
        sums = [F.sum(name).cast("bigint").alias(name) for name in ("combinations", "records")]
        counts = {}
        for (node, column), part in collect(parts.groupBy("node", "col", "bin").agg(*sums)).group_by("node", "col"):
            size = len(indices[int(node)][int(column)]) + 1
            both = np.zeros((2, size), np.int64)
            both[:, part["bin"].to_numpy()] = part.select("combinations", "records").to_numpy().T
            counts[int(node), int(column)] = (both[0], both[1])
        return counts

    def count_sensitive(self, tree: CutTree, nodes: Sequence[int]) -> tuple[Ints, Codes, Ints]:
        """Return the sensitive values that occur in some blocks."""
        table = _find_blocks(self.coded.select(*self.numbers, *self.sensitive, COUNTS), tree)
        inside = table.where(F.col(BLOCK).isin(list(nodes))).groupBy(BLOCK, *self.sensitive)
        counted = collect(inside.agg(F.sum(COUNTS).cast("bigint").alias(COUNTS)))
        codes = counted.select(self.sensitive).to_numpy().astype(np.int32)
        return counted[BLOCK].to_numpy(), codes, counted[COUNTS].to_numpy()


@dataclass(frozen=True, kw_only=True)
class SparkPieces:
    """What was decided for each combination, block by block."""

    table: SparkTable
    pieces: DataFrame

    @property
    def texts(self) -> dict[str, str]:
        """Quasi-identifier → the column of what is published of it."""
        return {name: f"t{index}" for index, name in enumerate(self.table.policy.quasi_identifiers)}

    @property
    def shown(self) -> dict[str, SparkColumn]:
        """Published column → what is published of it, under its name in the published table."""
        layout, texts = self.table.layout, self.texts
        return {
            name: F.col(texts.get(name) or layout.key(name)).alias(f"c{index}")
            for index, name in enumerate(layout.published)
        }

    def find_error(self) -> str:
        """Return why some block could not be searched; empty where all were."""
        broken = self.pieces.where(F.col(ERROR).isNotNull()).select(ERROR).orderBy(ERROR).take(1)
        return str(broken[0][0]) if broken else ""

    def count(self) -> CountedTable:
        """Return the records that were decided to be published, without columns that ride along."""
        layout = self.table.layout
        decided = self.pieces.select(
            *(self.shown[name] for name in layout.published if name not in layout.others), COUNTS
        )
        keys = [name for name in decided.columns if name != COUNTS]
        counts = collect(decided.groupBy(*keys).agg(F.sum(COUNTS).cast("bigint").alias(COUNTS)))
        return name_columns(counts, Layout.lay_out_published(decided, layout.published, layout.others))

    def count_pairs(self) -> dict[str, pl.DataFrame]:
        """Return each value that a record holds with each text that it is published as, column by column."""
        starred = reduce(and_, (F.coalesce(F.col(text) == STAR, F.lit(False)) for text in self.texts.values()))
        pieces, layout = self.pieces.withColumn("suppressed", starred), self.table.layout
        units = [[layout.key(name), text, "suppressed"] for name, text in self.texts.items()]
        found = count_each(pieces, units)
        return {
            name: both.select(pl.col(unit[0]).alias("value"), pl.col(unit[1]).alias("text"), "suppressed")
            for name, unit, both in zip(self.texts, units, found, strict=True)
        }

    def publish(self) -> SparkTable:
        """Return the published table, sorted by what it shows."""
        self.table.stages.begin("Spark: writing what was decided")
        layout = self.table.layout
        texts, shown = list(self.texts.values()), list(self.shown.values())
        rest = layout.keys([name for name in layout.published if name not in self.texts])
        if not layout.others:
            return self.table.hold_published(self._repeat(shown, [*texts, *rest]), layout.published, list)
        counted = layout.keys(layout.counted)
        joined = checkpoint(join_others(layout.table, self.pieces, counted, rest, texts).orderBy(*texts, *rest))
        faults = partial(find_moved_faults, joined, layout.table, self.pieces, counted)
        return self.table.hold_published(joined.select(*shown), layout.published, faults)

    def _repeat(self, shown: Sequence[SparkColumn], order: Sequence[str]) -> DataFrame:
        """Return each record as often as it occurs; one that occurs very often in parts of some tasks."""
        parts = F.explode(F.sequence(F.lit(0), F.expr(f"cast(({COUNTS} - 1) div {_AT_ONCE} as int)")))
        few = self.pieces.withColumn("part", parts).orderBy(*order)
        left = F.least(F.lit(_AT_ONCE), F.col(COUNTS) - F.col("part") * _AT_ONCE).alias(COUNTS)
        table = few.select(*shown, left)
        return repeat(table, [name for name in table.columns if name != COUNTS])
