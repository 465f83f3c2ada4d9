"""The hierarchy of one column: what it looks like, what it costs, what is wrong with it, what else would fit."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from shoal.encoding.domains import Domain
from shoal.engines.columns import column_domain
from shoal.engines.dictionary import TableDictionary
from shoal.engines.memory.source import open_in_memory
from shoal.errors import Fault, HierarchyError, PolicyError, TableError, nearest
from shoal.hierarchies._cover import find_cover_faults, find_same_levels
from shoal.hierarchies._nodes import Row, rows
from shoal.hierarchies._steps import check_coarsening
from shoal.hierarchies.auto import Auto, TriedHierarchy
from shoal.hierarchies.base import Hierarchy, Levels
from shoal.hierarchies.suppress import Suppress
from shoal.hierarchies.tree import Tree
from shoal.models.k_anonymity import KAnonymity
from shoal.pipeline.check import check
from shoal.pipeline.encode import encode_column
from shoal.policy import Policy, QuasiIdentifier
from shoal.registry import find, names
from shoal.reporting.hierarchy_page import HierarchyTitle, render_hierarchy_page
from shoal.reporting.html import write_page
from shoal.reporting.svg.hierarchy import draw_hierarchy

_FEW = 100
"""A column with at most so many values is there to compare another column's values by."""


@dataclass(frozen=True)
class Inspection:
    """The levels of one column, with the records under each label."""

    column: str
    hierarchy: Hierarchy
    levels: Levels
    rows: tuple[Row, ...]
    compared: list[dict[str, Any]]
    """What ``auto`` compared; nothing for other hierarchies."""

    def to_dict(self) -> dict[str, Any]:
        """Return what scripts rely on."""
        data: dict[str, Any] = {
            "column": self.column,
            "method": self.hierarchy.key(),
            "nested": self._is_nested,
            "levels": [row.to_dict() for row in self.rows],
        }
        return {**data, "compared": self.compared} if self.compared else data

    def write(self, path: Path) -> None:
        """Write the levels: one row per value as ARX does, or a tree where the file ends with .yaml or .xml.

        The missing value has no row: what happens to it is the policy's to say.
        """
        levels, values = self.levels, len(self.levels.domain)
        codes = levels.codes[:, :values].tolist()
        labels = [[levels.labels[n][number] or "" for number in row] for n, row in enumerate(codes)]
        cells = list(zip(*labels, strict=True))
        if path.suffix.lower() in (".yaml", ".yml", ".xml"):
            if not self._is_nested:
                raise HierarchyError("is no tree: its levels do not nest", where=self.column, hint="write .csv")
            Tree(rows=cells).write(path)  # type: ignore[call-arg]  # rows become nodes
            return
        text = io.StringIO()
        csv.writer(text, delimiter=";", lineterminator="\n").writerows(cells)
        write_page(path, text.getvalue(), "hierarchy")

    def draw(self, path: Path) -> None:
        """Write a drawing: an SVG, or a page with the drawing and what each level costs."""
        kind = self.levels.domain.kind
        if path.suffix.lower() == ".svg":
            write_page(path, draw_hierarchy(self.rows, f"{self.column}: {self._method}", kind=kind), "drawing")
            return
        title = HierarchyTitle(
            column=self.column,
            method=self._method,
            kind=kind,
            summary=self.hierarchy.summary(),
            parameters={name: str(value)[:200] for name, value in self.hierarchy.parameters().items()},
        )
        write_page(path, render_hierarchy_page(self.rows, title, self.compared), "page")

    @property
    def _is_nested(self) -> bool:
        return all(len(node.parents) <= 1 for row in self.rows for node in row.nodes)

    @property
    def _method(self) -> str:
        chosen = [row["method"] for row in self.compared if row["chosen"]]
        return f"{self.hierarchy.key()} ({chosen[0]})" if chosen else self.hierarchy.key()


def draft_policy(table: object, column: str, spec: Mapping[str, Any], *, k: int = 5) -> Policy:
    """Return a policy to look at one column with; the others with few values are there to compare its values by.

    Raises
    ------
    HierarchyError
        If there is no such hierarchy, or it has no such parameter: the error names the nearest.
    """
    counted = open_in_memory(table).table
    _require_column(counted.frame, column)
    others = [name for name in counted.frame.columns if name != column and counted.frame[name].n_unique() <= _FEW]
    try:
        wanted = _parse_spec(spec)
    except PolicyError as error:
        # the parameters as a whole are no news to who has just typed them
        faults = [replace(fault, got="" if fault.got.startswith("{") else fault.got) for fault in error.faults]
        raise HierarchyError(faults) from None
    columns: dict[str, Any] = {column: wanted, **dict.fromkeys(others)}
    return Policy(quasi_identifiers=columns, others="drop", models=[KAnonymity(k=k)])


def _parse_spec(spec: Mapping[str, Any]) -> QuasiIdentifier:
    # the hierarchy first, so that an error names its parameter and not its place in a policy that nobody wrote
    method = spec.get("hierarchy")
    ours = {key: value for key, value in spec.items() if key in QuasiIdentifier.model_fields and key != "hierarchy"}
    theirs = {key: value for key, value in spec.items() if key not in QuasiIdentifier.model_fields}
    built = None if method is None else cast("Hierarchy", find("hierarchies", str(method))(**theirs))
    return QuasiIdentifier(hierarchy=built, **ours)


def _require_column(frame: pl.DataFrame, column: str) -> None:
    if column not in frame.columns:
        raise TableError("no such column in the table", where=column, hint=nearest(column, frame.columns))


