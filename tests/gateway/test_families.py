"""What a client has is not forgotten because a configuration changed: tables are known by where their data lie."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import LedgerError, PolicyError
from shoal.gateway.config import GatewayConfig
from shoal.gateway.mediator import Gateway

COLUMNS = ("sex", "race", "town")
THRESHOLD = 5
POLICY: dict[str, Any] = {
    "identifiers": ["id", "person"],
    "quasi_identifiers": {name: {"hierarchy": "suppress", "weight": 2} for name in COLUMNS},
    "models": [{"name": "k-anonymity", "k": 2}],
    "algorithm": {"name": "weighted-boundaries"},
    "threshold": THRESHOLD,
    "raw": {"least": 1},
}
WARDS = POLICY | {"identifiers": ["who"], "quasi_identifiers": {"ward": {"hierarchy": "suppress", "weight": 2}}}
KEYS = {name: {"hierarchy": "suppress", "weight": 0.1} for name in ("id", "who")}
STAYS = POLICY | {
    "identifiers": [],
    "quasi_identifiers": POLICY["quasi_identifiers"] | WARDS["quasi_identifiers"] | KEYS,
    "subject": "person",
}
ID = [f"p{n}" for n in range(12)]


def people() -> pl.DataFrame:
    return pl.DataFrame({"id": ID, "person": ID} | {name: [f"{name}{n % 2}" for n in range(12)] for name in COLUMNS})


def others() -> pl.DataFrame:
    """Records of other people: two tables of the same are refused."""
    values = {name: [f"{name}{n % 3}" for n in range(15)] for name in COLUMNS}
    return pl.DataFrame({"id": [f"q{n}" for n in range(15)], "person": [f"q{n}" for n in range(15)]} | values)


def visits() -> pl.DataFrame:
    return pl.DataFrame({"who": ID, "ward": [f"w{n % 2}" for n in range(12)]})


def write(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    people().write_csv(folder / "people.csv")
    visits().write_csv(folder / "visits.csv")


def table(**said: Any) -> dict[str, Any]:
    return {"policy": POLICY, **said}


def owner(files: dict[str, str], joins: bool = False, **tables: dict[str, Any]) -> dict[str, Any]:
    """Return an owner of files; those who have visits may join them."""
    said: dict[str, Any] = {"database": {"files": files}, "tables": tables}
    first, *_ = tables
    join = {"left": ["visits", "who"], "right": [first, "id"], "policy": STAYS}
    return said | ({"joins": {"stays": join}} if joins else {})


def opened(folder: Path, **owners: dict[str, Any]) -> Gateway:
    """Return a gateway over owners' tables, in a folder with its ledger."""
    text = {"owners": owners, "clients": {"ann": {}, "bob": {}}, "ledger": "ledger.sqlite"}
    return Gateway(GatewayConfig.from_yaml(json.dumps(text), folder=folder))


BOTH = {"people": "people.csv", "visits": "visits.csv"}
VISITS = {"policy": WARDS}


