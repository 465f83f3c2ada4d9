"""SparkTable: a table that lies in Apache Spark; GROUP BY counts it, a join brings back what was decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import Any, ClassVar

import polars as pl
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from shoal.encoding.types import Progress, silent
from shoal.engines.base import RowMapping, TableEngine
from shoal.engines.blocks import CutRequest
from shoal.engines.counted import COUNTS, CountedTable
from shoal.engines.locations import Location
from shoal.engines.spark.blocks import SparkCut, cut_table
from shoal.engines.spark.columns import Layout, find_repeating
from shoal.engines.spark.counting import collect, count_combinations, count_marginals, keep, name_columns
from shoal.engines.spark.files import (
    describe_files,
    find_inputs,
    locate,
    read_parts,
    reopen_files,
    sort_by_file,
    write_files,
)
from shoal.engines.spark.lookup import checkpoint, create, expand_counts, join_others
from shoal.engines.spark.progress import Stages, watch_stages
from shoal.engines.spark.recount import find_moved_faults
from shoal.engines.spark.sessions import translate_errors
from shoal.errors import Fault, OverBudget
from shoal.policy import Policy

FITS = 2_000_000
"""How many distinct combinations the driver takes; more are cut into blocks first."""
BLOCK = 100_000
"""About how many combinations a block has, where the table is cut into some."""


@dataclass(frozen=True, kw_only=True)
class SparkTable(TableEngine):
    """A Spark table, the original one or what is published of it.

    Quasi-identifiers, sensitive columns and persons are counted. Other columns that are published as they are *ride
    along*: no driver sees them, and Spark compares them record by record.
    """

    name: ClassVar[str] = "spark"
    formats: ClassVar[tuple[str, ...]] = ("parquet", "csv", "jsonl")
    reads_late: ClassVar[bool] = True

    layout: Layout
    policy: Policy
    fits: int | None = FITS
    """How many distinct combinations the driver takes; what is published, or audited, is counted whatever its size."""
    block: int = BLOCK
    """Where there are more: about how many of them are searched at a time, on one core of an executor."""
    named: tuple[str, ...] = ()
    """Columns that are not counted, and told by their names: that they are there is known, what they hold is not."""
    is_reopened: bool = False
    """Whether it was read back from files, whose order Spark does not keep."""
    find_uncounted_faults: Callable[[], list[Fault]] = field(default=list, repr=False, compare=False)
    """Finds what is wrong with columns that ride along."""
    find_repeating_columns: Callable[[Sequence[str]], list[str]] = field(
        default=lambda names: [], repr=False, compare=False
    )
    """Finds which columns, counted or not, hold a value in more than one record."""
    stages: Stages = field(default_factory=lambda: Stages(silent), repr=False, compare=False)
    _cached: dict[str, DataFrame] = field(default_factory=dict, repr=False, compare=False)
    """The combinations, which Spark keeps while they are looked at more than once."""

    @classmethod
    def open(cls, table: DataFrame, policy: Policy, *, fits: int = FITS, block: int = BLOCK) -> SparkTable:
        """Lay a table out by the roles of its columns."""
        layout = Layout.of(table, policy)
        named = tuple(policy.identifiers)
        return cls(
            layout=layout,
            policy=policy,
            fits=fits,
            block=block,
            named=named,
            find_uncounted_faults=layout.other_faults,
            find_repeating_columns=partial(find_repeating, table),
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self.layout.names

    @property
    def uncounted(self) -> tuple[str, ...]:
        """The columns that ride along."""
        return self.layout.others

    @property
    def native(self) -> DataFrame:
        """The published table, under the names of its columns."""
        layout = self.layout
        return layout.table.select(*layout.keys(layout.published)).toDF(*layout.published)

    @property
    def sources(self) -> tuple[Location, ...]:
        """The files that the table is read from."""
        return tuple(find_inputs(self.layout.table))

    @contextmanager
    def watch(self, progress: Progress) -> Iterator[Progress]:
        """Tell the stages of Spark, and its errors in words; what was kept meanwhile is let go."""
        try:
            with translate_errors(), watch_stages(self.layout.table.sparkSession, progress) as stages:
                yield stages.tell
        finally:
            while self._cached:
                self._cached.popitem()[1].unpersist()

    def telling(self, progress: Progress) -> SparkTable:
        """Return the same table, whose work is told."""
        return replace(self, stages=Stages.of(progress))

    def name_all_columns(self) -> SparkTable:
        """Return the same table with the name of every column, whatever its role, for an audit."""
        return replace(self, named=self.columns, fits=None)

    def count(self, names: Sequence[str] | None = None, what: str = "counting") -> CountedTable:
        """Return the combinations of the counted columns, with how often each occurs, on the driver.

        Raises
        ------
        OverBudget
            There are more of them than the driver takes.
        """
        self.stages.begin(f"Spark: {what}")
        if self.fits is None:
            counts = collect(count_combinations(self.layout.table, self.layout.keys(self.layout.counted)))
        elif self.count_combinations() > self.fits:
            raise OverBudget("more combinations than the driver takes", where="fits", got=f"{self.fits:,}")
        else:
            counts = collect(self._combinations)
        return name_columns(counts, self.layout, self.named)

    def count_records(self) -> int:
        """Return how many records Spark counts without grouping them."""
        return self.layout.table.count()

    @property
    def _combinations(self) -> DataFrame:
        if "combinations" not in self._cached:
            keys = self.layout.keys(self.layout.counted)
            self._cached["combinations"] = keep(count_combinations(self.layout.table, keys))
        return self._cached["combinations"]

    def count_combinations(self) -> int:
        """Return how many distinct combinations of the counted columns there are."""
        return self._combinations.count()

    def count_marginals(self, policy: Policy) -> CountedTable:
        """Return each column counted by itself, the sensitive ones together."""
        self.stages.begin("Spark: counting each column")
        return count_marginals(self._combinations, self.layout, policy)

    def cut(self, request: CutRequest) -> AbstractContextManager[SparkCut]:
        """Cut the table into blocks of so many combinations."""
        return cut_table(self, self._combinations, request)

    def publish(self, mapping: RowMapping) -> SparkTable:
        """Bring what was decided back to the records, on the executors."""
        self.stages.begin("Spark: writing what was decided")
        frame = mapping.published.frame
        names = self.layout.place_others(frame.columns, self.policy)
        if self.layout.others:
            return self._join(mapping, names)
        shown = pl.DataFrame([frame[name].alias(f"c{index}") for index, name in enumerate(names)])
        expected = shown.with_columns(pl.Series(COUNTS, mapping.published.record_counts))
        return self.hold_published(expand_counts(self.layout.table.sparkSession, expected), names, list)

    def _join(self, mapping: RowMapping, names: Sequence[str]) -> SparkTable:
        """Return the published table with the columns that ride along."""
        layout, quasi = self.layout, self.policy.quasi_identifiers
        made = {
            name: f"t{index}"
            for index, name in enumerate(mapping.published.frame.columns)
            if name in quasi or name in self.policy.treated or name not in layout.names
        }
        keys = layout.keys(layout.counted)
        pieces = create(layout.table.sparkSession, _divide(mapping, layout, made))
        rest = [name for name in names if name not in quasi]
        as_they_are = layout.keys([name for name in rest if name not in made])
        joined = join_others(layout.table, F.broadcast(pieces), keys, as_they_are, list(made.values()))
        columns = {name: made[name] if name in made else layout.key(name) for name in names}
        # in the order of one machine: by what classes show, then by all else
        joined = checkpoint(joined.orderBy(*(columns[name] for name in (*quasi, *rest))))
        table = joined.select(*(F.col(columns[name]).alias(f"c{index}") for index, name in enumerate(names)))
        return self.hold_published(table, names, partial(find_moved_faults, joined, layout.table, pieces, keys))

    def hold_published(
        self, table: DataFrame, names: Sequence[str], find_faults: Callable[[], list[Fault]]
    ) -> SparkTable:
        """Return a published table, whose columns are called ``c0``, ``c1``, …, and who finds what is wrong with
        it."""
        layout = Layout.lay_out_published(table, names, self.layout.others)
        return replace(self, layout=layout, fits=None, named=(), find_uncounted_faults=find_faults, _cached={})

    def find_repeating(self, names: Sequence[str]) -> list[str]:
        """Let Spark look for a value that stands in two records."""
        return self.find_repeating_columns(names)

    def uncounted_faults(self) -> list[Fault]:
        """Return what is wrong with columns that ride along; of files, cell by cell with all others."""
        return self.find_uncounted_faults()

    def locate(self, out: object) -> Location:
        """Return a folder of this machine, or of any file system that Hadoop knows."""
        return locate(self.layout.table.sparkSession, str(out))

    def write(self, path: Location, format: str) -> None:
        """Write the table as a folder of files."""
        write_files(self.native, path, format)

    def reopen(self, path: Location, format: str) -> SparkTable:
        """Return files that were written, in the types of what was written into them."""
        table, names, find_faults = reopen_files(self.native, path, format, compares=bool(self.uncounted))
        return replace(self.hold_published(table, names, find_faults), is_reopened=True)

    def head(self, records: int) -> pl.DataFrame:
        """Return the first records, partition by partition."""
        table = self.layout.table
        names = [self.columns[int(key[1:])] for key in table.columns]
        schema = collect(table.limit(0)).schema
        # taken, not collected: only that keeps the order of partitions on a cluster
        rows = [tuple(row) for row in (sort_by_file(table) if self.is_reopened else table).take(records)]
        first = pl.DataFrame(rows, schema=schema, orient="row")
        return pl.DataFrame({name: first[key] for name, key in zip(names, table.columns, strict=True)})

    def raw_bytes(self, path: Location) -> Iterator[bytes]:
        """Yield the files of a folder."""
        yield from read_parts(path)

    def container_bytes(self, path: Location, format: str) -> bytes:
        """Return what Spark writes around the cells, and cells that it writes otherwise than one machine."""
        return describe_files(self.native, path, format)

    def describe(self) -> dict[str, Any]:
        """Return the name and the version of Spark."""
        return {"engine": {"name": "spark", "version": version("pyspark")}}


def _divide(mapping: RowMapping, layout: Layout, made: dict[str, str]) -> pl.DataFrame:
    """Return what becomes of each combination: what its records show in columns that are made, and which of them."""
    frame, counts = mapping.published.frame, pl.Series(COUNTS, mapping.published.record_counts)
    often = pl.DataFrame([mapping.rows.cast(pl.Int64).alias("row"), counts])
    high = often.select(pl.col(COUNTS).cum_sum().over("row")).to_series()
    low, rows = high - counts, mapping.rows.to_numpy()
    split = (low > 0) | (high < pl.Series(mapping.original.record_counts[rows]))
    keys = [mapping.original.frame[name][rows].alias(layout.key(name)) for name in layout.counted]
    shown = [frame[name].alias(text) for name, text in made.items()]
    return pl.DataFrame([*keys, *shown, low.alias("low"), high.alias("high"), split.alias("split")])
