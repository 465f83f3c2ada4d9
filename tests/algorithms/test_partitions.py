"""Few records: the best of all partitions, suppressed records among them; more: outliers that hide each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.algorithms.test_promises import ask, publish, table_of

from shoal.algorithms.clustering import partitions, units
from shoal.algorithms.clustering.outliers import Outliers
from shoal.algorithms.clustering.units import FEW, Units
from shoal.errors import Infeasible
from shoal.policy import Policy
from shoal.testing import encode_table, solve_table

MODELS: list[list[dict[str, Any]]] = [
    [],
    [{"name": "distinct-l-diversity", "on": "illness", "l": 2}],
    [{"name": "t-closeness", "on": "illness", "t": 0.4}],
]


def draw(records: int, seed: int) -> pl.DataFrame:
    illness = np.random.default_rng(seed).choice(["flu", "cold", "hiv"], records, p=[0.5, 0.3, 0.2])
    return table_of(max(records, 5), seed).head(records).with_columns(illness=pl.Series(illness))


def asking(k: int, share: float, number: int, names: tuple[str, ...], effort: float = 0.1) -> Policy:
    asked = ask(names, k, {"name": "shoal", "effort": effort}, max_suppressed=share, sensitive=["illness"])
    return asked.replace(models=[*asked.models, *MODELS[number]])


def every_partition(count: int, least: int) -> Iterator[list[int]]:
    """Every way to put records into classes of at least so many, -1 for suppressed ones."""

    def extend(members: list[int], used: int) -> Iterator[list[int]]:
        if len(members) == count:
            if all(members.count(own) >= least for own in range(used)):
                yield members
            return
        for own in range(-1, used + 1):
            yield from extend([*members, own], max(used, own + 1))

    yield from extend([], 0)


def best_by_publishing(table: pl.DataFrame, asked: Policy) -> float:
    """The least loss of all partitions, each published."""
    encoded = encode_table(table, asked)
    problem = encoded.problem(asked)
    own = Units.of(problem)
    allowed, losses = int(asked.max_suppressed * table.height), [np.inf]
    for found in every_partition(table.height, asked.k):
        members = np.array(found)
        if members.max() >= 0 and (members < 0).sum() <= allowed and problem.holds(own.classes(members)).all():
            losses.append(publish(encoded, asked, own.recoding(members)))
    return min(losses)


@pytest.mark.parametrize("seed", range(9))
def test_few_records_are_parted_in_the_best_way(seed: int) -> None:
    share, names = [0.0, 0.34, 0.7][seed % 3], [("age", "place"), ("size", "zip"), ("place", "year", "age")][seed // 3]
    table, asked = draw(6, seed), asking(2 + (seed % 3 > 0), share, seed % 2, names)
    best = best_by_publishing(table, asked)
    assert np.isfinite(best)
    assert solve_table(table, asked).loss == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("number", range(len(MODELS)))
def test_the_search_comes_near_the_best_of_few_records(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done with more records, done with few: answers are within 4 % of the best, in the mean."""
    ratios = []
    for seed in range(6):
        table = draw(7 + seed % 3, seed)
        asked = asking(3, [0.3, 0.6, 1.0][seed % 3], number, ("age", "place", "zip"))
        try:
            best = solve_table(table, asked).loss
        except Infeasible:
            continue
        with monkeypatch.context() as few:
            for module in (partitions, units):
                few.setattr(module, "FEW", 0)
            ratios.append(solve_table(table, asked).loss / best)
    assert min(ratios) >= 1 - 1e-9
    assert np.mean(ratios) <= 1.04
    assert max(ratios) <= 1.15


def test_outliers_that_hide_each_other_are_found_together() -> None:
    table = pl.DataFrame({"age": [*range(20, 29), *range(40, 49), 90, 95]})
    asked = ask(("age",), 9)
    own = Units.of(encode_table(table, asked).problem(asked))
    found = Outliers.of(own, np.repeat([0, 1], [9, 11]))
    ages = table["age"].to_numpy()
    assert ages[found.choose(5)].tolist() == [90, 95]
    assert not found.choose(1).any()
    freely = solve_table(table, asked.replace(max_suppressed=0.1))
    assert freely.publication.suppressed == 2
    assert freely.loss < solve_table(table, asked).loss / 2


@pytest.mark.parametrize("seed", range(3))
def test_few_records_lose_no_more_with_a_smaller_k_or_more_suppression(seed: int) -> None:
    table = draw(FEW, seed)
    losses = np.array(
        [[solve_table(table, asking(k, s, 0, ("age", "zip", "place"))).loss for s in (0, 0.2, 0.5)] for k in (2, 3, 5)]
    )
    assert (np.diff(losses, axis=0) >= -1e-9).all()
    assert (np.diff(losses, axis=1) <= 1e-9).all()