def ask(gateway: Gateway, columns: str, source: str = "people", client: str = "ann") -> str:
    """Return what was decided on a request for some columns."""
    (decided,) = gateway.ask(client, f"SELECT {columns} FROM {source}").decisions
    return decided.action


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which ann has sex and race as they are; another column is too much for her."""
    write(tmp_path)
    gateway = opened(tmp_path, north=owner(BOTH, people=table()))
    assert ask(gateway, "sex, race") == "release"
    gateway.ledger.close()
    return tmp_path


JOINS = owner(BOTH, True, people=table(), visits=VISITS)
CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "a join is added": ("people", {"north": JOINS}),
    "a join is added, and is asked": ("people AS p JOIN visits AS v ON p.id = v.who", {"north": JOINS}),
    "the table is renamed": ("staff", {"north": owner({"staff": "people.csv"}, staff=table())}),
    "the table is renamed, not in the database": ("staff", {"north": owner(BOTH, staff=table(source="people"))}),
    "the owner is renamed": ("people", {"nord": owner(BOTH, people=table())}),
    "both are renamed": ("staff", {"nord": owner({"staff": "people.csv"}, staff=table())}),
    "the owner is renamed, and a join is added": ("people", {"nord": JOINS}),
    "another took its name": (
        "staff",
        {"north": owner({"people": "other.csv", "staff": "people.csv"}, people=table(), staff=table())},
    ),
    "the file was moved": ("people", {"north": owner({"people": "moved.csv"}, people=table())}),
    "a link leads to it": ("staff", {"nord": owner({"staff": "link.csv"}, staff=table())}),
    "it is told what it was": (
        "staff",
        {"nord": owner({"staff": "moved.csv"}, staff=table(formerly=["north/people"]))},
    ),
}


@pytest.mark.parametrize(("source", "owners"), CHANGES.values(), ids=CHANGES.keys())
def test_what_a_client_has_counts_whatever_is_called_otherwise(
    folder: Path, source: str, owners: dict[str, Any]
) -> None:
    """The third column was given as it is, beside two that ann had: all that the threshold should keep apart."""
    others().write_csv(folder / "other.csv")
    (folder / "link.csv").symlink_to("people.csv")
    if "moved.csv" in str(owners):
        (folder / "people.csv").rename(folder / "moved.csv")
    for _ in range(2):  # and again after the next start
        gateway = opened(folder, **owners)
        assert ask(gateway, "town", source) == "anonymize"
        assert ask(gateway, "town", source, client="bob") == "release"
        gateway.ledger.close()


def test_a_join_that_is_no_longer_declared_was_answered_all_the_same(tmp_path: Path) -> None:
    """Ann can lay the ward beside the sex; it goes on to count for the table alone."""
    write(tmp_path)
    gateway = opened(tmp_path, north=JOINS)
    assert ask(gateway, "ward", "people AS p JOIN visits AS v ON p.id = v.who") == "release"
    gateway.ledger.close()
    again = opened(tmp_path, north=owner(BOTH, people=table(), visits=VISITS))
    assert ask(again, "sex") == "release"
    assert ask(again, "race") == "anonymize"
    assert ask(again, "sex, race", client="bob") == "release"


def test_an_anonymized_join_that_is_gone_is_not_laid_over_its_parts(tmp_path: Path) -> None:
    write(tmp_path)
    gateway = opened(tmp_path, north=JOINS)
    assert ask(gateway, "sex, race, town", "people AS p JOIN visits AS v ON p.id = v.who") == "anonymize"
    gateway.ledger.close()
    again = opened(tmp_path, nord=owner({"staff": "people.csv"}, staff=table()))
    with pytest.raises(Exception, match="about the same persons from another table"):
        ask(again, "sex, race, town", "staff")


GONE = {"staff": "moved.csv"}


def test_data_that_moved_under_another_name_are_refused_until_it_is_told(folder: Path) -> None:
    (folder / "people.csv").rename(folder / "moved.csv")
    said = {"north": owner(GONE, staff=table())}
    for _ in range(2):
        with pytest.raises(
            LedgerError, match=r"owners\.north\.tables\.staff.*gone: north/people \(people\.csv\).*formerly"
        ):
            opened(folder, **said)
    with pytest.raises(LedgerError, match=r"knows no such table; got north/peopel.*did you mean"):
        opened(folder, north=owner(GONE, staff=table(formerly=["north/peopel"])))
    told = opened(folder, north=owner(GONE, staff=table(formerly=["north/people"])))
    assert ask(told, "town", "staff") == "anonymize"
    told.ledger.close()
    untold = opened(folder, **said)  # it is in the ledger now
    assert ask(untold, "town", "staff") == "anonymize"


def test_data_that_are_new_begin_anew_and_stay_so(folder: Path) -> None:
    """Also under the old name: the owner says so, and the ledger tells the two apart."""
    (folder / "people.csv").unlink()
    others().write_csv(folder / "other.csv")
    for formerly in ([], None):
        gateway = opened(folder, north=owner({"people": "other.csv"}, people=table(formerly=formerly)))
        assert ask(gateway, "town") == "release"
        assert set(gateway.ledger.read_history("ann").sources) == {"north/people", "north/people (2)"}
        gateway.ledger.close()
    back = opened(folder, north=owner({"staff": "people.csv", "people": "other.csv"}, staff=table(), people=table()))
    people().write_csv(folder / "people.csv")
    assert ask(back, "town", "staff") == "anonymize"


def test_two_tables_that_became_one_count_together(tmp_path: Path) -> None:
    write(tmp_path)
    others().write_csv(tmp_path / "other.csv")
    files = {"one": "people.csv", "two": "other.csv"}
    gateway = opened(tmp_path, north=owner(files, one=table(), two=table()))
    assert (ask(gateway, "sex", "one"), ask(gateway, "race", "two")) == ("release", "release")
    gateway.ledger.close()
    for formerly in (["north/one", "north/two"], None):
        united = opened(tmp_path, north=owner({"all": "all.csv"}, all=table(formerly=formerly)))
        people().write_csv(tmp_path / "all.csv")
        assert ask(united, "town", "all") == "anonymize"
        united.ledger.close()


def test_names_that_are_exchanged_stay_with_their_data(folder: Path) -> None:
    others().drop("person").rename({"id": "nr"}).write_csv(folder / "other.csv")
    other = table(policy=POLICY | {"identifiers": ["nr"]})  # not the persons of the first
    two = opened(folder, north=owner({"a": "people.csv", "b": "other.csv"}, a=table(), b=other))
    assert ask(two, "sex", "b") == "release"
    two.ledger.close()
    turned = opened(folder, north=owner({"b": "people.csv", "a": "other.csv"}, a=other, b=table()))
    assert (ask(turned, "town", "b"), ask(turned, "town", "a")) == ("anonymize", "release")


def test_tables_of_one_subject_are_about_the_same_persons(tmp_path: Path) -> None:
    """No join is declared; the owner's policies name the persons alike."""
    write(tmp_path)
    visits().rename({"who": "person"}).write_csv(tmp_path / "visits.csv")
    subject = {"subject": "person"}
    both = {"people": table(policy=POLICY | subject), "visits": {"policy": WARDS | {"identifiers": []} | subject}}
    gateway = opened(tmp_path, north=owner(BOTH, **both))
    assert (ask(gateway, "sex, race"), ask(gateway, "ward", "visits")) == ("release", "anonymize")
    assert ask(gateway, "ward", "visits", client="bob") == "release"


