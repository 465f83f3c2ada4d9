"""Two models of one name, on one column or on none: every door tells them apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import Infeasible
from shoal.explore.compare import compare
from shoal.gateway.config import GatewayConfig
from shoal.gateway.mediator import Gateway
from shoal.models.base import name_models
from shoal.policy import Policy
from shoal.registry import find
from tests.command import run
from tests.gateway.conftest import Memory

TABLE = pl.DataFrame({"q": [1, 1, 2, 2, 3, 3], "s": [10, 20, 10, 20, 30, 10]})
EQUAL = {"name": "t-closeness", "on": "s", "t": 0.5}
ORDERED = {**EQUAL, "distance": "ordered"}
TITLES = ["t-closeness on s (t = 0.5)", "t-closeness on s (t = 0.5, distance = ordered)"]


def policy(*models: dict[str, Any], **more: Any) -> Policy:
    return Policy(quasi_identifiers={"q": "suppress"}, sensitive=["s"], models=models or [EQUAL, ORDERED], **more)


@pytest.mark.parametrize("algorithm", ["shoal", "mondrian", "optimal", "weighted-boundaries"])
def test_a_release_tells_both(algorithm: str) -> None:
    release = shoal.anonymize(TABLE, policy(algorithm=algorithm))
    assert list(release.attained) == TITLES == release.audit.titles
    assert [model["title"] for model in release.audit.to_dict()["models"]] == TITLES
    assert [model["name"] for model in release.audit.to_dict()["models"]] == ["t-closeness"] * 2


def test_the_same_model_twice() -> None:
    release = shoal.anonymize(TABLE, policy({"name": "k-anonymity", "k": 2}, {"name": "k-anonymity", "k": 2}))
    assert release.attained == {"k-anonymity (k = 2) 1": 2, "k-anonymity (k = 2) 2": 2}


def test_a_preset_beside_a_model_of_its_own() -> None:
    both = policy({"name": "k-anonymity", "k": 2}, {"preset": "ihsn-3"})
    assert shoal.anonymize(TABLE, both).attained == {"k-anonymity (k = 2)": 3, "k-anonymity (k = 3)": 3}
    assert [row["attained"] for row in compare(TABLE, both, [2], ["mondrian"])] == [2]


def test_what_cannot_be_met_is_told_of_each() -> None:
    near, nearer = {**EQUAL, "t": 0.0}, {**EQUAL, "t": 0.1}
    asked = policy(near, nearer, {"name": "k-anonymity", "k": 7})
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(TABLE, asked)
    for relaxation in caught.value.relaxations:
        assert shoal.anonymize(TABLE, relaxation.policy).audit.holds
    table = TABLE.with_columns(q=pl.Series([1, 1, 1, 2, 2, 2]))
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(table, policy(near, nearer, algorithm="optimal").replace(quasi_identifiers=["q"]))
    assert {"t-closeness on s (t = 0.0)", "t-closeness on s (t = 0.1)"} == {*caught.value.attainable}


@pytest.mark.slow
def test_files_the_command_line_and_the_report(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "data.csv")
    policy().write(tmp_path / "policy.yaml")
    asked = (tmp_path / "data.csv", "--policy", tmp_path / "policy.yaml")
    done = run("anonymize", *asked, "--out", tmp_path / "out", check=0)
    for title in TITLES:
        assert f"{title}: asked 0.5" in done.stdout
        assert title in (tmp_path / "out" / "report.html").read_text()
    said = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert [model["title"] for model in said["models"]] == TITLES
    run("audit", tmp_path / "out" / "release.csv", "-p", tmp_path / "policy.yaml", "--original", asked[0], check=0)
    run("compare", *asked, "--k", "2", "--algorithms", "mondrian", "--out", tmp_path / "compared", check=0)
    streamed = shoal.anonymize_file(asked[0], policy(), tmp_path / "streamed", memory="2GB")
    assert streamed.audit.titles == TITLES


def test_what_does_not_hold_is_named() -> None:
    broken = policy({**EQUAL, "t": 0.1}, {**EQUAL, "t": 0.2})
    told = [fault.what for fault in shoal.audit(TABLE, broken).failures()]
    assert told == ["t-closeness on s (t = 0.1) does not hold", "t-closeness on s (t = 0.2) does not hold"]


def test_the_gateway_answers(tmp_path: Path) -> None:
    owner = {"database": {"duckdb": "not opened"}, "tables": {"people": {"policy": policy()}}}
    config = GatewayConfig(owners={"north": owner}, clients={"ann": {}}, ledger=str(tmp_path / "ledger.sqlite"))
    answer = Gateway(config, sources={"north": Memory(people=TABLE)}).ask("ann", "select q, s from people")
    assert list(answer.decisions[0].attained) == TITLES


MODELS = st.one_of(
    st.builds(lambda k: {"name": "k-anonymity", "k": k}, st.integers(2, 3)),
    st.builds(
        lambda on, t, how: {"name": "t-closeness", "on": on, "t": t, "distance": how},
        st.sampled_from(["s", "s (t = 0.5)", "s 1"]),
        st.sampled_from([0.5, 0.25]),
        st.sampled_from(["equal", "ordered"]),
    ),
)


@given(st.lists(MODELS, max_size=6))
def test_titles_are_always_distinct(models: list[dict[str, Any]]) -> None:
    made: list[Any] = [find("models", model.pop("name"))(**model) for model in map(dict, models)]
    assert len({*name_models(made)}) == len(made)
    assert name_models(made) == name_models(made)
