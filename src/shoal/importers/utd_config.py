"""Configurations of the UTD anonymization toolbox: roles, hierarchies and method in one XML file, read and written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.errors import HierarchyError, PolicyError, examples, nearest
from shoal.hierarchies import _xml
from shoal.hierarchies._vgh import UtdColumn, interval_breaks, nest_categories, parse_whole, read_column, to_element
from shoal.hierarchies._xml import Element
from shoal.hierarchies.base import Hierarchy
from shoal.hierarchies.intervals import Intervals
from shoal.hierarchies.suppress import Suppress
from shoal.hierarchies.tree import Tree

_DECIMAL = re.compile(r"\s*\d{1,9}(?:\.\d{1,15})?\s*", re.ASCII)
_SECTIONS = {"id": "identifiers", "qid": "quasi_identifiers", "sens": "sensitive", "sensitive": "sensitive"}
_ELEMENTS = ("input", "output", *_SECTIONS)


@dataclass(frozen=True, kw_only=True)
class UtdConfig:
    """What a configuration of the toolbox says; ``None`` or empty where it leaves a choice to the toolbox.

    Two configurations are equal if they say the same, however they are laid out.
    """

    quasi_identifiers: tuple[UtdColumn, ...]
    identifiers: tuple[UtdColumn, ...] = ()
    sensitive: tuple[UtdColumn, ...] = ()
    method: str = ""
    k: int | None = None
    l: float | None = None  # noqa: E741 - the parameter's own letter
    c: float | None = None
    t: float | None = None
    extra: Mapping[str, str] = field(default_factory=dict)
    """Parameters of the toolbox that are not known here."""
    input: str = ""
    separator: str = ""
    output: str = ""
    format: str = ""

    @property
    def columns(self) -> tuple[UtdColumn, ...]:
        """The columns of all roles."""
        return (*self.identifiers, *self.quasi_identifiers, *self.sensitive)

    @property
    def hierarchies(self) -> dict[str, Hierarchy]:
        """The hierarchy of each quasi-identifier, by name."""
        return {name_of(column): hierarchy_of(column, "qid") for column in self.quasi_identifiers}


def name_of(column: UtdColumn) -> str:
    """Return the name of a column; the toolbox goes by the place alone and lets a file leave it out."""
    return column.name or f"att{column.index}"


def hierarchy_of(column: UtdColumn, where: str) -> Hierarchy:
    """Return the hierarchy of a quasi-identifier.

    Categories give a tree, numbers give intervals, and a range with nothing in it gives the choice between the
    value and ``*``.
    """
    where = f"{where}, {column.title}, vgh"
    if column.vgh is None:
        hint = "write at least <vgh value='[low:high]'/>"
        raise HierarchyError("a quasi-identifier needs a hierarchy", where=where, hint=hint)
    if column.map:
        nodes = nest_categories(column.vgh, column.map, where)
        try:
            return Tree(nodes=nodes)
        except PolicyError as error:
            raise HierarchyError([replace(fault, where=where) for fault in error.faults]) from None
    levels = interval_breaks(column.vgh, where)
    return Intervals(breaks=levels) if levels else Suppress()


def read_config(source: str | Path) -> UtdConfig:
    """Read a configuration, from a file or from its text (which starts with ``<``).

    Examples
    --------
    >>> config = read_config('''<config method="Mondrian" k="5"><qid>
    ...   <att index="0" name="age"><vgh value="[0:100]"><node value="[0:50]"/><node value="[50:100]"/></vgh></att>
    ... </qid></config>''')
    >>> config.k, config.hierarchies["age"].breaks
    (5, ((0.0, 50.0, 100.0),))
    """
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        content: str | bytes = source.strip("\ufeff \t\r\n")
        where = "configuration"
    else:
        content, where = _xml.read_bytes(Path(source), PolicyError, "configuration"), str(source)
    root = _xml.parse_xml(content, where, PolicyError)
    if root.tag.lower() != "config":
        hint = "a configuration of the UTD toolbox starts with <config method=… k=…>"
        raise PolicyError("is not a configuration", where=where, got=f"<{root.tag}>", hint=hint)
    parts: dict[str, Any] = {"quasi_identifiers": (), **_read_columns(root, where), **_read_files(root, where)}
    config = UtdConfig(**parts, **_read_parameters(root, where))
    _check(config, where)
    return config


def _read_parameters(root: Element, where: str) -> dict[str, Any]:
    attributes = {key.lower(): value.strip() for key, value in root.attrib.items()}
    where = f"{where}, config"
    method, k = attributes.pop("method", ""), attributes.pop("k", None)
    numbers = {name: _number(attributes.pop(name, None), f"{where} {name}") for name in ("l", "c", "t")}
    return {
        "method": method,
        "k": None if k is None else _at_least_one(k, f"{where} k"),
        **numbers,
        "extra": attributes,
    }


def _at_least_one(text: str, where: str) -> int:
    number = parse_whole(text, where)
    if number < 1:
        raise PolicyError("must be at least 1", where=where, got=text)
    return number


def _number(text: str | None, where: str) -> float | None:
    if text is not None and not _DECIMAL.fullmatch(text):
        raise PolicyError("must be a number", where=where, got=repr(text[:80]))
    return None if text is None else float(text)


def _read_columns(root: Element, where: str) -> dict[str, tuple[UtdColumn, ...]]:
    by_role: dict[str, tuple[UtdColumn, ...]] = {}
    for section in root:
        kind = section.tag.lower()
        if kind not in _ELEMENTS:
            # the toolbox passes over it, and a role that is misspelt is a role lost
            what = "is not a known element"
            raise PolicyError(what, where=f"{where}, config", got=f"<{section.tag}>", hint=nearest(kind, _ELEMENTS))
        if kind not in _SECTIONS:
            continue
        inside = f"{where}, {kind}"
        stray = [child.tag for child in section if child.tag.lower() != "att"]
        if stray:
            raise PolicyError("is not a column", where=inside, got=f"<{stray[0]}>", hint="columns are <att index=…>")
        columns = tuple(read_column(child, inside) for child in section)
        by_role[_SECTIONS[kind]] = (*by_role.get(_SECTIONS[kind], ()), *columns)
    return by_role


def _read_files(root: Element, where: str) -> dict[str, str]:
    files: dict[str, str] = {}
    for element in root:
        kind = element.tag.lower()
        names = {"filename": kind, "separator": "separator", "format": "format"}
        for key, value in element.attrib.items() if kind in ("input", "output") else ():
            if key.lower() not in names:
                hint = nearest(key, names)
                raise PolicyError("is not a known attribute", where=f"{where}, {kind}", got=key, hint=hint)
            files[names[key.lower()]] = value
    return files


def _check(config: UtdConfig, where: str) -> None:
    if not config.quasi_identifiers:
        raise PolicyError("names no quasi-identifier", where=f"{where}, qid", hint="list columns as <att index=…>")
    for column in config.columns:
        if column.index is None or column.index < 0:
            raise PolicyError(
                "a column needs its index", where=f"{where}, {column.title}", hint="index='0' is the first"
            )
    for what, keys in (
        ("index", [str(column.index) for column in config.columns]),
        ("name", [name_of(column) for column in config.columns]),
    ):
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            raise PolicyError(f"two columns with one {what}", where=where, got=examples(twice))
    for column in config.quasi_identifiers:
        hierarchy_of(column, f"{where}, qid")


def write_config(config: UtdConfig) -> str:
    """Return a configuration as the toolbox reads it.

    Examples
    --------
    >>> text = '<config k="5"><qid><att index="0" name="age"><vgh value="[0:100]"/></att></qid></config>'
    >>> read_config(write_config(read_config(text))) == read_config(text)
    True
    """
    numbers = {"k": config.k, "l": config.l, "c": config.c, "t": config.t}
    parameters = {"method": config.method, **{key: _text(number) for key, number in numbers.items()}, **config.extra}
    root = Element("config", _drop_empty(parameters))
    files = (
        ("input", {"filename": config.input, "separator": config.separator}),
        ("output", {"filename": config.output, "format": config.format}),
    )
    root.extend(Element(tag, _drop_empty(attributes)) for tag, attributes in files if any(attributes.values()))
    sections = (("id", config.identifiers), ("qid", config.quasi_identifiers), ("sens", config.sensitive))
    for tag, columns in sections:
        if columns:
            section = Element(tag)
            section.extend(to_element(column) for column in columns)
            root.append(section)
    return _xml.to_text(root)


def _drop_empty(attributes: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in attributes.items() if value}


def _text(number: float | None) -> str:
    return "" if number is None else str(int(number)) if float(number).is_integer() else repr(float(number))
