"""Hygiene: nothing in the file but the published table."""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections.abc import Iterable, Iterator

import polars as pl

from shoal.engines.columns import to_texts
from shoal.engines.counted import CountedTable
from shoal.engines.memory.write import to_bytes
from shoal.errors import Fault
from shoal.guarantees import declare_guarantees
from shoal.policy import Policy

_INDEX_NAMES = ("index", "level_0", "unnamed: 0", "rowid", "row_id", "row", "__index_level_0__")
_MOST_PATTERNS = 100_000


def columns_faults(published: CountedTable, raw: pl.DataFrame | None, policy: Policy) -> Iterator[Fault]:
    """Yield columns that must not be there, and quasi-identifiers that are missing."""
    frame = published.frame
    yield from _absent(frame, policy)
    for name in policy.hidden:
        if name in frame.columns:
            what = (
                "what persons ask for is published"
                if name in policy.requested_k
                else "a column that names persons is published"
            )
            yield Fault(what, where=name)
    declared = {*policy.hidden, *policy.quasi_identifiers, *policy.sensitive, *policy.perturbed}
    for name in frame.columns:
        if name in declared:
            continue
        if policy.others != "keep":
            yield Fault("a column without a role is published", where=name)
        elif raw is not None and name not in raw.columns:
            yield Fault("a column is published that the original does not have", where=name, hint="an index?")
        elif _is_row_number(frame[name], raw, published.records):
            yield Fault("a row number is published", where=name, hint="drop the index before publishing")


