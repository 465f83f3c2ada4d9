"""Tables whose combinations do not fit the driver: cut first, then each block is searched on the executors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import polars as pl
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from shoal.algorithms.base import Problem
from shoal.auditing.truth import truth_faults
from shoal.engines.columns import plain
from shoal.engines.counted import TIMES, CountedTable
from shoal.engines.memory.source import open_table
from shoal.engines.spark.columns import Layout
from shoal.engines.spark.cutting import Block, Cut, Tree, proposed
from shoal.engines.spark.lookup import checkpointed, cores, create, repeated, with_others
from shoal.engines.spark.marginals import marginals
from shoal.engines.spark.progress import Stages
from shoal.engines.spark.recount import moved_faults, recounted
from shoal.engines.spark.release import SparkRelease
from shoal.engines.spark.searching import BLOCK, ERROR, Bins, Blocks, Search
from shoal.engines.spark.tally import cached, collect, each_counted
from shoal.engines.treatments import treat_columns, treated
from shoal.errors import AuditFailed, Fault, Infeasible, Misfit
from shoal.frequencies.frequencies import Classes, Frequencies
from shoal.pipeline.check import check
from shoal.pipeline.encode import Encoded, encode
from shoal.pipeline.manifest import manifest_of
from shoal.pipeline.release import Release, attained_by
from shoal.policy import Policy, QuasiIdentifier, Sensitive

_OF_RECORDS = ("similarity", "auto")
"""Hierarchies that look at whole records, which nobody has at hand here."""
_IN_A_TASK = 200_000
"""So many combinations are counted by one task when a table is cut: each task costs some time of its own."""
_AT_ONCE = 10_000
"""A record that occurs more often is repeated in parts of so many."""


def refusals(policy: Policy, records: int) -> list[Fault]:
    """Return what a policy asks for that does not hold of a table because it holds of each of its blocks."""
    faults, hint = [], "let the driver take more combinations (fits=, --fits), or generalize the columns first"
    if policy.algorithm.needs_hierarchies:
        what = "one recoding for the whole table is sought, and the table has too many combinations for the driver"
        faults.append(Fault(what, "algorithm", f"{policy.algorithm.key()}, {records:,} combinations", hint))
    if policy.subject is not None:
        faults.append(
            Fault("persons are not counted in blocks: the records of one may lie in several", "subject", hint=hint)
        )
    for index, model in enumerate(policy.models):
        if not (model.monotone or model.absorbing):
            what = "two classes of different blocks that look alike may break it together"
            faults.append(Fault(what, f"models[{index}]", model.key(), hint))
    for name, column in policy.quasi_identifiers.items():
        if column.hierarchy is not None and column.hierarchy.key() in _OF_RECORDS:
            what = "this hierarchy is built from whole records"
            told = "build it from a sample and name its file"
            faults.append(Fault(what, f"quasi_identifiers.{name}", column.hierarchy.key(), told))
    return faults


@dataclass(frozen=True)
class InBlocks:
    """What is told of a recoding that was found block by block: no driver holds its classes."""

    blocks: int
    classes: int
    largest: int
    proof: None = None
    rounds: tuple[()] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return how many blocks and classes there are."""
        told = {"blocks": self.blocks, "largest_block": self.largest, "classes": self.classes}
        return {"recoding": "local", **told}


