"""Roles: what a policy says about one column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as dc_replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, TypeAdapter, field_validator, model_serializer, model_validator

from shoal.errors import PolicyError
from shoal.hierarchies.base import Hierarchy
from shoal.policy.treatments import Coding, Treatment
from shoal.recodings.base import Form
from shoal.registry import Frozen, entry_schema, find, names

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core.core_schema import CoreSchema

Missing = Literal["own-value", "wildcard", "suppress", "error"]
"""What a missing value is: a value of its own; something that matches anything, published as ``*`` and counted
with nothing more specific; a reason to suppress the record; an error."""


class _Role(Frozen):
    """A column with a hierarchy, whose parameters stand beside the column's own."""

    hierarchy: Hierarchy | None = None

    @model_validator(mode="before")
    @classmethod
    def _split(cls, data: Any) -> Any:
        """Take the hierarchy's own parameters out of the column's."""
        if data is None:
            return {}
        if isinstance(data, Hierarchy):
            return {"hierarchy": data}
        if isinstance(data, str):
            data = {"hierarchy": data}
        if not isinstance(data, Mapping) or not isinstance(data.get("hierarchy"), str):
            return data
        try:
            entry = find("hierarchies", data["hierarchy"])
        except PolicyError as error:
            raise PolicyError([dc_replace(fault, where="hierarchy") for fault in error.faults]) from None
        ours = {key: value for key, value in data.items() if key in cls.model_fields}
        theirs = {key: value for key, value in data.items() if key not in cls.model_fields}
        return {**ours, "hierarchy": entry(**theirs)}

    @field_validator("hierarchy", mode="wrap")
    @classmethod
    def _hierarchy(cls, value: Any, handler: Any) -> Hierarchy | None:
        if value is None or isinstance(value, Hierarchy):
            return value
        raise ValueError("must be the name of a hierarchy, or a Hierarchy")

    @model_serializer(mode="plain")
    def _dump(self) -> dict[str, Any]:
        data: dict[str, Any] = {}
        if self.hierarchy is not None:
            data = {"hierarchy": self.hierarchy.key(), **self.hierarchy.parameters()}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if name != "hierarchy" and value != field.default:
                data[name] = _plain(value)
        return data

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        fields = {name: field for name, field in cls.model_fields.items() if name != "hierarchy"}
        kinds: dict[str, Any] = {name: Annotated[field.annotation, field] for name, field in fields.items()}
        own = {name: _inline(TypeAdapter(kind).json_schema()) for name, kind in kinds.items()}
        plain = {"type": ["object", "null"], "properties": own, "additionalProperties": False}
        branches = [plain]
        for name in names("hierarchies"):
            branch = entry_schema("hierarchies", name, "hierarchy")
            branch["properties"] = {**branch["properties"], **own}
            if name == "tree":
                branch["properties"] |= {"file": {"type": "string"}, "rows": {"type": "array"}}
                branch["required"] = ["hierarchy"]
            branches.append(branch)
        return {"oneOf": branches}


def _plain(value: Any) -> Any:
    if isinstance(value, Coding):
        return value.model_dump()
    return list(value) if isinstance(value, tuple) else value


