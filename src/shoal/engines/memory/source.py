"""MemoryTable: any table in memory, seen as a polars frame, with the way back to its own library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from math import isnan
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.encoding.read_options import AS_WRITTEN, PUBLISHED, ReadOptions
from shoal.engines.base import RowMapping, TableEngine
from shoal.engines.cells import TextReader
from shoal.engines.counted import CountedTable
from shoal.engines.delimited import key
from shoal.engines.locations import Location, copy_here
from shoal.engines.memory.databases import is_address, read_address, read_connection
from shoal.engines.memory.files import FORMATS, format_of, read_file, read_with_dialect
from shoal.engines.memory.intervals import give_intervals, write_interval
from shoal.engines.memory.native import carried_faults, make_native
from shoal.engines.memory.write import ENDINGS, to_bytes, write_bytes
from shoal.engines.texts import require_names
from shoal.errors import Fault, MissingExtra, TableError, examples

_AT_A_TIME = 1_000_000
"""Records of several files that are read at a time."""


@dataclass(frozen=True, kw_only=True)
class MemoryTable(TableEngine):
    """A table in memory, with the way back to its own library."""

    name: ClassVar[str] = "memory"
    formats: ClassVar[tuple[str, ...]] = tuple(ENDINGS)
    reads_late: ClassVar[bool] = False

    table: CountedTable
    library: str = "polars"
    """``polars``, ``polars-lazy``, ``pandas``, ``pyarrow``, ``duckdb``, ``counted``, or another that narwhals knows."""
    path: Path | None = None
    delimiter: str = ","
    """What CSV is written with: as the file had it that the table was read from."""
    original: Any = field(default=None, repr=False)
    """The caller's object, for libraries that are reached through narwhals."""
    held: Any = field(default=None, repr=False)
    """The published records as a table of another library than polars; none of the originals."""

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
        """The table in its own library: the very one that was verified. What is done to it reaches no file."""
        if self.held is not None:
            return self.held
        frame = self.frame.clone()
        return self.table.with_frame(frame) if self.table.is_counted else frame

    @property
    def default_format(self) -> str:
        """The format of the file that the table was read from; CSV for others."""
        return format_of(self.path) if self.path else "csv"

    @property
    def sources(self) -> tuple[Path, ...]:
        """The file that the table was read from."""
        return () if self.path is None else (self.path,)

    def count(self, names: Sequence[str] | None = None, what: str = "counting") -> CountedTable:
        """Return all records, one by one; published ones as they are read from the table that the caller gets."""
        return self.table if self.held is None else open_in_memory(self.held).table

    def publish(self, mapping: RowMapping) -> MemoryTable:
        """Return the published records."""
        return self.hold(mapping.published, mapping.typed)

    def hold(self, table: CountedTable, typed: Sequence[str] = ()) -> MemoryTable:
        """Return published records, also as a table of this one's library; polars holds them as they are.

        Columns that are ``typed`` are given as intervals, where the library has such a type and every cell is one.
        """
        if self.library in ("polars", "counted"):
            return replace(self, table=table, held=None)
        held = make_native(table.frame, self.library, self.original)
        return replace(self, table=table, held=give_intervals(held, table.frame, typed))

    def uncounted_faults(self) -> list[Fault]:
        """Return what the caller's table carries beside its records, all of which were counted."""
        return list(carried_faults(self.frame if self.held is None else self.held))

    def write(self, path: Location, format: str) -> None:
        """Write all records, each as often as it occurs."""
        write_bytes(path, to_bytes(self.table.expand(), format, self.delimiter))

    def reopen(self, path: Location, format: str) -> MemoryTable:
        """Return a file that was written, with nothing detected."""
        how = AS_WRITTEN.replace(delimiter=self.delimiter) if format == "csv" else ReadOptions()
        with copy_here(path) as file:
            return MemoryTable(table=CountedTable(read_file(file, how, types=False)))

    def head(self, records: int) -> pl.DataFrame:
        """Return the first records; those of a counted table have no order."""
        return self.frame.head(0 if self.table.is_counted else records)


def hold_companions(engine: object, frames: Mapping[str, pl.DataFrame]) -> dict[str, MemoryTable]:
    """Return the tables beside a published one, in the caller's library; they are in memory, wherever that one is."""
    mine = engine if isinstance(engine, MemoryTable) else MemoryTable(table=CountedTable(pl.DataFrame()))
    return {name: mine.hold(CountedTable(frame)) for name, frame in frames.items()}


