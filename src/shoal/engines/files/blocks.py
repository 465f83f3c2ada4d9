"""Tables whose distinct records do not fit: their numbers do, are cut, and are searched block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.encoding.domains import STAR
from shoal.encoding.types import Codes, Ints, Progress
from shoal.engines.blocks import BLOCK, ERROR, CutRequest
from shoal.engines.columns import own_texts
from shoal.engines.counted import COUNTS, CountedTable
from shoal.engines.cutter import BlockCutter
from shoal.engines.cutting import Block, CutTree, count_bins
from shoal.engines.delimited import key
from shoal.engines.files.numbering import ColumnNumbers, NumberedTable, look_up_numbers

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.engines.files.engine import FilesTable

_SUPPRESSED = "suppressed"


@dataclass(frozen=True, kw_only=True)
class CodedTable:
    """The combinations that are in some block, by the codes that a search gives their values."""

    quasi: npt.NDArray[np.integer]
    sensitive: npt.NDArray[np.integer]
    counts: Ints

    def count_all(self) -> tuple[int, int]:
        """Return how many combinations and how many records there are."""
        return len(self.counts), int(self.counts.sum())

    def count_bins(
        self, tree: CutTree, indices: Mapping[int, tuple[Ints, ...]]
    ) -> dict[tuple[int, int], tuple[Ints, Ints]]:
        """Return combinations and records of each bin."""
        return count_bins(tree, indices, self.quasi, self.counts)

    def count_sensitive(self, tree: CutTree, nodes: Sequence[int]) -> tuple[Ints, Codes, Ints]:
        """Return the sensitive values that occur in some blocks."""
        leaves = tree.leaves_of(self.quasi)
        inside = np.isin(leaves, nodes)
        codes = [pl.Series(f"s{index}", column[inside]) for index, column in enumerate(self.sensitive.T)]
        table = pl.DataFrame([pl.Series(BLOCK, leaves[inside]), *codes, pl.Series(COUNTS, self.counts[inside])])
        keys = [column.name for column in codes]
        found = table.group_by(BLOCK, *keys).agg(pl.col(COUNTS).sum())
        return found[BLOCK].to_numpy(), found.select(keys).to_numpy().astype(np.int32), found[COUNTS].to_numpy()


@dataclass(frozen=True, kw_only=True)
class FilesCut:
    """A table in files, cut into blocks."""

    table: FilesTable
    combinations: pl.DataFrame
    """Those that are in some block."""
    coded: CodedTable
    cutter: BlockCutter
    numbered: NumberedTable
    quasi: Sequence[str]
    """The names of the quasi-identifiers."""
    suppressed: int
    """How many records are suppressed for their missing values: they are in no block."""

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks."""
        return self.cutter.done

    @property
    def keys(self) -> tuple[str, ...]:
        """What the counted columns are called."""
        return tuple(key(column.index) for column in self.numbered.columns.values())

    def search(self, search: Callable[[pa.Table], pa.Table]) -> FilesPieces:
        """Search one block after the other."""
        pieces = FilesPieces(table=self.table, columns=self.numbered.columns, quasi=self.quasi)
        for done, block in enumerate(self._list_blocks()):
            self.table.progress("searching the blocks", done, len(self.blocks))
            found = pl.DataFrame(pl.from_arrow(search(block.to_arrow())))
            if found[ERROR].null_count() < found.height:
                return replace(pieces, error=found[ERROR].drop_nulls()[0])
            pieces.add(found)
        return pieces

    def _list_blocks(self) -> Iterator[pl.DataFrame]:
        """Yield the combinations of each block, with their codes."""
        leaves = self.cutter.tree.leaves_of(self.coded.quasi)
        order = np.argsort(leaves, kind="stable")
        ends = np.searchsorted(leaves, [block.node for block in self.blocks], side="right", sorter=order)
        starts = np.searchsorted(leaves, [block.node for block in self.blocks], side="left", sorter=order)
        for block, start, end in zip(self.blocks, starts, ends, strict=True):
            rows = order[start:end]
            codes = [
                pl.Series(f"{prefix}{index}", column[rows])
                for prefix, matrix in (("q", self.coded.quasi), ("s", self.coded.sensitive))
                for index, column in enumerate(matrix.T)
            ]
            numbers = self.combinations[rows].get_columns()
            yield pl.DataFrame(
                [*numbers, *codes, pl.repeat(block.node, len(rows), dtype=pl.Int64, eager=True).alias(BLOCK)]
            )


