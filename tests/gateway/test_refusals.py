"""What is decided tells nothing of the data: outcomes follow from the request, the policy and the ledger alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.errors import Refused
from shoal.gateway.config import GatewayConfig
from shoal.gateway.mediator import Gateway
from tests.gateway.conftest import Memory
from tests.gateway.test_decisions import POLICY, people

Opened = Callable[..., Gateway]
CITIES, JOBS = ("Rome", "Oslo", "Bern"), ("cook", "smith", "clerk", "judge")
COLUMNS = {"age": range(30, 33), "city": CITIES, "job": JOBS}
K = 3


def town(**changed: Any) -> pl.DataFrame:
    """Twenty people, of whom a few share nothing with anybody; the last of them may be changed."""
    rows = [(f"p{n}", 30 + n % 3, CITIES[n % 2], JOBS[n % 3], ("flu", "cold")[n % 2]) for n in range(18)]
    rows += [("p18", 31, "Oslo", "judge", "gout"), ("p19", 32, "Rome", "cook", "gout")]
    table = pl.DataFrame(rows, schema=["name", "age", "city", "job", "ill"], orient="row")
    last = {**table.row(19, named=True), **changed}
    return pl.concat([table.head(19), pl.DataFrame([last], schema=table.schema)])


def suppress(weight: int) -> dict[str, Any]:
    return {"hierarchy": "suppress", "weight": weight}


def promise(**changed: Any) -> dict[str, Any]:
    return {
        "identifiers": ["name"],
        "quasi_identifiers": {name: suppress(2) for name in COLUMNS},
        "sensitive": ["ill"],
        "models": [{"name": "k-anonymity", "k": K}],
        "algorithm": "weighted-boundaries",
        "max_suppressed": 1,
        **changed,
    }


def ask_every_pair(folder: Path, table: pl.DataFrame, policy: dict[str, Any], recoding: str) -> dict[Any, list[str]]:
    """Ask every value of every pair of columns, each as a client who knows nothing yet; return what came of it."""
    asked = list(list_requests())
    config = GatewayConfig(
        owners={
            "north": {
                "database": {"duckdb": "not opened"},
                "tables": {"people": {"policy": policy, "recoding": recoding}},
            }
        },
        clients={f"c{index}": {} for index in range(len(asked))},
        ledger=str(folder / "ledger.sqlite"),
    )
    gateway = Gateway(config, sources={"north": Memory(people=table)})
    return {
        key: [tell_outcome(gateway, f"c{index}", text) for text in texts] for index, (key, texts) in enumerate(asked)
    }


def list_requests() -> Iterator[tuple[Any, tuple[str, ...]]]:
    """The attack: who of this age lives there, then each job, with and without what is sensitive."""
    for first, second in permutations(COLUMNS, 2):
        for one in COLUMNS[first]:
            for other in COLUMNS[second]:
                known, guess = f"{first} = {one!r}", f"{second} = {other!r}"
                yield (
                    (first, second, one, other),
                    (
                        f"SELECT {first} FROM people WHERE {known}",
                        f"SELECT {first}, {second}, count(*) AS n FROM people WHERE {known} AND {guess} "
                        f"GROUP BY {first}, {second}",
                        f"SELECT {second}, ill FROM people WHERE {guess}",
                    ),
                )


def tell_outcome(gateway: Gateway, client: str, text: str) -> str:
    try:
        return gateway.ask(client, text).decisions[0].action
    except Refused as refused:
        return str(refused)


CHANGES = ({"age": 31}, {"city": "Bern"}, {"job": "judge"}, {"ill": "flu"}, {"age": 30, "city": "Oslo", "job": "clerk"})


@pytest.mark.parametrize("recoding", ["one", "each"])
@pytest.mark.parametrize("said", [{}, {"threshold": 2}, {"threshold": 4}, {"threshold": 4, "raw": {"least": 1}}])
def test_outcomes_do_not_tell_two_tables_apart_that_differ_in_one_person(
    tmp_path: Path, recoding: str, said: dict[str, Any]
) -> None:
    policy = promise(**said)
    before = ask_every_pair(tmp_path / "before", town(), policy, recoding)
    for number, changed in enumerate(CHANGES):
        assert ask_every_pair(tmp_path / str(number), town(**changed), policy, recoding) == before


@pytest.mark.parametrize("recoding", ["one", "each"])
def test_outcomes_are_the_same_for_every_value_of_a_condition(tmp_path: Path, recoding: str) -> None:
    outcomes = ask_every_pair(tmp_path, town(), promise(threshold=2), recoding)
    for columns in permutations(COLUMNS, 2):
        assert len({tuple(told) for key, told in outcomes.items() if key[:2] == columns}) == 1


def each(opened: Opened, table: pl.DataFrame, **changed: Any) -> Gateway:
    return opened(Memory(people=table), {**POLICY, "threshold": None, **changed}, recoding="each")


def test_a_client_is_answered_from_the_recoding_of_the_columns_that_it_asked_for_first(opened: Opened) -> None:
    """Halves and thirds of twelve hold on their own; laid over each other they leave two persons together."""
    halves = pl.Series(["f"] * 6 + ["m"] * 6)
    thirds = pl.Series([code for code in ("53700", "53701", "53702") for _ in range(4)])
    gateway = each(opened, people(12).with_columns(sex=halves, zip=thirds))
    first = gateway.ask("ann", "SELECT sex, ill FROM people")
    assert set(first.table["sex"]) == {"f", "m"}
    for text in (
        "SELECT zip, ill FROM people",
        "SELECT sex, zip FROM people",
        "SELECT sex FROM people WHERE zip = 'x'",
    ):
        with pytest.raises(Refused, match="fewer columns"):
            gateway.ask("ann", text)
    again = gateway.ask("ann", "SELECT ill FROM people WHERE sex = 'f'").table
    assert sorted(again["ill"]) == sorted(first.table.filter(pl.col("sex") == "f")["ill"])
    assert len(set(gateway.ask("bob", "SELECT zip, ill FROM people").table["zip"])) == 3


def test_whoever_asks_for_no_quasi_identifier_first_is_answered_from_the_recoding_of_all(opened: Opened) -> None:
    gateway = each(opened, people())
    assert gateway.ask("ann", "SELECT ill FROM people WHERE ill <> 'flu'").table.height
    whole = gateway.ask("ann", "SELECT age, zip, sex, ill FROM people").table
    assert gateway.ask("ann", "SELECT sex FROM people").table["sex"].sort().equals(whole["sex"].sort())


def test_columns_that_cannot_be_recoded_alone_are_cut_from_the_recoding_of_all(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That there is none for some columns would tell something; where there is one of all, there is one of each."""
    from shoal.errors import Infeasible
    from shoal.gateway import queryable_release

    real = queryable_release.anonymize

    def fail_for_some(frame: pl.DataFrame, policy: Any) -> Any:
        if len(policy.quasi_identifiers) < 3:
            raise Infeasible("none is found")
        return real(frame, policy)

    monkeypatch.setattr(queryable_release, "anonymize", fail_for_some)
    gateway = each(opened, people())
    part = gateway.ask("ann", "SELECT age, sex, ill FROM people")
    whole = gateway.ask("bob", "SELECT age, sex, zip, ill FROM people")
    assert sorted(part.table.rows()) == sorted(whole.table.select("age", "sex", "ill").rows())
    assert part.decisions[0].attained["k-anonymity"] >= whole.decisions[0].attained["k-anonymity"] >= K


def test_every_refusal_enters_the_ledger(opened: Opened) -> None:
    gateway = each(opened, people())
    gateway.ask("ann", "SELECT sex FROM people")
    for _ in range(3):
        with pytest.raises(Refused):
            gateway.ask("ann", "SELECT zip FROM people", request="7")
    actions = [entry["action"] for entry in gateway.ledger.entries()]
    assert actions == ["anonymize", *["refuse"] * 3]
    assert gateway.ledger.read_history("ann").published == {"north/people.sex"}
    assert gateway.ask("ann", "SELECT sex FROM people", request="7").table.height  # the number is free