def open_in_memory(
    table: object, reading: ReadOptions | None = None, *, types: bool = True, **options: Any
) -> MemoryTable:
    """Return any table in memory: a path, or a table of pandas, polars, pyarrow, DuckDB or the like.

    The caller's object is never changed, and its row index is never looked at. ``reading`` is what a policy says of how
    a file is read, ``options`` what is said over it; without ``types`` cells of a CSV stay texts.
    """
    if isinstance(table, MemoryTable):
        return table
    if isinstance(table, CountedTable):
        _checked(table.frame)
        return MemoryTable(table=table, library="counted")
    if is_address(table):
        return _open(read_address(str(table)), "polars")
    if _is_several(table):
        return _open_several(table, ReadOptions.of(reading if types else PUBLISHED, options), types=types)
    if isinstance(table, (str, Path)):
        return open_file(Path(table), ReadOptions.of(reading if types else PUBLISHED, options), types=types)
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
    if library == "duckdb connection":
        return _open(_converted(lambda: read_connection(table)), "polars")
    if library == "batches":
        return _open(_from_arrow(table.read_all()), "pyarrow")  # type: ignore[attr-defined]
    return _from_narwhals(table)


def open_file(path: Path, options: ReadOptions, *, types: bool) -> MemoryTable:
    """Return the table of a file."""
    frame, dialect = read_with_dialect(path, options, types=types)
    opened = _open(frame, "polars", path)
    return opened if dialect is None else replace(opened, delimiter=dialect.written_delimiter)


def _is_several(table: object) -> bool:
    """Whether a path is a folder of files, or a pattern; or there are several paths."""
    if isinstance(table, (list, tuple)):
        return bool(table) and all(isinstance(path, (str, Path)) for path in table)
    if not isinstance(table, (str, Path)):
        return False
    path = Path(table)
    return (path.is_dir() and path.suffix.lower() not in FORMATS) or (
        not path.exists() and bool(set("*?") & set(str(table)))
    )


def _open_several(table: object, options: ReadOptions, *, types: bool) -> MemoryTable:
    """Return the table of several Parquet or CSV files; the type of a column follows from all of them."""
    from shoal.engines.files.scan import locate_in_scan, open_scan

    scan = open_scan(table, options)
    indices = range(len(scan.columns))
    parts = [part.frame.collect() for part in scan.parts(indices, _AT_A_TIME)]
    frame, texts = pl.concat(parts), TextReader(options)
    if types:
        texts.require_names(scan.columns, str(scan.paths[0]))
        read = texts.read if scan.is_text else texts.read_typed
        frame = pl.DataFrame({name: read(frame[key(place)], name) for place, name in enumerate(scan.columns)})
        texts.require_read(str(scan.paths[0]), lambda wanted: locate_in_scan(scan, wanted, _AT_A_TIME))
    else:
        frame = pl.DataFrame({name: frame[key(place)] for place, name in enumerate(scan.columns)})
    return replace(_open(frame, "polars", scan.paths[0]), delimiter=scan.delimiter)


def _library(table: object) -> str:
    """Return the library whose table this is, or one made from it; nothing is imported to find out."""
    tables = {
        ("pandas", "DataFrame"): "pandas",
        ("pyarrow", "Table"): "pyarrow",
        ("pyarrow", "RecordBatchReader"): "batches",
        ("duckdb", "DuckDBPyRelation"): "duckdb",
        ("duckdb", "DuckDBPyConnection"): "duckdb connection",
    }
    kinds = [(base.__module__.partition(".")[0].lstrip("_"), base.__name__) for base in type(table).__mro__]
    return next((tables[kind] for kind in kinds if kind in tables), "")


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
        write = write_interval if type(column.dtype).__name__ == "IntervalDtype" else str
        return pl.Series([None if value is None else write(value) for value in values], dtype=pl.String)
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
        How to read a file, as the policy's ``read`` block says it (:class:`shoal.policy.ReadOptions`): ``header``,
        ``delimiter``, ``decimal``, ``missing``, ``dates``, …

    Examples
    --------
    >>> read(pl.DataFrame({"age": [21, 24]})).shape
    (2, 1)
    """
    return open_in_memory(table, **options).frame
