"""Policies from projects of ARX, with notes on what has no counterpart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shoal.encoding import yaml as notation
from shoal.hierarchies._branches import to_csv
from shoal.importers.arx_project import ArxColumn, ArxProject
from shoal.policy import Policy

_NUMBER = r"([0-9.]+(?:E-?[0-9]+)?)"
_ON = r" for attribute '(.*)'"


def _whole(text: str) -> int:
    return int(float(text))


Make = Callable[..., dict[str, Any]]
_PROMISES: tuple[tuple[str, Make], ...] = (
    (rf"{_NUMBER}-anonymity", lambda k: {"name": "k-anonymity", "k": _whole(k)}),
    (rf"distinct-{_NUMBER}-diversity{_ON}", lambda l, on: {"name": "distinct-l-diversity", "on": on, "l": _whole(l)}),  # noqa: E741
    (
        rf"(?:(shannon|grassberger)-)?entropy-{_NUMBER}-diversity{_ON}",
        lambda estimator, l, on: {  # noqa: E741 - the parameter's own letter
            "name": "entropy-l-diversity",
            "on": on,
            "l": float(l),
            "estimator": estimator or "shannon",
        },
    ),
    (
        rf"recursive-\({_NUMBER},{_NUMBER}\)-diversity{_ON}",
        lambda c, l, on: {"name": "recursive-l-diversity", "on": on, "c": float(c), "l": _whole(l)},  # noqa: E741
    ),
    (
        rf"{_NUMBER}-closeness with equal ground-distance{_ON}",
        lambda t, on: {"name": "t-closeness", "on": on, "t": float(t)},
    ),
    (
        rf"{_NUMBER}-closeness with ordered distance{_ON}",
        lambda t, on: {"name": "t-closeness", "on": on, "t": float(t), "distance": "ordered"},
    ),
    (
        rf"{_NUMBER}-disclosure privacy{_ON}",
        lambda delta, on: {"name": "delta-disclosure", "on": on, "delta": float(delta)},
    ),
    (
        rf"(basic|enhanced)-{_NUMBER}-likeness{_ON}",
        lambda kind, beta, on: {
            "name": "beta-likeness",
            "on": on,
            "beta": float(beta),
            "enhanced": kind == "enhanced",
        },
    ),
    (rf"\(<?{_NUMBER}\)-avg-reidentification-risk", lambda t: {"name": "average-risk", "threshold": float(t)}),
    (rf"\({_NUMBER}\)-sample-uniqueness", lambda t: {"name": "sample-uniqueness", "threshold": float(t)}),
)
"""How ARX writes a promise, and what it is called here. The hierarchical distance needs a hierarchy of the sensitive
column, which no policy takes from there; populations are not in a project."""

_USUAL_WEIGHT = 0.5
"""What ARX gives every column, between 0 and 1; here it is 1."""
_NO_FILE_NAME = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, kw_only=True)
class ImportedPolicy:
    """A policy with the files that it names, and notes for its reader."""

    policy: Policy
    notes: tuple[str, ...]
    hierarchies: Mapping[str, str]
    """The CSV file of each hierarchy, by the path that the policy has for it."""
    files: Mapping[str, str]
    """The path of the hierarchy of each quasi-identifier."""

    def to_yaml(self) -> str:
        """Return the policy as YAML that names its hierarchies' files, with the notes as comments above it."""
        data = self.policy.to_dict()
        for name, path in self.files.items():
            rest = {key: value for key, value in data["quasi_identifiers"][name].items() if key != "nodes"}
            data["quasi_identifiers"][name] = {**rest, "hierarchy": "tree", "file": path}
        data["algorithm"] = {"name": self.policy.algorithm.key(), **self.policy.algorithm.parameters()}
        comments = "".join(f"# {' '.join(note.split())}\n" for note in self.notes)
        return comments + notation.dump({key: value for key, value in data.items() if value != []})


