"""Forms: the fields of anything in the catalog as inputs, and what was typed as values; nothing is named here.

A field's bounds, choices and sentence come from its declaration, as they do for the YAML schema and ``--help``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from shoal.encoding import yaml as notation
from shoal.errors import PolicyError
from shoal.registry import find

_COLUMN_FIELDS = ("on",)
"""Fields that name sensitive columns."""
_SLIDERS = {"k": 50.0, "l": 10.0, "t": 1.0, "max": 1.0}
"""Fields with a slider → where it ends; larger numbers are typed."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One input of a form."""

    name: str
    kind: str
    """``number``, ``text``, ``choice``, ``truth``, ``list``, ``texts`` (a list of texts) or ``notation`` (YAML)."""
    says: str
    """What it means: the field's own sentence."""
    value: str = ""
    minimum: float | None = None
    maximum: float | None = None
    step: str = "any"
    choices: tuple[str, ...] = ()
    required: bool = False

    @property
    def slider(self) -> float | None:
        """Where its slider ends, if it has one."""
        end = _SLIDERS.get(self.name) if self.kind == "number" and self.minimum is not None else None
        return end if end is None or self.maximum is None else min(end, self.maximum)

    @property
    def title(self) -> str:
        """What stands before it."""
        return self.name.removeprefix("of-").replace("_", " ")

    def renamed(self, name: str) -> Field:
        """Return the same input under another name, where a form has other inputs beside."""
        return replace(self, name=name)


def list_fields(
    model: type[BaseModel], said: Mapping[str, Any] | None = None, columns: Sequence[str] = ()
) -> list[Field]:
    """Return the fields of an entry with the values that were said of them.

    Examples
    --------
    >>> [(field.name, field.kind, field.minimum, field.value) for field in list_fields(find("models", "k-anonymity"))]
    [('k', 'number', 2, '')]
    """
    schema = model.model_json_schema()
    schema = schema.get("oneOf", [schema])[0]  # of a role: what is said without a hierarchy
    required = {*schema.get("required", ())}
    return [
        _describe(name, rule, (said or {}).get(name), name in required, columns)
        for name, rule in schema.get("properties", {}).items()
    ]


def entry_fields(family: str, name: str, said: Mapping[str, Any], columns: Sequence[str] = ()) -> list[Field]:
    """Return the fields of an entry of the catalog."""
    return list_fields(find(family, name), said, columns)


def _describe(name: str, rule: Mapping[str, Any], value: Any, required: bool, columns: Sequence[str]) -> Field:
    kinds = [one for one in rule.get("anyOf", [rule]) if one.get("type") != "null"]
    first = kinds[0] if len(kinds) == 1 else {}
    if name in _COLUMN_FIELDS and columns and not isinstance(value, list):
        first = {"type": "string", "enum": list(columns)}
    shown = rule.get("default") if value is None else value
    return Field(
        name=name,
        kind=_kind_of(first),
        says=" ".join(str(rule.get("description", "")).split()),
        value=_write_value(shown),
        minimum=first.get("minimum", first.get("exclusiveMinimum")),
        maximum=first.get("maximum", first.get("exclusiveMaximum")),
        step="1" if first.get("type") == "integer" else "any",
        choices=tuple(map(str, first.get("enum", ()))),
        required=required,
    )


def _kind_of(rule: Mapping[str, Any]) -> str:
    if "enum" in rule:
        return "choice"
    if rule.get("type") == "array":
        inner = rule.get("items", {}).get("type")
        return {"string": "texts", "number": "list", "integer": "list"}.get(inner, "notation")
    return _KINDS.get(rule.get("type", ""), "notation")


_KINDS = {"integer": "number", "number": "number", "boolean": "truth", "string": "text"}


def _write_value(value: Any) -> str:
    if value is None or value in ([], {}):
        return ""
    if isinstance(value, (list, tuple)) and not any(isinstance(item, (list, tuple, dict)) for item in value):
        return ", ".join(map(_write_value, value))
    if isinstance(value, (dict, list, tuple)):
        return notation.dump(value if isinstance(value, dict) else list(value)).rstrip("\n")
    return (
        str(value).lower() if isinstance(value, bool) else f"{value:.15g}" if isinstance(value, float) else str(value)
    )


def read_values(fields: Sequence[Field], typed: Mapping[str, str]) -> dict[str, Any]:
    """Return what was typed, without what was left at its default: the fields are those of an entry of which nothing
    was said.

    Examples
    --------
    >>> from shoal.hierarchies import Intervals
    >>> read_values(list_fields(Intervals), {"widths": "5, 10", "origin": "0"})
    {'widths': [5, 10]}
    """
    return dict(_read_values(fields, typed))


def _read_values(fields: Sequence[Field], typed: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for field in fields:
        text = typed.get(field.name, "false" if field.kind == "truth" else "").strip()
        if text and (field.required or text != _default_text(field)):
            yield field.name, _read_value(field, text)


def _default_text(field: Field) -> str:
    return field.value if field.kind != "truth" else field.value or "false"


def _read_value(field: Field, text: str) -> Any:
    if field.kind in ("text", "choice"):
        return text
    if field.kind == "texts":
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return notation.parse(f"[{text.strip('[]')}]" if field.kind == "list" else text)
    except notation.Error:
        raise PolicyError("cannot be read", where=field.name, got=repr(text[:60]), hint="write it as YAML") from None
