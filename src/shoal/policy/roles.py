"""Roles: what a policy says about one column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as dc_replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_validator, model_serializer, model_validator

from shoal.errors import PolicyError
from shoal.hierarchies.base import Hierarchy
from shoal.recodings.base import Form
from shoal.registry import Frozen, entry_schema, find, names

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core.core_schema import CoreSchema

Treatment = Literal["zip3", "age-90", "year"]

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
                data[name] = list(value) if isinstance(value, tuple) else value
        return data

    @classmethod
    def _own_schema(cls) -> dict[str, Any]:
        """The JSON Schema of the column's own keys."""
        return {"missing": {"enum": ["own-value", "wildcard", "suppress", "error"], "default": "own-value"}}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        own = cls._own_schema()
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
    treatment: Treatment | None = None
    """What is done to every value before anything else, as HIPAA's Safe Harbor asks it: ``zip3`` keeps three digits of
    a ZIP code (000 where few people live), ``age-90`` makes 90 of every age over 89, ``year`` keeps the year of a date.
    Nobody sees more of the column: losses are measured against what is left."""

    @model_validator(mode="after")
    def _boundaries_need_labels(self) -> QuasiIdentifier:
        if self.boundaries and self.hierarchy is None:
            raise ValueError("boundaries are labels of a hierarchy, and this column has none")
        return self

    @classmethod
    def _own_schema(cls) -> dict[str, Any]:
        return {
            "weight": {"type": "number", "exclusiveMinimum": 0, "default": 1},
            **super()._own_schema(),
            "boundaries": {"type": "array", "items": {"type": "string"}},
            "publish": {"enum": ["labels", "ranges", "sets"]},
            "treatment": {"enum": ["zip3", "age-90", "year"]},
            "domain": {
                "anyOf": [
                    {"enum": ["observed", "hierarchy"]},
                    {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
                ]
            },
        }


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

    @classmethod
    def _own_schema(cls) -> dict[str, Any]:
        return {"weight": {"type": "number", "minimum": 0, "default": 0}, **super()._own_schema()}


def resolve_paths(data: dict[Any, Any], folder: Path | None) -> dict[Any, Any]:
    """Make the paths of hierarchy files absolute, seen from the policy's folder."""
    roles = [role for role in ("quasi_identifiers", "sensitive") if isinstance(data.get(role), dict)]
    if folder is None:
        return data
    if isinstance(data.get("population"), str):
        data = {**data, "population": str(folder / data["population"])}
    return {**data, **{role: {name: _absolute(spec, folder) for name, spec in data[role].items()} for role in roles}}


def _absolute(spec: Any, folder: Path) -> Any:
    named = isinstance(spec, dict) and "file" in spec
    return {**spec, "file": str(folder / str(spec["file"]))} if named else spec
