"""The folder is the registry: ``models/k_anonymity.py`` ⇔ ``KAnonymity`` ⇔ ``"k-anonymity"``.

A new hierarchy, model, algorithm, loss or risk is one file in its folder; nothing else names it. Packages of
others join by an entry point in the group ``shoal.<family>`` whose value is the class.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import core_schema

from shoal.errors import Fault, PolicyError, ShoalError, nearest

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

FAMILIES = ("algorithms", "models", "hierarchies", "utility", "risk", "perturbations")
_NO_ENTRIES = frozenset(
    (
        "base",
        "statistics",
        "bounds",
        "lattice",
        "cuts",
        "clustering",
        "invariance",
        "feasibility",
        "suppression",
        "mechanisms",
    )
)
"""Public modules and folders inside those of the families that hold no entry."""


class Frozen(BaseModel):
    """A frozen, validated value whose mistakes are told in our words."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    def __init__(self, /, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise PolicyError(_faults(error, type(self))) from None

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed; the copy is validated like any other value."""
        known = {field.alias or name: getattr(self, name) for name, field in type(self).model_fields.items()}
        return type(self)(**{**known, **changes})


class Entry(Frozen):
    """Base of everything in the catalog: parameters are fields, declared once."""

    family: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names that papers and tools give it; it is found by them, and written by its own."""

    @classmethod
    def key(cls) -> str:
        """Return the name in YAML, on the command line and in the docs."""
        return cls.__module__.rsplit(".", 1)[-1].replace("_", "-")

    @classmethod
    def summary(cls) -> str:
        """Return the first sentence of the docstring."""
        return (cls.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ").strip()

    @classmethod
    def notes(cls) -> dict[str, Any]:
        """Return what else a reader of the catalog should know, as plain data."""
        return {}

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that differ from their defaults, as plain data."""
        return self.model_dump(mode="json", exclude_defaults=True)


@cache
def names(family: str) -> tuple[str, ...]:
    """Return the names of all entries of a family, in alphabetical order.

    Examples
    --------
    >>> names("risk")[:3]
    ('background-knowledge', 'complementary-release', 'composition')
    """
    ours = (module.replace("_", "-") for module in _modules(family))
    return tuple(sorted({*ours, *(point.name for point in entry_points(group=f"shoal.{family}"))}))


@cache
def _modules(family: str) -> dict[str, str]:
    """Return the modules that hold an entry, and where each is: in the family's folder, or in one inside it."""
    package = importlib.import_module(f"shoal.{family}")
    return dict(_walk_modules(package.__path__, package.__name__))


def _walk_modules(folders: Iterable[str], package: str) -> Iterator[tuple[str, str]]:
    """Yield name and full name of each public module, those of public folders inside among them."""
    for module in pkgutil.iter_modules(folders, f"{package}."):
        name = module.name.rpartition(".")[2]
        if name.startswith("_") or name in _NO_ENTRIES:
            continue
        if module.ispkg:
            yield from _walk_modules([str(Path(folder, name)) for folder in folders], module.name)
        else:
            yield name, module.name


def find(family: str, name: str) -> type[Entry]:
    """Return the class of an entry, by its name or one of its aliases.

    Examples
    --------
    >>> find("models", "k-anonymity").__name__
    'KAnonymity'
    >>> find("utility", "GCP").__name__
    'CertaintyPenalty'
    """
    module = name.replace("-", "_")
    if module in _modules(family):
        return cast("type[Entry]", getattr(importlib.import_module(_modules(family)[module]), class_name(module)))
    for point in entry_points(group=f"shoal.{family}"):
        if point.name == name:
            return cast("type[Entry]", point.load())
    alias = _aliases(family).get(name.lower().replace("_", "-"))
    if alias is not None:
        return find(family, alias)
    raise PolicyError(
        Fault(f"no such entry in {family}", where="name", got=repr(name), hint=nearest(name, names(family)))
    )


@cache
def _aliases(family: str) -> dict[str, str]:
    """Return alias → name, for a whole family; it imports every entry, so only what is no name is looked up here."""
    return {alias: name for name in names(family) for alias in find(family, name).aliases}


def class_name(module: str) -> str:
    """Return the class that a module holds: ``k_anonymity`` gives ``KAnonymity``."""
    return "".join(part.capitalize() for part in module.split("_"))


def list_classes(family: str) -> list[str]:
    """Return the classes that a family's folder holds, none of them imported."""
    return [class_name(module) for module in _modules(family)]


def lazy_family(family: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a family's folder: each class is imported when it is first named."""

    def attribute(name: str) -> Any:
        module = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
        if name[:1].isupper() and module.replace("_", "-") in names(family):
            return find(family, module.replace("_", "-"))
        raise AttributeError(f"module 'shoal.{family}' has no attribute {name!r}")

    return attribute


def describe_family(family: str) -> list[dict[str, Any]]:
    """Return name, class, summary and parameters of each entry of a family, and what else it says of itself."""
    rows = []
    for name in names(family):
        entry = find(family, name)
        properties = entry.model_json_schema().get("properties", {})
        parameters = {key: {**rule, "required": _required(entry, key)} for key, rule in properties.items()}
        rows.append(
            {
                "name": name,
                "class": entry.__name__,
                "summary": entry.summary(),
                "parameters": parameters,
                **entry.notes(),
            }
        )
    return rows


def _required(entry: type[Entry], key: str) -> bool:
    return key in entry.model_fields and entry.model_fields[key].is_required()


class OneOf:
    """Pydantic annotation: an entry of a family, given as an object, a mapping with its name, or its name."""

    def __init__(self, family: str) -> None:
        self.family = family

    def parse(self, value: object) -> Entry:
        """Return the entry that a value stands for."""
        if isinstance(value, Entry):
            if value.family != self.family:
                raise PolicyError(f"must be one of the {self.family}", got=type(value).__name__)
            return value
        if isinstance(value, str):
            value = {"name": value}
        if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
            raise PolicyError("must have a name", got=repr(value), hint=nearest("", names(self.family)))
        rest = {key: item for key, item in value.items() if key != "name"}
        return find(self.family, cast("str", value["name"]))(**rest)

    def dump(self, entry: Entry) -> dict[str, Any]:
        """Return the mapping that parses back to the entry."""
        return {"name": entry.key(), **entry.parameters()}

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.parse, serialization=core_schema.plain_serializer_function_ser_schema(self.dump)
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        mappings = [entry_schema(self.family, name, "name") for name in names(self.family)]
        alone = [name for name in names(self.family) if not any(f.is_required() for f in _fields(self.family, name))]
        return {"oneOf": [*mappings, *([{"enum": alone}] if alone else [])]}


def _fields(family: str, name: str) -> Iterable[FieldInfo]:
    return find(family, name).model_fields.values()


def entry_schema(family: str, name: str, tag: str) -> dict[str, Any]:
    """Return the JSON Schema of one entry, with its name under ``tag``."""
    entry = find(family, name)
    schema = {**entry.model_json_schema(), "description": entry.summary()}
    schema["properties"] = {tag: {"const": name}, **schema.get("properties", {})}
    schema["required"] = [tag, *schema.get("required", [])]
    return schema


def _faults(error: ValidationError, model: type[BaseModel]) -> Iterable[Fault]:
    for item in error.errors():
        if item["type"] == "too_short" and item["input"]:
            continue  # its items are wrong, which is told already
        where = _where(model.__name__, item["loc"])
        cause = item.get("ctx", {}).get("error")
        if isinstance(cause, ShoalError):
            yield from (_move_fault(fault, where) for fault in cause.faults)
        else:
            yield _fault(dict(item), where, model)


def _where(root: str, location: tuple[int | str, ...]) -> str:
    path = root
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path.removeprefix("Policy.")


def _join_path(where: str, inner: str) -> str:
    if not inner:
        return where
    return f"{where}, {inner}" if "/" in inner or "\\" in inner else f"{where}.{inner}"  # a file is no key


def _move_fault(fault: Fault, where: str) -> Fault:
    # an inner value names itself by its class ("KAnonymity.k"); outside, its place in the policy is clearer
    inner = fault.where.partition(".")[2] if fault.where[:1].isupper() else fault.where
    if where == "Policy":
        return fault
    return Fault(fault.what, _join_path(where, inner), fault.got, fault.hint, fault.kind)


_WORDS = {
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be less than {lt}",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "literal_error": "must be one of {expected}",
    "missing": "is required",
    "extra_forbidden": "is not a known key",
    "too_short": "must not be empty",
    "frozen_instance": "cannot be changed; use replace()",
}


def _fault(item: dict[str, Any], where: str, model: type[BaseModel]) -> Fault:
    context = item.get("ctx", {})
    what = _WORDS.get(item["type"], "").format(**context) if item["type"] in _WORDS else _message(item)
    got = "" if item["type"] in ("missing", "extra_forbidden") else _show_value(item["input"])
    hint = ""
    if item["type"] == "extra_forbidden":
        hint = nearest(str(item["loc"][-1]), [field.alias or key for key, field in model.model_fields.items()])
    return Fault(what, where, got, hint)


def _show_value(value: object) -> str:
    try:
        return repr(value)[:80]
    except RecursionError:  # nested too deeply to be shown
        return type(value).__name__


def _message(item: dict[str, Any]) -> str:
    text = str(item["msg"]).removeprefix("Value error, ")
    return text.replace("Input should be", "must be")