def _absent(frame: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    """Yield columns that are missing, without which a table cannot be counted."""
    for name in policy.quasi_identifiers:
        if name not in frame.columns:
            yield Fault("a quasi-identifier is missing from the published table", where=name, kind="unreadable")
    for model in policy.models:
        for name in model.sensitive_columns:
            if name not in frame.columns and name not in model.hidden_columns:
                yield Fault("a sensitive column is missing from the published table", where=name, kind="unreadable")
    for name in policy.perturbed:
        if name not in frame.columns:
            yield Fault("a perturbed column is missing from the published table", where=name, kind="unreadable")


def _is_row_number(column: pl.Series, raw: pl.DataFrame | None, records: int) -> bool:
    """Whether a column numbers the records: each number once, and none left out unless its name says what it is."""
    is_index = column.name.lower() in _INDEX_NAMES
    if raw is not None and not is_index:
        return False  # the original has that column too: it was not made when the table was written
    numbers = _whole_numbers(column)
    if numbers is None or records < 2 or numbers.n_unique() < records:
        return False
    return is_index or (numbers.min(), numbers.max()) in ((0, records - 1), (1, records))


def _whole_numbers(column: pl.Series) -> pl.Series | None:
    """Return a column as whole numbers, also where they are written as 1.0; ``None`` where it is something else."""
    if not (column.dtype.is_numeric() or column.dtype == pl.String):
        return None
    numbers = column.alias("values").cast(pl.Float64, strict=False).fill_nan(None)
    return (
        None
        if numbers.null_count() or bool((numbers != numbers.round()).any())
        else numbers.cast(pl.Int64, strict=False)
    )


def invented_faults(published: CountedTable, original: CountedTable, policy: Policy) -> list[Fault]:
    """Return a fault for columns that hold a value more often than the original does: it was invented or moved."""
    faults = []
    for name, guarantee in declare_guarantees(published.frame.columns, policy).items():
        if not guarantee.keeps_values or name not in published.frame.columns or name not in original.frame.columns:
            continue
        before = original.count_values(write_comparable(original.frame[name]), "count")
        after = published.count_values(write_comparable(published.frame[name]), "count")
        both = after.join(before, on="values", how="left", nulls_equal=True, suffix=" before")
        more = both.filter(pl.col("count") > pl.col("count before").fill_null(0)).height
        if more:
            what = "published values that the original does not have, or not so often"
            faults.append(Fault(what, where=name, got=f"{more} values"))
    return faults


def write_comparable(column: pl.Series) -> pl.Series:
    """Return what is written of a column: the published one may have been read from a file."""
    return write_texts(column).replace("", None)


def write_texts(column: pl.Series) -> pl.Series:
    """Return the texts of a column as a release would write them, under a name that polars takes for no pattern."""
    return to_texts(column).alias("values")


def bytes_faults(data: bytes, kind: str, frame: pl.DataFrame, raw: pl.DataFrame, delimiter: str = ",") -> list[Fault]:
    """Return a fault where a file holds raw values that the published table does not show.

    Looked for are all values of the original, those of records that are left out included, if they have at least four
    characters (six in binary formats, where shorter ones occur by chance) and are not part of any cell.
    """
    leaked = _found(_hidden_texts(kind, frame, raw, delimiter), _opened(data, kind))
    sheets = _sheets(data) if kind == "excel" else 1
    if sheets > 1:
        return [Fault("the file has more than one sheet", got=f"{sheets} sheets")]
    return _leak_faults(leaked)


def blocks_faults(
    blocks: Iterable[bytes],
    kind: str,
    frame: pl.DataFrame,
    raw: pl.DataFrame,
    container: bytes = b"",
    delimiter: str = ",",
) -> list[Fault]:
    """Return the same for a CSV or Parquet file that is read block by block; the tables may be counted.

    ``container`` is what whoever wrote the file writes beside its cells.
    """
    hidden = _hidden_texts(kind, frame, raw, delimiter)
    hidden -= _found(hidden, container.decode("latin-1"))
    longest = max(map(len, hidden), default=1)
    leaked: set[str] = set()
    before = ""
    for block in blocks if hidden else ():
        text = before + block.decode("latin-1")
        leaked |= _found(hidden, text)
        before = text[max(len(text) - longest + 1, 0) :]  # what may be the beginning of one
    return _leak_faults(leaked)


def _hidden_texts(kind: str, frame: pl.DataFrame, raw: pl.DataFrame, delimiter: str) -> set[str]:
    shortest = 6 if kind in ("parquet", "feather") else 4
    patterns = _raw_texts(raw, shortest, "" if kind != "csv" else f'{delimiter}\n\r"')
    shown = "\n".join([_cells_text(frame), _opened(to_bytes(frame.head(0), kind, delimiter), kind), "null true false"])
    if kind == "feather":  # cells of a column stand there without a gap
        shown += _as_latin("\n".join("".join(write_texts(column).drop_nulls().to_list()) for column in frame))
    return patterns - _found(patterns, shown)


def _leak_faults(leaked: set[str]) -> list[Fault]:
    if not leaked:
        return []
    hint = "an index, a dictionary or metadata kept them"
    return [Fault("the file holds raw values that are not published", got=f"{len(leaked)} of them", hint=hint)]


def _raw_texts(raw: pl.DataFrame, shortest: int, without: str) -> set[str]:
    texts: set[str] = set()
    for name in raw.columns:
        values = write_texts(raw[name]).drop_nulls().unique().sort()
        values = values.filter(values.str.len_bytes() >= shortest).head(_MOST_PATTERNS)
        texts.update((values.filter(~values.str.contains_any([*without])) if without else values).to_list())
    return {_as_latin(text) for text in texts}


def _as_latin(text: str) -> str:
    # bytes seen as text, one character each, so that any file can be searched
    return text.encode("utf-8").decode("latin-1")


def _cells_text(frame: pl.DataFrame) -> str:
    parts = ["\n".join(write_texts(column).drop_nulls().unique().to_list()) for column in frame]
    return _as_latin("\n".join(parts))


def _opened(data: bytes, kind: str) -> str:
    if kind != "excel":
        return data.decode("latin-1")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        text = "\n".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())
    # the cells themselves were read and counted; around them stand places and numbers of shared texts
    return _as_latin(html.unescape(_CELLS.sub("", text)))


def _sheets(data: bytes) -> int:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return sum(name.startswith("xl/worksheets/") and name.endswith(".xml") for name in archive.namelist())


_CELLS = re.compile(r"<sheetData>.*?</sheetData>|<dimension [^>]*>|<sst [^>]*>", re.S)


def _found(patterns: set[str], text: str) -> set[str]:
    if not patterns or not text:
        return set()
    ordered = sorted(patterns)
    return set(pl.Series([text]).str.extract_many(ordered, overlapping=True)[0].to_list())
