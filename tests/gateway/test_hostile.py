"""Whoever asks for more than they may have is refused, or gets what is published anyway; no text shows data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shoal import datasets
from shoal.encoding import yaml as notation
from shoal.errors import Refused
from shoal.gateway.mediator import Gateway
from tests.gateway.conftest import copy_example

CORPUS = notation.parse((Path(__file__).parent / "hostile.yaml").read_text(encoding="utf-8"))
DATA = {
    str(value)
    for column in datasets.employees().drop("sex", "race").iter_columns()
    for value in column.to_list()
    if str(value) != "other"
}
PUBLISHED = {
    "name": {"*"},
    "marital_status": {"Married", "Not_married"},
    "age": {"20 - 30", "30 - 40", "40 - 50"},
    "race": {"Colored", "Others"},
    "sex": {"Person"},
    "salary": {"50000+", "-50000"},
}


def test_the_corpus_is_large() -> None:
    assert len(set(CORPUS["refused"])) >= 150
    assert len(set(CORPUS["harmless"])) >= 25


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    return Gateway.read(copy_example(tmp_path_factory.mktemp("hostile") / "example"))


def shows(text: str) -> set[str]:
    return {value for value in DATA if re.search(rf"(?<![\w-]){re.escape(value)}(?![\w+-])", text)}


@pytest.mark.parametrize("text", CORPUS["refused"])
def test_refused_by_name_without_data(gateway: Gateway, text: str) -> None:
    with pytest.raises(Refused) as refused:
        gateway.ask("demo-client", text)
    assert not shows(str(refused.value))
    assert all(fault.what for fault in refused.value.faults)
    assert {entry["action"] for entry in gateway.ledger.entries()} <= {"refuse"}  # nothing was given


@pytest.mark.parametrize("text", CORPUS["harmless"])
def test_harmless_answers_hold_what_is_published(example: Gateway, text: str) -> None:
    answer = example.ask("demo-client", text)
    (decided,) = answer.decisions
    if decided.action == "release":
        assert decided.weighed.total <= 6 and not decided.weighed.withheld
        return
    for name in answer.table.columns:
        cells = set(answer.table[name].to_list())
        if name in PUBLISHED and "AS name" not in text:
            assert cells <= PUBLISHED[name]
        if re.match("sum|avg|min|max", name):
            assert decided.notes or cells == {None}
    assert not shows(str([decided.notes, answer.notes, answer.refusals]))


def test_a_request_that_is_too_long_or_too_deep_is_refused(gateway: Gateway) -> None:
    deep = "SELECT sex FROM people WHERE " + "(" * 3000 + "sex = 'M'" + ")" * 3000
    wide = "SELECT sex FROM people WHERE " + " OR ".join(["sex = 'M'"] * 300)
    nots = "SELECT sex FROM people WHERE " + "NOT " * 1500 + "sex = 'M'"
    for text in (deep, wide, nots, "SELECT sex FROM people" + " " * 20_000):
        with pytest.raises(Refused):
            gateway.ask("demo-client", text)


def test_who_is_not_known_may_not_ask(gateway: Gateway) -> None:
    with pytest.raises(Refused, match="may not ask"):
        gateway.ask("somebody", "SELECT sex FROM people")
