"""Owners who answer with counts only: with differentially private noise within a budget, or rounded for ever alike."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, pvariance
from typing import Any

import polars as pl
import pytest

from shoal.errors import Refused, Unavailable
from shoal.gateway import count_source
from shoal.gateway.blurred_counts import add_noise
from shoal.gateway.mediator import Gateway
from shoal.policy.answers import NoisyCounts
from tests.gateway.conftest import Memory
from tests.gateway.test_decisions import POLICY, people

Opened = Callable[..., Gateway]
dp = pytest.mark.skipif(find_spec("opendp") is None, reason="needs OpenDP")
NOISY = {"counts": "dp", "epsilon": 0.5, "client_budget": 2.0, "person_budget": 3.0}
ROUNDED = {"counts": "rounded", "base": 5}
BY_SEX = "SELECT sex, count(*) AS n FROM people GROUP BY sex"


def asking(said: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**POLICY, "answers": said, **more}


def many(count: int = 600) -> pl.DataFrame:
    return people(count)


def count_older(age: int) -> str:
    return f"SELECT count(*) AS n FROM people WHERE age >= {age}"


@pytest.mark.parametrize("said", [NOISY, ROUNDED])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT sex FROM people",
        "SELECT * FROM people",
        "SELECT sum(age) AS s FROM people",
        "SELECT count(age) AS n FROM people",
        "SELECT sex, count(*) AS n, avg(age) AS mean FROM people GROUP BY sex",
        "SELECT count(*) AS n FROM people GROUP BY sex",
        "SELECT count(*) AS n FROM people WHERE name = 'person7'",
        "SELECT name, count(*) AS n FROM people GROUP BY name",
    ],
)
def test_nothing_but_counts_is_answered(opened: Opened, said: dict[str, Any], text: str) -> None:
    gateway = opened(Memory(people=many()), asking(said))
    with pytest.raises(Refused):
        gateway.ask("ann", text)
    assert {entry["action"] for entry in gateway.ledger.entries()} <= {"refuse"}


@dp
def test_noise_is_drawn_once_for_everybody_and_for_ever(opened: Opened) -> None:
    source = Memory(people=many())
    gateway = opened(source, asking(NOISY))
    answers = [gateway.ask(client, BY_SEX).table.rows() for client in ("ann", "ann", "bob")]
    answers.append(opened(source, asking(NOISY)).ask("ann", BY_SEX).table.rows())
    assert len({tuple(rows) for rows in answers}) == 1
    assert all(abs(count - 300) < 100 for _, count in answers[0])
    assert gateway.ledger.read_spending("ann", ["north/people"]).by_client == 0.5


@dp
def test_the_noise_has_the_scale_that_epsilon_says() -> None:
    said = NoisyCounts(counts="dp", epsilon=0.5, contributions=2)
    drawn = list(add_noise({str(number): 100 for number in range(2_000)}, said, grouped=False).values())
    scale = 2 / 0.5
    assert abs(fmean(drawn) - 100) < 5 * scale * 2**0.5 / 2_000**0.5
    assert 0.8 < pvariance(drawn) / (2 * scale**2) < 1.25


@dp
def test_a_group_of_one_is_not_told_to_exist() -> None:
    said = NoisyCounts(counts="dp", epsilon=1.0)
    assert all(set(add_noise({"many": 500, "one": 1}, said, grouped=True)) == {"many"} for _ in range(60))


@dp
def test_the_budget_is_told_and_kept(opened: Opened) -> None:
    gateway = opened(Memory(people=many()), asking(NOISY))
    for number in range(4):
        (decided,) = gateway.ask("ann", count_older(20 + number)).decisions
        assert decided.noise is not None and decided.noise["client_spent"] == 0.5 * (number + 1)
        assert f"{2 - 0.5 * (number + 1):g} are left" in decided.notes[-1]
    with pytest.raises(Refused, match="budget of this client is spent"):
        gateway.ask("ann", count_older(30))
    again = gateway.ask("ann", count_older(20))  # what was told is told again
    assert again.decisions[0].noise is not None and again.decisions[0].noise["client_spent"] == 2.0


@dp
def test_what_all_clients_get_about_a_person_is_bounded_too(opened: Opened) -> None:
    gateway = opened(Memory(people=many()), asking(NOISY))
    for number in range(4):
        gateway.ask("ann", count_older(20 + number))
    gateway.ask("bob", count_older(20))  # it was drawn already: nothing new of anybody
    for number in range(2):
        gateway.ask("bob", count_older(40 + number))
    with pytest.raises(Refused, match="all clients together"):
        gateway.ask("bob", count_older(50))


@dp
@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.with_columns(height=pl.lit(1)),
        lambda table: table.drop("zip"),
        lambda table: table.reverse(),
    ],
)
def test_the_budget_survives_restarts_and_changes_of_the_table(opened: Opened, change: Any) -> None:
    source = Memory(people=many())
    for number in range(4):
        opened(source, asking(NOISY)).ask("ann", count_older(20 + number))
    source.change(people=change(many()))
    with pytest.raises(Refused, match="is spent"):
        opened(source, asking({**NOISY, "epsilon": 0.4})).ask("ann", count_older(30))


@dp
def test_noise_that_is_drawn_anew_is_paid_for(opened: Opened, tmp_path: Path) -> None:
    """Where what was told is gone, or the table has a new edition: or its mean would be had for the price of one."""
    source = Memory(people=many())
    opened(source, asking(NOISY)).ask("ann", count_older(20))
    shutil.rmtree(tmp_path / "ledger.sqlite.releases")
    opened(source, asking(NOISY)).ask("ann", count_older(20))
    newer = {"people": {"policy": asking(NOISY), "edition": 2}}
    opened(source, tables=newer).ask("ann", count_older(20))
    opened(source, tables=newer).ask("ann", count_older(20))  # told before
    assert opened(source, tables=newer).ledger.read_spending("ann", ["north/people"]).by_client == 1.5
    opened(source, tables={"people": {"policy": asking(NOISY), "edition": 3}}).ask("ann", count_older(20))
    with pytest.raises(Refused, match="budget of this client is spent"):
        opened(source, tables={"people": {"policy": asking(NOISY), "edition": 4}}).ask("ann", count_older(20))


@dp
def test_the_budget_counts_every_table_of_the_same_persons(opened: Opened) -> None:
    source = Memory(people=many(), staff=many(400).select("name", "sex", "age", "ill"))
    staff = {**POLICY, "quasi_identifiers": {name: POLICY["quasi_identifiers"][name] for name in ("sex", "age")}}
    tables = {"people": {"policy": asking(NOISY)}, "staff": {"policy": {**staff, "answers": NOISY}}}
    gateway = opened(source, tables=tables)
    for number in range(4):
        gateway.ask("ann", count_older(20 + number))
    with pytest.raises(Refused, match="is spent"):
        gateway.ask("ann", "SELECT count(*) AS n FROM staff")


@dp
def test_many_at_once_spend_no_more_than_there_is(opened: Opened) -> None:
    gateway = opened(Memory(people=many()), asking(NOISY))

    def ask(number: int) -> bool:
        try:
            return bool(gateway.ask(("ann", "bob")[number % 2], count_older(20 + number)).table.height)
        except Refused:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(24))) <= 6
    assert gateway.ledger.read_spending("ann", ["north/people"]).by_all <= 3
    gateway.ledger.verify()


@dp
def test_what_another_process_spent_counts_at_once(opened: Opened) -> None:
    source = Memory(people=many())
    one, other = (opened(source, asking(NOISY)) for _ in range(2))
    for number in range(4):
        gateway = (one, other)[number % 2]
        (decided,) = gateway.ask("ann", count_older(20 + number)).decisions
        assert decided.noise is not None and decided.noise["client_spent"] == 0.5 * (number + 1)
    for gateway in (one, other):
        with pytest.raises(Refused, match="is spent"):
            gateway.ask("ann", count_older(30))


@dp
def test_of_one_person_no_more_records_count_than_the_noise_hides(opened: Opened) -> None:
    table = many(300).with_columns(name=pl.when(pl.col("sex") == "f").then(pl.lit("Ann")).otherwise(pl.col("name")))
    said = {**NOISY, "epsilon": 5.0, "client_budget": 100, "person_budget": 100}
    gateway = opened(Memory(people=table), asking(said, identifiers=[], subject="name"))
    counts = dict(gateway.ask("ann", BY_SEX).table.rows())
    assert abs(counts["m"] - 150) < 20 and "f" not in counts
    assert abs(gateway.ask("ann", "SELECT count(*) AS n FROM people WHERE sex = 'f'").table["n"][0] - 1) < 20


def test_rounded_counts_are_multiples_and_near(opened: Opened) -> None:
    gateway = opened(Memory(people=many()), asking(ROUNDED))
    exact = dict(many().group_by("age").len().rows())
    told = dict(gateway.ask("ann", "SELECT age, count(*) AS n FROM people GROUP BY age").table.rows())
    assert all(count % 5 == 0 and abs(count - exact[age]) < 5 for age, count in told.items())
    assert gateway.ask("ann", BY_SEX).decisions[0].action == "count"
    assert "multiples of 5" in gateway.ask("ann", BY_SEX).decisions[0].notes[0]


def test_the_same_persons_are_rounded_alike_however_they_are_asked_for(opened: Opened) -> None:
    gateway = opened(Memory(people=many(599)), asking(ROUNDED))
    same = (
        "age = 26",
        "age >= 26 AND age < 27",
        "age IN (26)",
        "NOT age <> 26",
        "age BETWEEN 26 AND 26 AND sex <> 'x'",
    )
    counts = {gateway.ask("ann", f"SELECT count(*) AS n FROM people WHERE {text}").table["n"][0] for text in same}
    assert len(counts) == 1


def test_few_persons_and_nobody_look_the_same(opened: Opened) -> None:
    table = pl.concat([many(), pl.DataFrame([("x", 99, "53700", "f", "gout")], schema=many().schema, orient="row")])
    gateway = opened(Memory(people=table), asking(ROUNDED))
    for text in ("age = 99", "age = 98"):
        assert gateway.ask("ann", f"SELECT count(*) AS n FROM people WHERE {text}").table["n"].to_list() == [None]
    assert 99 not in gateway.ask("ann", "SELECT age, count(*) AS n FROM people GROUP BY age").table["age"]


@pytest.mark.parametrize("said", [pytest.param(NOISY, marks=dp), ROUNDED])
def test_a_broken_blur_is_caught(opened: Opened, monkeypatch: pytest.MonkeyPatch, said: dict[str, Any]) -> None:
    gateway = opened(Memory(people=many(599)), asking(said))
    errors: list[Exception] = []
    gateway.on_error = errors.append
    monkeypatch.setattr(count_source, "add_noise", lambda counts, *_, **__: dict.fromkeys(counts, 9000))
    monkeypatch.setattr(count_source, "round_count", lambda count, *_: count)
    with pytest.raises(Unavailable):
        gateway.ask("ann", BY_SEX if said is NOISY else count_older(0))
    assert [type(error).__name__ for error in errors] == ["AuditFailed"] and gateway.ledger.verify() == 0


def test_what_was_told_is_sealed(opened: Opened, tmp_path: Path) -> None:
    gateway = opened(Memory(people=many()), asking(ROUNDED))
    gateway.ask("ann", BY_SEX)
    (kept,) = (tmp_path / "ledger.sqlite.releases" / "standing").rglob("count-*")
    kept.write_bytes(kept.read_bytes()[:-1] + b"x")
    with pytest.raises(Unavailable):
        gateway.ask("bob", BY_SEX)