def translate_project(project: ArxProject) -> ImportedPolicy:
    """Return the policy that a project stands for.

    Examples
    --------
    >>> from shoal.importers.arx_project import ArxColumn, ArxProject
    >>> age = ArxColumn(name="age", role="quasi-identifying", hierarchy=(("34", "30-39", "*"), ("45", "40-49", "*")))
    >>> imported = translate_project(ArxProject(columns=(age,), criteria=("5-anonymity",), max_outliers=0.02))
    >>> imported.policy.k, imported.policy.max_suppressed, imported.files
    (5, 0.02, {'age': 'hierarchies/1-age.csv'})
    """
    by_role = {role: [one for one in project.columns if one.role == role] for role in ("identifying", "sensitive")}
    quasi = [one for one in project.columns if one.role == "quasi-identifying"]
    models, unknown = _promises(project)
    policy = Policy(
        identifiers=[one.name for one in by_role["identifying"]],
        quasi_identifiers={one.name: _quasi_identifier(one) for one in quasi},
        sensitive=[one.name for one in by_role["sensitive"]],
        others="keep",
        models=models,
        algorithm="optimal",
        max_suppressed=min(max(project.max_outliers, 0.0), 1.0),
    )
    files = {
        one.name: f"hierarchies/{number}-{_NO_FILE_NAME.sub('_', one.name)[:80]}.csv"
        for number, one in enumerate(quasi, 1)
        if one.hierarchy
    }
    return ImportedPolicy(
        policy=policy,
        notes=(*unknown, *_describe(project), *(note for one in quasi for note in _describe_column(one))),
        hierarchies={files[one.name]: to_csv(one.hierarchy) for one in quasi if one.hierarchy},
        files=files,
    )


def _promises(project: ArxProject) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the models, and notes on promises that are not kept by them: those come first."""
    models, unknown = [], []
    for text in project.criteria:
        found = next(((make, match) for form, make in _PROMISES if (match := re.fullmatch(form, text))), None)
        if found is None:
            unknown.append(f"models: NOT PROMISED: {text}. The policy asks for less than the project.")
        else:
            make, match = found
            models.append(make(*match.groups()))
    if not project.criteria:
        unknown.append("models: the project promises nothing; name a model before anything is released.")
    return models, unknown


def _quasi_identifier(column: ArxColumn) -> dict[str, Any]:
    role: dict[str, Any] = {}
    if column.hierarchy:
        role |= {"hierarchy": "tree", "rows": [list(row) for row in column.hierarchy]}
        if column.most_level is not None and column.most_level < len(column.hierarchy[0]) - 1:
            role["boundaries"] = tuple(dict.fromkeys(row[column.most_level] for row in column.hierarchy))
    if column.weight and column.weight != _USUAL_WEIGHT:
        role["weight"] = column.weight / _USUAL_WEIGHT
    return role


def _describe(project: ArxProject) -> Iterator[str]:
    title = f" {project.name!r}" if project.name else ""
    yield f"project{title}, ARX {project.version or 'of unknown version'}."
    kept = [one.name for one in project.columns if one.role == "insensitive"]
    if kept:
        yield f"others: published as they are, as the project has them: {', '.join(kept)}."
    if project.metric:
        yield f"loss: the project measures {project.metric!r}; here the certainty penalty, unless loss says otherwise."
    yield "algorithm: optimal searches as ARX does (one level per column); shoal loses less, each class by itself."
    if project.has_data:
        yield f"data: the project holds a copy of the table, cut at {project.delimiter!r}; --data writes it."
    if project.others:
        yield f"passed over: {', '.join(project.others)} (results and views of ARX)."


def _describe_column(column: ArxColumn) -> Iterator[str]:
    if not column.hierarchy:
        yield f"{column.name}: no hierarchy; full-domain searches publish it as it is."
    if column.weight == 0:
        yield f"{column.name}: of no weight in ARX; here every column has some."
    if column.least_level:
        yield f"{column.name}: generalized at least to level {column.least_level} in ARX; nothing here asks for that."
    if column.microaggregation:
        yield f"{column.name}: microaggregated by {column.microaggregation} in ARX; see perturb in the policy."
