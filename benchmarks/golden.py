"""ARX's golden cases on Adult: optima, losses of given nodes, and optima found by brute force, counted by us.

The expected values are recorded figures of ARX 3.9.2; they are not measured here. A case is *applicable* where we
have its models and its loss. An optimum agrees where its loss does, to 1e-6: ARX itself asserts the loss only, for
nodes may tie. The best-effort searches of ARX, and those that take models for monotone which are not ("practical
monotonicity"), agree where our optimum is no worse. Cases whose hierarchy ARX built by itself (TestDomainShare) are
run with the hierarchy of the file: at level 0, where their optimum is, it is the same.

δ-presence with a least chance is judged class by class, as ARX does: it asks nothing of persons who match no class
once a class is suppressed or another model is there; we do. Where classes of one size are suppressed to lower a risk,
ARX goes by the order of records and we by labels: losses may differ by two percent. SNB is not compared: ARX
multiplies in its second equation where the law divides.
"""

from __future__ import annotations

import ast
import csv
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import polars as pl

from benchmarks.results import SHARED, Result
from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.best import Best
from shoal.algorithms.lattice.lattice import Lattice, NodeOutcomes
from shoal.algorithms.lattice.walk import Test
from shoal.frequencies.frequencies import Classes
from shoal.models._across import tables_of
from shoal.models.base import Holds
from shoal.models.delta_presence import DeltaPresence
from shoal.policy import Policy
from shoal.registry import find
from shoal.testing import encode_table
from shoal.utility.base import Metric

NAME = "golden"
_FOLDER = SHARED / "arx-adult"
_TOLERANCE = 1e-6
_TOLD = 20
"""Disagreements that are told one by one."""

_USA = 317_238_626
"""The population that ARX's cases of population uniqueness take."""
_BY_SIZE, _TIES = {"average-risk", "sample-uniqueness", "population-uniqueness"}, 0.02
"""Models that suppress the smallest classes, and how much it may matter which of one size."""
_OF_A_PART = {"k-map", "delta-presence"}
"""Models of a table that is a part of a population: of 3,016 records of Adult."""

Row = Mapping[str, str]

MODELS: list[tuple[str, Callable[[re.Match[str]], dict[str, Any]]]] = [
    (r"(\d+)-anonymity", lambda found: {"name": "k-anonymity", "k": int(found[1])}),
    (
        r"distinct-(\d+)-diversity for attribute '(.+)'",
        lambda found: {"name": "distinct-l-diversity", "on": found[2], "l": int(found[1])},
    ),
    (
        r"(shannon|grassberger)-entropy-([\d.]+)-diversity for attribute '(.+)'",
        lambda found: {
            "name": "entropy-l-diversity",
            "on": found[3],
            "l": float(found[2]),
            "estimator": found[1],
        },
    ),
    (
        r"recursive-\(([\d.]+),(\d+)\)-diversity for attribute '(.+)'",
        lambda found: {"name": "recursive-l-diversity", "on": found[3], "c": float(found[1]), "l": int(found[2])},
    ),
    (
        r"([\d.]+)-closeness with (equal|hierarchical|ordered) (?:ground-)?distance for attribute '(.+)'",
        lambda found: {"name": "t-closeness", "on": found[3], "t": float(found[1]), "distance": found[2]},
    ),
    (
        r"(basic|enhanced)-([\d.]+)-likeness for attribute '(.+)'",
        lambda found: {
            "name": "beta-likeness",
            "on": found[3],
            "beta": float(found[2]),
            "enhanced": found[1] == "enhanced",
        },
    ),
    (r"\((\d+)\)-map", lambda found: {"name": "k-map", "k": int(found[1])}),
    (
        r"\(([\d.]+),([\d.]+)\)-presence",
        lambda found: {"name": "delta-presence", "delta_min": float(found[1]), "delta_max": float(found[2])},
    ),
    (
        r"\(([\d.]+)\)-avg-reidentification-risk",
        lambda found: {"name": "average-risk", "threshold": float(found[1])},
    ),
    (r"\(([\d.]+)\)-sample-uniqueness", lambda found: {"name": "sample-uniqueness", "threshold": float(found[1])}),
    (
        r"\(([\d.E-]+)\)-population-uniqueness \((dankar|pitman|zayatz)\)",
        lambda found: {
            "name": "population-uniqueness",
            "threshold": float(found[1]),
            "estimator": found[2],
            "population_size": _USA,
        },
    ),
]
"""How ARX writes a criterion → the model of ours; criteria that match none are not applicable."""

