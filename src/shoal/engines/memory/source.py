"""MemoryTable: any table in memory, seen as a polars frame, with the way back to its own library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from math import isnan
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.encoding.types import Progress
from shoal.engines.base import RowMapping
from shoal.engines.counted import CountedTable
from shoal.engines.locations import Location, copy_here, read_blocks
from shoal.engines.memory.files import format_of, read_file, require_names
from shoal.engines.memory.write import ENDINGS, to_bytes, write_bytes
from shoal.errors import Fault, MissingExtra, TableError, examples


@dataclass(frozen=True, kw_only=True)
class MemoryTable:
    """A table in memory, with the way back to its own library."""

    name: ClassVar[str] = "memory"
    formats: ClassVar[tuple[str, ...]] = tuple(ENDINGS)
    reads_late: ClassVar[bool] = False

    table: CountedTable
    library: str = "polars"
    """``polars``, ``polars-lazy``, ``pandas``, ``pyarrow``, ``duckdb``, ``counted``, or another that narwhals knows."""
    path: Path | None = None
    original: Any = field(default=None, repr=False)
    """The caller's object, for libraries that are reached through narwhals."""

    @property
    def frame(self) -> pl.DataFrame:
        """The records."""
        return self.table.frame

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.frame.columns)

    @property
    def native(self) -> Any:
        """A copy of the table in its own library: what is done to it does not reach this one."""
        return self.restore(self.table)

    @property
    def default_format(self) -> str:
        """The format of the file that the table was read from; CSV for others."""
        return format_of(self.path) if self.path else "csv"

    @property
    def sources(self) -> tuple[Path, ...]:
        """The file that the table was read from."""
        return () if self.path is None else (self.path,)

    def watch(self, progress: Progress) -> AbstractContextManager[Progress]:
        """Return the progress as it is."""
        return nullcontext(progress)

    def telling(self, progress: Progress) -> MemoryTable:
        """Return the same table: what is done with it takes no time to speak of."""
        return self

    def count(self, names: Sequence[str] | None = None, what: str = "counting") -> CountedTable:
        """Return all records, one by one."""
        return self.table

    def publish(self, mapping: RowMapping) -> MemoryTable:
        """Return the published records."""
        return replace(self, table=mapping.published)

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Nothing: every published column is at hand."""
        return ()

    def name_all_columns(self) -> MemoryTable:
        """Return the same table: all its columns are there."""
        return self

    def uncounted_faults(self) -> list[Fault]:
        """Return nothing: every published column was counted."""
        return []

    def locate(self, out: object) -> Path:
        """Return a folder of this machine."""
        return Path(str(out))

    def write(self, path: Location, format: str) -> None:
        """Write all records, each as often as it occurs."""
        write_bytes(path, to_bytes(self.table.expand(), format))

    def reopen(self, path: Location, format: str) -> MemoryTable:
        """Return a file that was written, with nothing detected."""
        how = {"delimiter": ",", "quote": '"', "encoding": "utf-8"} if format == "csv" else {}
        with copy_here(path) as file:
            return MemoryTable(table=CountedTable(read_file(file, types=False, **how)))

    def head(self, records: int) -> pl.DataFrame:
        """Return the first records; those of a counted table have no order."""
        return self.frame.head(0 if self.table.is_counted else records)

    def raw_bytes(self, path: Location) -> Iterator[bytes]:
        """Yield the whole file."""
        yield b"".join(read_blocks(path))

    def container_bytes(self, path: Location, format: str) -> bytes:
        """Return nothing: everyone knows what a file without records looks like."""
        return b""

    def describe(self) -> dict[str, Any]:
        """Return nothing: the same table on any machine gives the same manifest."""
        return {}

    def sample_size(self, columns: int) -> int | None:
        """Return ``None``: statistics may be made of all records."""
        return None

    def restore(self, table: CountedTable) -> Any:
        """Return records as a table of this one's own library; counted ones with how often each occurs."""
        return table.with_frame(table.frame.clone()) if table.is_counted else self.restore_frame(table.frame)

    def restore_frame(self, frame: pl.DataFrame) -> Any:
        """Return a frame, copied, as a table of this one's own library."""
        frame = frame.clone()
        if self.library == "polars-lazy":
            return frame.lazy()
        if self.library == "pandas":
            return _to_pandas(frame)
        if self.library == "pyarrow":
            return frame.to_arrow().replace_schema_metadata(None)
        if self.library == "duckdb":
            return sys.modules["duckdb"].sql("SELECT * FROM frame")
        if self.library in ("polars", "counted"):
            return frame
        return _through_narwhals(frame, self.original)


def open_table(table: object, **options: Any) -> MemoryTable:
    """Return any table in memory: a path, or a table of pandas, polars, pyarrow, DuckDB or the like.

    The caller's object is never changed, and its row index is never looked at.
    """
    if isinstance(table, MemoryTable):
        return table
    if isinstance(table, CountedTable):
        _checked(table.frame)
        return MemoryTable(table=table, library="counted")
    if isinstance(table, (str, Path)):
        path = Path(table)
        return _open(read_file(path, **options), "polars", path)
    if isinstance(table, pl.DataFrame):
        return _open(table, "polars")
    if isinstance(table, pl.LazyFrame):
        return _open(_converted(table.collect), "polars-lazy")
    library = _library(table)
    if library == "pandas":
        return _open(_from_pandas(table), "pandas")
    if library == "pyarrow":
        return _open(_from_arrow(table), "pyarrow")
    if library == "duckdb":
        return _open(_from_duckdb(table), "duckdb")
    return _from_narwhals(table)


