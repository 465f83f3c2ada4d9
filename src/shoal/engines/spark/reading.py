"""read_spark(): anything that Spark reads, with types as shoal finds them elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlparse

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from shoal.encoding.read_options import AS_WRITTEN, ReadOptions
from shoal.engines.layout import find_layout_fault
from shoal.engines.limits import find_unreadable_by_spark
from shoal.engines.spark.columns import number_columns
from shoal.engines.spark.hadoop import restore_address
from shoal.engines.texts import DATE, DATETIME, FLOAT, INTEGER, LONG, ZONED, require_names
from shoal.errors import TableError

_FORMATS = {
    "parquet": "parquet",
    "csv": "csv",
    "tsv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "orc": "orc",
}


def read_spark(
    spark: SparkSession,
    path: str,
    *,
    types: bool = True,
    schema: T.StructType | None = None,
    reading: ReadOptions | None = None,
) -> DataFrame:
    """Return a table that lies at a path or an address: a file or a folder of Parquet, CSV, JSON lines or ORC.

    Cells of CSV become numbers, dates or truth values where every one is written as one: as anywhere in shoal,
    ``02138`` stays a text. ``types=False`` leaves them as they are. ``reading`` is what a policy says of reading.
    """
    path = restore_address(path)
    faults = find_unreadable_by_spark(reading)
    if faults:
        raise TableError(faults)
    kind = _format_of(path)
    reader = spark.read
    if kind == "csv":
        asked = (reading or ReadOptions()) if types else AS_WRITTEN
        return _read_csv(reader, path, asked, types=types)
    if kind == "json":
        if (
            schema is not None
        ):  # a column that no record has a value of is in no line, others are in the schema or extra
            names = spark.read.option("primitivesAsString", "true").json(path).columns
            extra = [T.StructField(name, T.StringType()) for name in names if name not in schema.names]
            reader = reader.schema(T.StructType([*schema.fields, *extra]))
        return reader.json(path)
    return reader.format(kind).load(path)


def _read_csv(reader: DataFrameReader, path: str, asked: ReadOptions, *, types: bool) -> DataFrame:
    """Return delimited text; what may be no names of columns is refused."""
    mark = asked.delimiter or ("\t" if path.endswith(".tsv") else ",")
    options = {"sep": mark, "escape": '"', "mode": "FAILFAST", "columnPruning": "false"}
    options |= {} if asked.quote is None else {"quote": asked.quote, "escape": asked.quote}
    options |= {} if asked.encoding is None else {"encoding": asked.encoding}
    reader = reader.options(**options)
    first = [["" if cell is None else str(cell) for cell in row] for row in reader.csv(path).take(200)]
    fault = find_layout_fault(list(enumerate(first, 1))) if asked.header is None else None
    if fault is not None:
        raise TableError(replace(fault, where=path))
    if first and asked.header_line:  # Spark would make names up where they are missing or occur twice
        require_names(first[0], path)
    table = reader.options(header="true" if asked.header_line else "false").csv(path)
    if not asked.header_line:
        table = table.toDF(*(f"column_{number}" for number in range(1, len(table.columns) + 1)))
    return _typed(table, asked.missing or ()) if types else table


def in_order(table: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return a table with its columns in an order, found by their exact names."""
    return number_columns(table).select(*(f"c{table.columns.index(name)}" for name in names)).toDF(*names)


def _format_of(path: str) -> str:
    ending = path.rstrip("/").rpartition(".")[2].lower()
    if ending in _FORMATS:
        return _FORMATS[ending]
    parsed = urlparse(path)
    folder = Path(unquote(parsed.path))
    if parsed.scheme in ("", "file") and folder.is_dir():
        endings = {one.suffix[1:].lower() for one in folder.rglob("*") if one.is_file() and one.name[0] not in "._"}
        known = {_FORMATS[one] for one in endings if one in _FORMATS}
        if len(known) == 1:
            return known.pop()
        if len(known) > 1:
            raise TableError("files of several formats", where=path, got=", ".join(sorted(known)))
    return "parquet"


def _typed(table: DataFrame, missing: Sequence[str] = ()) -> DataFrame:
    """Return a table of texts with the type that all cells of a column are written in, where they are not missing."""
    names = table.columns
    table = number_columns(table)
    cells = [F.when(~F.col(key).isin("", *missing), F.col(key)) for key in table.columns]
    asked = [test.alias(f"{index}_{kind}") for index, cell in enumerate(cells) for kind, test in _tests(cell).items()]
    found = table.agg(*asked).collect()[0].asDict()
    typed = []
    for index, cell in enumerate(cells):
        kinds = [kind for kind in _tests(cell) if found[f"{index}_{kind}"]]
        typed.append((cell.cast(kinds[0]) if kinds else cell).alias(f"c{index}"))
    return table.select(*typed).toDF(*names)


def _tests(cell: Column) -> dict[str, Column]:
    """Return the types that a column might have, the first that fits, each with how to find out."""
    fits = {
        "bigint": cell.rlike(INTEGER) & cell.try_cast("bigint").isNotNull(),
        "double": cell.rlike(FLOAT) & ~cell.rlike(LONG) & (F.abs(cell.try_cast("double")) < float("inf")),
        "boolean": F.lower(cell).isin("true", "false"),
        "date": cell.rlike(DATE) & cell.try_cast("date").isNotNull(),
        "timestamp": cell.rlike(ZONED) & cell.try_cast("timestamp").isNotNull(),
        "timestamp_ntz": cell.rlike(DATETIME) & cell.try_cast("timestamp_ntz").isNotNull(),
    }
    return {kind: F.coalesce(F.bool_and(F.when(cell.isNotNull(), fit)), F.lit(False)) for kind, fit in fits.items()}