_AGGREGATES = {
    "Arithmetric mean": "mean",
    "Geometric mean": "geometric-mean",
    "Rank": "rank",
    "Maximum": "max",
    "Sum": "sum",
}

LOSSES: list[tuple[str, Callable[[re.Match[str], str], dict[str, Any]]]] = [
    (
        r"Loss \((.+)/.+/.+\)",
        lambda found, how: {"name": "granularity", "gs_factor": float(found[1]), "aggregate": _AGGREGATES[how]},
    ),
    (r"Non-monotonic non-uniform entropy", lambda *_: {"name": "non-uniform-entropy", "suppressed": "apart"}),
    (r"Non-uniform entropy", lambda *_: {"name": "non-uniform-entropy", "suppressed": "ignored"}),
    (r"Non-monotonic discernability", lambda *_: {"name": "discernibility"}),
    (r"Monotonic discernability \(DM\*\)", lambda *_: {"name": "discernibility", "suppressed": "ignored"}),
    (r"Non-monotonic precision", lambda *_: {"name": "precision"}),
    (r"Monotonic precision", lambda *_: {"name": "precision", "suppressed": "ignored"}),
    (r"Average equivalence class size", lambda *_: {"name": "average-class-size"}),
    (r"Height", lambda *_: {"name": "height"}),
]
"""How ARX writes a loss, with its aggregate function → the loss of ours."""

_OBJECTIVES = {
    "gcp": {"name": "certainty-penalty"},
    "dm": {"name": "discernibility"},
    "loss_am": {"name": "granularity"},
}


def run() -> Iterator[Result]:
    """Yield for each file how many cases agree, of those that are applicable and of all, with every disagreement."""
    if not _FOLDER.exists():
        yield Result(NAME, "skipped", None, note="needs ../shared/data/arx-adult, which is not here")
        return
    spaces = Spaces()
    for name, judge in (
        ("golden-optimum.csv", _optimum),
        ("golden-node-losses.csv", _node_loss),
        ("full-domain-optima.csv", _brute_force),
    ):
        started = time.perf_counter()
        verdicts = [judge(row, spaces) for row in _rows(name)]
        yield _told(name, verdicts, time.perf_counter() - started)


@dataclass(frozen=True)
class Verdict:
    """What became of a case."""

    case: str
    agrees: bool | None
    """``None`` where it is not applicable."""
    why: str = ""


def _told(name: str, verdicts: list[Verdict], seconds: float) -> Result:
    applicable = [verdict for verdict in verdicts if verdict.agrees is not None]
    agreed = sum(verdict.agrees is True for verdict in applicable)
    lines = [f"{agreed} agreed of {len(applicable)} applicable of {len(verdicts)} cases, {seconds:.1f} s"]
    wrong = [verdict for verdict in applicable if not verdict.agrees]
    lines += [f"DISAGREES {verdict.case}: {verdict.why}" for verdict in wrong[:_TOLD]]
    lines += [f"and {len(wrong) - _TOLD} more disagree"] if len(wrong) > _TOLD else []
    reasons = Counter(verdict.why for verdict in verdicts if verdict.agrees is None)
    lines += [f"not applicable: {count} for {why}" for why, count in reasons.most_common()]
    ways = Counter(verdict.why for verdict in applicable if verdict.agrees)
    lines += [f"agreed: {count} {why}" for why, count in ways.most_common()]
    return Result(
        NAME,
        f"{name}: agreed of {len(applicable)} applicable",
        agreed,
        unit="",
        target=len(applicable),
        more_is_better=True,
        note="\n    ".join(lines),
    )


