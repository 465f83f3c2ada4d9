"""open_scan(): a file, a folder of files or a pattern such as ``data/*.parquet``, to be read part by part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.engines.files.delimited import DelimitedScan
from shoal.engines.files.parquet import ParquetScan
from shoal.engines.files.parts import Scan
from shoal.engines.memory.files import FORMATS, format_of
from shoal.errors import TableError

KINDS = ("csv", "parquet")


def open_scan(path: str | Path, **options: Any) -> Scan:
    """Return a table in files; nothing but its columns is read, of a CSV also what it is written in.

    Parameters
    ----------
    path
        A Parquet or CSV file, a folder of them, or a pattern.
    options
        Of a CSV, where they should not be detected: ``delimiter``, ``quote``, ``encoding``.
    """
    paths = found(path)
    kinds = sorted({format_of(one) for one in paths})
    if len(kinds) > 1 or kinds[0] not in KINDS:
        hint = "convert them to Parquet or CSV, one of the two"
        raise TableError("only CSV and Parquet can be read in parts", where=str(path), got=", ".join(kinds), hint=hint)
    if kinds == ["csv"]:
        return DelimitedScan.open(paths, **options)
    if options:
        raise TableError("are for CSV files", where=", ".join(options), got="Parquet")
    return ParquetScan.open(paths)


def found(path: str | Path) -> tuple[Path, ...]:
    """Return the files that a path stands for, sorted by name."""
    given = Path(path)
    if given.is_dir():
        paths = _inside(given)
    elif given.exists() or not set("*?[") & set(str(given)):
        paths = [given]
    else:
        paths = sorted(Path(given.anchor).glob(str(given.relative_to(given.anchor))))
    if not paths:
        raise TableError("no Parquet or CSV file is there", where=str(path))
    for one in paths:
        if not one.exists():
            raise TableError("no such file", where=str(one))
        if not one.is_file():
            raise TableError("is not a file", where=str(one))
        if one.stat().st_size == 0:
            raise TableError("the file is empty", where=str(one))
    return tuple(paths)


def _inside(folder: Path) -> list[Path]:
    """Return the tables in a folder; one with folders in it is refused: their names may be values of a column."""
    shown = [one for one in sorted(folder.iterdir()) if not one.name.startswith((".", "_"))]
    folders = [one.name for one in shown if one.is_dir()]
    if folders:
        hint = f"give the files, for example {folder}/*/*.parquet"
        raise TableError("has folders in it", where=str(folder), got=folders[0], hint=hint)
    return [one for one in shown if FORMATS.get(one.suffix.lower()) in KINDS]
