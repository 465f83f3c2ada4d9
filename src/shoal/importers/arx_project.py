"""Projects of ARX: roles, hierarchies, promises and limits in one zip of XML and CSV files."""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from zipfile import BadZipFile, ZipFile, is_zipfile

from shoal.errors import Fault, PolicyError, examples
from shoal.hierarchies import _xml
from shoal.hierarchies._xml import Element

Role = Literal["identifying", "quasi-identifying", "sensitive", "insensitive"]
Rows = tuple[tuple[str, ...], ...]

_ROLES: Mapping[str, Role] = {
    "IDENTIFYING": "identifying",
    "QUASI": "quasi-identifying",
    "SENSITIVE": "sensitive",
    "INSENSITIVE": "insensitive",
}
_VOCABULARIES = ("1.0", "2.0")
_LARGEST = 64_000_000
"""Bytes of a hierarchy or a configuration; a file that unpacks to more is a mistake or an attack."""
DATA = "data/input.csv"


@dataclass(frozen=True, kw_only=True)
class ArxColumn:
    """What a project says of one column."""

    name: str
    role: Role
    datatype: str = ""
    format: str = ""
    hierarchy: Rows = ()
    """One row per value, one column per level; empty where the project has none."""
    least_level: int | None = None
    most_level: int | None = None
    microaggregation: str = ""
    weight: float | None = None


@dataclass(frozen=True, kw_only=True)
class ArxProject:
    """What a project of ARX says, as far as it is written as text."""

    columns: tuple[ArxColumn, ...]
    criteria: tuple[str, ...] = ()
    """The promises, in the words in which ARX writes them."""
    max_outliers: float = 0.0
    metric: str = ""
    name: str = ""
    version: str = ""
    delimiter: str = ";"
    has_data: bool = False
    others: tuple[str, ...] = field(default=())
    """Parts of the file that are not read: results, filters, clipboards."""


def is_project(path: Path) -> bool:
    """Return whether a file is packed as ARX packs its projects."""
    return path.is_file() and is_zipfile(path)


def read_project(path: str | Path) -> ArxProject:
    """Read a project file (``.deid``) of ARX 2 or 3.

    Only its texts are read: the Java objects beside them are not, for they could hold anything.

    Raises
    ------
    PolicyError
        It is no project, of a version that is not known here, or a part is missing or too large.
    """
    with _open(Path(path)) as file:
        return _read(file, str(path))


def copy_data(path: str | Path, out: Path) -> None:
    """Write the copy of the table that a project holds, part by part; nothing is left of one that is damaged."""
    try:
        with _open(Path(path)) as file, file.open(DATA) as source, out.open("wb") as target:
            while block := source.read(1 << 20):
                target.write(block)
    except BaseException:
        out.unlink(missing_ok=True)
        raise


