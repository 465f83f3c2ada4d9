"""Tables of the caller's own library, made of published records; and what such a table carries beside its records."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import polars as pl

from shoal.errors import Fault, examples


def make_native(frame: pl.DataFrame, library: str, original: Any = None) -> Any:
    """Return a frame as a table of a library; of one that narwhals knows, as the caller's ``original`` is one."""
    if library == "polars-lazy":
        return frame.lazy()
    if library == "pandas":
        return _to_pandas(frame)
    if library == "pyarrow":
        return _to_arrow(frame)
    if library == "duckdb":  # no name is looked up: the caller's own tables have names too
        return sys.modules["duckdb"].from_arrow(_to_arrow(frame))
    return _through_narwhals(frame, original)


def _to_arrow(frame: pl.DataFrame) -> Any:
    return frame.to_arrow().replace_schema_metadata(None)


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


def _through_narwhals(frame: pl.DataFrame, original: Any) -> Any:
    import narwhals as nw

    known: Any = nw.from_native(original)
    if isinstance(known, nw.LazyFrame):  # made of nothing but another table
        return nw.from_native(frame).lazy(backend=known.implementation).to_native()
    return nw.from_arrow(frame, backend=known.implementation).to_native()


def carried_faults(table: Any) -> Iterator[Fault]:
    """Yield what a table of any library carries beside its records: an index, metadata, values that no record has.

    Whoever is given the table is given that too, and no count of its records tells of it.
    """
    kind = type(table)  # what a table is, is asked of its type: a column may have any name
    if hasattr(kind, "iloc"):
        yield from _index_faults(table.index)
        yield from _metadata_faults([table.attrs, table.columns.name])
        yield from _unused_faults(_pandas_categories(table))
    elif hasattr(kind, "replace_schema_metadata"):
        yield from _metadata_faults([table.schema.metadata, *(field.metadata for field in table.schema)])
        yield from _unused_faults(_arrow_categories(table))
    elif hasattr(kind, "fetchall"):
        yield from _unused_faults(_duckdb_categories(table))
    elif hasattr(kind, "lazy"):
        yield from _unused_faults(_polars_categories(table.lazy().collect()))


def _index_faults(index: Any) -> Iterator[Fault]:
    is_plain = type(index).__name__ == "RangeIndex" and (index.start, index.step, index.name) == (0, 1, None)
    if not is_plain:
        yield Fault("the table has an index of its own", got=_shorten(index), hint="only records are published")


def _metadata_faults(carried: list[Any]) -> Iterator[Fault]:
    for found in filter(None, carried):
        yield Fault("the table has metadata", got=_shorten(found), hint="only records are published")


def _shorten(value: object) -> str:
    return " ".join(str(value).split())[:80]


_Categories = Iterator[tuple[str, Any, Any]]
"""The name of each column whose type names values, with these, and with those that its records have."""


def _unused_faults(categories: _Categories) -> Iterator[Fault]:
    for name, known, present in categories:
        if unused := set(map(str, known)) - set(map(str, present)):
            yield Fault("the table keeps values that no record has", where=str(name), got=examples(sorted(unused)))


def _pandas_categories(table: Any) -> _Categories:
    for index, (name, kind) in enumerate(zip(table.columns, table.dtypes, strict=True)):
        if hasattr(kind, "categories"):
            yield name, kind.categories, table.iloc[:, index].unique()


def _arrow_categories(table: Any) -> _Categories:
    for name, column in zip(table.column_names, table.columns, strict=True):
        for chunk in column.chunks if hasattr(column.type, "index_type") else ():
            yield name, chunk.dictionary.to_pylist(), chunk.to_pylist()


def _duckdb_categories(table: Any) -> _Categories:
    for index, (name, kind) in enumerate(zip(table.columns, table.types, strict=True)):
        if kind.id == "enum":
            yield name, kind.children[0][1], [row[index] for row in table.fetchall()]


def _polars_categories(table: pl.DataFrame) -> _Categories:
    for column in table:
        if isinstance(column.dtype, pl.Enum):
            yield column.name, column.dtype.categories, column.unique()