@dataclass(frozen=True, kw_only=True)
class FilesPieces:
    """What was decided for the combinations, counted block by block; texts are held as numbers."""

    table: FilesTable
    columns: Mapping[str, ColumnNumbers]
    quasi: Sequence[str]
    shown: list[pl.DataFrame] = field(default_factory=list)
    """What is published of each block, and how often."""
    pairs: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    """Quasi-identifier → the number of each value with each text that is published of it, block by block."""
    error: str = ""
    _categories: dict[str, pl.DataType] = field(default_factory=dict)

    @property
    def texts(self) -> dict[str, str]:
        """Quasi-identifier → the column of what is published of it."""
        return {name: f"t{index}" for index, name in enumerate(self.quasi)}

    @property
    def rest(self) -> dict[str, str]:
        """Other published column → the column of its numbers."""
        return {name: key(column.index) for name, column in self.columns.items() if name not in self.quasi}

    def add(self, found: pl.DataFrame) -> None:
        """Count what was decided for one more block."""
        starred = reduce(and_, ((found[text] == STAR).fill_null(False) for text in self.texts.values()))
        found = found.with_columns(found[text].cast(self._category(text)) for text in self.texts.values())
        self.shown.append(_count(found, [*self.texts.values(), *self.rest.values()]))
        for name, text in self.texts.items():
            both = [found[key(self.columns[name].index)], found[text], starred.alias(_SUPPRESSED)]
            self.pairs.setdefault(name, []).append(pl.DataFrame(both).unique())

    def _category(self, text: str) -> pl.DataType:
        return self._categories.setdefault(text, pl.Categorical(pl.Categories.random()))

    def find_error(self) -> str:
        """Return why some block could not be searched."""
        return self.error

    def count(self) -> CountedTable:
        """Return the records that were decided to be published, sorted by what they show."""
        keys = [*self.texts.values(), *self.rest.values()]
        found = _count(pl.concat(self.shown), keys)
        found = found.with_columns(own_texts(found[text].cast(pl.String)).alias(text) for text in self.texts.values())
        found = found.sort(keys, nulls_last=False)
        made = {name: found[text] for name, text in self.texts.items()}
        made |= {name: self.columns[name].values.gather(found[numbers]) for name, numbers in self.rest.items()}
        names = [name for name in self.table.columns if name in made]
        return CountedTable(pl.DataFrame({name: made[name] for name in names}), found[COUNTS])

    def count_pairs(self) -> dict[str, pl.DataFrame]:
        """Return each value that a record holds with each text that it is published as, column by column."""
        found = {}
        for name, text in self.texts.items():
            column, both = self.columns[name], pl.concat(self.pairs[name]).unique()
            values = column.values.gather(both[key(column.index)]).alias("value")
            found[name] = pl.DataFrame([values, both[text].alias("text"), both[_SUPPRESSED]])
        return found

    def publish(self) -> FilesTable:
        """Return what is to be written."""
        return self.table.hold(self.count())


def _count(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    return table.group_by(keys).agg(pl.col(COUNTS).sum())


def cut_table(
    table: FilesTable, numbered: NumberedTable, request: CutRequest, size: int, progress: Progress
) -> FilesCut:
    """Cut a table that was numbered into blocks."""
    combinations, forced = numbered.combinations, pl.repeat(False, numbered.combinations.height, eager=True)
    for column in request.columns:
        known = numbered.columns[column.name]
        if column.suppresses_missing and known.values.null_count():
            forced |= combinations[key(known.index)] == int(known.values.is_null().arg_max() or 0)
    suppressed = int(combinations.filter(forced)[COUNTS].sum())
    combinations = combinations.filter(~forced) if suppressed else combinations
    matrices = {prefix: _encode(combinations, numbered, request, prefix) for prefix in ("q", "s")}
    counts = combinations[COUNTS].to_numpy()
    coded = CodedTable(quasi=matrices["q"], sensitive=matrices["s"], counts=counts)
    cutter = BlockCutter(coded, request.problem, size, lambda blocks: progress("cutting into blocks", blocks, 0))
    cutter.cut()
    return FilesCut(
        table=table,
        combinations=combinations,
        coded=coded,
        cutter=cutter,
        numbered=numbered,
        quasi=[column.name for column in request.columns if column.key.startswith("q")],
        suppressed=suppressed,
    )


def _encode(
    combinations: pl.DataFrame, numbered: NumberedTable, request: CutRequest, prefix: str
) -> npt.NDArray[np.integer]:
    """Return the codes that a search gives the values of some columns, in as few bytes as they take."""
    columns = [column for column in request.columns if column.key.startswith(prefix)]
    codes = [look_up_numbers(numbered.columns[c.name], c.numbers, c.key).to_numpy() for c in columns]
    most = max((int(of_number.max(initial=0)) for of_number in codes), default=0)
    matrix = np.empty(
        (combinations.height, len(columns)), np.result_type(np.int16, np.min_scalar_type(most)), order="F"
    )
    for index, (column, of_number) in enumerate(zip(columns, codes, strict=True)):
        matrix[:, index] = of_number[combinations[key(numbered.columns[column.name].index)].to_numpy()]
    return matrix