def _spec(policy: Policy, column: str) -> QuasiIdentifier:
    if column not in policy.quasi_identifiers:
        hint = nearest(column, policy.quasi_identifiers) if policy.quasi_identifiers else "it names none at all"
        raise PolicyError("no such quasi-identifier in the policy", where=column, hint=hint)
    return policy.quasi_identifiers[column]


def inspect(table: object, column: str, policy: Policy) -> Inspection:
    """Return the levels of one column: each label with its records, what it covers, its distortion and its loss.

    Examples
    --------
    >>> ages = pl.DataFrame({"age": [21, 24, 25, 25]})
    >>> seen = inspect(ages, "age", draft_policy(ages, "age", {"hierarchy": "intervals", "widths": [5]}))
    >>> [(node.label, node.records) for node in seen.rows[1].nodes]
    [('[20, 24]', 2), ('[25, 29]', 2)]
    """
    counted = open_in_memory(table, policy.reading).table
    _require_column(counted.frame, column)
    spec = _spec(policy, column)
    built, compared = spec.hierarchy or Suppress(), []
    if isinstance(built, Auto):  # compared once; what is kept is then built by name
        candidates = built.compare(column_domain(counted, column, policy))
        compared = _candidates(built, candidates, policy)
        kept = spec.replace(hierarchy=candidates[0].hierarchy)
        policy = policy.replace(quasi_identifiers={**policy.quasi_identifiers, column: kept})
    encoded, codes = encode_column(TableDictionary(counted, policy), column)
    levels = encoded.levels
    counts = np.bincount(codes, minlength=levels.size)[: levels.size]
    return Inspection(column, built, levels, tuple(rows(levels, built.distortions(levels), counts)), compared)


def compare_candidates(table: object, column: str, policy: Policy) -> list[dict[str, Any]]:
    """Return every hierarchy that fits a column and what it costs at the policy's k, the best first.

    Examples
    --------
    >>> ages = pl.DataFrame({"age": [21, 24, 25, 25]})
    >>> [row["method"] for row in compare_candidates(ages, "age", draft_policy(ages, "age", {}, k=2))][:2]
    ['dynamic-concept', 'quantiles']
    """
    counted = open_in_memory(table, policy.reading).table
    _require_column(counted.frame, column)
    return _candidates(Auto(), Auto().compare(column_domain(counted, column, policy)), policy)


def _candidates(auto: Auto, candidates: Sequence[TriedHierarchy], policy: Policy) -> list[dict[str, Any]]:
    k = max(policy.k, 2) if auto.k is None else auto.k
    return [_candidate(candidate, k, index == 0) for index, candidate in enumerate(candidates)]


def _candidate(candidate: TriedHierarchy, k: int, is_chosen: bool) -> dict[str, Any]:
    levels = candidate.levels
    distortions = candidate.hierarchy.distortions(levels)
    return {
        "method": candidate.hierarchy.key(),
        "k": k,
        "loss_at_k": candidate.losses.get(k),
        "loss": candidate.loss,
        "losses": {str(least): loss for least, loss in candidate.losses.items()},
        "levels": levels.height + 1,
        "nodes": [len(np.unique(codes)) for codes in levels.codes],
        "distortion": [[float(row.min()), float(row.max())] if len(row) else [0.0, 0.0] for row in distortions],
        "nested": levels.nested,
        "chosen": is_chosen,
    }


def hierarchy_faults(table: object, column: str, policy: Policy) -> list[Fault]:
    """Return what is wrong with the hierarchy of a column; faults of the kind ``note`` are only worth knowing.

    Examples
    --------
    >>> hours = pl.DataFrame({"hours": range(1, 101)})
    >>> policy = draft_policy(hours, "hours", {"hierarchy": "divisor-based", "smallest": 10})
    >>> print(*hierarchy_faults(hours, "hours", policy), sep="\\n")
    hours: level 3 does not coarsen level 2: '[21, 40]' has 2 parents ...
    """
    source = open_in_memory(table, policy.reading)
    _require_column(source.frame, column)
    hierarchy = _spec(policy, column).hierarchy
    if hierarchy is None:
        raise PolicyError("the policy gives this column no hierarchy", where=column)
    where = f"quasi_identifiers.{column}"
    faults = [
        Fault(fault.what, fault.where.removeprefix("quasi_identifiers."), fault.got, fault.hint)
        for fault in check(source, policy)
        if fault.where == where or fault.where.startswith((f"{where},", f"{where}."))
    ]
    domain = column_domain(source.table, column, policy)
    for fault in _level_faults(hierarchy, domain):
        index = f"{column}, {fault.where}" if fault.where else column
        faults.append(Fault(fault.what, index, fault.got, fault.hint, fault.kind))
    return faults


def _level_faults(hierarchy: Hierarchy, domain: Domain) -> Iterator[Fault]:
    is_built = hierarchy.nested  # then its levels have been checked already, and it is refused where they do not nest
    if any(hierarchy.faults(domain)):  # values are not covered: look at the others
        known = set(hierarchy.leaves())
        domain = domain.take(np.flatnonzero([text in known for text in domain.texts]))
        is_built = False
    if not len(domain) or any(hierarchy.faults(domain)):
        return
    steps = list(hierarchy.steps(domain))
    if not is_built:
        yield from check_coarsening(steps)
    yield from hierarchy.gaps(domain)
    yield from chain(find_cover_faults(steps, domain), find_same_levels(steps))


def parameter_kinds(method: str) -> dict[str, Any]:
    """Return the type of each parameter of a hierarchy, so that a door can read it from text."""
    if method not in names("hierarchies"):
        raise HierarchyError(
            "no such way to build levels", where="method", got=repr(method), hint=nearest(method, names("hierarchies"))
        )
    return {name: field.annotation for name, field in find("hierarchies", method).model_fields.items()}
