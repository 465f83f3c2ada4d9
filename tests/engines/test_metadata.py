"""What lies around the cells of a release: nothing of where the original lay, who made it, or what it held."""

from __future__ import annotations

import getpass
import io
import platform
import socket
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal

from .conftest import Laid, release_of

PLACE = "ward-seven-of-hospital"
RARE = "Fabry-disease"
"""A value that only suppressed records have, which are left out."""
TABLE = pl.DataFrame(
    {
        "name": [f"Person-{i:03d}" for i in range(80)],
        "job": ["nurse"] * 39 + ["astronaut-in-chief"] + ["baker"] * 40,
        "age": [20 + 5 * (i % 4) for i in range(80)],
        "illness": [RARE if i == 39 else ("influenza", "cold")[i % 2] for i in range(80)],
    }
)
POLICY = shoal.Policy(
    identifiers=["name"],
    quasi_identifiers={"job": "suppress", "age": "suppress"},
    sensitive=["illness"],
    models=[{"name": "k-anonymity", "k": 5}],
    algorithm={"name": "fixed-levels", "levels": {"job": 0, "age": 0}},
    max_suppressed=0.05,
    suppressed="drop",
)
NEVER_PUBLISHED = ("Person-0", "astronaut", "Fabry")


def list_traces() -> list[str]:
    """Return what tells of this machine and of whoever works at it."""
    traces = {PLACE, "Charley Chaplin", str(Path.home()), socket.gethostname(), platform.node(), getpass.getuser()}
    return [trace for trace in traces if len(trace) > 3 and trace not in ("root", "/root")]  # a word of style sheets


def read_everything(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the bytes of every file, those inside of packed ones too."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        data = path.read_bytes()
        yield path.name, data.decode("latin-1")
        if path.suffix == ".xlsx":
            with zipfile.ZipFile(io.BytesIO(data)) as packed:
                yield from ((name, packed.read(name).decode("latin-1")) for name in packed.namelist())


def find_traces(folder: Path, sought: list[str]) -> list[tuple[str, str]]:
    return [(name, one) for name, text in read_everything(folder) for one in sought if one in text or one in name]


def test_a_release_on_every_engine(lay: Callable[[pl.DataFrame], Laid], tmp_path: Path) -> None:
    release = release_of(lay(TABLE), POLICY)
    for format in release.published.formats:
        release.write(tmp_path / "out" / format, format=format)
    assert sum(1 for _ in read_everything(tmp_path / "out")) >= 8
    sought = [*NEVER_PUBLISHED, str(tmp_path), tmp_path.name, *list_traces()]
    assert find_traces(tmp_path / "out", sought) == []


def write_parquet(path: Path) -> None:
    table = TABLE.to_arrow()
    fields = [field.with_metadata({b"note": RARE.encode()}) for field in table.schema]
    metadata = {b"author": b"Charley Chaplin", b"source": PLACE.encode()}
    pq.write_table(table.cast(pa.schema(fields, metadata)), path)


def write_excel(path: Path) -> None:
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        book.set_properties({"author": "Charley Chaplin", "comments": RARE, "company": PLACE})
        book.set_custom_property("patient", "Person-007")
        sheet = book.add_worksheet(PLACE[:31])
        sheet.write_comment(0, 0, RARE)
        for index, column in enumerate(TABLE):
            sheet.write_column(0, index, [column.name, *column])


def write_feather(path: Path) -> None:
    TABLE.with_columns(pl.col("illness").cast(pl.Categorical)).write_ipc(path)


WRITERS: dict[str, Callable[[Path], Any]] = {
    "people.csv": TABLE.write_csv,
    "people.parquet": write_parquet,
    "people.xlsx": write_excel,
    "people.feather": write_feather,
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("options", [{}, {"memory": "1GB"}])
def test_what_a_file_carries_beside_its_cells_stays_there(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    if options and name.partition(".")[2] not in ("csv", "parquet"):
        pytest.skip("only CSV and Parquet are read within a budget of memory")
    place = tmp_path / PLACE
    place.mkdir()
    WRITERS[name](place / name)
    release = shoal.anonymize(place / name, POLICY, **options)
    for format in release.published.formats:
        release.write(tmp_path / "out" / format, format=format)
    sought = [*NEVER_PUBLISHED, *list_traces(), str(tmp_path), "people."]
    assert find_traces(tmp_path / "out", sought) == []


def test_a_population_is_named_without_its_folder(tmp_path: Path) -> None:
    place = tmp_path / PLACE
    place.mkdir()
    pl.concat([TABLE.select("job", "age")] * 3).write_csv(place / "everybody.csv")
    asked = {"name": "k-map", "k": 2}
    policy = POLICY.replace(models=[*POLICY.models, asked], population=str(place / "everybody.csv"))
    shoal.anonymize(TABLE, policy).write(tmp_path / "out")
    assert find_traces(tmp_path / "out", [PLACE, str(tmp_path)]) == []


def test_the_table_that_is_handed_over_carries_nothing() -> None:
    table = TABLE.to_arrow().replace_schema_metadata({b"author": b"Charley Chaplin"})
    released = shoal.anonymize(table, POLICY).table
    assert not released.schema.metadata and not any(field.metadata for field in released.schema)
    frame = TABLE.to_pandas()
    frame.attrs["author"] = "Charley Chaplin"
    assert not shoal.anonymize(frame, POLICY).table.attrs