def _inline(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose parts stand where they are used: it becomes a part of another."""
    parts = schema.pop("$defs", {})

    def fill(item: Any) -> Any:
        if isinstance(item, dict):
            return (
                fill(parts[item["$ref"].rpartition("/")[2]])
                if "$ref" in item
                else {k: fill(v) for k, v in item.items()}
            )
        return [fill(one) for one in item] if isinstance(item, list) else item

    filled: dict[str, Any] = fill(schema)
    return filled


class QuasiIdentifier(_Role):
    """A quasi-identifier: how it may be generalized and how much it matters.

    Examples
    --------
    >>> QuasiIdentifier.model_validate({"hierarchy": "intervals", "widths": [5], "weight": 3}).weight
    3.0
    """

    hierarchy: Hierarchy | None = None
    """How the column is generalized; without one, local recoding publishes ranges or value sets."""
    weight: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 1.0
    """How much the column matters: how much a loss in it counts, what a request for it weighs, and which columns
    :class:`~shoal.algorithms.WeightedBoundaries` generalizes first (the least)."""
    missing: Missing = "own-value"
    """What a missing value is."""
    boundaries: tuple[str, ...] = ()
    """The most general labels that values may reach: a value under one of them is never published above it."""
    publish: Form | None = None
    """How local recoding publishes this column, where it differs from the policy's ``publish``."""
    domain: Literal["observed", "hierarchy"] | tuple[float, float] = "observed"
    """What losses are measured against: the values that occur, all values that the hierarchy declares, or the
    range from the least to the greatest number that could occur."""
    ends: Literal["rounded", "exact"] = "rounded"
    """Where ranges of numbers or dates end if most persons have a value of their own: at round ones outside the class
    (``rounded``), or at its least and greatest value, which are those of two persons (``exact``)."""
    treatment: Treatment | None = None
    """What is done to every value before anything else (:mod:`shoal.policy.treatments`): ``{top: 90, bottom: 18}``,
    ``{round: 100}``, ``{shift_days: 183}``; as HIPAA's Safe Harbor asks it, ``zip3`` keeps three digits of a ZIP code
    (000 where few people live), ``age-90`` makes 90 of every age over 89, ``year`` keeps the year of a date. Nobody
    sees more of the column: losses are measured against what is left."""

    @model_validator(mode="after")
    def _boundaries_need_labels(self) -> QuasiIdentifier:
        if self.boundaries and self.hierarchy is None:
            raise ValueError("boundaries are labels of a hierarchy, and this column has none")
        return self


class Identifier(Frozen):
    """A column that names a person: never published, but as a pseudonym where that is asked.

    Examples
    --------
    >>> Identifier(weight=6).weight
    6.0
    """

    weight: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] | None = None
    """What a request for the column weighs; the policy's threshold where nothing is said."""
    pseudonym: Annotated[bool, Field(strict=True)] = False
    """Whether a keyed pseudonym is published in its place, in a column ``NAME.pseudonym``: the same for the same value
    in every table that is released with the same key. The key is given to :func:`shoal.anonymize`, never here."""
    digits: Annotated[int, Field(ge=8, le=64, strict=True)] = 16
    """How many hexadecimal digits a pseudonym has."""

    @model_validator(mode="before")
    @classmethod
    def _nothing(cls, data: Any) -> Any:
        return {} if data is None else data


class Sensitive(_Role):
    """A sensitive column: published as it is, and looked at by models that protect what it says of a person.

    Examples
    --------
    >>> Sensitive.model_validate({"hierarchy": "ordering", "order": ["low", "high"]}).hierarchy.order
    ('low', 'high')
    """

    hierarchy: Hierarchy | None = None
    """How near its values are to each other, for models that ask (``t-closeness``); it is published as it is."""
    weight: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 0.0
    """What a request for the column weighs; by default nothing, so that it is never a reason to generalize."""
    missing: Missing = "own-value"
    """What a missing value is; ``wildcard`` may be any value: models count it as the one that would be worst."""
    treatment: Treatment | None = None
    """What is done to every value before anything else, as for a quasi-identifier; models count what is left."""


def resolve_paths(data: dict[Any, Any], folder: Path | None) -> dict[Any, Any]:
    """Make the paths of hierarchy files absolute, seen from the policy's folder."""
    roles = [role for role in ("quasi_identifiers", "sensitive") if isinstance(data.get(role), dict)]
    if folder is None:
        return data
    if isinstance(data.get("population"), str):
        data = {**data, "population": str(folder / data["population"])}
    return {**data, **{role: {name: _absolute(spec, folder) for name, spec in data[role].items()} for role in roles}}


def _absolute(spec: Any, folder: Path) -> Any:
    names_file = isinstance(spec, dict) and "file" in spec
    return {**spec, "file": str(folder / str(spec["file"]))} if names_file else spec
