"""What was published stands: before and after an insert, an update or a deletion, nobody is alone in the difference."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.errors import Refused, Unavailable
from shoal.gateway.mediator import Gateway
from tests.gateway.conftest import Memory
from tests.gateway.test_decisions import POLICY, K, people

Opened = Callable[..., Gateway]
REQUESTS = (
    "SELECT age, zip, sex, ill FROM people",
    "SELECT ill, count(*) AS n FROM people GROUP BY ill",
    "SELECT sex FROM people",
)
CLOSED = {**POLICY, "raw": None, "algorithm": "mondrian"}


def ask_all(gateway: Gateway, client: str = "ann") -> list[list[Any]]:
    return [sorted(gateway.ask(client, text).table.rows(), key=str) for text in REQUESTS]


def alice(**said: Any) -> pl.DataFrame:
    row = {"name": "Alice", "age": 33, "zip": "53705", "sex": "f", "ill": "leprosy", **said}
    return pl.DataFrame([row], schema=people().schema)


CHANGES: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "somebody came": lambda table: pl.concat([table, alice()]),
    "two came": lambda table: pl.concat([table, alice(), alice(name="Bob", ill="gout")]),
    "somebody left": lambda table: table.slice(1),
    "somebody fell ill": lambda table: pl.concat([alice(name="person0"), table.slice(1)]),
    "one left, one came": lambda table: pl.concat([table.slice(1), alice()]),
    "another order": lambda table: table.reverse(),
    "a column came": lambda table: table.with_columns(height=pl.lit(1)),
    "a column went": lambda table: table.drop("ill"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("recoding", ["one", "each"])
def test_a_change_of_fewer_than_k_persons_is_not_seen(opened: Opened, change: str, recoding: str) -> None:
    source = Memory(people=people())
    gateway = opened(source, CLOSED, recoding=recoding)
    before = ask_all(gateway)
    source.change(people=CHANGES[change](people()))
    assert ask_all(gateway) == before
    assert ask_all(gateway, "bob") == before  # nor by two who compare
    assert ask_all(opened(source, CLOSED, recoding=recoding)) == before  # nor after a restart


def newcomers(count: int) -> pl.DataFrame:
    return pl.concat([alice(name=f"new{n}", age=30 + n % 2, ill=("leprosy", "gout")[n % 2]) for n in range(count)])


@pytest.mark.parametrize("recoding", ["one", "each"])
def test_enough_newcomers_are_added_as_a_group_that_keeps_the_models(opened: Opened, recoding: str) -> None:
    diverse = {**CLOSED, "models": [*CLOSED["models"], {"name": "distinct-l-diversity", "on": "ill", "l": 2}]}
    source = Memory(people=people())
    gateway = opened(source, diverse, recoding=recoding)
    before = Counter(gateway.ask("ann", REQUESTS[0]).table.rows())
    source.change(people=pl.concat([people().slice(1), newcomers(2 * K)]))
    answer = gateway.ask("ann", REQUESTS[0])
    after = Counter(answer.table.rows())
    assert not before - after  # who was published stays as published
    classes: dict[Any, list[str]] = {}
    for (*shown, ill), count in (after - before).items():
        classes.setdefault(tuple(shown), []).extend([ill] * count)
    assert sum(map(len, classes.values())) == 2 * K
    assert all(len(ills) >= K and len(set(ills)) >= 2 for ills in classes.values())
    assert answer.decisions[0].version.endswith("-2")
    source.change(people=pl.concat([people().slice(1), newcomers(2 * K), alice()]))
    assert Counter(gateway.ask("ann", REQUESTS[0]).table.rows()) == after


def test_the_policy_says_how_many_and_how_often(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Memory(people=people())
    gateway = opened(source, {**CLOSED, "renew": {"records": 10, "days": 30}})
    assert gateway.ask("ann", REQUESTS[0]).table.height == 60
    source.change(people=pl.concat([people(), newcomers(9)]))
    assert gateway.ask("ann", REQUESTS[0]).table.height == 60
    source.change(people=pl.concat([people(), newcomers(10)]))
    assert gateway.ask("ann", REQUESTS[0]).table.height == 60  # too soon
    import time

    real = time.time()
    monkeypatch.setattr(time, "time", lambda: real + 31 * 24 * 60 * 60)
    source.change()
    assert gateway.ask("ann", REQUESTS[0]).table.height == 70


def test_newcomers_are_added_beside_a_release_that_shows_nothing_but_stars(opened: Opened) -> None:
    """The stars of before are the top of the hierarchies, not suppressed records."""
    source = Memory(people=people())
    gateway = opened(source, {**CLOSED, "algorithm": "weighted-boundaries"})
    assert set(gateway.ask("ann", REQUESTS[0]).table["age"]) == {"*"}
    source.change(people=pl.concat([people(), newcomers(2 * K)]))
    assert gateway.ask("ann", REQUESTS[0]).table.height == 60 + 2 * K


def test_a_newcomer_group_that_cannot_keep_the_models_waits(opened: Opened) -> None:
    diverse = {**CLOSED, "models": [*CLOSED["models"], {"name": "distinct-l-diversity", "on": "ill", "l": 2}]}
    source = Memory(people=people())
    gateway = opened(source, diverse)
    before = ask_all(gateway)[0]
    alike = newcomers(2 * K).with_columns(ill=pl.lit("leprosy"))
    source.change(people=pl.concat([people(), alike]))
    assert ask_all(gateway)[0] == before
    others = newcomers(2 * K).with_columns(name=pl.Series([f"later{n}" for n in range(2 * K)]))
    source.change(people=pl.concat([people(), alike, others]))
    assert len(ask_all(gateway)[0]) == 60 + 4 * K


def test_without_a_column_that_names_persons_newcomers_are_only_seen_where_nobody_changed(opened: Opened) -> None:
    nameless = {name: said for name, said in CLOSED.items() if name != "identifiers"}
    source = Memory(people=people().drop("name"))
    gateway = opened(source, nameless)
    before = ask_all(gateway)[0]
    came = pl.concat([people(), newcomers(2 * K)]).drop("name")
    source.change(people=came.slice(1))  # somebody left, or changed into what seems new
    assert ask_all(gateway)[0] == before
    source.change(people=came)
    assert len(ask_all(gateway)[0]) == 60 + 2 * K


def test_persons_are_counted_not_records(opened: Opened) -> None:
    """Six records of one person are one newcomer."""
    source = Memory(people=people())
    gateway = opened(source, {**CLOSED, "identifiers": [], "subject": "name"})
    before = ask_all(gateway)[0]
    source.change(people=pl.concat([people(), *[alice()] * 6]))
    assert ask_all(gateway)[0] == before


LIGHT = {**CLOSED, "threshold": 2}
AS_IT_IS, ANONYMIZED = "SELECT sex, count(*) AS n FROM people GROUP BY sex", REQUESTS[0]


@pytest.mark.parametrize("first", [AS_IT_IS, ANONYMIZED])
def test_a_new_edition_is_the_table_as_it_is_now_for_whoever_has_nothing(opened: Opened, first: str) -> None:
    """An answer as it is and an anonymized one can be compared too: how many men there were before and after."""
    source = Memory(people=people())
    assert opened(source, LIGHT).ask("ann", AS_IT_IS).decisions[0].action == "release"
    opened(source, LIGHT).ask("cyd", first)
    source.change(people=people(30))
    tables = {"people": {"policy": LIGHT, "edition": 2}}
    gateway = opened(source, tables=tables)
    assert gateway.ask("bob", ANONYMIZED).table.height == 30
    for text in (AS_IT_IS, ANONYMIZED):
        with pytest.raises(Refused, match="answers from earlier records"):
            gateway.ask("cyd", text)


def test_a_new_edition_of_the_same_records_is_the_same(opened: Opened) -> None:
    source = Memory(people=people())
    opened(source, CLOSED).ask("ann", REQUESTS[0])
    assert opened(source, tables={"people": {"policy": CLOSED, "edition": 2}}).ask("ann", REQUESTS[0]).table.height


def test_another_policy_is_not_laid_over_what_a_client_has(opened: Opened) -> None:
    source = Memory(people=people())
    opened(source, CLOSED).ask("ann", REQUESTS[0])
    gateway = opened(source, {**CLOSED, "models": [{"name": "k-anonymity", "k": 4 * K}]})
    with pytest.raises(Refused, match="recoded otherwise"):
        gateway.ask("ann", REQUESTS[0])
    assert gateway.ask("bob", REQUESTS[0]).table.height == 60


def test_raw_answers_are_not_compared_across_policies(opened: Opened) -> None:
    """Whoever has records as they were gets no others as they are: the difference may be one person."""
    source = Memory(people=people())
    light = {**CLOSED, "threshold": 2}
    assert opened(source, light).ask("ann", "SELECT sex FROM people").decisions[0].action == "release"
    gateway = opened(source, {**light, "raw": {"least": 31}})
    (decided,) = gateway.ask("ann", "SELECT sex FROM people").decisions
    assert (decided.action, "as they were" in decided.notes[0]) == ("anonymize", True)
    assert gateway.ask("bob", "SELECT sex FROM people").decisions[0].action == "release"


def test_what_is_kept_is_sealed(opened: Opened, tmp_path: Path) -> None:
    source = Memory(people=people())
    opened(source, CLOSED).ask("ann", REQUESTS[0])
    kept = sorted((tmp_path / "ledger.sqlite.releases" / "standing").rglob("*-0000"))
    assert [oct(path.stat().st_mode)[-3:] for path in kept] == ["600"] * len(kept) and kept
    kept[0].write_bytes(kept[0].read_bytes()[:-1] + b"x")
    with pytest.raises(Unavailable):
        opened(source, CLOSED).ask("ann", REQUESTS[0])


def test_whoever_removes_what_is_kept_gains_nothing(opened: Opened, tmp_path: Path) -> None:
    """The records would be taken anew, with the one who came; the ledger knows what clients have."""
    source = Memory(people=people())
    opened(source, CLOSED).ask("ann", REQUESTS[0])
    shutil.rmtree(tmp_path / "ledger.sqlite.releases")
    source.change(people=pl.concat([people(), alice()]))
    with pytest.raises(Refused, match="answers from earlier records"):
        opened(source, CLOSED).ask("ann", REQUESTS[0])
