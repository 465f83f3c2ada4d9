"""drop_added(), form_faults(): what the form of a release adds to the plain table that models are counted on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from shoal.auditing.class_statistics import statistics_faults
from shoal.auditing.ends import ends_faults
from shoal.auditing.hygiene import bytes_faults
from shoal.auditing.original import OriginalTable
from shoal.auditing.pseudonyms import pseudonym_faults
from shoal.engines.columns import of_kind, to_plain
from shoal.engines.counted import CountedTable
from shoal.engines.formulas import read_published
from shoal.engines.memory.files import format_of
from shoal.engines.memory.source import open_in_memory
from shoal.errors import Fault, TableError
from shoal.guarantees import declare_guarantees
from shoal.policy import Policy


@dataclass(frozen=True)
class CompanionTable:
    """The second table of a release, as far as there is one."""

    frame: pl.DataFrame | None = None
    path: Path | None = None

    @classmethod
    def of(cls, given: object, table: object, policy: Policy) -> CompanionTable:
        """Open the second table: the one that is given, or the file that lies beside the first."""
        name = policy.output.beside
        if name is None:
            return cls()
        if given is None and isinstance(table, (str, Path)):
            path = Path(table)
            given = path.with_name(f"{path.stem}-{name}{path.suffix}")
            given = given if given.is_file() else None
        if isinstance(given, (str, Path)):
            return cls(open_in_memory(given, types=False).frame, Path(given))
        return cls() if given is None else cls(open_in_memory(given).frame)

    def cast_like(self, raw: pl.DataFrame, policy: Policy) -> CompanionTable:
        """Return the same, columns that are published as they are in the types of the original."""
        return self if self.frame is None else replace(self, frame=cast_like(raw, self.frame, policy))

    def read(self, policy: Policy) -> CompanionTable:
        """Return the same as the values that its texts stand for."""
        return self if self.frame is None else replace(self, frame=read_published(self.frame, policy))

    def bytes_faults(self, raw: pl.DataFrame | None) -> list[Fault]:
        """Return a fault where its file holds raw values that it does not show."""
        if raw is None or self.frame is None or self.path is None:
            return []
        return bytes_faults(self.path.read_bytes(), format_of(self.path), self.frame, raw)


def cast_like(raw: pl.DataFrame, frame: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return a published table, columns that are published as they are in the types of the original.

    A file may give them others: Excel has no 3.0 and no midnight, and reads them back as 3 and as a day. What is no
    value of the original's type stays as it is, and will be found to be none of its values.
    """
    guarantees = declare_guarantees(frame.columns, policy)
    return pl.DataFrame(
        [
            _in_type_of(raw[name], frame[name])
            if name in raw.columns and guarantees[name].keeps_values
            else frame[name]
            for name in frame.columns
        ]
    )


def _in_type_of(original: pl.Series, column: pl.Series) -> pl.Series:
    if column.dtype in (pl.String, original.dtype):
        return column
    try:
        mine, kind = to_plain(column), to_plain(original).dtype
    except TableError:  # a type that is never published
        return column
    cast = of_kind(mine, kind)
    return cast.alias(column.name) if cast.null_count() == mine.null_count() else column


def drop_added(published: CountedTable, policy: Policy) -> CountedTable:
    """Return a published table without the columns that its form adds.

    Whatever is counted afterwards is counted on the texts of the quasi-identifiers. Ends are read off them and class
    numbers stand for them one to one, so that all that holds of the texts holds of these too.
    """
    frame, added = published.frame, {*policy.added_columns}
    return published.with_frame(frame.select(frame.get_column(name) for name in frame.columns if name not in added))


def form_faults(
    published: CountedTable,
    original: OriginalTable | None,
    policy: Policy,
    companion: CompanionTable,
    rows: pl.Series | None,
) -> Iterator[Fault]:
    """Yield what is wrong with what the form of a release adds: ends, class numbers, statistics, pseudonyms."""
    frame = published.frame
    if any(name not in frame.columns for name in policy.quasi_identifiers):
        return  # told already
    raw = None if original is None else original.frame
    yield from pseudonym_faults(frame, raw, policy)
    if policy.output.has_ends:
        yield from ends_faults(frame, original, policy)
    if policy.output.has_statistics:
        yield from statistics_faults(published, companion.frame, original, policy, rows)
        yield from companion.bytes_faults(raw)
