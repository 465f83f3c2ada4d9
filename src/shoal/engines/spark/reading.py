"""read(): anything that Spark reads, with types as shoal finds them elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from shoal.engines.memory.files import DATE, DATETIME, FLOAT, INTEGER, LONG, require_names
from shoal.engines.spark.columns import number_columns
from shoal.engines.spark.hadoop import restore_address
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


def read(spark: SparkSession, path: str, *, types: bool = True, schema: T.StructType | None = None) -> DataFrame:
    """Return a table that lies at a path or an address: a file or a folder of Parquet, CSV, JSON lines or ORC.

    Cells of CSV become numbers, dates or truth values where every one is written as one: as anywhere in shoal,
    ``02138`` stays a text. ``types=False`` leaves them as they are.
    """
    path = restore_address(path)
    kind = _format_of(path)
    reader = spark.read
    if kind == "csv":
        mark = "\t" if path.endswith(".tsv") else ","
        options = {"sep": mark, "escape": '"', "mode": "FAILFAST", "columnPruning": "false"}
        first = reader.options(**options).csv(path).first()
        if first is not None:  # Spark would make names up where they are missing or occur twice
            require_names(["" if name is None else name for name in first], path)
        table = reader.options(header="true", **options).csv(path)
        return _typed(table) if types else table
    if kind == "json":
        if (
            schema is not None
        ):  # a column that no record has a value of is in no line, others are in the schema or extra
            names = spark.read.option("primitivesAsString", "true").json(path).columns
            extra = [T.StructField(name, T.StringType()) for name in names if name not in schema.names]
            reader = reader.schema(T.StructType([*schema.fields, *extra]))
        return reader.json(path)
    return reader.format(kind).load(path)


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


def _typed(table: DataFrame) -> DataFrame:
    """Return a table of texts with the type that all cells of a column are written in."""
    names = table.columns
    table = number_columns(table)
    cells = [F.when(F.col(key) != "", F.col(key)) for key in table.columns]
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
        "timestamp_ntz": cell.rlike(DATETIME) & cell.try_cast("timestamp_ntz").isNotNull(),
    }
    return {kind: F.coalesce(F.bool_and(F.when(cell.isNotNull(), fit)), F.lit(False)) for kind, fit in fits.items()}
