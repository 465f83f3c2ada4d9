"""Tables whose combinations do not fit the driver: Spark cuts them, and lets each block be searched on an executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from shoal.encoding.domains import STAR
from shoal.engines.blocks import BLOCK, ERROR, HIGH, LOW, SPLIT, CutRequest, NumberedColumn
from shoal.engines.counted import COUNTS
from shoal.engines.cutting import Block, Cut, Tree, propose_cut
from shoal.engines.spark.binning import Bins, Blocks
from shoal.engines.spark.columns import Layout
from shoal.engines.spark.lookup import checkpoint, count_cores, create, join_others, repeat
from shoal.engines.spark.recount import moved_faults
from shoal.engines.spark.tally import cache, collect, count_each
from shoal.frequencies.frequencies import Classes, Frequencies

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
    parts = max(count_cores(combinations.sparkSession), -(-table.count_combinations() // _IN_A_TASK))
    with cache(_number(combinations.coalesce(parts), table.layout, request.columns)) as coded:
        cutter = _Cutter(table, coded.where(~F.col(_FORCED)), request)
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
    cutter: _Cutter
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


def _find_blocks(table: DataFrame, tree: Tree) -> DataFrame:
    """Return a table with the block of each record."""
    return table.mapInArrow(Blocks(tree), T.StructType([*table.schema.fields, T.StructField(BLOCK, T.LongType())]))


@dataclass
class _Cutter:
    """Cuts all blocks that are too large, one cut each in a round, until none is or none can be cut."""

    table: SparkTable
    coded: DataFrame
    request: CutRequest
    tree: Tree = field(default_factory=Tree)
    done: list[Block] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.problem = self.request.problem
        columns = self.problem.columns
        total = self.coded.agg(F.count(F.lit(1)), F.sum(COUNTS)).collect()[0]
        tops = tuple(column.levels.size - 1 for column in columns)
        self.open = [Block(0, (0,) * len(columns), tops, int(total[0]), int(total[1] or 0))]
        self.numbers = [column.key for column in self.request.columns if column.key.startswith("q")]
        self.sensitive = [column.key for column in self.request.columns if column.key.startswith("s")]
        self.looks_at_values = any(set(model.needs) - {"counts"} for model in self.problem.models)

    def cut(self) -> None:
        """Cut round by round."""
        while self.open:
            self.done += [block for block in self.open if block.combinations <= self.table.block]
            self.open = [block for block in self.open if block.combinations > self.table.block]
            if self.open:
                self.table.stages.begin(f"Spark: cutting into blocks ({len(self.open) + len(self.done)})")
                self._cut_once()

    def _cut_once(self) -> None:
        columns, least = self.problem.columns, self.problem.least_records
        indices = {block.node: block.indices(columns) for block in self.open}
        counts = self._count(indices)
        found = [propose_cut(block, columns, indices[block.node], counts, least) for block in self.open]
        self.done += [block for block, cut in found if cut is None]
        cuts = [cut for _, cut in found if cut is not None]
        tree = reduce(lambda grown, cut: grown.cut(cut.block.node, cut.column, cut.place), cuts, self.tree)
        self.open = []
        for cut, holds in zip(cuts, self._hold(tree, cuts), strict=True):
            if holds:
                self.tree = self.tree.cut(cut.block.node, cut.column, cut.place)
                self.open += cut.halves(self.tree)
            else:
                self.open.append(replace(cut.block, refused=cut.block.refused | {cut.column}))

    def _count(self, indices: dict[int, Any]) -> dict[tuple[int, int], Any]:
        bins = Bins(self.tree, indices)
        parts = self.coded.select(*self.numbers, COUNTS).mapInArrow(bins, Bins.schema)
        sums = [F.sum(name).cast("bigint").alias(name) for name in ("combinations", "records")]
        counts = {}
        for (node, column), part in collect(parts.groupBy("node", "col", "bin").agg(*sums)).group_by("node", "col"):
            size = len(indices[int(node)][int(column)]) + 1
            both = np.zeros((2, size), np.int64)
            both[:, part["bin"].to_numpy()] = part.select("combinations", "records").to_numpy().T
            counts[int(node), int(column)] = (both[0], both[1])
        return counts

    def _hold(self, tree: Tree, cuts: list[Cut]) -> list[bool]:
        """Return for each cut whether both sides, each as one class, keep every promise."""
        if not self.looks_at_values or not cuts:
            return [True] * len(cuts)
        table = _find_blocks(self.coded.select(*self.numbers, *self.sensitive, COUNTS), tree)
        sides = [int(tree.lefts[cut.block.node]) + right for cut in cuts for right in (0, 1)]
        inside = table.where(F.col(BLOCK).isin(sides)).groupBy(BLOCK, *self.sensitive)
        counted = collect(inside.agg(F.sum(COUNTS).cast("bigint").alias(COUNTS)))
        frequencies = Frequencies(
            np.zeros((1, len(self.numbers)), np.int32),
            np.zeros(counted.height, np.int64),
            counted[COUNTS].to_numpy(),
            counted.select(self.sensitive).to_numpy().astype(np.int32),
        )
        index = {node: number for number, node in enumerate(sides)}
        members = np.array([index[node] for node in counted[BLOCK].to_list()], np.int64)
        held = self.problem.holds(Classes.of(frequencies, members, len(sides)))
        return [bool(both) for both in np.asarray(held.reshape(-1, 2).all(axis=1))]


@dataclass(frozen=True, kw_only=True)
class SparkPieces:
    """What was decided for each combination, block by block."""

    table: SparkTable
    pieces: DataFrame

    @property
    def texts(self) -> dict[str, str]:
        """Quasi-identifier → the column of what is published of it."""
        return {name: f"t{index}" for index, name in enumerate(self.table.policy.quasi_identifiers)}

    def find_error(self) -> str:
        """Return why some block could not be searched; empty where all were."""
        broken = self.pieces.where(F.col(ERROR).isNotNull()).select(ERROR).orderBy(ERROR).take(1)
        return str(broken[0][0]) if broken else ""

    def count_records(self) -> int:
        """Return how many records were decided to be published."""
        return int(self.pieces.agg(F.sum(COUNTS)).collect()[0][0] or 0)

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
        texts = {layout.key(name): text for name, text in self.texts.items()}
        keys = layout.keys(layout.published)
        shown = [F.col(texts.get(key, key)).alias(f"c{index}") for index, key in enumerate(keys)]
        rest = [key for key in keys if key not in texts]
        if not layout.others:
            return self.table.hold_published(self._repeat(shown, [*texts.values(), *rest]), layout.published, list)
        counted = layout.keys(layout.counted)
        joined = join_others(layout.table, self.pieces, counted, rest, list(texts.values()))
        joined = checkpoint(joined.orderBy(*texts.values(), *rest))
        faults = partial(moved_faults, joined, layout.table, self.pieces, counted)
        return self.table.hold_published(joined.select(*shown), layout.published, faults)

    def _repeat(self, shown: Sequence[SparkColumn], order: Sequence[str]) -> DataFrame:
        """Return each record as often as it occurs; one that occurs very often in parts of some tasks."""
        parts = F.explode(F.sequence(F.lit(0), F.expr(f"cast(({COUNTS} - 1) div {_AT_ONCE} as int)")))
        few = self.pieces.withColumn("part", parts).orderBy(*order)
        left = F.least(F.lit(_AT_ONCE), F.col(COUNTS) - F.col("part") * _AT_ONCE).alias(COUNTS)
        table = few.select(*shown, left)
        return repeat(table, [name for name in table.columns if name != COUNTS])
