"""Several owners: each answers on its own, and who cannot does not spoil the rest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.errors import PolicyError, Refused, Unavailable
from shoal.gateway.config import GatewayConfig
from shoal.gateway.mediator import Gateway
from tests.gateway.conftest import Memory
from tests.gateway.test_decisions import POLICY, people


class Down(Memory):
    def version(self, table: str) -> str:
        raise Unavailable("the database cannot be read", where=table)


class Broken(Memory):
    def read(self, table: str) -> pl.DataFrame:
        raise RuntimeError("person7 is in this text")


def united(tmp_path: Path, client: Any = None, **sources: tuple[Memory, dict[str, Any]]) -> Gateway:
    owners = {
        name: {"database": {"duckdb": "not opened"}, "tables": {"people": {"policy": policy}}}
        for name, (_, policy) in sources.items()
    }
    config = GatewayConfig(owners=owners, clients={"ann": client or {}}, ledger=str(tmp_path / "ledger.sqlite"))
    return Gateway(config, sources={name: source for name, (source, _) in sources.items()})


def test_an_owner_that_is_down_is_reported(tmp_path: Path) -> None:
    for first, second in ((Down(), Memory(people=people())), (Memory(people=people()), Down())):
        answer = united(tmp_path, a=(first, POLICY), b=(second, POLICY)).ask("ann", "SELECT age, zip FROM people")
        assert answer.table.height == 60
        assert len(answer.decisions) == 1
        assert [fault.what for faults in answer.refusals.values() for fault in faults] == [
            "the database cannot be read"
        ]


def test_an_owner_that_refuses_is_reported(tmp_path: Path) -> None:
    few = Memory(people=people(2))
    answer = united(tmp_path, a=(few, POLICY), b=(Memory(people=people()), POLICY)).ask(
        "ann", "SELECT age, zip FROM people"
    )
    assert list(answer.refusals) == ["a"] and answer.table.height == 60


def test_what_goes_wrong_inside_shows_no_data(tmp_path: Path) -> None:
    gateway = united(tmp_path, a=(Memory(people=people()), POLICY), b=(Broken(people=people()), POLICY))
    answer = gateway.ask("ann", "SELECT age, zip FROM people")
    assert "person7" not in str(answer.to_dict()) and list(answer.refusals) == ["b"]


def test_if_nobody_answers_each_reason_is_told(tmp_path: Path) -> None:
    gateway = united(tmp_path, a=(Memory(people=people(2)), POLICY), b=(Memory(people=people(1)), POLICY))
    with pytest.raises(Refused) as refused:
        gateway.ask("ann", "SELECT age, zip FROM people")
    assert len(refused.value.faults) == 2


def test_owners_decide_by_their_own_policies(tmp_path: Path) -> None:
    strict = {**POLICY, "threshold": None}
    gateway = united(tmp_path, a=(Memory(people=people(30)), POLICY), b=(Memory(people=people(36)), strict))
    answer = gateway.ask("ann", "SELECT age FROM people ORDER BY age", owner_column=True)
    assert {one.owner: one.action for one in answer.decisions} == {"a": "release", "b": "anonymize"}
    assert answer.table.height == 66 and answer.table["age"].dtype == pl.String


def test_figures_of_owners_are_not_added_up(tmp_path: Path) -> None:
    gateway = united(tmp_path, a=(Memory(people=people(30)), POLICY), b=(Memory(people=people(36)), POLICY))
    answer = gateway.ask("ann", "SELECT count(*) AS n FROM people", owner_column=True)
    assert sorted(answer.table.rows()) == [(30, "a"), (36, "b")]
    assert "not added up" in answer.notes[0]


def test_order_and_limit_hold_for_the_union(tmp_path: Path) -> None:
    gateway = united(tmp_path, a=(Memory(people=people(30)), POLICY), b=(Memory(people=people(36)), POLICY))
    ages = gateway.ask("ann", "SELECT age FROM people ORDER BY age DESC LIMIT 5").table["age"].to_list()
    both = sorted([*people(30)["age"], *people(36)["age"]], reverse=True)
    assert ages == both[:5]


def test_a_client_gets_no_more_records_than_it_may(tmp_path: Path) -> None:
    gateway = united(tmp_path, {"rows": 7}, a=(Memory(people=people()), POLICY))
    answer = gateway.ask("ann", "SELECT age FROM people")
    assert answer.table.height == 7 and "cut" in answer.notes[0]


def test_auditors_may_not_ask(tmp_path: Path) -> None:
    gateway = united(tmp_path, {"roles": ["auditor"]}, a=(Memory(people=people()), POLICY))
    with pytest.raises(Refused, match="may not ask"):
        gateway.ask("ann", "SELECT age FROM people")


def test_the_ledger_knows_who_got_what(tmp_path: Path) -> None:
    gateway = united(tmp_path, a=(Memory(people=people()), POLICY), b=(Memory(people=people(30)), POLICY))
    answer = gateway.ask("ann", "SELECT age, ill FROM people")
    entries = gateway.ledger.entries()
    told = sorted((one["client"], one["owner"], one["action"], one["request"]) for one in entries)
    assert told == [("ann", owner, "release", answer.request) for owner in ("a", "b")]
    assert entries[0]["weights"] == {"a/people.age": 3, "a/people.ill": 0}
    assert "flu" not in str(entries)


def test_a_request_is_answered_again_by_a_gateway_that_remembers_less(tmp_path: Path) -> None:
    one, other = (united(tmp_path, a=(Memory(people=people()), POLICY)) for _ in range(2))
    one.ask("ann", "SELECT ill FROM people", request="1")
    other.ask("ann", "SELECT age FROM people", request="2")
    first = other.ask("ann", "SELECT zip FROM people", request="3")
    again = one.ask("ann", "SELECT zip FROM people", request="3")  # alone it would be released as it is
    assert [decided.action for answer in (first, again) for decided in answer.decisions] == ["anonymize"] * 2
    assert again.table.equals(first.table) and one.ledger.verify() == 3


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"owners": {}}, "owners: must not be empty"),
        ({"ledgers": "x"}, "ledgers: is not a known key. Hint: did you mean 'ledger'"),
        ({"clients": {"ann": {"rows": 0}}}, "clients.ann.rows: must be at least 1"),
        ({"clients": {"ann": {"roles": ["king"]}}}, "must be one of"),
        ({"owners": {"a": {"database": {}, "tables": {"t": {"policy": POLICY}}}}}, "exactly one database"),
        (
            {"owners": {"a": {"database": {"duckdb": "x"}, "tables": {"t": {"policy": {}}}}}},
            "quasi_identifiers: is required",
        ),
    ],
)
def test_a_wrong_configuration_is_told_by_its_key(change: dict[str, Any], told: str) -> None:
    owner = {"database": {"duckdb": "x"}, "tables": {"people": {"policy": POLICY}}}
    with pytest.raises(PolicyError, match=told):
        GatewayConfig(**{"owners": {"a": owner}, "ledger": "x", **change})


def test_a_password_may_stay_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.gateway.config import DatabaseConfig

    monkeypatch.setenv("WARD_URL", "postgresql://me:secret@host/db")
    assert DatabaseConfig(postgresql="$WARD_URL").url().endswith("@host/db")
    with pytest.raises(PolicyError, match="no such variable"):
        DatabaseConfig(postgresql="$NO_SUCH_THING").url()


def test_libraries_of_the_gateway_are_imported_late() -> None:
    code = "import sys, shoal.cli.app, shoal.gateway; print({'sqlglot', 'duckdb', 'psycopg'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_why_a_table_cannot_be_read_is_told_inside(tmp_path: Path) -> None:
    """The client hears that nobody can be reached; somebody has to hear why."""
    gateway = united(tmp_path, a=(Broken(people=people()), POLICY))
    told: list[Exception] = []
    gateway.on_error = told.append
    with pytest.raises(Unavailable):
        gateway.ask("ann", "SELECT age FROM people")
    assert [type(error) for error in told] == [RuntimeError]
