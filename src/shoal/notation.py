"""Notation: the YAML that people write policies and trees in, read without surprises."""

from __future__ import annotations

import re
from typing import Any

import yaml

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