def _rows(name: str) -> list[dict[str, str]]:
    with (_FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@dataclass
class Spaces:
    """The lattices of Adult, one for each set of models and of quasi-identifiers, and all their nodes counted once."""

    lattices: dict[str, Lattice] = field(default_factory=dict)
    walked: dict[str, NodeOutcomes] = field(default_factory=dict)

    @cached_property
    def table(self) -> pl.DataFrame:
        """Adult, 30,162 records."""
        return pl.read_csv(_FOLDER / "adult.csv", separator=";", infer_schema_length=None)

    @cached_property
    def part(self) -> pl.DataFrame:
        """A tenth of Adult, 3,016 records."""
        return pl.read_csv(_FOLDER / "adult_subset.csv", separator=";", infer_schema_length=None)

    def lattice(self, names: list[str], sensitive: str, models: list[dict[str, Any]]) -> tuple[str, Lattice]:
        """Return a lattice, and what it is filed under."""
        key = repr((names, sensitive, models))
        if key not in self.lattices:
            part = any(model["name"] in _OF_A_PART for model in models)
            policy = Policy(
                population=str(_FOLDER / "adult.csv") if part else None,
                quasi_identifiers={
                    name: {
                        "hierarchy": "tree",
                        "file": str(_FOLDER / f"adult_hierarchy_{name}.csv"),
                        "domain": "hierarchy",
                    }
                    for name in names
                },
                sensitive={sensitive: self._role(sensitive, models)} if sensitive else {},
                others="drop",
                models=models,
                max_suppressed=1.0,
            )
            columns = [*names, *policy.sensitive]
            table = self.part if part else self.table
            self.lattices[key] = Lattice(encode_table(table.select(columns), policy).problem(policy))
        return key, self.lattices[key]

    def _role(self, name: str, models: list[dict[str, Any]]) -> dict[str, Any]:
        """Return how near the values of a sensitive column are: ARX takes texts in their alphabetical order."""
        distances = {model.get("distance") for model in models}
        if "ordered" in distances:
            return {"hierarchy": "ordering", "order": sorted(self.table[name].unique().to_list())}
        if "hierarchical" in distances:
            return {"hierarchy": "tree", "file": str(_FOLDER / f"adult_hierarchy_{name}.csv")}
        return {}

    def best(
        self,
        names: list[str],
        sensitive: str,
        models: list[dict[str, Any]],
        loss: Metric,
        limit: str,
        weights: str,
        *,
        most: float = np.inf,
    ) -> Best:
        """Return the best of all nodes, of those that lose no more than so much before anything is suppressed."""
        key, lattice = self.lattice(names, sensitive, models)
        key = f"{key} {loss} {most}" if np.isfinite(most) else key
        if key not in self.walked:
            nodes = lattice.nodes()
            if np.isfinite(most):
                before = lattice.look(nodes, lambda classes: np.ones(classes.count, bool))
                nodes = nodes[np.asarray(loss.totals(before.outcome)) <= most]
            self.walked[key] = lattice.look(nodes, as_arx(lattice.problem, whole=len(models) == 1))
        looked = self.walked[key]
        allowed = Policy(quasi_identifiers=names, models=[{"name": "k-anonymity", "k": 2}], max_suppressed=float(limit))
        problem = replace(
            lattice.problem,
            loss=loss,
            max_suppressed=allowed.may_suppress(lattice.problem.frequencies.records),
        )
        outcome = replace(looked.outcome, weights=_weights(weights, names))
        best = Best(problem)
        best.take(replace(looked, outcome=outcome))
        return best


def as_arx(problem: Problem, *, whole: bool) -> Test:
    """Return which classes ARX keeps: those of δ-presence are looked at one by one.

    Alone (``whole``), the model bars tables of which somebody in the population matches no class.
    """

    def test(classes: Classes) -> Holds:
        rest = tuple(model for model in problem.models if not isinstance(model, DeltaPresence))
        kept = replace(problem, models=rest).holds(classes)
        for model in problem.models:
            if isinstance(model, DeltaPresence):
                kept &= model.fits(classes, problem.background)
        least = max((model.delta_min for model in problem.models if isinstance(model, DeltaPresence)), default=0.0)
        for begin, end in tables_of(classes) if whole and least else ():
            kept[begin:end] &= int(classes.persons(problem.background)[begin:end].sum()) == problem.background.everyone
        return kept

    return test


def _weights(text: str, names: list[str]) -> np.ndarray[Any, Any]:
    given = {name: float(value) for name, value in re.findall(r"([\w-]+)=([\d.]+)", text)}
    return np.array([given.get(name, 1.0) for name in names])


def _models(criteria: str) -> list[dict[str, Any]] | str:
    """Return our models for the criteria of a case, or the first criterion that we have no model for."""
    models = []
    for part in criteria.split(" + "):
        found = next(((make, match) for pattern, make in MODELS if (match := re.fullmatch(pattern, part))), None)
        if found is None:
            return re.sub(r"[\d.]+(E-\d+)?", "…", part.partition(" for attribute")[0])
        models.append(found[0](found[1]))
    return models


def _loss(row: Row) -> Metric | str:
    """Return our loss for that of a case, or the name of one that we do not have."""
    for pattern, make in LOSSES:
        found = re.fullmatch(pattern, row["metric_text"])
        if found is not None:
            return _metric(make(found, row["aggregate"]))
    return row["metric_text"]


def _metric(given: Mapping[str, Any]) -> Metric:
    parameters = {name: value for name, value in given.items() if name != "name"}
    return cast("Metric", find("utility", given["name"])(**parameters))


def _optimum(row: Row, spaces: Spaces) -> Verdict:
    """Judge an optimum that ARX found."""
    case = f"{row['test']} {row['index']} ({row['criteria']}, limit {row['suppression_limit']}, {row['metric_text']})"
    models, loss = _models(row["criteria"]), _loss(row)
    if isinstance(models, str):
        return Verdict(case, None, f"the model {models}")
    if isinstance(loss, str):
        return Verdict(case, None, f"the loss {loss}")
    names, given = row["qis"].split("|"), (row["suppression_limit"], row["attribute_weights"])
    slow = models[0]["name"] == "population-uniqueness"  # estimates take their time: leave hopeless nodes out
    most = _numbers(row["expected_loss"])[0] * (1.0 + _TIES) if slow else np.inf
    best = spaces.best(names, row["sensitive"], models, loss, *given, most=most)
    if row["no_solution"] == "1" or best.node is None:
        agrees = (row["no_solution"] == "1") == (best.node is None)
        return Verdict(case, agrees, "by finding none" if agrees else "one of us finds a node, the other none")
    expected, ours = _numbers(row["expected_loss"]), _ours(best, loss)
    levels = "|".join(map(str, best.node.tolist()))
    if row["algorithm"].startswith("BEST_EFFORT") or row["practical_monotonicity"] == "True":
        worse = _first_difference(ours, expected) > 0
        return Verdict(case, not worse, f"ours {ours} is worse than {expected}" if worse else "as no worse")
    if _equal(ours, expected):
        return Verdict(case, True, "in levels" if levels == row["expected_levels"] else "in loss, at a node that ties")
    if {model["name"] for model in models} & _BY_SIZE and ours[0] <= expected[0] * (1.0 + _TIES):
        return Verdict(case, True, "but for which classes of one size are suppressed")
    return Verdict(case, False, f"loss {ours} at {levels}, expected {expected} at {row['expected_levels']}")


def _ours(best: Best, loss: Metric) -> list[float]:
    assert best.ranks is not None
    return best.ranks.tolist() if getattr(loss, "aggregate", "") == "rank" else [best.loss]


def _node_loss(row: Row, spaces: Spaces) -> Verdict:
    """Judge the loss of a node."""
    case = f"{row['index']} ({row['criteria']}, {row['metric_text']}, {row['levels']})"
    models, loss = _models(row["criteria"]), _loss(row)
    if isinstance(models, str):
        return Verdict(case, None, f"the model {models}")
    if isinstance(loss, str):
        return Verdict(case, None, f"the loss {loss}")
    _, lattice = spaces.lattice(row["qis"].split("|"), row["sensitive"], models)
    nodes = np.array([row["levels"].split("|")]).astype(np.int16)
    looked = lattice.look(nodes, as_arx(lattice.problem, whole=False))
    ours, expected = np.asarray(loss.totals(looked.outcome)).tolist(), _numbers(row["expected_loss"])
    if getattr(loss, "aggregate", "") == "rank":
        ours = loss.ranks(looked.outcome)[0].tolist()
    if _equal(ours, expected):
        return Verdict(case, True, f"in {loss.key()}")
    out = int(looked.suppressed[0])
    return Verdict(case, False, f"loss {ours}, expected {expected}; {out} records suppressed")


def _brute_force(row: Row, spaces: Spaces) -> Verdict:
    """Judge an optimum that was found by looking at every node."""
    case = f"{row['qi_set']}, k={row['k']}, limit {row['suppression_limit']}, {row['objective']}"
    names = spaces.table.columns[: int(row["qi_set"][1:])]
    models = [{"name": "k-anonymity", "k": int(row["k"])}]
    best = spaces.best(names, "", models, _metric(_OBJECTIVES[row["objective"]]), row["suppression_limit"], "")
    assert best.node is not None
    levels = "|".join(map(str, best.node.tolist()))
    if not _equal([best.loss], [float(row["best_value"])]):
        return Verdict(case, False, f"loss {best.loss} at {levels}, known {row['best_value']} at {row['levels']}")
    return Verdict(case, True, "in levels" if levels == row["levels"] else "in loss, at a node that ties")


def _numbers(text: str) -> list[float]:
    found = ast.literal_eval(text)
    return [float(value) for value in found] if isinstance(found, list) else [float(found)]


def _equal(ours: Iterable[float], expected: Iterable[float]) -> bool:
    return _first_difference(ours, expected) == 0.0


def _first_difference(ours: Iterable[float], expected: Iterable[float]) -> float:
    """The first difference that is none of rounding: ARX rounds the losses of columns to ten digits."""
    for one, other in zip(ours, expected, strict=True):
        if abs(one - other) > max(_TOLERANCE * abs(other), 1e-9):
            return one - other
    return 0.0
