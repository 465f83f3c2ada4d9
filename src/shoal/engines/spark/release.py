"""SparkRelease: a release whose table lies in Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote, urlparse

import polars as pl
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from shoal.auditing import Audit
from shoal.engines.counted import TIMES, CountedTable
from shoal.engines.memory.write import ENDINGS
from shoal.engines.spark.columns import Layout, in_texts, numbered
from shoal.engines.spark.reading import in_order, read
from shoal.engines.spark.recount import other_faults, other_than_decided, recounted
from shoal.engines.spark.sessions import translate_errors
from shoal.errors import AuditFailed, WriteError
from shoal.pipeline.release import Release, attained_by, disagreements
from shoal.pipeline.release_folder import publish, write_sidecars

FORMATS = ("parquet", "csv", "jsonl")


@dataclass(frozen=True, repr=False)
class SparkRelease(Release):
    """A release whose table is a Spark table."""

    layout: Layout | None = None
    """The original, as it was laid out."""
    original: CountedTable | None = None
    """What was counted of the original; of a table that was cut into blocks, its columns."""
    found: pl.DataFrame = field(default_factory=pl.DataFrame)
    """What was counted in the published table."""

    @classmethod
    def of(
        cls,
        decided: Release,
        published: DataFrame,
        layout: Layout,
        checked: Audit,
        original: CountedTable,
        found: pl.DataFrame,
    ) -> SparkRelease:
        """Return a release that was decided, with its table in Spark."""
        known = {part.name: getattr(decided, part.name) for part in fields(Release)}
        known |= {
            "table": published.select(*layout.keys(layout.published)).toDF(*layout.published),
            "audit": checked,
            "attained": attained_by(checked),
            "manifest": {**decided.manifest, "engine": {"name": "spark", "version": version("pyspark")}},
        }
        return cls(**known, layout=layout, original=original, found=found)

    def write(self, out: str | Path, *, format: str | None = None, statistics: bool = True) -> dict[str, Path]:
        """Write release, audit, report and manifest into a folder; all of them or nothing.

        The release is a folder of Parquet, CSV or JSON-lines files, as Spark writes it. It is read back, counted again
        on Spark and audited before it gets its name. ``statistics`` compares the distributions of the columns that were
        counted, where records were counted whole.
        """
        folder, kind = _folder(out), format or "parquet"
        if kind not in FORMATS:
            hint = "one of: " + ", ".join(FORMATS)
            raise WriteError("no such format for a table of Spark", where="format", got=repr(kind), hint=hint)
        name = f"release{ENDINGS[kind]}"
        sources = [folder / name] if self._lies_in(folder / name) else []
        with translate_errors():
            return publish(folder, lambda workshop: self._write_there(workshop, name, kind, statistics), sources)

    def _lies_in(self, target: Path) -> bool:
        """Whether the original lies where the release would be written."""
        assert self.layout is not None
        return any(path.is_relative_to(target.resolve()) for path in _input_files(self.layout.table))

    def _write_there(self, workshop: Path, name: str, kind: str, statistics: bool) -> list[str]:
        target = workshop / name
        options = {"header": "true", "escape": '"', "emptyValue": "", "nullValue": ""} if kind == "csv" else {}
        spark_format = {"jsonl": "json"}.get(kind, kind)
        self._as_written(kind).write.format(spark_format).options(**options).save(target.resolve().as_uri())
        _tidy(target, ENDINGS[kind])
        return [name, *write_sidecars(workshop, self._read_again(target, kind, statistics), self.manifest)]

    def _as_written(self, kind: str) -> DataFrame:
        """Return the table in the types that it has in a file."""
        names = self.table.columns
        return self.table if kind == "parquet" else in_texts(numbered(self.table)).toDF(*names)

    def _read_again(self, target: Path, kind: str, statistics: bool) -> Audit:
        """Count and audit the files on the disk; whatever differs from what was audited before is a failure."""
        assert self.layout is not None
        schema, names = self._as_written(kind).schema, list(self.table.columns)
        written = read(self.table.sparkSession, target.resolve().as_uri(), types=False, schema=schema)
        if sorted(written.columns) != sorted(names):
            raise AuditFailed("the file's columns are not the release's", got=", ".join(written.columns))
        written = in_order(written, names)
        # counted by value: Spark writes 10000000.0 as 1.0E7
        layout = Layout.of(_in_types_of(self.table, written).toDF(*names), self.policy)
        whole = self.policy.subject is None and self.original is not None and not self.original.apart
        told = statistics and whole
        checked, found = recounted(layout.table, layout, self.policy, self.original, statistics=told)
        mine = _texts(found, layout, names)
        faults = other_than_decided(mine, _texts(self.found, self.layout, names))
        if self.policy.subject is None:  # the persons are in no file: where they count, the first audit stands
            faults += [*checked.failures(), *disagreements(checked, self.attained, self.audit)]
        if layout.others or kind != "parquet":  # cell by cell, as each is written
            keys = layout.keys(layout.published)
            faults += other_faults(numbered(written), _in_types_of(written, self._as_written(kind)), keys)
        if faults:
            raise AuditFailed(faults)
        return (checked if self.policy.subject is None else self.audit).claiming(self.audit.claimed_bound)


def _texts(counts: pl.DataFrame, layout: Layout, names: list[str]) -> pl.DataFrame:
    """Return counts with the names of the release, as texts: a file may hold numbers as texts."""
    known = [name for name in names if layout.key(name) in counts.columns]
    columns = [
        counts[layout.key(name)].cast(pl.String).replace("", None).alias(str(index)) for index, name in enumerate(known)
    ]
    return pl.DataFrame([*columns, counts[TIMES]])


def _in_types_of(other: DataFrame, table: DataFrame) -> DataFrame:
    """Return a table in the types of another, under our own names; what is no value of its type is missing."""
    cells, kinds = numbered(table), (field.dataType for field in other.schema.fields)
    return cells.select(*(F.col(key).try_cast(kind).alias(key) for key, kind in zip(cells.columns, kinds, strict=True)))


def _folder(out: str | Path) -> Path:
    parsed = urlparse(str(out))
    if parsed.scheme in ("", "file"):
        return Path(unquote(parsed.path)) if parsed.scheme else Path(out)
    hint = "write into a folder that this machine and the executors see, or use release.table.write"
    raise WriteError("a release is written into a folder", where="out", got=str(out), hint=hint)


def _input_files(table: DataFrame) -> Iterator[Path]:
    for one in table.inputFiles():
        if urlparse(one).scheme in ("", "file"):
            yield Path(unquote(urlparse(one).path))


def _tidy(target: Path, ending: str) -> None:
    """Leave nothing but the parts of the table, under names that are the same in every run."""
    for path in sorted(target.iterdir()):
        if not path.name.startswith("part-"):
            path.unlink()
    for number, path in enumerate(sorted(target.iterdir())):
        path.replace(target / f"part-{number:05d}{ending}")
