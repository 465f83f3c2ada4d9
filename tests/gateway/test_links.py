"""Answers as they are beside anonymized ones, where joins make several tables of the same persons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from shoal.errors import PolicyError, Refused
from shoal.gateway.config import GatewayConfig
from shoal.gateway.mediator import Gateway
from tests.gateway.conftest import Memory

Opened = Callable[..., Gateway]
K = 3
PROMISE = {
    "models": [{"name": "k-anonymity", "k": K}],
    "threshold": 3,
    "raw": {"least": 1},
    "algorithm": {"name": "weighted-boundaries"},
}
STAYS = "FROM people AS p JOIN visits AS v ON p.id = v.who"


def suppress(weight: int) -> dict[str, Any]:
    return {"hierarchy": "suppress", "weight": weight}


def hospital() -> Memory:
    """People of six in a ZIP code; by ZIP code and ward nobody is like another."""
    who = [f"p{n:02}" for n in range(60)]
    people = {"id": who, "zip": [f"537{n // 6:02}" for n in range(60)], "salary": [1000 + n for n in range(60)]}
    visits = {"who": who, "ward": [f"w{n % 6}" for n in range(60)], "bill": [n * n for n in range(60)]}
    return Memory(people=pl.DataFrame(people), visits=pl.DataFrame(visits))


PEOPLE = {
    **PROMISE,
    "identifiers": ["id"],
    "quasi_identifiers": {"zip": suppress(3)},
    "sensitive": ["salary"],
}
VISITS = {**PROMISE, "identifiers": ["who"], "quasi_identifiers": {"ward": suppress(4)}, "sensitive": ["bill"]}
STAYING = {
    **PROMISE,
    "identifiers": ["id", "who"],
    "quasi_identifiers": {"zip": suppress(1), "ward": suppress(3)},
    "sensitive": ["salary", "bill"],
    "subject": "id",
}


def joined(policy: dict[str, Any], **tables: dict[str, Any]) -> dict[str, Any]:
    return {
        "tables": {name: {"policy": said} for name, said in tables.items()},
        "joins": {"stays": {"left": ["people", "id"], "right": ["visits", "who"], "policy": policy}},
    }


def test_an_answer_as_it_is_does_not_split_the_classes_of_a_join(opened: Opened) -> None:
    """The release of people alone may show exact ZIP codes; that of the join, which the client has, may not."""
    gateway = opened(hospital(), **joined(STAYING, people=PEOPLE, visits=VISITS))
    assert gateway.ask("bob", "SELECT zip, salary FROM people").decisions[0].action == "release"
    stays = gateway.ask("ann", f"SELECT zip, ward, salary {STAYS}").table
    assert set(stays["zip"]) == {"*"}
    with pytest.raises(Refused, match="same persons"):  # not as they are; and anonymized, the join goes before
        gateway.ask("ann", "SELECT zip, salary FROM people")
    assert gateway.ask("ann", "SELECT zip FROM people").decisions[0].action == "release"  # nothing links that


def test_a_join_as_it_is_adds_no_column_to_the_release_of_a_part(opened: Opened) -> None:
    """The bill finds the exact ZIP code of each published visit, a column that the visits do not have."""
    open_keys = {**STAYING, "identifiers": [], "subject": "salary", "sensitive": ["bill"], "others": "keep"}
    gateway = opened(hospital(), **joined(open_keys, people=PEOPLE, visits=VISITS))
    assert gateway.ask("ann", f"SELECT zip, bill {STAYS}").decisions[0].action == "release"
    with pytest.raises(Refused, match="tell apart the persons"):
        gateway.ask("ann", "SELECT ward, bill FROM visits")
    assert gateway.ask("ann", "SELECT ward FROM visits").decisions[0].action == "anonymize"
    assert gateway.ask("bob", "SELECT ward, bill FROM visits").decisions[0].action == "anonymize"


def test_a_key_that_a_part_shows_is_not_found_in_the_join(opened: Opened) -> None:
    """The visits' policy gives the key away; beside the bill it would say who each record of the join is."""
    open_key = {**VISITS, "identifiers": [], "others": "keep"}
    gateway = opened(hospital(), **joined(STAYING, people=PEOPLE, visits=open_key))
    assert gateway.ask("ann", "SELECT who, bill FROM visits").decisions[0].action == "release"
    with pytest.raises(Refused, match="tell apart the persons"):
        gateway.ask("ann", f"SELECT ward, bill {STAYS}")


def test_both_parts_of_a_join_cannot_give_the_key_away() -> None:
    """Whoever has anonymized answers of both would join them by it, and no policy promises anything of that."""
    parts = {"people": {**PEOPLE, "identifiers": [], "others": "keep"}, "visits": {**VISITS, "others": "keep"}}
    owner = {"database": {"duckdb": "not opened"}, **joined(STAYING, **parts)}
    GatewayConfig(owners={"north": owner}, ledger="x")
    parts["visits"] = {**parts["visits"], "identifiers": []}
    with pytest.raises(PolicyError, match="give the key away"):
        GatewayConfig(owners={"north": {**owner, **joined(STAYING, **parts)}}, ledger="x")
