"""Every entry of the catalog passes the checks of shoal.testing, and everything public is told."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal import registry as catalog
from shoal import testing
from shoal.algorithms.base import Algorithm
from shoal.encoding.domains import Domain
from shoal.errors import Misfit, PolicyError
from shoal.models.base import PrivacyModel
from shoal.policy import Policy
from shoal.utility.base import Metric
from tests.strategies import lead, tables_and_policies, unexplained

ROOT = Path(__file__).parents[2]
ENTRIES = [(family, name) for family in catalog.FAMILIES for name in catalog.names(family)]
ALGORITHMS = [
    *(pytest.param(catalog.find("algorithms", name)(), id=name) for name in catalog.names("algorithms")),
    pytest.param(catalog.find("algorithms", "mondrian")(cuts="relaxed"), id="mondrian relaxed"),
    pytest.param(
        catalog.find("algorithms", "spanning-tree")(removal="allowable", joining="penalty", block=5),
        id="spanning-tree allowable",
    ),
]
MODELS = {
    "k-anonymity": [{"k": 2}, {"k": 3}, {"k": 7}],
    "distinct-l-diversity": [{"on": "illness", "l": 2}, {"on": "illness", "l": 3}],
    "entropy-l-diversity": [
        {"on": "illness", "l": number, "estimator": how}
        for number in (1.5, 2, 3, 1.7547653506)
        for how in ("shannon", "grassberger")
    ],
    "recursive-l-diversity": [{"on": "illness", "c": c, "l": number} for c in (0.5, 1, 2.5) for number in (2, 3)],
    "p-sensitive": [{"on": "illness", "p": 2, "k": 2}, {"on": "illness", "p": 3, "k": 5}],
    "alpha-k-anonymity": [{"on": "illness", "alpha": alpha, "k": k} for alpha in (0.3, 0.5, 1) for k in (2, 4)],
    "t-closeness": [
        {"on": "illness", "t": t, "distance": how}
        for t in (0, 0.1, 0.25, 0.5, 1)
        for how in ("equal", "ordered", "hierarchical")
    ],
    "beta-likeness": [
        {"on": "illness", "beta": beta, "enhanced": how} for beta in (0.2, 0.5, 1, 2) for how in (False, True)
    ],
    "personal-k": [{"on": "illness"}, {"on": "illness", "most": 2}, {"on": "illness", "most": 3, "default": 7}],
    "scenarios": [
        {"any_of": 1, "k": 3},
        {"known": [["a"], ["a", "b"]], "k": 2},
        *({"any_of": 2, "k": 2, "on": "illness", "confidence": share} for share in (0.4, 0.5, 1)),
    ],
    "differential-privacy": [{"epsilon": 2, "delta": 0.3}, {"epsilon": 1, "delta": 0.1, "beta": 0.5}],
    "delta-disclosure": [{"on": "illness", "delta": delta} for delta in (0.1, 0.5, 1, 3)],
    "wildcard-k-anonymity": [{"k": 2}, {"k": 5}],
    "k-map": [{"k": 2}, {"k": 8}, {"k": 15}],
    "delta-presence": [
        {"delta_min": low, "delta_max": high} for low in (0, 0.4, 0.45) for high in (0.45, 0.49, 0.5, 1)
    ],
    "average-risk": [{"threshold": share} for share in (0.05, 0.1, 0.25, 0.5, 0.9)],
    "sample-uniqueness": [{"threshold": share} for share in (0, 0.05, 0.2, 0.5)],
    "population-uniqueness": [
        {"threshold": share, "estimator": how, **size}
        for share in (0, 0.02, 0.3)
        for how in ("dankar", "pitman", "zayatz", "snb")
        for size in ({"fraction": 0.3}, {"population_size": 5000}, {})
    ],
}
DAYS = np.array([9131, 9132, 9161, 9162, 12477])
ORDERED = [
    Domain.of("integer", [1, 2, 3, 5, 8, 13, 21, 34, 55, 90]),
    Domain.of("integer", [-40, -3, 0, 2, 999]),
    Domain.of("integer", [7]),
    Domain.of("integer", [-(10**15), 0, 10**15]),
    Domain.of("float", [-2.5, -0.1, 0.0, 0.1, 0.3, 1e6]),
    Domain("date", DAYS, tuple(str(np.datetime64(int(d), "D")) for d in DAYS)),
]
HIERARCHIES: list[tuple[str, dict[str, Any], Domain]] = [
    ("suppress", {}, Domain.of("text", ["a", "b", "c"])),
    ("suppress", {}, Domain.of("integer", [1])),
    ("mask", {"keep": [3, 1]}, Domain.of("text", ["12345", "12399", "13", "2", "99999"])),
    ("mask", {"keep": [2], "side": "suffix"}, Domain.of("text", ["1a", "2a", "31b"])),
    ("grid", {"cells": [0.5, 1, 10]}, Domain.of("text", ["-0.2, 179.9", "48.1, 11.5", "48.4, 11.9", "48.6, 11.5"])),
    ("intervals", {"widths": [5, 10, 20]}, Domain.of("integer", list(range(-12, 60, 7)))),
    ("intervals", {"widths": [0.1, 0.5], "origin": 0.05}, Domain.of("float", [-0.35, 0.1, 0.15, 0.3, 7.0])),
    ("intervals", {"breaks": [[0, 18, 65, 120], [0, 65, 120]]}, Domain.of("integer", [0, 17, 18, 64, 65, 120])),
    ("dates", {}, Domain("date", DAYS, tuple(str(np.datetime64(int(d), "D")) for d in DAYS))),
    ("tree", {"nodes": {"*": {"x": ["a", "b"], "y": {"z": ["c"]}}}}, Domain.of("text", ["a", "b", "c"])),
    ("tree", {"rows": [["a", "x", "*"], ["b", "y", "*"]]}, Domain.of("text", ["a", "b"])),
    ("ordering", {"order": ["c", "a", "b"], "sizes": [2]}, Domain.of("text", ["a", "b", "c"])),
    ("rare", {"records": [2, 4]}, Domain("text", np.array(list("abcd")), tuple("abcd"), counts=np.array([9, 1, 1, 3]))),
    (
        "similarity",
        {},
        Domain(
            "text", np.array(list("abcde")), tuple("abcde"), profiles=lambda: np.random.default_rng(0).random((5, 3))
        ),
    ),
    *(
        (name, parameters, domain)
        for name, parameters in (
            ("conventional", {"smallest": 3}),
            ("cardinality-based", {"smallest": 3}),
            ("on-the-fly", {}),
            ("improved-on-the-fly", {"records": 3}),
            ("dynamic-concept", {"records": 2}),
            ("quantiles", {"parts": [4, 2]}),
            ("auto", {}),
        )
        for domain in ORDERED
    ),
    ("divisor-based", {"smallest": 3}, Domain.of("integer", [1, 9, 30, 100])),
]


@pytest.mark.parametrize(("family", "name"), ENTRIES)
def test_entries_are_named_after_their_file_and_explain_themselves(family: str, name: str) -> None:
    entry = catalog.find(family, name)
    testing.check_entry(entry)
    assert getattr(importlib.import_module(f"shoal.{family}"), entry.__name__) is entry


@pytest.mark.parametrize("family", catalog.FAMILIES)
def test_names_for_editors_are_those_of_the_folder(family: str) -> None:
    package = importlib.import_module(f"shoal.{family}")
    entries = {catalog.find(family, name).__name__ for name in catalog.names(family)}
    text = Path(str(package.__file__)).read_text(encoding="utf-8")
    named = {line.split()[3] for line in text.splitlines() if line.startswith("    from ")}
    assert named == entries, f"shoal/{family}/__init__.py must name {entries ^ named}"
    assert entries <= set(package.__all__)


@pytest.mark.parametrize(("family", "name"), ENTRIES)
def test_entries_are_told_in_the_catalog(family: str, name: str) -> None:
    assert f"`{name}`" in (ROOT / "docs" / "catalog.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("family", "name"), [e for e in ENTRIES if e[0] in ("models", "algorithms")])
def test_promises_and_searches_say_why_they_are_safe(family: str, name: str) -> None:
    text = catalog.find(family, name).__doc__ or ""
    assert "Why it is safe" in text
    assert "References" in text


def test_every_hierarchy_is_tried() -> None:
    assert {name for name, _, _ in HIERARCHIES} == set(catalog.names("hierarchies"))


@pytest.mark.parametrize(("name", "parameters", "domain"), HIERARCHIES)
def test_hierarchies(name: str, parameters: dict[str, Any], domain: Domain) -> None:
    testing.check_hierarchy(catalog.find("hierarchies", name)(**parameters), domain)  # type: ignore[arg-type]


def test_every_model_is_tried() -> None:
    assert set(MODELS) == set(catalog.names("models"))


@settings(max_examples=50, deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, data: st.DataObject) -> None:
    row = st.lists(st.integers(0, 4), min_size=4, max_size=4)
    values = data.draw(st.lists(row.filter(any), min_size=1, max_size=6))
    wild = data.draw(st.lists(st.sampled_from([0, 0, 1, 3]), min_size=len(values), max_size=len(values)))
    model = cast("PrivacyModel", catalog.find("models", name)(**data.draw(st.sampled_from(MODELS[name]))))
    testing.check_model(model, values, wild=data.draw(st.sampled_from([None, wild])), rest=data.draw(row))


@settings(max_examples=50, deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", catalog.names("utility"))
def test_metrics(name: str, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 5))
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    share = st.floats(0, 1)
    rows = data.draw(st.lists(st.lists(share, min_size=2, max_size=2), min_size=count, max_size=count))
    suppressed = data.draw(st.integers(0, 5))
    outcome = testing.outcome_of(
        sum(sizes) + suppressed,
        sizes,
        rows,
        ("a", "b"),
        weights=[1.0, 2.0],
        suppressed=suppressed,
        starred=data.draw(st.integers(0, suppressed)),
        k=2,
    )
    testing.check_metric(cast("Metric", catalog.find("utility", name)()), outcome)


@pytest.mark.slow
@settings(
    max_examples=15,  # for each of some twenty algorithms; HYPOTHESIS_PROFILE=explore draws others
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(tables_and_policies())
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_algorithms_on_random_tables(algorithm: Algorithm, case: tuple[pl.DataFrame, Policy]) -> None:
    table, policy = case
    with unexplained():
        testing.check_algorithm(algorithm, table, lead(algorithm, policy))


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", shoal.datasets.NAMES[1:])
def test_algorithms_on_the_papers_tables(algorithm: Algorithm, name: str) -> None:
    table, policy = shoal.datasets.load(name)
    policy = lead(algorithm, policy)
    if not algorithm.is_led_by(policy.models):
        with pytest.raises(Misfit, match=f"{algorithm.key()} is led by {algorithm.needs_models[0]}"):
            shoal.anonymize(table, policy.replace(algorithm=algorithm))
        return
    made = testing.check_algorithm(algorithm, table, policy)
    assert made or algorithm.needs_hierarchies or not algorithm.falls_back


ENFORCED: list[dict[str, Any]] = [
    {"name": "wildcard-k-anonymity", "k": 5},
    {"name": "distinct-l-diversity", "on": "occupation", "l": 4},
    {"name": "distinct-l-diversity", "on": ["occupation", "income"], "l": 5},
    {"name": "entropy-l-diversity", "on": "occupation", "l": 3},
    {"name": "entropy-l-diversity", "on": "occupation", "l": 5, "estimator": "grassberger"},
    {"name": "recursive-l-diversity", "on": "occupation", "c": 2, "l": 3},
    {"name": "p-sensitive", "on": "occupation", "p": 3, "k": 6},
    {"name": "alpha-k-anonymity", "on": "occupation", "alpha": 0.4, "k": 4},
    {"name": "t-closeness", "on": "occupation", "t": 0.3},
    {"name": "t-closeness", "on": "hours-per-week", "t": 0.15, "distance": "ordered"},
    {"name": "t-closeness", "on": "income", "t": 0.1, "distance": "hierarchical"},
    {"name": "beta-likeness", "on": "income", "beta": 1, "enhanced": False},
    {"name": "beta-likeness", "on": "occupation", "beta": 6},
    {"name": "delta-disclosure", "on": "income", "delta": 1.2},
    {"name": "k-map", "k": 40},
    {"name": "average-risk", "threshold": 0.15},
    {"name": "sample-uniqueness", "threshold": 0.01},
    {"name": "population-uniqueness", "threshold": 0.001},
    {"name": "population-uniqueness", "threshold": 0.01, "estimator": "zayatz", "fraction": 0.05},
    {"name": "delta-presence", "delta_max": 0.3},
    {"name": "delta-presence", "delta_min": 0.02, "delta_max": 0.3},
    {"name": "personal-k", "on": "own", "default": 2},
    {"name": "scenarios", "any_of": 2, "k": 9},
    {"name": "scenarios", "known": [["age"], ["sex", "race"]], "k": 12, "on": "income", "confidence": 0.9},
]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The population that the table of the models' tests was drawn from."""
    path = tmp_path_factory.mktemp("population") / "people.csv"
    shoal.datasets.adult(complete=True, part="test").head(2000).write_csv(path)
    return str(path)


