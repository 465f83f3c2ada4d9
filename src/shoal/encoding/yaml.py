"""Notation: the YAML that people write policies and trees in, read without surprises."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from shoal.encoding.bounded_files import read_bounded
from shoal.encoding.terminal import escape_text
from shoal.errors import PolicyError

Error = yaml.YAMLError
_MAX_REPEATED = 100_000
"""Values that aliases of a document may repeat."""


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
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(None, None, "a key is a list or a mapping", key.start_mark)
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
    style = "'" if _NUMERIC.match(text) else None
    # within double quotes, and there only, an escape stands for what a terminal would obey
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style if escape_text(text) == text else '"')


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


def parse(text: str) -> Any:
    """Read YAML.

    Examples
    --------
    >>> parse("{answer: [No, Yes], kept: true, born: 1995-01-31}")
    {'answer': ['No', 'Yes'], 'kept': True, 'born': '1995-01-31'}
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check_repeats(node)
        return loader.construct_document(node)
    except RecursionError:  # thousands of brackets are a mistake of the file, not of the program
        raise Error("it is nested too deeply") from None
    except (
        ValueError,
        LookupError,
        AttributeError,
    ):  # PyYAML's own, of a number of 5,000 digits or a tag that its value belies
        raise Error("a value is not of the kind that it seems to be") from None
    finally:
        loader.dispose()


def _check_repeats(root: yaml.Node) -> None:
    """Refuse aliases that repeat so much that a few lines become gigabytes for whoever looks at every value."""
    sizes: dict[int, int] = {}
    if _measure(root, sizes) - len(sizes) > _MAX_REPEATED:
        raise Error(f"its aliases repeat more than {_MAX_REPEATED:,} values")


def _measure(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Return how many values a node stands for, each alias counted as what it repeats."""
    if id(node) not in sizes:
        sizes[id(node)] = 1  # of one that holds itself: what reads it says so
        inner = chain.from_iterable(node.value) if isinstance(node, yaml.MappingNode) else node.value
        if not isinstance(node, yaml.ScalarNode):
            sizes[id(node)] += sum(_measure(one, sizes) for one in inner)
    return sizes[id(node)]


def explain_error(error: yaml.YAMLError) -> str:
    """Return what is wrong with a document and where; not its line, which may be of a file that is no YAML at all.

    Examples
    --------
    >>> try:
    ...     parse("name: Charley: Chaplin")
    ... except Error as error:
    ...     print(explain_error(error))
    mapping values are not allowed here, line 1, column 14
    """
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem is None:
        return str(error)
    mark = error.problem_mark
    return error.problem if mark is None else f"{error.problem}, line {mark.line + 1}, column {mark.column + 1}"


def dump(data: Any) -> str:
    """Write YAML that :func:`parse` reads back as the same data.

    Examples
    --------
    >>> print(dump({"sensitive": ["illness"], "seed": 0}), end="")
    sensitive: [illness]
    seed: 0
    """
    return escape_text(yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110))


def parse_mapping(text: str, source: str) -> dict[Any, Any]:
    """Return the keys that a document says; what is no YAML, or no mapping, is told with its source.

    Examples
    --------
    >>> parse_mapping("k: 5", "policy.yaml")
    {'k': 5}
    """
    try:
        data = parse(text)
    except Error as error:
        raise PolicyError("is not YAML", where=source, got=" ".join(explain_error(error).split())) from None
    if not isinstance(data, dict):
        raise PolicyError("must be a mapping of keys", where=source, got=type(data).__name__)
    return data


def read_text(path: Path, what: str) -> str:
    """Return what a file holds."""
    try:
        return read_bounded(path).decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise PolicyError(f"cannot read the {what}", where=str(path), got=reason) from None
