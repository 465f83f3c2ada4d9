"""Source: any table, seen as a polars frame, with the way back to its own library."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.engines.counted import CountedTable, Times, records_of
from shoal.engines.memory.files import read_file, require_names
from shoal.errors import MissingExtra, TableError, examples


@dataclass(frozen=True)
class Source:
    """A table and where it came from."""

    frame: pl.DataFrame
    library: str
    """``polars``, ``polars-lazy``, ``pandas``, ``pyarrow``, ``duckdb``, ``tallied``, or another that narwhals knows."""
    path: Path | None = None
    original: Any = None
    """The caller's object, for libraries that are reached through narwhals."""
    times: Times = None
    """How often each record of the frame occurs, where the table was given tallied."""
    apart: bool = False
    """Whether only its columns are known, each by itself."""

    @property
    def records(self) -> int:
        """How many records the table has."""
        return records_of(self.frame, self.times)

    def restore(self, frame: pl.DataFrame, times: Times = None) -> Any:
        """Return a frame as a table of the source's own library; a tallied one with how often each record occurs."""
        if times is not None:
            return CountedTable(frame, times)
        if self.library == "polars-lazy":
            return frame.lazy()
        if self.library == "pandas":
            return _to_pandas(frame)
        if self.library == "pyarrow":
            return frame.to_arrow().replace_schema_metadata(None)
        if self.library == "duckdb":
            return sys.modules["duckdb"].sql("SELECT * FROM frame")
        if self.library == "polars":
            return frame
        return _through_narwhals(frame, self.original)


def open_table(table: object, **options: Any) -> Source:
    """Return any table as a source: a path, or a table of pandas, polars, pyarrow, DuckDB or the like.

    The caller's object is never changed, and its row index is never looked at.
    """
    if isinstance(table, Source):
        return table
    if isinstance(table, CountedTable):
        return Source(_checked(table.frame), "tallied", times=table.counts, apart=table.apart)
    if isinstance(table, (str, Path)):
        path = Path(table)
        return Source(_checked(read_file(path, **options)), "polars", path)
    if isinstance(table, pl.DataFrame):
        return Source(_checked(table), "polars")
    if isinstance(table, pl.LazyFrame):
        return Source(_checked(_converted(table.collect)), "polars-lazy")
    library = _library(table)
    if library == "pandas":
        return Source(_checked(_from_pandas(table)), "pandas")
    if library == "pyarrow":
        return Source(_checked(_from_arrow(table)), "pyarrow")
    if library == "duckdb":
        return Source(_checked(_from_duckdb(table)), "duckdb")
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


def _from_narwhals(table: object) -> Source:
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
    return Source(_checked(eager.to_polars()), str(known.implementation), None, table)


def _through_narwhals(frame: pl.DataFrame, original: Any) -> Any:
    import narwhals as nw

    known: Any = nw.from_native(original)
    return nw.from_arrow(frame, backend=known.implementation).to_native()


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
