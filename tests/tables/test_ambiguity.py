"""A text that could be read in two ways is never published: the check names it before any search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command import run
from tests.gateway.conftest import Memory
from tests.strategies import count_records, unexplained

import shoal
from shoal.encoding.domains import Domain
from shoal.encoding.label_writing import write_set
from shoal.errors import Fault, Infeasible, Misfit, Refused
from shoal.explore.compare import compare
from shoal.explore.lattice import lattice
from shoal.gateway.config import GatewayConfig
from shoal.gateway.mediator import Gateway
from shoal.hierarchies import Tree
from shoal.policy import Policy

K2 = [{"name": "k-anonymity", "k": 2}]


def tree(nodes: dict[str, Any]) -> dict[str, Any]:
    return {"hierarchy": "tree", "nodes": nodes}


def faults_of(values: list[Any], role: Any) -> list[Fault]:
    policy = Policy(quasi_identifiers={"q": role}, models=K2)
    return policy.check(pl.DataFrame({"q": [value for value in values for _ in range(2)]}))


CALLED_LIKE_A_VALUE = "labels called like values that they do not just stand for"
DIFFERENT = "labels that stand for different values at different levels"
AS_A_SET = "labels that read as a set of other values than they stand for"
AS_OTHERS = "values that read as a set or a range of others"
REFUSED: list[Any] = [
    (["1*", "12", "13", "2"], {"hierarchy": "mask", "keep": [1]}, CALLED_LIKE_A_VALUE, "'1*' for '1*', '12', '13'"),
    (
        ["a", "b", "c", "d"],
        tree({"*": {"other": {"1": ["a"], "2": ["b"]}, "rest": {"other": ["c", "d"]}}}),
        DIFFERENT,
        "'other' for 'a', 'b'",
    ),
    (["a", "b", "c"], tree({"*": {"{a, b}": ["b", "c"], "rest": ["a"]}}), AS_A_SET, "'{a, b}' for 'b', 'c'"),
    (["a", "b", "{a, b}"], {}, AS_OTHERS, "'{a, b}'"),
    (["a", "b", "{b, (missing)}"], {}, AS_OTHERS, "'{b, (missing)}'"),
    (["1", "x", "[1, x]"], "suppress", AS_OTHERS, "'[1, x]'"),
    (["*", "a"], {}, "a value that is written as suppressed ones are", "'*'"),
    (["*", "a"], tree({"any": ["a", "*"]}), "a value that is written as suppressed ones are", "'*'"),
]


@pytest.mark.parametrize(("values", "role", "what", "got"), REFUSED)
def test_what_can_be_read_in_two_ways_is_refused(values: list[str], role: Any, what: str, got: str) -> None:
    (fault,) = faults_of(values, role)
    assert (fault.what, fault.where, fault.got) == (what, "quasi_identifiers.q", got)
    assert fault.kind == "fault" and fault.hint


FINE: list[Any] = [
    (["a", "b", "c"], {"hierarchy": "tree", "rows": [["a", "a", "G"], ["b", "b", "G"], ["c", "c", "c"]]}),
    (["a", "b", "c"], tree({"*": {"a": ["a"], "rest": {"b": ["b"], "c": ["c"]}}})),
    (["a", "b", "c"], tree({"*": {"{b, c}": ["b", "c"], "a": ["a"]}})),
    (["a", "b", "c", "d"], {"hierarchy": "ordering", "sizes": [2]}),
    (["a", "b", "c"], tree({"*": {"low": ["a", "b", "*"], "high": ["c"]}})),  # a leaf that does not occur
    ([1, 2, 3, 10, 11], {"hierarchy": "intervals", "breaks": [[1, 2, 4, 12], [1, 4, 12]]}),  # [1, 1] is 1
    (["12", "123", "1234", "2"], {"hierarchy": "mask", "keep": [3, 2, 1]}),
    (["{f}", "[1, 2]", "(missing)", "d,e"], {}),
    (["{f}", "[1, 2]", "(missing)", "d,e"], "suppress"),
]


@pytest.mark.parametrize(("values", "role"), FINE)
def test_what_can_be_read_in_one_way_is_not(values: list[Any], role: Any) -> None:
    assert faults_of(values, role) == []


@pytest.mark.parametrize("algorithm", ["shoal", "optimal", "exhaustive"])
def test_a_label_of_a_tree_called_like_a_value_gets_a_name_of_its_own(algorithm: str) -> None:
    """As it is, "e" would be read as the value, or as the label of x and y."""
    role = tree({"*": {"G": ["a", "e"], "e": ["x", "y"]}})
    assert faults_of(["a", "e", "x", "y"], role) == [] and faults_of(["a", "x", "y"], role) == []
    policy = Policy(quasi_identifiers={"q": role}, models=K2, algorithm=algorithm, publish="labels")
    whole = shoal.anonymize(pl.DataFrame({"q": ["a", "a", "e", "e", "x", "x", "y", "y"]}), policy)
    assert (whole.claimed_loss, whole.loss) == (0.0, 0.0)
    joined = shoal.anonymize(pl.DataFrame({"q": ["a", "e", "x", "y"]}), policy)
    assert joined.table["q"].to_list() == ["G", "G", "e (group)", "e (group)"]
    assert joined.claimed_loss == pytest.approx(joined.loss)
    bounded = {**role, "boundaries": ["e (group)"]}
    assert (
        shoal.Policy(quasi_identifiers={"q": bounded}, models=K2).check(pl.DataFrame({"q": ["a", "a", "x", "y"]})) == []
    )


def test_names_of_labels_stay_apart_whatever_they_are() -> None:
    role = tree({"*": {"G": ["e", "e (group)"], "e": ["x", "y"], "e (group) (group)": ["z"]}})
    levels = Policy(quasi_identifiers={"q": role}, models=K2).quasi_identifiers["q"].hierarchy
    assert levels is not None
    texts = ["e", "e (group)", "x", "y", "z"]
    (step,) = (one for one in levels.steps(Domain.of("text", texts)) if len(one.names) > 1)
    assert len(set(step.names)) == 3 and not set(step.names) & set(texts)


def test_labels_that_would_get_one_name_do_not() -> None:
    built = Tree(nodes={"X": ["X", "a", "b"], "X (group)": ["X (group)", "c", "d"]})
    steps = built.steps(Domain.of("text", ["X", "X (group)", "a", "b", "c", "d"]))
    (step,) = (one for one in steps if len(one.names) > 1)
    assert len(set(step.names)) == 2 and not {"X", "X (group)"} & set(step.names)


def test_a_label_above_every_boundary_is_never_shown() -> None:
    nodes = {"*": {"other": {"1": ["a"], "2": ["b"]}, "rest": {"other": ["c", "d"]}}}
    assert faults_of(["a", "b", "c", "d"], {**tree(nodes), "boundaries": ["1", "2"]}) == []
    assert faults_of(["a", "b", "c", "d"], {**tree(nodes), "boundaries": ["1"]}) != []


def test_rare_values_are_not_called_like_a_frequent_one() -> None:
    table = pl.DataFrame({"q": ["(other 2)"] * 9 + ["a"] * 8 + ["b"] * 2 + ["c"] * 2 + ["d"] * 4})
    role = {"hierarchy": "rare", "records": [3, 5]}
    (fault,) = Policy(quasi_identifiers={"q": role}, models=K2).check(table)
    assert (fault.what, fault.got) == (CALLED_LIKE_A_VALUE, "'(other 2)' for '(other 2)', 'b', 'c' and 1 more")


@pytest.mark.parametrize("name", shoal.datasets.NAMES)
def test_the_datasets_are_read_in_one_way(name: str) -> None:
    table, policy = shoal.datasets.load(name)
    assert [fault for fault in policy.check(table) if fault.kind == "fault"] == []


STARRED = pl.DataFrame({"q": ["*", "*", "*", "a", "a", "a"], "s": ["x", "*", "y", "x", "*", "y"], "note": ["*"] * 6})


def starred_policy(**more: Any) -> Policy:
    return Policy(**{"quasi_identifiers": ["q"], "sensitive": ["s"], "others": "keep", "models": K2, **more})


TOLD = r"quasi_identifiers\.q: a value that is written as suppressed ones are; got '\*'"


def test_a_star_is_refused_on_every_road(tmp_path: Path) -> None:
    policy = starred_policy()
    STARRED.write_csv(tmp_path / "data.csv")
    policy.write(tmp_path / "policy.yaml")
    for table in (STARRED, count_records(STARRED), STARRED.to_pandas(), tmp_path / "data.csv"):
        with pytest.raises(Misfit, match=TOLD):
            shoal.anonymize(table, policy)
    with pytest.raises(Misfit, match=TOLD):
        shoal.anonymize_file(tmp_path / "data.csv", policy, tmp_path / "out", memory="2GB")
    with pytest.raises(Misfit, match=TOLD):
        lattice(STARRED, policy)
    with pytest.raises(Misfit, match=TOLD):
        compare(STARRED, policy, [2], ["mondrian"])
    told = run("check", tmp_path / "data.csv", "--policy", tmp_path / "policy.yaml", "--json", check=1)
    assert "written as suppressed ones are" in json.dumps(json.loads(told.stdout))
    assert not (tmp_path / "out").exists()


def test_the_gateway_refuses_a_star(tmp_path: Path) -> None:
    owner = {"database": {"duckdb": "not opened"}, "tables": {"people": {"policy": starred_policy(others="drop")}}}
    config = GatewayConfig(owners={"north": owner}, clients={"ann": {}}, ledger=str(tmp_path / "ledger.sqlite"))
    with pytest.raises(Refused):
        Gateway(config, sources={"north": Memory(people=STARRED)}).ask("ann", "select q, s from people")


def test_a_star_in_other_columns_is_a_value_like_any_other() -> None:
    table = STARRED.with_columns(q=pl.Series(["b"] * 3 + ["a"] * 3))
    release = shoal.anonymize(table, starred_policy())
    assert release.table["s"].sort().to_list() == STARRED["s"].sort().to_list()
    assert release.table["note"].to_list() == ["*"] * 6


LABELS = st.sampled_from(["a", "b", "c", "d", "e", "x", "y", write_set(["a", "b"])])


@st.composite
def _trees(draw: st.DrawFn) -> tuple[list[str], dict[str, Any]]:
    """Trees of some letters under labels that may be called like them, or like each other."""
    values = draw(st.lists(LABELS, min_size=2, max_size=6, unique=True))
    rows = [[value, draw(LABELS), draw(LABELS)] for value in values]
    return values, {"hierarchy": "tree", "rows": [[*row, "*"] for row in rows]}


@settings(max_examples=200, deadline=None)
@given(_trees(), st.integers(2, 4), st.sampled_from(["optimal", "mondrian", "shoal"]))
def test_what_is_not_refused_is_read_as_it_was_meant(
    case: tuple[list[str], dict[str, Any]], k: int, algorithm: str
) -> None:
    values, role = case
    table = pl.DataFrame({"q": [value for index, value in enumerate(values) for _ in range(index % 3 + 1)]})
    try:
        policy = Policy(quasi_identifiers={"q": role}, models=[{"name": "k-anonymity", "k": k}], algorithm=algorithm)
        with unexplained():
            release = shoal.anonymize(table, policy)
    except (shoal.PolicyError, Misfit, Infeasible):
        return
    assert release.claimed_loss == pytest.approx(release.loss)
