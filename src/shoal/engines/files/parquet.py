"""ParquetScan: Parquet files, read a range of records at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shoal.engines.files.parts import Part, key, reading
from shoal.engines.memory.files import require_names
from shoal.errors import TableError


@dataclass(frozen=True)
class ParquetScan:
    """Parquet files with the same columns; progress is told in records."""

    paths: tuple[Path, ...]
    columns: tuple[str, ...]
    heights: tuple[int, ...]
    is_text: bool = False

    @property
    def total(self) -> int:
        """How many records there are."""
        return sum(self.heights)

    @classmethod
    def open(cls, paths: tuple[Path, ...]) -> ParquetScan:
        """Look at the heads of files; all must have the columns of the first."""
        schemas, heights = [], []
        for path in paths:
            with reading(path, "parquet"):
                schemas.append(_lazy(path).collect_schema())
                heights.append(int(_lazy(path).select(pl.len()).collect().item()))
        for path, schema in zip(paths, schemas, strict=True):
            if schema != schemas[0]:
                what, got = f"has other columns or types than {paths[0].name}", _differing(schemas[0], schema)
                raise TableError(what, where=str(path), got=got)
        if not schemas[0]:
            raise TableError("the table has no columns", where=str(paths[0]))
        require_names(list(schemas[0]), str(paths[0]))
        return cls(paths, tuple(schemas[0]), tuple(heights))

    def parts(self, indices: Sequence[int], rows: int) -> Iterator[Part]:
        """Yield some of the columns, so many records at a time."""
        done = 0
        for path, height in zip(self.paths, self.heights, strict=True):
            whole = _lazy(path).select(pl.nth(index).alias(key(index)) for index in indices)
            for start in range(0, max(height, 1), rows):
                length = min(rows, height - start)
                done += length
                yield Part(whole.slice(start, length), path, done)


def _lazy(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False, hive_partitioning=False, cache=False)


def _differing(first: pl.Schema, other: pl.Schema) -> str:
    names = [name for name in {**first, **other} if first.get(name) != other.get(name)]
    return ", ".join(names[:3]) or "another order of columns"
