"""ReadOptions: how a file is read. One frozen value, declared once: the policy's ``read`` block, the options of every
command and the keywords of every verb are its fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace as dc_replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_serializer, model_validator

from shoal.errors import PolicyError, TableError
from shoal.registry import Frozen

DIRECTIVES = {
    "Y": "[1-9][0-9]{3}",
    "y": "[0-9]{2}",
    "m": "[0-9]{1,2}",
    "d": "[0-9]{1,2}",
    "b": r"\p{L}+\.?",
    "B": r"\p{L}+",
    "H": "[0-9]{1,2}",
    "I": "[0-9]{1,2}",
    "p": "[AaPp][Mm]",
    "M": "[0-9]{2}",
    "S": "[0-9]{2}",
    "f": "[0-9]{1,6}",
    "z": "(?:Z|[+-][0-9]{2}:?[0-9]{2})",
}
"""What a format of dates may be made of, and the texts that each part stands for."""

Thousands = Literal[".", ",", " ", "'", "’", "_", "\u00a0", "\u202f"]


class CellOptions(Frozen):
    """How the cells of a column are read.

    Examples
    --------
    >>> CellOptions(missing=["n/a", -9], dates={"format": "%d.%m.%Y"}).to_dict()
    {'missing': ['n/a', '-9'], 'dates': {'format': '%d.%m.%Y'}}
    """

    decimal: Literal[".", ","] | None = None
    """The decimal mark of numbers; a point by default."""
    thousands: Thousands | None = None
    """What stands between the thousands of numbers; nothing by default."""
    missing: tuple[str, ...] | None = None
    """Texts that stand for a missing value, for example NA or ?; an empty cell always does."""
    dates: tuple[str, ...] | None = None
    """The format of dates, for example %d.%m.%Y, or several where a column mixes them; ISO 8601 by default."""

    @field_validator("missing", mode="before")
    @classmethod
    def _list_texts(cls, value: Any) -> Any:
        values = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
        numbers = (int, float)
        texts = [str(one) if isinstance(one, numbers) and not isinstance(one, bool) else one for one in values]
        return None if value is None else tuple(texts)

    @field_validator("dates", mode="before")
    @classmethod
    def _list_formats(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            if set(value) != {"format"}:
                raise PolicyError("must be {format: …}, a format, or a list of formats", got=repr(dict(value)))
            value = value["format"]
        return (value,) if isinstance(value, str) else value

    @field_validator("dates")
    @classmethod
    def _check_formats(cls, formats: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for text in formats or ():
            parts = re.findall("%(.?)", text)
            unknown = [f"%{part}" for part in parts if part not in DIRECTIVES]
            whole = all(any(part in parts for part in some) for some in ("Yy", "mbB", "d"))
            if unknown or not whole:
                hint = "a format has a year (%Y), a month (%m) and a day (%d); known are %" + ", %".join(DIRECTIVES)
                raise PolicyError("is no format of dates", got=repr(text), hint=hint)
        return formats

    @property
    def is_plain(self) -> bool:
        """Whether nothing is said that changes what a cell is read as."""
        return all(getattr(self, name) is None for name in CellOptions.model_fields)

    @model_serializer(mode="plain")
    def to_dict(self) -> dict[str, Any]:
        """Return what is said, as plain data."""
        said = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: _plain(name, said[name]) for name in said if said[name] != _default(type(self), name)}


def _default(kind: type[CellOptions], name: str) -> Any:
    return kind.model_fields[name].default


def _plain(name: str, value: Any) -> Any:
    if name == "dates":
        return {"format": value[0]} if len(value) == 1 else list(value)
    if isinstance(value, dict):
        return {key: column.to_dict() for key, column in value.items()}
    return list(value) if isinstance(value, tuple) else value


class ReadOptions(CellOptions):
    """How a file is read. What is not said is detected, or as it usually is.

    Safe, because nothing is guessed that changes who is protected: a file that may have no header, two of them, or a
    line of totals is refused until somebody says what it has; a cell that is not what its column is said to be is an
    error that names it.

    Examples
    --------
    >>> options = ReadOptions(delimiter=";", decimal=",", columns={"weight": {"missing": [999]}})
    >>> options.of_column("weight").decimal, options.of_column("weight").missing, options.of_column("age").missing
    (',', ('999',), None)
    """

    header: Annotated[bool | Annotated[int, Field(ge=1)], Field(union_mode="left_to_right")] | None = None
    """Whether the first line names the columns, or which line does (lines above it are left out); with false columns
    are called column_1, column_2, …"""
    delimiter: str | None = None
    """Delimiter of a CSV, where it should not be detected."""
    quote: str | None = None
    """Quote character of a CSV, where it should not be detected."""
    encoding: str | None = None
    """Encoding of a CSV, where it should not be detected."""
    strip: bool = False
    """Whether blanks around cells and names are left out."""
    totals: bool | None = None
    """Whether the last line of a CSV is one of totals, which is left out; a file that seems to have one is refused."""
    sheet: str | None = None
    """Sheet of an Excel file; the first by default."""
    columns: dict[str, CellOptions] = Field(default={})
    """What differs for one column: decimal, thousands, missing, dates."""

    @field_validator("header", mode="before")
    @classmethod
    def _read_header_text(cls, value: Any) -> Any:
        if isinstance(value, str):  # of the command line
            return {"true": True, "yes": True, "false": False, "no": False}.get(value.lower(), value)
        return value if isinstance(value, bool) or value is None else _whole(value)

    @model_validator(mode="after")
    def _check_marks(self) -> Self:
        for name in [None, *self.columns]:
            how = self if name is None else self.of_column(name)
            if how.thousands is not None and how.thousands == (how.decimal or "."):
                where, got = f"columns.{name}.thousands" if name else "thousands", f"{how.thousands!r} for both"
                hint = "say decimal, too"
                raise PolicyError("decimal and thousands must differ", where=where, got=got, hint=hint)
        return self

    @classmethod
    def of(cls, base: ReadOptions | None, said: Mapping[str, Any]) -> ReadOptions:
        """Return options with what is said put over those of a policy; what is wrong with them is told by name."""
        known = {} if base is None else {name: getattr(base, name) for name in base.model_fields_set}
        try:
            return cls(**{**known, **{name: value for name, value in said.items() if value is not None}})
        except PolicyError as error:
            faults = [dc_replace(fault, where=fault.where.removeprefix("ReadOptions.")) for fault in error.faults]
            raise TableError(faults) from None

    def of_column(self, name: str) -> CellOptions:
        """Return how the cells of a column are read: as is said of it, else of the file."""
        own = self.columns.get(name)
        chosen = {field: getattr(self, field) for field in CellOptions.model_fields}
        if own is not None:
            chosen |= {field: getattr(own, field) for field in own.model_fields_set if getattr(own, field) is not None}
        return CellOptions(**chosen)

    @property
    def header_line(self) -> int:
        """The line that names the columns, from 1; 0 where none does."""
        return 1 if self.header is None else int(self.header)


def _whole(value: Any) -> Any:
    return value if isinstance(value, int) else repr(value)


PUBLISHED = ReadOptions(header=True, totals=False)
"""How anybody's published table is read: it has names of columns, and what it holds is what it shows."""
AS_WRITTEN = ReadOptions(header=True, delimiter=",", quote='"', encoding="utf-8", totals=False)
"""How our own CSV files are read back."""
