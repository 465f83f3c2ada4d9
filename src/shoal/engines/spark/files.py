"""Where Spark reads and writes: folders of files, of this machine or of any file system that Hadoop knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlparse

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from shoal.engines.locations import Location, list_folder, move, read_blocks, remove
from shoal.engines.memory.write import ENDINGS
from shoal.engines.spark.columns import moments_to_texts, number_columns, to_plain_column
from shoal.engines.spark.hadoop import HadoopPath, restore_address
from shoal.engines.spark.reading import in_order, read_spark
from shoal.engines.spark.recount import find_other_faults
from shoal.errors import Fault, WriteError

_OPTIONS = {
    "csv": {"header": "true", "escape": '"', "emptyValue": "", "nullValue": ""},
    "parquet": {"compression": "uncompressed"},  # so that its bytes can be searched
    "jsonl": {},
}
_KINDS = {"jsonl": "json"}


def locate(spark: SparkSession, address: str) -> Location:
    """Return where a path or an address leads."""
    address = restore_address(address)
    parsed = urlparse(address)
    if parsed.scheme in ("", "file"):
        return Path(unquote(parsed.path)) if parsed.scheme else Path(address)
    try:
        return HadoopPath.of(address, spark)
    except OSError as error:
        hint = "write into a folder, or let Spark know the file system (spark.jars.packages, spark.hadoop.fs…)"
        raise WriteError("Hadoop cannot write there", where="out", got=f"{address}: {error}", hint=hint) from None


def find_inputs(table: DataFrame) -> Iterator[Location]:
    """Yield the files that a table is read from."""
    for one in table.inputFiles():
        yield locate(table.sparkSession, one)


def write_files(table: DataFrame, path: Location, format: str) -> None:
    """Write a table as a folder of files, and nothing but these, under names that are the same in every run."""
    _save(_to_written(table, format), path, format)
    parts = []
    for one in list_folder(path):
        if one.name.startswith("part-"):
            parts.append(one)
        else:
            remove(one)
    for number, one in enumerate(parts):
        move(one, path / f"part-{number:05d}{ENDINGS[format]}")


def _save(table: DataFrame, path: Location, format: str) -> None:
    kind = _KINDS.get(format, format)
    table.write.format(kind).options(**_OPTIONS[format]).save(path.resolve().as_uri())


def _to_written(table: DataFrame, format: str) -> DataFrame:
    """Return a table in the types that it has in a file."""
    return table if format == "parquet" else moments_to_texts(number_columns(table)).toDF(*table.columns)


def read_parts(path: Location) -> Iterator[bytes]:
    """Yield the bytes of all files of a folder, block by block."""
    for one in list_folder(path) if path.is_dir() else [path]:
        yield from read_blocks(one)


def describe_files(table: DataFrame, path: Location, format: str) -> bytes:
    """Return what Spark writes without any record, and the fractions that it writes otherwise than one machine."""
    empty = path.parent / f".empty{ENDINGS[format]}"
    try:
        _save(_to_written(table.limit(0), format), empty, format)
        around = b"\n".join(read_parts(empty))
    finally:
        remove(empty)
    fractions = [key for key, kind in _kinds(table).items() if isinstance(kind, T.DoubleType)]
    texts: set[str] = set()
    for key in fractions if format != "parquet" else ():
        cells = number_columns(table).select(F.col(key).cast("string").alias(key)).distinct()
        texts |= {row[0] for row in cells.where(F.col(key).contains("E")).collect()}
    return b"\n".join([around, *(text.encode() for text in sorted(texts))])


def _kinds(table: DataFrame) -> dict[str, T.DataType]:
    return {f"c{index}": field.dataType for index, field in enumerate(table.schema.fields)}


def reopen_files(
    table: DataFrame, path: Location, format: str, *, compares: bool
) -> tuple[DataFrame, list[str], Callable[[], list[Fault]]]:
    """Return files of a table as they are, their columns, and who finds what else is wrong with them.

    Values are those of the table's types, under our own names: Spark writes 10000000.0 as 1.0E7.

    Parameters
    ----------
    table
        What was written.
    path, format
        Where, and as what.
    compares
        Whether to compare cells also where the columns that are counted tell all: other formats are always compared.
    """
    expected = _to_written(table, format)
    found = read_spark(table.sparkSession, path.resolve().as_uri(), types=False, schema=expected.schema)
    stray = partial(_stray_faults, path, format)
    if sorted(found.columns) != sorted(expected.columns):
        fault = Fault("the file's columns are not the release's", got=", ".join(found.columns))
        return number_columns(found), found.columns, lambda: [*stray(), fault]
    found = in_order(found, expected.columns)
    typed = _in_types_of(table, found)
    kinds = _kinds(table)
    values = typed.select(*(to_plain_column(key, kinds[key], key).alias(key) for key in typed.columns))
    if not compares and format == "parquet":
        return values, found.columns, stray
    written = _in_types_of(found, expected)
    cells = partial(find_other_faults, number_columns(found), written, written.columns)
    return values, found.columns, lambda: [*stray(), *cells()]


def sort_by_file(table: DataFrame) -> DataFrame:
    """Return the records of a folder in the order of its files: Spark reads the largest first."""
    numbered = table.withColumn("file", F.input_file_name()).withColumn("place", F.monotonically_increasing_id())
    return numbered.orderBy("file", "place").select(*table.columns)


def _stray_faults(path: Location, format: str) -> list[Fault]:
    """Return a fault where a folder holds files that are no part of the table."""
    names = [one.name for one in list_folder(path)]
    known = {f"part-{number:05d}{ENDINGS[format]}" for number in range(len(names))}
    stray = [name for name in names if name not in known]
    return [Fault("the folder holds files that are no part of the release", got=", ".join(stray))] if stray else []


def _in_types_of(other: DataFrame, table: DataFrame) -> DataFrame:
    """Return a table in the types of another, under our own names; what is no value of its type is missing."""
    cells, kinds = number_columns(table), (field.dataType for field in other.schema.fields)
    return cells.select(*(F.col(key).try_cast(kind).alias(key) for key, kind in zip(cells.columns, kinds, strict=True)))