@contextmanager
def _open(path: Path) -> Iterator[ZipFile]:
    """Open a project; what is damaged, packed oddly or locked is told in words."""
    try:
        with ZipFile(path) as file:
            yield file
    except (OSError, EOFError, BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        hint = "save it in ARX again (File, Save project)"
        raise PolicyError("cannot read the project", where=str(path), got=str(error), hint=hint) from None


def _read(file: ZipFile, where: str) -> ArxProject:
    names = set(file.namelist())
    if "metadata.xml" not in names or "input/definition.xml" not in names:
        hint = "a project has metadata.xml and input/definition.xml in it"
        raise PolicyError("is no project of ARX", where=where, got=examples(sorted(names)), hint=hint)
    metadata = _root(file, "metadata.xml", where)
    _require_known(_text(metadata, "vocabulary"), where)
    project = _root(file, "project.xml", where) if "project.xml" in names else Element("project")
    config = _root(file, "input/config.xml", where) if "input/config.xml" in names else Element("config")
    delimiter = _text(project, "separator") or ";"
    weights = {
        _text(one, "attribute"): _number(_text(one, "weight"), f"{where}, attributeWeight")
        for one in config.iter("attributeWeight")
    }
    definition = _root(file, "input/definition.xml", where)
    columns = tuple(_column(one, file, delimiter, weights, where) for one in definition.iter("assigment"))
    if not columns:
        raise PolicyError("names no columns", where=f"{where}, input/definition.xml")
    return ArxProject(
        columns=columns,
        criteria=tuple((one.text or "").strip() for one in config.iter("criterion")),
        max_outliers=_number(_text(config, "relativeMaxOutliers") or "0", f"{where}, relativeMaxOutliers"),
        metric=_text(config, "metric"),
        name=_text(project, "name"),
        version=_text(metadata, "version"),
        delimiter=delimiter,
        has_data=DATA in names,
        others=tuple(sorted(name for name in names if name.startswith(("lattice.", "filter.", "clipboard.")))),
    )


def _require_known(vocabulary: str, where: str) -> None:
    if vocabulary not in _VOCABULARIES:
        what, hint = "is written in a form that is not known here", f"known: {', '.join(_VOCABULARIES)} (ARX 2 and 3)"
        raise PolicyError(what, where=f"{where}, vocabulary", got=repr(vocabulary), hint=hint)


def _column(one: Element, file: ZipFile, delimiter: str, weights: Mapping[str, float], where: str) -> ArxColumn:
    name = _text(one, "name")
    reference = _text(one, "ref")
    return ArxColumn(
        name=name,
        role=_role(_text(one, "type"), f"{where}, {name}"),
        datatype=_text(one, "datatype"),
        format=_text(one, "format"),
        hierarchy=_rows(file, f"input/{reference}", delimiter, where) if reference else (),
        least_level=_level(_text(one, "min"), where),
        most_level=_level(_text(one, "max"), where),
        microaggregation=_text(one, "microAggregationFunction"),
        weight=weights.get(name),
    )


def _role(text: str, where: str) -> Role:
    for start, role in _ROLES.items():
        if text.upper().startswith(start):
            return role
    raise PolicyError("is not a role that is known here", where=where, got=repr(text), hint="save the project again")


def _rows(file: ZipFile, name: str, delimiter: str, where: str) -> Rows:
    text = _content(file, name, where).decode("utf-8", errors="replace")
    try:
        rows = tuple(tuple(row) for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row)
    except (csv.Error, TypeError) as error:  # a cell beyond all measure; a separator that is none
        raise PolicyError("cannot be read as rows", where=f"{where}, {name}", got=str(error)) from None
    if len({len(row) for row in rows}) > 1:
        raise PolicyError("rows of a hierarchy differ in length", where=f"{where}, {name}", hint="mend it in ARX")
    return rows


def _level(text: str, where: str) -> int | None:
    if text in ("", "All"):
        return None
    if not text.isdecimal():
        raise PolicyError("must be a level or All", where=where, got=repr(text))
    return int(text)


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise PolicyError("must be a number", where=where, got=repr(text[:80])) from None


def _root(file: ZipFile, name: str, where: str) -> Element:
    return _xml.parse_xml(_content(file, name, where), f"{where}, {name}", PolicyError)


def _content(file: ZipFile, name: str, where: str) -> bytes:
    """Return a part of a project; its size is what is unpacked, not what its head says."""
    try:
        with file.open(name) as part:
            content = part.read(_LARGEST + 1)
    except KeyError:
        raise PolicyError("a part is missing", where=where, got=name, hint="save the project again") from None
    if len(content) > _LARGEST:
        raise PolicyError([Fault("a part is too large", f"{where}, {name}", f"over {_LARGEST:,} bytes")])
    return content


def _text(element: Element, name: str) -> str:
    """Return the text of a child, without blanks around it; a separator may be one itself."""
    text = element.findtext(name) or ""
    return text if name == "separator" else text.strip()