def test_every_model_is_enforced() -> None:
    elsewhere = {"k-anonymity", "differential-privacy"}  # the latter by fixed levels only: tests/models
    assert {model["name"] for model in ENFORCED} | elsewhere == set(catalog.names("models"))


SEARCHING = [case for case in ALGORITHMS if case.id != "fixed-levels"]  # which finds no levels


@pytest.mark.slow
@pytest.mark.parametrize("model", ENFORCED, ids=lambda model: "-".join(map(str, model.values())))
@pytest.mark.parametrize("algorithm", SEARCHING)
def test_algorithms_enforce_every_model(algorithm: Algorithm, model: dict[str, Any], people: str) -> None:
    table = shoal.datasets.adult(complete=True, part="test").head(300)
    table = table.with_columns(own=pl.Series([None, 1, 2, 6, 1, 30, 4, 3, 2, 1] * 30))
    policy = Policy(
        population=people,
        quasi_identifiers={
            "age": {"hierarchy": "intervals", "widths": [5, 20]},
            "sex": "suppress",
            "race": "suppress",
        },
        sensitive={"occupation": {}, "income": {"hierarchy": "suppress"}, "hours-per-week": {}},
        others="drop",
        models=[{"name": "k-anonymity", "k": 3}, model],
        max_suppressed=0.1,
    )
    policy = lead(algorithm, policy)
    if model["name"] == "delta-presence" and not algorithm.looks_across:
        with pytest.raises(Misfit, match=f"{algorithm.key()} at some classes at a time"):
            shoal.anonymize(table, policy.replace(algorithm=algorithm))
    else:
        assert testing.check_algorithm(algorithm, table, policy) or not algorithm.falls_back


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", SEARCHING)
def test_algorithms_enforce_every_model_together(algorithm: Algorithm) -> None:
    table = shoal.datasets.adult(complete=True, part="test").head(800)
    policy = Policy(
        quasi_identifiers={
            "age": {"hierarchy": "intervals", "widths": [5, 20]},
            "sex": "suppress",
            "race": "suppress",
        },
        sensitive=["occupation", "income"],
        others="drop",
        models=[
            {"name": "k-anonymity", "k": 7},
            {"name": "distinct-l-diversity", "on": "occupation", "l": 4},
            {"name": "distinct-l-diversity", "on": "income", "l": 2},
            {"name": "t-closeness", "on": "income", "t": 0.3},
        ],
        max_suppressed=0.1,
    )
    assert testing.check_algorithm(algorithm, table, lead(algorithm, policy))


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(PolicyError, match="did you mean 'k-anonymity'"):
        catalog.find("models", "k-anonimity")


def test_public_names_are_frozen() -> None:
    folders = {
        "algorithms",
        "catalog",
        "datasets",
        "errors",
        "hierarchies",
        "models",
        "perturbations",
        "risk",
        "utility",
    }
    values = {"Audit", "AuditFailed", "Infeasible", "Misfit", "Policy", "PolicyError", "Release", "ShoalError"}
    verbs = {"TableError", "anonymize", "audit", "check", "read", "report", "suggest"}
    values |= {"CountedTable", "Tallied", "NotFound"}
    verbs |= {"anonymize_file", "audit_file"}
    assert set(shoal.__all__) == folders | values | verbs
    for name in shoal.__all__:
        assert getattr(shoal, name) is not None


def test_the_verbs_stay_functions_after_everything_is_imported() -> None:
    import shoal.auditing
    import shoal.explore.suggest  # noqa: F401
    import shoal.reporting  # noqa: F401

    assert callable(shoal.audit)
    assert callable(shoal.report)
    assert callable(shoal.suggest)
    assert callable(shoal.read)
