"""The same persons in two tables of an owner: found where it can be, and weighed together."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from shoal.errors import PolicyError, Refused
from shoal.gateway.config import GatewayConfig
from shoal.gateway.mediator import Gateway
from tests.gateway.conftest import EXAMPLE, Memory
from tests.gateway.test_decisions import POLICY, people

Opened = Callable[..., Gateway]


def owner(database: dict[str, Any], **sources: str) -> dict[str, Any]:
    tables = {name: {"policy": POLICY, "source": source} for name, source in sources.items()}
    return {"database": database, "tables": tables}


def gateway_of(folder: Path, **owners: dict[str, Any]) -> Gateway:
    ledger = str(folder / "ledger" / "ledger.sqlite")
    return Gateway(GatewayConfig(owners=owners, clients={"ann": {}, "bob": {}}, ledger=ledger))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    people().write_csv(tmp_path / "people.csv")
    return tmp_path


@pytest.mark.parametrize("how", ["the same path", "a detour", "a link", "a link to a link", "another owner"])
def test_the_same_file_is_refused_at_start(folder: Path, how: str) -> None:
    if "link" in how:
        (folder / "staff.csv").symlink_to(folder / "people.csv")
        (folder / "again.csv").symlink_to(folder / "staff.csv")
    second = {
        "the same path": "people.csv",
        "a detour": "ledger/../people.csv",
        "a link": "staff.csv",
        "a link to a link": "again.csv",
        "another owner": "people.csv",
    }[how]
    files = {"people": str(folder / "people.csv"), "staff": str(folder / second)}
    owners = {"north": owner({"files": files}, people="people", staff="staff")}
    if how == "another owner":
        owners = {name: owner({"files": {"people": files["people"]}}, people="people") for name in ("north", "south")}
    with pytest.raises(PolicyError, match="two tables of the same data"):
        gateway_of(folder, **owners)


def test_the_same_relation_is_refused_at_start(folder: Path) -> None:
    with pytest.raises(PolicyError, match="two tables of the same data"):
        gateway_of(folder, north=owner({"duckdb": str(folder / "x.duckdb")}, people="people", staff="PEOPLE"))


def test_a_copy_is_found_by_its_records(folder: Path) -> None:
    """A hard link, or a copy in another order and form, under other names of columns."""
    os.link(folder / "people.csv", folder / "hard.csv")
    people().reverse().write_parquet(folder / "copy.parquet")
    for name in ("hard.csv", "copy.parquet"):
        files = {"people": str(folder / "people.csv"), "staff": str(folder / name)}
        gateway = gateway_of(folder, north=owner({"files": files}, people="people", staff="staff"))
        with pytest.raises(Refused, match="offered as another table"):  # whichever is asked for first
            gateway.ask("ann", "SELECT age, ill FROM staff")
        assert gateway.ask("ann", "SELECT age, ill FROM people").table.height
        assert set(gateway.tables()) == {"people"}


def test_a_view_is_found_by_its_records(folder: Path) -> None:
    with duckdb.connect(str(folder / "x.duckdb")) as db:
        db.read_csv(str(folder / "people.csv")).create("people")
        db.execute('CREATE VIEW staff AS SELECT ill, sex AS gender, name AS who, age AS "alter" FROM people')
    renamed = {
        **POLICY,
        "identifiers": ["who"],
        "quasi_identifiers": {
            "alter": POLICY["quasi_identifiers"]["age"],
            "gender": POLICY["quasi_identifiers"]["sex"],
        },
    }
    said = owner({"duckdb": str(folder / "x.duckdb")}, people="people", staff="staff")
    said["tables"]["staff"]["policy"] = renamed
    gateway = gateway_of(folder, north=said)
    with pytest.raises(Refused, match="offered as another table"):
        gateway.ask("ann", "SELECT gender, ill FROM staff")
    assert gateway.ask("ann", "SELECT age FROM people").table.height


def test_other_records_are_other_tables(folder: Path) -> None:
    people(30).write_csv(folder / "others.csv")
    files = {"people": str(folder / "people.csv"), "staff": str(folder / "others.csv")}
    gateway = gateway_of(folder, north=owner({"files": files}, people="people", staff="staff"))
    for table in ("people", "staff"):
        assert gateway.ask("ann", f"SELECT sex FROM {table}").table.height


PARTS = {
    "people": {"policy": POLICY},
    "staff": {
        "policy": {
            **POLICY,
            "quasi_identifiers": {
                "zip": POLICY["quasi_identifiers"]["zip"],
                "town": {"hierarchy": "suppress", "weight": 2},
            },
        }
    },
}


def parts() -> Memory:
    """Some of the people a second time, with a column of its own: no fingerprint tells."""
    staff = people(40).select("name", "zip", "ill").with_columns(town=pl.col("zip").str.tail(1))
    return Memory(people=people(), staff=staff)


def test_tables_about_the_same_persons_are_weighed_together(opened: Opened) -> None:
    gateway = opened(parts(), tables=PARTS)
    assert gateway.ask("ann", "SELECT age FROM people").decisions[0].action == "release"
    (decided,) = gateway.ask("ann", "SELECT town FROM staff").decisions
    assert (decided.action, decided.weighed.total, decided.together) == ("anonymize", 5, {"people.age": 3})
    assert gateway.ask("bob", "SELECT town FROM staff").decisions[0].action == "release"


def test_tables_about_the_same_persons_do_not_publish_a_column_twice(opened: Opened) -> None:
    gateway = opened(parts(), tables=PARTS)
    assert gateway.ask("ann", "SELECT age, zip, ill FROM people").decisions[0].action == "anonymize"
    with pytest.raises(Refused, match="same columns from another table"):
        gateway.ask("ann", "SELECT zip, town, ill FROM staff")
    assert gateway.ask("bob", "SELECT zip, town, ill FROM staff").decisions[0].action == "anonymize"


@pytest.mark.parametrize("name", ["hussien15.yaml", "two_owners.yaml"])
def test_no_example_offers_anybody_twice(name: str) -> None:
    config = GatewayConfig.read(EXAMPLE / name)
    for said in config.owners.values():
        assert len(said.tables) == 1
    files = [file for said in config.owners.values() for file in (said.database.files or {}).values()]
    names = [person for file in files for person in pl.read_csv(file)["name"]]
    assert len(names) == len(set(names)) == 6
