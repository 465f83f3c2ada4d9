"""open_scan(): a file, a folder of files or a pattern such as ``data/*.parquet``, to be read part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import ClassVar, Protocol

import polars as pl

from shoal.encoding.read_options import ReadOptions
from shoal.engines.cells import locate_texts
from shoal.engines.delimited import Dialect, key
from shoal.engines.limits import NOT_READ_IN_PARTS, READ_IN_PARTS
from shoal.engines.memory.files import FORMATS, explain_read_errors, format_of, require_layout
from shoal.engines.text_files import COMPRESSED
from shoal.engines.texts import require_names
from shoal.errors import TableError

_NOTHING_SAID = ReadOptions()


@dataclass(frozen=True)
class FilePart:
    """Some records, lazily; the columns that were asked for have names of our own (:func:`key`)."""

    frame: pl.LazyFrame
    path: Path
    """The file that they are in."""
    done: int
    """How much of the whole table is read when this part is."""
    first_row: int = 1
    """The number of its first row in the file, counted as a spreadsheet does."""


class FileScan(Protocol):
    """A table in files: its columns are known, its records are read part by part."""

    is_text: ClassVar[bool]
    """Whether every cell is read as a text."""

    @property
    def options(self) -> ReadOptions:
        """How the files are read."""

    @property
    def delimiter(self) -> str:
        """What a release is written with, if it is a CSV."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, in order."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @property
    def total(self) -> int:
        """How much there is to read: what the ``done`` of the last part is."""

    @property
    def records(self) -> int | None:
        """How many records the files say that they have, if they do."""

    def parts(self, indices: Sequence[int], rows: int) -> Iterator[FilePart]:
        """Yield some of the columns, about so many records at a time; at least one part, if an empty one."""


@dataclass(frozen=True)
class DelimitedScan:
    """CSV files with the same columns; progress is told in bytes."""

    is_text: ClassVar[bool] = True
    records: ClassVar[None] = None

    paths: tuple[Path, ...]
    dialects: tuple[Dialect, ...]
    options: ReadOptions

    @classmethod
    def open(cls, paths: tuple[Path, ...], options: ReadOptions) -> DelimitedScan:
        """Find out what files are written in; all must have the columns of the first."""
        dialects: list[Dialect] = []
        for path in paths:
            with explain_read_errors(path, "csv"):
                dialects.append(Dialect.detect(path, str(path), options))
            if dialects[-1].header != dialects[0].header:
                raise TableError(f"has other columns than {paths[0].name}", where=str(path))
        return cls(paths, tuple(dialects), options)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return self.dialects[0].header

    @property
    def delimiter(self) -> str:
        """What a release is written with."""
        return self.dialects[0].written_delimiter

    @property
    def total(self) -> int:
        """How many bytes there are."""
        return sum(path.stat().st_size for path in self.paths)

    def parts(self, indices: Sequence[int], rows: int) -> Iterator[FilePart]:
        """Yield some of the columns, about so many records at a time."""
        before = 0
        for path, dialect in zip(self.paths, self.dialects, strict=True):
            row = dialect.header_line + 1
            with explain_read_errors(path, "csv"):
                for frame, done in dialect.read_blocks(indices, rows):
                    yield FilePart(frame.lazy(), path, before + done, row)
                    row += frame.height
            before += path.stat().st_size


@dataclass(frozen=True)
class ParquetScan:
    """Parquet files with the same columns; progress is told in records."""

    is_text: ClassVar[bool] = False

    paths: tuple[Path, ...]
    columns: tuple[str, ...]
    heights: tuple[int, ...]
    options: ReadOptions

    @property
    def delimiter(self) -> str:
        """What a release is written with: commas."""
        return ","

    @property
    def records(self) -> int:
        """How many records there are."""
        return sum(self.heights)

    @property
    def total(self) -> int:
        """The same: progress is told in records."""
        return self.records

    @classmethod
    def open(cls, paths: tuple[Path, ...], options: ReadOptions) -> ParquetScan:
        """Look at the heads of files; all must have the columns of the first."""
        schemas, heights = [], []
        for path in paths:
            with explain_read_errors(path, "parquet"):
                schemas.append(_scan_parquet(path).collect_schema())
                heights.append(int(_scan_parquet(path).select(pl.len()).collect().item()))
        for path, schema in zip(paths, schemas, strict=True):
            if schema != schemas[0]:
                names = [name for name in {**schemas[0], **schema} if schemas[0].get(name) != schema.get(name)]
                what, got = f"has other columns or types than {paths[0].name}", ", ".join(names[:3])
                raise TableError(what, where=str(path), got=got or "another order of columns")
        if not schemas[0]:
            raise TableError("the table has no columns", where=str(paths[0]))
        require_names(list(schemas[0]), str(paths[0]))
        return cls(paths, tuple(schemas[0]), tuple(heights), options)

    def parts(self, indices: Sequence[int], rows: int) -> Iterator[FilePart]:
        """Yield some of the columns, so many records at a time."""
        done = 0
        for path, height in zip(self.paths, self.heights, strict=True):
            whole = _scan_parquet(path).select(pl.nth(index).alias(key(index)) for index in indices)
            for start in range(0, max(height, 1), rows):
                length = min(rows, height - start)
                done += length
                yield FilePart(whole.slice(start, length), path, done, start + 1)


def _scan_parquet(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False, hive_partitioning=False, cache=False)


def open_scan(path: object, options: ReadOptions = _NOTHING_SAID) -> FileScan:
    """Return a table in files; nothing but its columns is read, of a CSV also what it is written in.

    Parameters
    ----------
    path
        A Parquet or CSV file, a folder of them, a pattern, or a list of files.
    options
        How to read them.
    """
    paths = find_files(path)
    kinds = sorted({format_of(one) for one in paths})
    if len(kinds) > 1 or kinds[0] not in READ_IN_PARTS:
        raise TableError(replace(NOT_READ_IN_PARTS, where=str(path), got=", ".join(kinds)))
    require_layout(kinds[0], options, str(path))
    return DelimitedScan.open(paths, options) if kinds == ["csv"] else ParquetScan.open(paths, options)


def find_files(path: object) -> tuple[Path, ...]:
    """Return the files that a path stands for, sorted by name; those of a list in its order."""
    if isinstance(path, (list, tuple)):
        return tuple(chain.from_iterable(find_files(one) for one in path))
    given = Path(str(path))
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
    return [one for one in shown if _is_table(one)]


def _is_table(path: Path) -> bool:
    return FORMATS.get(path.suffix.lower()) in READ_IN_PARTS or path.suffix.lower() in COMPRESSED


def locate_in_scan(scan: FileScan, wanted: Mapping[str, list[str]], rows: int) -> dict[str, dict[str, list[str]]]:
    """Return the rows that texts stand in: the files are read once more, for an error only."""
    indices = [scan.columns.index(name) for name in wanted]
    names = {key(index): scan.columns[index] for index in indices}
    blocks = (
        (part.frame.rename(names).collect(), part.path.name if len(scan.paths) > 1 else "", part.first_row)
        for part in scan.parts(indices, rows)
    )
    return locate_texts(blocks, wanted, strip=scan.options.strip)