def _library(table: object) -> str:
    """Return the library whose table this is, or one made from it; nothing is imported to find out."""
    tables = {("pandas", "DataFrame"), ("pyarrow", "Table"), ("duckdb", "DuckDBPyRelation")}
    kinds = [(base.__module__.partition(".")[0].lstrip("_"), base.__name__) for base in type(table).__mro__]
    return next((library for library, name in kinds if (library, name) in tables), "")


def _converted(convert: Callable[[], Any]) -> pl.DataFrame:
    """Return a table that another library hands over, or say why it cannot."""
    duckdb = sys.modules.get("duckdb")
    theirs = () if duckdb is None else (duckdb.Error,)
    try:
        frame: pl.DataFrame = convert()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, *theirs) as error:
        raise TableError("the table cannot be taken over", got=" ".join(str(error).split())[:200]) from None
    return frame


def _from_arrow(table: Any) -> pl.DataFrame:
    require_names(list(table.column_names))
    return _converted(lambda: pl.from_arrow(table))


def _from_duckdb(relation: Any) -> pl.DataFrame:
    require_names(list(relation.columns))
    try:
        return _converted(relation.pl)
    except ImportError:
        raise MissingExtra.of("pyarrow", "arrow", "taking over DuckDB relations") from None


def _from_pandas(table: Any) -> pl.DataFrame:
    names = [str(name) for name in table.columns]
    if getattr(table.columns, "nlevels", 1) > 1:
        raise TableError("columns have several levels", got=examples(list(table.columns)), hint="flatten them first")
    require_names(names)
    # by position and without the index: the index of a pandas table may hold anything, even the answer
    columns = (table.iloc[:, index].reset_index(drop=True).rename(None) for index in range(len(names)))
    return pl.DataFrame({name: _pandas_column(name, column) for name, column in zip(names, columns, strict=True)})


def _pandas_column(name: str, column: Any) -> pl.Series:
    if _is_plain(column):
        try:
            converted: Any = pl.from_pandas(column, nan_to_null=True)
            return pl.Series(converted)
        except (ImportError, TypeError, ValueError, NotImplementedError, OverflowError, pl.exceptions.PolarsError):
            pass  # no pyarrow, or values that it does not know (its own errors are TypeError and ValueError too)
    values = [None if _is_missing(value) else value for value in column.tolist()]
    if _is_plain(column):
        if any(isinstance(value, float) for value in values):
            values = [None if value is None else float(value) for value in values]
        try:
            return pl.Series(values, strict=True)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            pass
    try:
        return pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
    except UnicodeError:
        raise TableError("holds texts that are not Unicode", where=name) from None


def _is_plain(column: Any) -> bool:
    """Whether all values are of one kind: libraries force a mixed column into the type of its first value."""
    if type(column.dtype).__name__ in ("PeriodDtype", "IntervalDtype"):
        return False
    if column.dtype != object:
        return True
    kinds = {_kind(value) for value in set(map(type, column[column.notna()]))}
    return len(kinds) < 2


def _kind(value: type) -> type:
    if issubclass(value, (bool, np.bool_)):
        return bool
    if issubclass(value, (int, float, np.number)):
        return float
    return next((kind for kind in (str, datetime, date) if issubclass(value, kind)), value)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and isnan(value))


def _to_pandas(frame: pl.DataFrame) -> Any:
    pandas = sys.modules["pandas"]
    try:
        table = frame.to_pandas(date_as_object=True)
    except ImportError:  # without pyarrow
        table = pandas.DataFrame({column.name: column.to_list() for column in frame}, columns=frame.columns)
    # pandas would make floats of whole numbers, and objects of truth values, where some are missing
    nullable = {pl.Int64: "Int64", pl.Boolean: "boolean"}
    for index, column in enumerate(frame):
        kind = nullable.get(column.dtype.base_type())
        if kind and column.null_count():
            table.isetitem(index, pandas.array(column.to_list(), dtype=kind))
    return table


def _from_narwhals(table: object) -> MemoryTable:
    import narwhals as nw

    try:
        known: Any = nw.from_native(table)
    except TypeError:
        raise TableError(
            "is not a table that shoal knows",
            got=f"{type(table).__module__}.{type(table).__name__}",
            hint="give a path, or a pandas, polars, pyarrow or DuckDB table",
        ) from None
    eager = known.collect() if isinstance(known, nw.LazyFrame) else known
    if not isinstance(eager, nw.DataFrame):
        raise TableError("is one column, not a table", got=type(table).__name__)
    return _open(eager.to_polars(), str(known.implementation), original=table)


def _through_narwhals(frame: pl.DataFrame, original: Any) -> Any:
    import narwhals as nw

    known: Any = nw.from_native(original)
    return nw.from_arrow(frame, backend=known.implementation).to_native()


def _open(frame: pl.DataFrame, library: str, path: Path | None = None, original: Any = None) -> MemoryTable:
    return MemoryTable(table=CountedTable(_checked(frame)), library=library, path=path, original=original)


def _checked(frame: pl.DataFrame) -> pl.DataFrame:
    if not frame.width:
        raise TableError("the table has no columns")
    require_names(frame.columns)
    return frame


def read(table: object, **options: Any) -> pl.DataFrame:
    """Read a file, or take a table of another library, as a polars table.

    Parameters
    ----------
    table
        A path of CSV, Parquet, Feather, Excel or JSON lines, or a pandas, polars, pyarrow or DuckDB table.
    options
        For files: ``delimiter``, ``quote`` and ``encoding`` of a CSV where they should not be detected,
        ``sheet`` of an Excel file.

    Examples
    --------
    >>> read(pl.DataFrame({"age": [21, 24]})).shape
    (2, 1)
    """
    return open_table(table, **options).frame