def released_in_blocks(combinations: DataFrame, layout: Layout, policy: Policy, stages: Stages, block: int) -> Release:
    """Cut the table into blocks, search each on an executor, publish and audit them together."""
    count = combinations.count()
    faults = refusals(policy, count)
    if faults:
        raise Misfit(faults)
    stages.begin("Spark: counting each column")
    columns = marginals(combinations, layout, policy)
    misfits = [fault for fault in check(columns, policy) if fault.kind == "fault"]
    if misfits:
        raise Misfit(misfits)
    source = treated(open_table(columns), policy)
    learned = encode(source.frame, policy, source.times)
    problem = policy.algorithm.to_classwise(learned.problem(policy))
    problem.begin()  # raises where not even all records together keep the promises
    parts = max(cores(combinations.sparkSession), -(-count // _IN_A_TASK))
    with cached(_coded(combinations.coalesce(parts), layout, policy, columns, learned)) as coded:
        cutter = _Cutter(coded.where(~F.col("forced")), problem, stages, block)
        cutter.cut()
        stages.begin("Spark: searching the blocks")
        pieces = checkpointed(_searched(coded, layout, policy, learned, cutter))
    broken = pieces.where(F.col(ERROR).isNotNull()).select(ERROR).orderBy(ERROR).take(1)
    if broken:
        raise Infeasible(str(broken[0][0]))
    stages.begin("Spark: writing what was decided")
    published, moved = _applied(pieces, layout, policy)
    stages.begin("Spark: auditing")
    original = replace(columns, frame=columns.frame.with_columns(_named_only(layout, columns)))
    checked, found = recounted(published, layout, policy, original)
    untrue = truth_faults(_pairs(pieces, layout, policy), source.frame, policy, source.times)
    failing = [*checked.failures(), *untrue, *_lost(pieces, checked.published), *moved]
    if failing:
        raise AuditFailed(failing)
    recoding = InBlocks(len(cutter.done), checked.classes, max(one.combinations for one in cutter.done))
    release = Release(
        published,
        policy,
        recoding,
        attained_by(checked),
        checked,
        manifest_of(source, policy, recoding),
        source,
        pl.DataFrame(),
    )
    return SparkRelease.of(release, published, layout, checked, original, found)


def _named_only(layout: Layout, columns: CountedTable) -> list[pl.Series]:
    """Return columns that were not counted: their names, without values."""
    names = [name for name in layout.names if name not in columns.frame.columns]
    return [pl.Series(name, [None] * columns.frame.height, dtype=pl.String) for name in names]


def _coded(
    combinations: DataFrame, layout: Layout, policy: Policy, columns: CountedTable, learned: Encoded
) -> DataFrame:
    """Return the combinations with the number of each value: ``q0``, … for quasi-identifiers, ``s0``, … for others."""
    spark, table, forced_suppression = combinations.sparkSession, combinations, F.lit(False)
    cells = learned.cell_of_record
    codes = learned.frequencies.tuples[learned.frequencies.cell_tuples[cells]]
    roles = [*((f"q{index}", name, codes[:, index]) for index, name in enumerate(policy.quasi_identifiers))]
    held = learned.frequencies.sensitive[cells]
    roles += [(f"s{index}", name, held[:, index]) for index, name in enumerate(policy.sensitive)]
    specs: dict[str, QuasiIdentifier | Sensitive] = {**policy.quasi_identifiers, **policy.sensitive}
    for number, name, values in roles:
        key = layout.key(name)
        known = pl.DataFrame([columns.frame[name].alias("value"), pl.Series(number, values.astype(np.int32))]).unique()
        lookup = F.broadcast(create(spark, known.sort("value")))
        table = table.join(lookup, F.col(key).eqNullSafe(F.col("value")), "inner").drop("value")
        if specs[name].missing == "suppress":
            forced_suppression = forced_suppression | F.col(key).isNull()
    return table.withColumn("forced", forced_suppression)


@dataclass
class _Cutter:
    """Cuts all blocks that are too large, one cut each in a round, until none is or none can be cut."""

    coded: DataFrame
    problem: Problem
    stages: Stages
    target: int

    def __post_init__(self) -> None:
        columns = self.problem.columns
        self.tree, self.done = Tree(), list[Block]()
        total = self.coded.agg(F.count(F.lit(1)), F.sum(TIMES)).collect()[0]
        tops = tuple(column.levels.size - 1 for column in columns)
        self.open = [Block(0, (0,) * len(columns), tops, int(total[0]), int(total[1] or 0))]
        self.numbers = [f"q{index}" for index in range(len(columns))]
        self.sensitive = [name for name in self.coded.columns if name[0] == "s" and name[1:].isdigit()]
        self.looks_at_values = any(set(model.needs) - {"counts"} for model in self.problem.models)

    def cut(self) -> None:
        """Cut round by round."""
        while self.open:
            self.done += [block for block in self.open if block.combinations <= self.target]
            self.open = [block for block in self.open if block.combinations > self.target]
            if self.open:
                self.stages.begin(f"Spark: cutting into blocks ({len(self.open) + len(self.done)})")
                self._round()

    def _round(self) -> None:
        columns, least = self.problem.columns, self.problem.least_records
        indices = {block.node: block.indices(columns) for block in self.open}
        counts = self._counts(indices)
        found = [proposed(block, columns, indices[block.node], counts, least) for block in self.open]
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

    def _counts(self, indices: dict[int, Any]) -> dict[tuple[int, int], Any]:
        bins = Bins(self.tree, indices)
        parts = self.coded.select(*self.numbers, TIMES).mapInArrow(bins, Bins.schema)
        sums = [
            F.sum("combinations").cast("bigint").alias("combinations"),
            F.sum("records").cast("bigint").alias("records"),
        ]
        table = collect(parts.groupBy("node", "col", "bin").agg(*sums))
        counts = {}
        for (node, column), part in table.group_by("node", "col"):
            size = len(indices[int(node)][int(column)]) + 1
            both = np.zeros((2, size), np.int64)
            both[:, part["bin"].to_numpy()] = part.select("combinations", "records").to_numpy().T
            counts[int(node), int(column)] = (both[0], both[1])
        return counts

    def _hold(self, tree: Tree, cuts: list[Cut]) -> list[bool]:
        """Return for each cut whether both sides, each as one class, keep every promise."""
        if not self.looks_at_values or not cuts:
            return [True] * len(cuts)
        table = _in_blocks(self.coded.select(*self.numbers, *self.sensitive, TIMES), tree)
        sides = [int(tree.lefts[cut.block.node]) + right for cut in cuts for right in (0, 1)]
        counted = collect(
            table.where(F.col(BLOCK).isin(sides))
            .groupBy(BLOCK, *self.sensitive)
            .agg(F.sum(TIMES).cast("bigint").alias(TIMES))
        )
        frequencies = Frequencies(
            np.zeros((1, len(self.numbers)), np.int32),
            np.zeros(counted.height, np.int64),
            counted[TIMES].to_numpy(),
            counted.select(self.sensitive).to_numpy().astype(np.int32),
        )
        index = {node: number for number, node in enumerate(sides)}
        members = np.array([index[node] for node in counted[BLOCK].to_list()], np.int64)
        held = self.problem.holds(Classes.of(frequencies, members, len(sides)))
        return [bool(both) for both in np.asarray(held.reshape(-1, 2).all(axis=1))]


def _in_blocks(table: DataFrame, tree: Tree) -> DataFrame:
    """Return a table with the block of each record."""
    return table.mapInArrow(Blocks(tree), T.StructType([*table.schema.fields, T.StructField(BLOCK, T.LongType())]))


def _searched(coded: DataFrame, layout: Layout, policy: Policy, learned: Encoded, cutter: _Cutter) -> DataFrame:
    """Return what becomes of each combination, found block by block on the executors."""
    totals = coded.groupBy("forced").agg(F.sum(TIMES).alias(TIMES)).collect()
    records = {bool(row["forced"]): int(row[TIMES]) for row in totals}
    inside, out = records.get(False, 0), records.get(True, 0)
    may = policy.may_suppress(inside + out) - out
    if may < 0:
        raise Infeasible(f"{out} records must be suppressed for their missing values, {may + out} may be")
    keys = layout.keys(layout.counted)
    search = Search(
        policy,
        learned.columns,
        learned.known,
        learned.frequencies,
        {block.node: may * block.records // max(inside, 1) for block in cutter.done},
        tuple(keys),
    )
    texts = [T.StructField(f"t{index}", T.StringType()) for index in range(len(learned.columns))]
    numbers = [T.StructField(name, T.LongType()) for name in (TIMES, "low", "high")]
    last = [T.StructField("split", T.BooleanType()), T.StructField(ERROR, T.StringType())]
    schema = T.StructType([*(coded.schema[name] for name in keys), *texts, *numbers, *last])
    blocks = _in_blocks(coded.where(~F.col("forced")), cutter.tree)
    # as many tasks as blocks: a block is small to send and long to search
    return blocks.repartition(len(cutter.done), BLOCK).groupBy(BLOCK).applyInArrow(search.of_block(), schema)


def _applied(pieces: DataFrame, layout: Layout, policy: Policy) -> tuple[DataFrame, list[Fault]]:
    """Return the published table under our own names, sorted by what it shows, and what is wrong with its records."""
    quasi = {layout.key(name): f"t{index}" for index, name in enumerate(policy.quasi_identifiers)}
    keys = layout.keys(layout.published)
    order = [*quasi, *(key for key in keys if key not in quasi)]
    if layout.others:
        rest, counted = [key for key in keys if key not in quasi], layout.keys(layout.counted)
        joined = with_others(layout.table, pieces, counted, rest, list(quasi.values()))
        joined = checkpointed(joined.orderBy(*quasi.values(), *rest))
        return joined.select(*_shown(keys, quasi)), moved_faults(joined, layout.table, pieces, counted)
    shown = pieces.select(*_shown(keys, quasi), TIMES)
    parts = F.explode(F.sequence(F.lit(0), F.expr(f"cast(({TIMES} - 1) div {_AT_ONCE} as int)")))
    few = shown.withColumn("part", parts)
    left = F.least(F.lit(_AT_ONCE), F.col(TIMES) - F.col("part") * _AT_ONCE).alias(TIMES)
    return repeated(few.select(*keys, left).orderBy(*order), keys), []


def _shown(keys: list[str], quasi: dict[str, str]) -> list[SparkColumn]:
    return [F.col(quasi[key]).alias(key) if key in quasi else F.col(key) for key in keys]


def _pairs(pieces: DataFrame, layout: Layout, policy: Policy) -> dict[str, list[tuple[str | None, str | None]]]:
    """Return each value that a record holds with each text that it is published as, column by column."""
    pairs, keys = {}, layout.keys(list(policy.quasi_identifiers))
    found = each_counted(pieces, [[key, f"t{index}"] for index, key in enumerate(keys)])
    for index, (both, (name, column)) in enumerate(zip(found, policy.quasi_identifiers.items(), strict=True)):
        raw = pl.DataFrame([both[keys[index]].alias(name)])
        values = treat_columns(raw, {} if column.treatment is None else {name: column.treatment})[name]
        pairs[name] = list(zip(plain(values).cast(pl.String).to_list(), both[f"t{index}"].to_list(), strict=True))
    return pairs


def _lost(pieces: DataFrame, published: int) -> list[Fault]:
    """Return a fault where Spark holds other records than were decided."""
    decided = int(pieces.agg(F.sum(TIMES)).collect()[0][0] or 0)
    return (
        []
        if decided == published
        else [Fault("Spark holds another table than was decided", got=f"{published} records of {decided}")]
    )
