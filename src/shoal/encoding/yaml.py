"""Notation: the YAML that people write policies and trees in, read without surprises."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from shoal.errors import PolicyError

Error = yaml.YAMLError


class _Loader(yaml.SafeLoader):
    """Only ``true`` and ``false`` are truth values, and a date is a text: ``No`` is an answer or a country."""


class _Dumper(yaml.SafeDumper):
    """Short lists on one line, everything in the order given."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, rule) for tag, rule in rules if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$", re.I), list("tTfF"))


def _unique_keys(loader: _Loader, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
    """Refuse a key that is written twice: the first would be lost without a word."""
    seen: set[str] = set()
    for key, _ in node.value:
        if key.value in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key.value!r} is written twice", key.start_mark
            )
        seen.add(key.value)
    return yaml.SafeLoader.construct_mapping(loader, node, deep)


_Loader.construct_mapping = _unique_keys  # type: ignore[method-assign,assignment]

_NUMERIC = re.compile(r"^[-+]?[0-9_.]+([eE][-+]?[0-9]+)?$|^0[xo][0-9a-fA-F]+$")


def _quoted_numbers(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # a text of digits stays a text for every reader: YAML 1.1 and 1.2 disagree about 01069
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="'" if _NUMERIC.match(text) else None)


def _short_numbers(dumper: yaml.SafeDumper, number: float) -> yaml.ScalarNode:
    if number.is_integer() and abs(number) < 1e15:
        return dumper.represent_int(int(number))
    return yaml.SafeDumper.represent_float(dumper, number)


_Dumper.add_representer(str, _quoted_numbers)
_Dumper.add_representer(float, _short_numbers)
_Dumper.add_representer(
    list,
    lambda dumper, data: dumper.represent_sequence(
        "tag:yaml.org,2002:seq", data, flow_style=all(not isinstance(item, (list, dict)) for item in data)
    ),
)


def load(text: str) -> Any:
    """Read YAML.

    Examples
    --------
    >>> load("{answer: [No, Yes], kept: true, born: 1995-01-31}")
    {'answer': ['No', 'Yes'], 'kept': True, 'born': '1995-01-31'}
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except RecursionError:  # thousands of brackets are a mistake of the file, not of the program
        raise Error("it is nested too deeply") from None


def dump(data: Any) -> str:
    """Write YAML that :func:`load` reads back as the same data.

    Examples
    --------
    >>> print(dump({"sensitive": ["illness"], "seed": 0}), end="")
    sensitive: [illness]
    seed: 0
    """
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def mapping(text: str, source: str) -> dict[Any, Any]:
    """Return the keys that a document says; what is no YAML, or no mapping, is told with its source.

    Examples
    --------
    >>> mapping("k: 5", "policy.yaml")
    {'k': 5}
    """
    try:
        data = load(text)
    except Error as error:
        raise PolicyError("is not YAML", where=source, got=" ".join(str(error).split())) from None
    if not isinstance(data, dict):
        raise PolicyError("must be a mapping of keys", where=source, got=type(data).__name__)
    return data


def text_of(path: Path, what: str) -> str:
    """Return what a file holds."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise PolicyError(f"cannot read the {what}", where=str(path), got=reason) from None
