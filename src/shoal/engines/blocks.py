"""What an engine can do with a table whose combinations do not fit one machine: cut it, let each block be searched.

Nothing here knows where the table lies. What is asked of the engine, and what it answers, are values of this module;
who decides with them is :mod:`shoal.pipeline.blocks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeGuard

import numpy as np
import polars as pl

from shoal.algorithms.base import Problem
from shoal.encoding.types import Ints
from shoal.engines.base import TableEngine
from shoal.engines.counted import COUNTS, CountedTable
from shoal.engines.cutting import Block

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.policy import Policy

BLOCK, ERROR = "block", "error"
"""The columns that tell the block of a combination, and why a block could not be searched."""
LOW, HIGH, SPLIT = "low", "high", "split"
"""The records of a combination that a piece takes, numbered from 1: after ``low``, up to ``high``; whether there are
others."""


@dataclass(frozen=True, kw_only=True)
class NumberedColumn:
    """A column whose values have numbers: a quasi-identifier (``q0``, …) or a sensitive one (``s0``, …)."""

    name: str
    key: str
    numbers: pl.DataFrame
    """Each ``value`` of the column once, with its number."""
    suppresses_missing: bool
    """Whether a record without a value is suppressed."""


@dataclass(frozen=True, kw_only=True)
class CutRequest:
    """How to cut a table."""

    columns: Sequence[NumberedColumn]
    problem: Problem
    """What both sides of a cut must keep."""


class BlockPieces(Protocol):
    """What was decided for each combination, block by block; where the table lies."""

    def find_error(self) -> str:
        """Return why some block could not be searched; empty where all were."""

    def count(self) -> CountedTable:
        """Return the records that were decided to be published, without columns that ride along."""

    def count_pairs(self) -> Mapping[str, pl.DataFrame]:
        """Return for each quasi-identifier each ``value`` with each ``text`` that is published of it, and whether the
        record is ``suppressed``: shows ``*`` everywhere."""

    def publish(self) -> TableEngine:
        """Return the table of what each record is published as."""


class CutTable(Protocol):
    """A table in blocks."""

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks."""

    @property
    def suppressed(self) -> int:
        """How many records are suppressed for their missing values: they are in no block."""

    @property
    def keys(self) -> tuple[str, ...]:
        """What the columns that a combination is known by are called."""

    def search(self, search: Callable[[pa.Table], pa.Table]) -> BlockPieces:
        """Let each block be searched: :class:`shoal.pipeline.block_search.BlockSearch` tells the columns of both."""


class BlockEngine(TableEngine, Protocol):
    """A table that can be cut into blocks."""

    def count_marginals(self, policy: Policy) -> CountedTable:
        """Return each column counted by itself, the sensitive ones together."""

    def cut(self, request: CutRequest) -> AbstractContextManager[CutTable]:
        """Cut the table into blocks, each of which may be searched by itself."""


def can_cut(engine: TableEngine) -> TypeGuard[BlockEngine]:
    """Return whether an engine can cut its table into blocks."""
    return hasattr(type(engine), "cut")


def codes_in(table: pa.Table | pa.RecordBatch, prefix: str) -> Ints:
    """Return the columns ``prefix0``, ``prefix1``, … as a matrix."""
    count = sum(name.startswith(prefix) and name[len(prefix) :].isdigit() for name in table.schema.names)
    columns = [table.column(f"{prefix}{index}").to_numpy(zero_copy_only=False) for index in range(count)]
    return np.stack(columns, axis=1).astype(np.int64) if columns else np.zeros((table.num_rows, 0), np.int64)


def counts_in(table: pa.Table | pa.RecordBatch) -> Ints:
    """Return how often each combination occurs."""
    counts: Ints = table.column(COUNTS).to_numpy(zero_copy_only=False).astype(np.int64)
    return counts
