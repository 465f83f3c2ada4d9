"""Answers with the data as they are: nothing that too few persons share, nothing sensitive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import chain, combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import datasets
from shoal.errors import PolicyError
from shoal.gateway.config import GatewayConfig
from shoal.gateway.mediator import Gateway
from shoal.gateway.shared_records import list_light_sets, select_shared
from shoal.policy import Policy
from tests.gateway.conftest import EXAMPLE, Memory

Opened = Callable[..., Gateway]
K = 3
WEIGHTS = {"age": 2, "sex": 1, "job": 2}
POLICY: dict[str, Any] = {
    "identifiers": ["name"],
    "quasi_identifiers": {name: {"hierarchy": "suppress", "weight": weight} for name, weight in WEIGHTS.items()},
    "sensitive": ["salary"],
    "models": [{"name": "k-anonymity", "k": K}],
    "algorithm": "weighted-boundaries",
    "threshold": 3,
}


def people() -> pl.DataFrame:
    rows = [(f"p{n}", 40 + n % 2, "fm"[n // 6 % 2], ("cook", "smith", "clerk")[n % 3], 1000 * n) for n in range(36)]
    rows += [
        ("Charley", 42, "m", "clerk", 99_000),
        ("Dora", 40, "f", "judge", 98_000),
        ("Eve", 40, "x", "cook", 97_000),
    ]
    return pl.DataFrame(rows, schema=["name", "age", "sex", "job", "salary"], orient="row")


def light_sets() -> list[tuple[str, ...]]:
    every = chain.from_iterable(combinations(WEIGHTS, size) for size in (1, 2, 3))
    return [names for names in every if sum(WEIGHTS[name] for name in names) <= POLICY["threshold"]]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT age, salary FROM people WHERE age = 42",
        "SELECT salary FROM people",
        "SELECT age FROM people WHERE salary > 98500",
        "SELECT age, count(*) AS n FROM people GROUP BY age, salary",
        "SELECT max(salary) AS s FROM people WHERE age = 42",
    ],
)
def test_nothing_sensitive_comes_as_it_is(opened: Opened, text: str) -> None:
    gateway = opened(Memory(people=people()), POLICY)
    answer = gateway.ask("ann", text)
    assert answer.decisions[0].action == "anonymize"
    if "age = 42" in text:
        assert answer.table.drop_nulls().is_empty()
    if "age" in answer.table.columns:
        assert set(answer.table["age"]) <= {"*"}


@pytest.mark.parametrize("names", light_sets())
def test_no_combination_comes_as_it_is_that_fewer_than_k_persons_hold(opened: Opened, names: tuple[str, ...]) -> None:
    gateway = opened(Memory(people=people()), POLICY)
    listed = ", ".join(names)
    answer = gateway.ask("ann", f"SELECT {listed} FROM people")
    assert answer.decisions[0].action == "release"
    assert min(Counter(answer.table.rows()).values()) >= K
    counted = gateway.ask("ann", f"SELECT {listed}, count(*) AS n FROM people GROUP BY {listed}").table
    assert counted["n"].min() >= K  # type: ignore[operator]
    assert counted["n"].sum() == answer.table.height
    assert any("share are left out" in note for note in answer.decisions[0].notes)


def test_two_answers_as_they_are_cannot_be_subtracted(opened: Opened) -> None:
    """Whoever is left out of one is left out of all: the difference would be those few."""
    gateway = opened(Memory(people=people()), POLICY)
    heights = {
        gateway.ask(client, f"SELECT {', '.join(names)} FROM people").table.height
        for client in ("ann", "bob")
        for names in ([("age",), ("sex",), ("age", "sex")] if client == "ann" else [("job",), ("job", "sex")])
    }
    assert heights == {36}


def test_the_papers_way_shows_everybody(opened: Opened) -> None:
    gateway = opened(Memory(people=people()), {**POLICY, "raw": {"least": 1}})
    answer = gateway.ask("ann", "SELECT age, salary FROM people WHERE age = 42")
    assert answer.table.rows() == [(42, 99_000)] and answer.decisions[0].action == "release"


def test_persons_share_not_records(opened: Opened) -> None:
    """Three records of one person are shared by nobody else."""
    table = people().with_columns(name=pl.when(pl.col("age") == 40).then(pl.lit("Bob")).otherwise(pl.col("name")))
    gateway = opened(Memory(people=table), {**POLICY, "identifiers": [], "subject": "name"})
    assert set(gateway.ask("ann", "SELECT age FROM people").table["age"]) == {41}


def test_the_owner_is_warned_of_the_papers_way() -> None:
    table, policy = datasets.load("employees")
    (warning,) = policy.check(table)
    assert (warning.kind, warning.where) == ("warning", "raw.least") and "sensitive columns too" in warning.what
    assert not policy.replace(raw=None).check(table)


def test_the_service_warns_of_it_when_it_starts() -> None:
    (warning,) = GatewayConfig.read(EXAMPLE / "hussien15.yaml").list_warnings()
    assert warning.startswith("town.people:") and "sensitive columns too" in warning
    assert len(GatewayConfig.read(EXAMPLE / "two_owners.yaml").list_warnings()) == 2


def test_a_threshold_that_lets_too_much_through_is_told() -> None:
    wide = {f"c{n}": {"hierarchy": "suppress", "weight": 1} for n in range(40)}
    policy = Policy(quasi_identifiers=wide, models=[{"name": "k-anonymity", "k": 2}], threshold=20)
    with pytest.raises(PolicyError, match="too many sets of columns"):
        list_light_sets(policy)


rows = st.lists(st.tuples(*[st.integers(0, 2)] * 3, st.integers(0, 6)), max_size=24)


@given(rows, st.integers(2, 4), st.tuples(*[st.sampled_from([0.5, 1, 1.5, 3])] * 3), st.sampled_from([1, 2.5, 4]))
def test_what_stays_is_the_most_that_may(
    given_rows: list[Any], least: int, weights: tuple[float, ...], threshold: float
) -> None:
    """Compared with the definition, set by set."""
    names = ("a", "b", "c")
    frame = pl.DataFrame(given_rows, schema=[*names, "who"], orient="row")
    quasi = {name: {"hierarchy": "suppress", "weight": weight} for name, weight in zip(names, weights, strict=True)}
    models = [{"name": "k-anonymity", "k": least}]
    policy = Policy(quasi_identifiers=quasi, subject="who", models=models, threshold=threshold)
    light = [
        chosen
        for size in (1, 2, 3)
        for chosen in combinations(range(3), size)
        if sum(weights[index] for index in chosen) <= threshold
    ]
    left, before = list(given_rows), -1
    while before != len(left):
        before = len(left)
        for chosen in light:
            persons: dict[Any, set[int]] = {}
            for row in left:
                persons.setdefault(tuple(row[index] for index in chosen), set()).add(row[3])
            left = [row for row in left if len(persons[tuple(row[index] for index in chosen)]) >= least]
    assert select_shared(frame, policy).rows() == left
