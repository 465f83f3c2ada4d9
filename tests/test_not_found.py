"""Infeasible is a claim: where a release exists it is found, or the search says that it gave up."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import Infeasible, NotFound
from shoal.policy import Policy
from tests.command import run
from tests.strategies import unexplained

LOCAL = [
    "shoal",
    "mondrian",
    "k-member",
    "kaca",
    "bottom-up-merging",
    "top-down-greedy",
    "similarity-clustering",
    "spanning-tree",
]
GLOBAL = ["single-dimensional", "top-down-specialization", "bottom-up"]
FULL_DOMAIN = ["optimal", "exhaustive", "samarati", "incognito", "datafly", "heuristic"]
K2 = {"name": "k-anonymity", "k": 2}


@pytest.mark.parametrize("algorithm", LOCAL)
def test_a_wildcard_that_only_stars_match(algorithm: str) -> None:
    table = pl.DataFrame({"g": [9, None, -1, 1, -1, -1]})
    columns = {"g": {"missing": "wildcard", "hierarchy": "suppress"}}
    made = shoal.anonymize(table, Policy(quasi_identifiers=columns, algorithm=algorithm, models=[K2]))
    assert made.attained["k-anonymity"] >= 2


@pytest.mark.parametrize("algorithm", [*LOCAL, *GLOBAL])
def test_a_value_that_is_too_frequent_is_thinned(algorithm: str) -> None:
    table = pl.DataFrame({"q": ["a"] * 4, "s": ["x", "x", "x", "y"]})
    asked = {"name": "entropy-l-diversity", "on": "s", "l": 2.0}
    policy = Policy(
        quasi_identifiers={"q": "suppress"}, sensitive=["s"], algorithm=algorithm, max_suppressed=0.5, models=[asked]
    )
    made = shoal.anonymize(table, policy)
    assert sorted(made.table.rows()) == [("a", "x"), ("a", "y")]
    assert made.audit.suppressed == 2


@pytest.mark.parametrize("algorithm", ["shoal", "mondrian"])
def test_thinned_tables_are_still_searched(algorithm: str) -> None:
    """Two regions are half "x"; a third of the table must go, and the rest is not one class."""
    table = pl.DataFrame({"q": [1] * 20 + [2] * 20, "s": (["x"] * 14 + list("abcdef")) * 2})
    asked = [{"name": "k-anonymity", "k": 5}, {"name": "alpha-k-anonymity", "on": "s", "alpha": 0.5, "k": 5}]
    policy = Policy(quasi_identifiers={"q": {}}, sensitive=["s"], algorithm=algorithm, models=asked, max_suppressed=0.5)
    made = shoal.anonymize(table, policy)
    assert made.audit.classes >= 2
    assert made.audit.suppressed < 20


@pytest.mark.parametrize("share", [0.9, 1.0])
@pytest.mark.parametrize("algorithm", [*FULL_DOMAIN, *GLOBAL, *LOCAL])
def test_all_may_be_suppressed_but_not_all_are(algorithm: str, share: float) -> None:
    rows = [("p", "z")] * 4 + [("w", "z")] * 3 + [("p", "y")] * 2 + [("w", "y")]
    table = pl.DataFrame(rows, schema=["a", "b"], orient="row")
    policy = Policy(
        quasi_identifiers={"a": "suppress", "b": "suppress"},
        algorithm=algorithm,
        models=[{"name": "k-anonymity", "k": 6}],
        max_suppressed=share,
    )
    assert shoal.anonymize(table, policy).audit.suppressed < 10


MODELS: dict[str, list[dict[str, Any]]] = {
    "k": [K2],
    "t": [K2, {"name": "t-closeness", "on": "s", "t": 0.6}],
    "alpha": [{"name": "alpha-k-anonymity", "on": "s", "k": 2, "alpha": 0.75}],
    "entropy": [{"name": "entropy-l-diversity", "on": "s", "l": 1.5}],
}


@pytest.mark.parametrize("models", MODELS)
@pytest.mark.parametrize("algorithm", [*LOCAL, *GLOBAL, *FULL_DOMAIN, "weighted-boundaries"])
def test_who_is_alone_within_a_boundary_is_suppressed(algorithm: str, models: str) -> None:
    table = pl.DataFrame({"q": ["1", "3", "3"], "s": [True, True, False]})
    columns = {"q": {"hierarchy": "suppress", "boundaries": ["1", "3"]}}
    policy = Policy(
        quasi_identifiers=columns, sensitive=["s"], algorithm=algorithm, models=MODELS[models], max_suppressed=0.34
    )
    assert shoal.anonymize(table, policy).audit.suppressed == 1


@pytest.mark.parametrize("algorithm", [*LOCAL, "optimal", "incognito"])
def test_a_boundary_and_a_model_that_joining_breaks(algorithm: str) -> None:
    table = pl.DataFrame({"q": list("aacbab"), "s": ["hiv", "flu", "hiv", "cold", "hiv", "hiv"]})
    nodes = {"*": {"G": ["a", "b"], "H": ["c"]}}
    policy = Policy(
        quasi_identifiers={"q": {"hierarchy": "tree", "nodes": nodes, "boundaries": ["c"]}},
        sensitive=["s"],
        algorithm=algorithm,
        max_suppressed=0.5,
        models=[
            {"name": "beta-likeness", "on": "s", "beta": 1.0},
            {"name": "distinct-l-diversity", "on": "s", "l": 3},
        ],
    )
    assert shoal.anonymize(table, policy).table["q"].to_list() == ["G"] * 5


@pytest.mark.parametrize("suppressed", ["star", "drop"])
@pytest.mark.parametrize("algorithm", [*LOCAL, *FULL_DOMAIN])
def test_an_average_over_classes_without_the_suppressed(algorithm: str, suppressed: str) -> None:
    table = pl.DataFrame({"q": ["a", "b", "a", "b", None]})
    tree = {"hierarchy": "tree", "nodes": {"Any": {"G": ["a", "b"]}}, "missing": "suppress"}
    policy = Policy(
        quasi_identifiers={"q": tree},
        algorithm=algorithm,
        suppressed=suppressed,
        models=[{"name": "average-risk", "threshold": 0.25}],
        max_suppressed=0.2,
    )
    assert shoal.anonymize(table, policy).attained["average-risk"] <= 0.25


@pytest.mark.parametrize(("suppressed", "published"), [("star", 4), ("drop", 3)])
@pytest.mark.parametrize("algorithm", [*FULL_DOMAIN, *LOCAL])
def test_the_rest_complies_only_as_stars(algorithm: str, suppressed: str, published: int) -> None:
    table = pl.DataFrame({"q": [1, 2, 3, None]})
    policy = Policy(
        quasi_identifiers={"q": {"hierarchy": "suppress", "missing": "suppress"}},
        models=[{"name": "k-anonymity", "k": 3}],
        max_suppressed=0.25,
        suppressed=suppressed,
        algorithm=algorithm,
        publish="labels",
    )
    made = shoal.anonymize(table, policy)
    assert made.audit.suppressed == 1
    if made.audit.shows_nothing:
        assert made.table["q"].to_list() == ["*"] * published


@pytest.mark.parametrize("algorithm", [*FULL_DOMAIN, *LOCAL])
def test_who_is_suppressed_anyway_is_a_star_among_stars(algorithm: str) -> None:
    table = pl.DataFrame({"q": ["a", "b", None, None, None]})
    policy = Policy(
        quasi_identifiers={"q": {"hierarchy": "suppress", "missing": "suppress"}},
        models=[{"name": "k-anonymity", "k": 3}],
        max_suppressed=1,
        algorithm=algorithm,
    )
    made = shoal.anonymize(table, policy)
    assert (made.table["q"].to_list(), made.audit.suppressed) == (["*"] * 5, 3)
    assert made.audit.shows_nothing


def test_records_behind_a_boundary_count_as_suppressed_among_stars(tmp_path: Path) -> None:
    table = pl.DataFrame({"q": ["a", "b", "c", "d"]})
    nodes = {"*": {"G": ["a", "b"], "H": ["c", "d"]}}
    columns = {"q": {"hierarchy": "tree", "nodes": nodes, "boundaries": ["a"]}}
    policy = Policy(
        quasi_identifiers=columns, models=[{"name": "k-anonymity", "k": 3}], max_suppressed=0.5, algorithm="optimal"
    )
    stars = pl.DataFrame({"q": ["*"] * 4})
    checked = shoal.audit(stars, policy, original=table)
    assert (checked.shows_nothing, checked.starred, checked.holds) == (True, 1, True)
    assert not shoal.audit(stars, policy.replace(max_suppressed=0.0), original=table).holds


def test_a_table_that_shows_nothing_says_so_first(tmp_path: Path) -> None:
    table = pl.DataFrame({"age": [21, 22, 23, 24, 25, 26]})
    table.write_csv(tmp_path / "table.csv")
    policy = Policy(quasi_identifiers={"age": "suppress"}, models=[{"name": "k-anonymity", "k": 6}], publish="labels")
    policy = policy.replace(algorithm="optimal")
    policy.write(tmp_path / "policy.yaml")
    made = shoal.anonymize(table, policy)
    assert "every record shows *" in repr(made)
    done = run("anonymize", tmp_path / "table.csv", "--policy", tmp_path / "policy.yaml", "--out", tmp_path / "out")
    assert "the table shows nothing: every record is *" in done.stdout.splitlines()[0]
    again = run("audit", tmp_path / "out" / "release.csv", "--policy", tmp_path / "policy.yaml")
    assert "the table shows nothing" in again.stdout.splitlines()[0]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Holds, but shows nothing" in page
    assert made.audit.to_dict()["shows_nothing"]


def wide(columns: int, records: int = 400) -> tuple[pl.DataFrame, dict[str, Any]]:
    random = np.random.default_rng(3)
    table = pl.DataFrame({f"c{index}": random.integers(0, 40, records) for index in range(columns)})
    steps = {"hierarchy": "intervals", "widths": [5, 10, 20]}
    return table, {
        "quasi_identifiers": dict.fromkeys(table.columns, steps),
        "models": [{"name": "k-anonymity", "k": 5}],
    }


def test_a_lattice_of_any_size_is_gone_down() -> None:
    """Branches of 24 columns are not decided in time: the search went no further than the top, and told nobody."""
    table, asked = wide(24)
    made = shoal.anonymize(table, {**asked, "algorithm": {"name": "heuristic", "seconds": 1.0}})
    assert not made.audit.shows_nothing
    assert made.recoding.proof is not None and made.recoding.proof.looked > 0
    assert made.loss < 1.0


def test_a_search_that_found_only_stars_fails_with_what_it_tried() -> None:
    table, asked = wide(6)
    algorithm = {"name": "heuristic", "looks": 1}
    models = [{"name": "k-anonymity", "k": 400}]
    with pytest.raises(NotFound, match=r"not found: a node .* of 15,625 nodes and branches counted, stopped after"):
        shoal.anonymize(table, {**asked, "algorithm": algorithm, "models": models})


def test_not_found_is_no_proof_and_travels() -> None:
    """No part of this table complies, but only a search of all parts would know."""
    table = pl.DataFrame({"q": ["a", "b", "c", "d"], "s": ["x", "x", "x", "x"]})
    policy = Policy(
        quasi_identifiers={"q": "suppress"},
        sensitive=["s"],
        models=[{"name": "entropy-l-diversity", "on": "s", "l": 2}],
        max_suppressed=0.5,
        algorithm="mondrian",
    )
    with pytest.raises(NotFound, match="not found: ") as caught:
        shoal.anonymize(table, policy)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is NotFound and str(again) == str(caught.value)
    with pytest.raises(Infeasible, match="the models cannot hold") as proven:
        shoal.anonymize(table, policy.replace(models=[{"name": "k-anonymity", "k": 5}]))
    assert not isinstance(proven.value, NotFound)


ATTAINABLE: dict[str, tuple[dict[str, Any], list[str | None]]] = {
    "missing": (
        {
            "quasi_identifiers": {"q": {"hierarchy": "suppress", "missing": "suppress"}},
            "algorithm": "optimal",
            "max_suppressed": 0.2,
        },
        ["c", "b", None, "a", None],
    ),
    "boundary": (
        {
            "quasi_identifiers": {"q": {"hierarchy": "suppress", "boundaries": ["a", "b", "c", "d", "e"]}},
            "algorithm": "optimal",
        },
        ["a", "b", "c", "d", "e"],
    ),
    "levels": (
        {"quasi_identifiers": {"q": "suppress"}, "algorithm": {"name": "fixed-levels", "levels": {"q": 0}}},
        ["a", "b", "c", "d", "e"],
    ),
}


@pytest.mark.parametrize("name", ATTAINABLE)
def test_what_is_told_to_be_attainable_is(name: str) -> None:
    given, values = ATTAINABLE[name]
    table = pl.DataFrame({"q": values, "s": ["y", "y", "y", "x", "x"]})
    asked = {**given, "sensitive": ["s"]}
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(table, {**asked, "models": [{"name": "distinct-l-diversity", "on": "s", "l": 3}]})
    for attained in caught.value.attainable.values():
        if attained > 1:  # one is what any table has
            shoal.anonymize(table, {**asked, "models": [{"name": "distinct-l-diversity", "on": "s", "l": attained}]})
    if name == "missing":
        assert caught.value.attainable == {}


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [{"name": "shoal", "effort": 0}, "mondrian"])
def test_no_claim_against_a_partition_that_complies(algorithm: Any) -> None:
    """All tables of four records with two values each, in one order: whoever claims that nothing complies is right."""
    policy = Policy(
        quasi_identifiers={"q": {}},
        sensitive=["s"],
        algorithm=algorithm,
        models=[{"name": "alpha-k-anonymity", "on": "s", "alpha": 0.5, "k": 2}],
        max_suppressed=0.5,
    )
    claims = 0
    for records in itertools.combinations_with_replacement(itertools.product("ab", "xy"), 4):
        table = pl.DataFrame(records, schema=["q", "s"], orient="row")
        try:
            with unexplained():
                shoal.anonymize(table, policy)
        except Infeasible:
            claims += 1
            assert table["s"].n_unique() == 1  # else one of each is a class of two that complies
    assert claims == 2 * 5


@pytest.mark.parametrize("algorithm", [*FULL_DOMAIN, "shoal", "mondrian"])
def test_stars_beside_records_behind_a_boundary(algorithm: str) -> None:
    """Three records are held back and may be suppressed; the other five comply as stars only."""
    table = pl.DataFrame(
        {
            "q": ["0", "0", "-3", "-3", "7", "7", "0", "7"],
            "r": [-3, 7, None, 0, 7, 7, -3, None],
            "s": ["b", "b", "a", "b", "c", "c", "d", "a"],
        }
    )
    policy = Policy(
        quasi_identifiers={
            "q": {"hierarchy": "suppress", "boundaries": ["7"]},
            "r": {"hierarchy": "intervals", "widths": [3], "origin": 0.5},
        },
        sensitive=["s"],
        models=[K2, {"name": "distinct-l-diversity", "on": "s", "l": 3}],
        algorithm=algorithm,
        max_suppressed=1,
    )
    assert shoal.anonymize(table, policy).attained["distinct-l-diversity"] >= 3


def test_datafly_does_not_stop_where_all_would_be_suppressed() -> None:
    table = pl.DataFrame({"q": [0.0, None, -1.5, -1.5]})
    policy = Policy(
        quasi_identifiers={"q": {"hierarchy": "suppress", "missing": "wildcard"}},
        models=[{"name": "k-anonymity", "k": 4}],
        algorithm="datafly",
        max_suppressed=1,
        suppressed="drop",
    )
    assert shoal.anonymize(table, policy).table["q"].to_list() == ["*"] * 4


@pytest.mark.parametrize("unit", [10, 10**4, 10**10])
def test_thinning_counts_of_any_size(unit: int) -> None:
    frame = pl.DataFrame({"q": ["a", "a", "b", "b"], "s": ["x", "y", "x", "y"]})
    table = shoal.CountedTable(frame, pl.Series([5 * unit, unit, 4 * unit, unit]))
    policy = Policy(
        quasi_identifiers=["q"],
        sensitive=["s"],
        max_suppressed=0.9,
        algorithm="mondrian",
        suppressed="drop",
        models=[K2, {"name": "entropy-l-diversity", "on": "s", "l": 2}],
    )
    made = shoal.anonymize(table, policy)
    assert made.table.records == 4 * unit