def test_a_folder_that_is_moved_is_known_again(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    new = tmp_path_factory.mktemp("elsewhere") / "gateway"
    shutil.move(folder, new)
    assert ask(opened(new, nord=owner({"staff": "people.csv"}, staff=table())), "town", "staff") == "anonymize"


def test_a_table_that_is_renamed_in_its_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ward.duckdb"
    frame = people().to_arrow()  # noqa: F841 - DuckDB finds it by its name
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE people AS SELECT * FROM frame")

    def of(name: str, **said: Any) -> dict[str, Any]:
        return {"database": {"duckdb": path.name}, "tables": {name: table(**said)}}

    gateway = opened(tmp_path, north=of("people"))
    assert ask(gateway, "sex, race") == "release"
    gateway.ledger.close()
    assert ask(opened(tmp_path, nord=of("staff", source="PEOPLE")), "town", "staff") == "anonymize"
    with duckdb.connect(str(path)) as db:
        db.execute("ALTER TABLE people RENAME TO staff")
    with pytest.raises(LedgerError, match=r"gone: north/people \(ward\.duckdb/people\)"):
        opened(tmp_path, north=of("staff"))
    assert ask(opened(tmp_path, north=of("staff", formerly=["north/people"])), "town", "staff") == "anonymize"


def test_a_join_lies_nowhere() -> None:
    join = {"left": ["people", "id"], "right": ["visits", "who"], "policy": STAYS, "formerly": []}
    with pytest.raises(PolicyError, match="a join lies nowhere"):
        GatewayConfig(owners={"north": {**JOINS, "joins": {"stays": join}}}, ledger="x")


def test_auditors_see_what_a_table_was_and_where(folder: Path) -> None:
    """Its place is entered when it is new or has changed, not with each answer."""
    moved = opened(folder, nord=owner({"staff": "people.csv"}, staff=table()))
    for _ in range(2):
        ask(moved, "sex", "staff")
    entries = moved.ledger.entries()
    assert [(one["source"], one["owner"], one["tabled"]) for one in entries] == [
        ("north/people", "north", "people"),
        *[("north/people", "nord", "staff")] * 2,
    ]
    assert [one.get("origin", {}).get("called") for one in entries] == [
        {"north/people": "north/people"},
        {"north/people": "nord/staff"},
        None,
    ]
    assert entries[0]["origin"]["places"] == {"north/people": "people.csv"}


def test_requests_about_other_persons_are_not_in_each_others_way(tmp_path: Path) -> None:
    """A client asks many tables at once; what was entered of one is no reason to decide anew on another."""
    write(tmp_path)
    others().drop("person").rename({"id": "nr"}).write_csv(tmp_path / "other.csv")
    other_persons = table(policy=POLICY | {"identifiers": ["nr"]})
    files = {"one": "people.csv", "two": "other.csv"}
    gateway = opened(tmp_path, north=owner(files, one=table(), two=other_persons))
    ask(gateway, "sex", "one")
    history = gateway.ledger.read_history("ann")
    assert history.newest == 1
    assert [history.within([f"north/{name}"]).newest for name in ("one", "two")] == [1, 0]
    ask(gateway, "sex", "two")
    other = opened(tmp_path, north=owner(files, one=table(), two=other_persons))  # another process enters something
    ask(other, "race", "one")
    ask(gateway, "race", "two")
    assert ask(gateway, "town", "one") == ask(gateway, "town", "two") == "anonymize"


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["north", "nord"]),
        st.sampled_from(["people", "staff", "visits2"]),
        st.booleans(),
        st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=2, unique=True),
    ),
    min_size=2,
    max_size=5,
)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_no_order_of_names_and_joins_gives_more_than_the_threshold(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, bool, list[str]]]
) -> None:
    folder = tmp_path_factory.mktemp("steps")
    write(folder)
    had: set[str] = set()
    for who, name, joins, columns in steps:
        files = {name: "people.csv", "visits": "visits.csv"}
        tables = {name: table(), **({"visits": VISITS} if joins else {})}
        gateway = opened(folder, **{who: owner(files, joins, **tables)})
        if ask(gateway, ", ".join(columns), name) == "release":
            had |= set(columns)
        gateway.ledger.close()
    assert 2 * len(had) <= THRESHOLD
