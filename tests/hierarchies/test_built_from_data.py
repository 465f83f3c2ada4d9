"""Hierarchies built from data: whatever the values, levels partition, coarsen and cover; order changes nothing."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import registry as catalog
from shoal import testing
from shoal.engines.columns import column_domain
from shoal.engines.counted import CountedTable
from shoal.errors import Misfit, PolicyError, ShoalError
from shoal.explore.hierarchy import draft_policy, inspect
from shoal.hierarchies import Auto, Conventional, DivisorBased, Hierarchy, Tree
from shoal.policy import Policy

NUMBERS = [
    "conventional",
    "divisor-based",
    "cardinality-based",
    "on-the-fly",
    "improved-on-the-fly",
    "dynamic-concept",
    "quantiles",
    "auto",
]
CATEGORIES = ["rare", "similarity", "ordering", "auto"]
VALUES: list[st.SearchStrategy[Any]] = [
    st.integers(-50, 50),
    st.integers(-(10**12), 10**12),
    st.floats(-1e6, 1e6, allow_nan=False),
    st.dates(date(1900, 1, 1), date(2100, 1, 1)),
]


def domain_of(values: list[Any], name: str, **parameters: Any) -> tuple[Hierarchy, Any]:
    frame = pl.DataFrame({"x": values, "y": [i % 3 for i in range(len(values))]})
    policy = Policy(
        quasi_identifiers={"x": {"hierarchy": name, **parameters}, "y": {}}, models=[{"name": "k-anonymity", "k": 2}]
    )
    hierarchy = policy.quasi_identifiers["x"].hierarchy
    assert hierarchy is not None
    return hierarchy, column_domain(CountedTable(frame), "x", policy)


@settings(max_examples=40, deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", NUMBERS)
def test_levels_of_numbers_and_dates(name: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(data.draw(st.sampled_from(VALUES)), min_size=1, max_size=30))
    hierarchy, domain = domain_of(values, name)
    testing.check_hierarchy(hierarchy, domain)
    levels = hierarchy.build(domain, missing=None)
    numbers = levels.domain.values.astype(np.float64)
    for level in range(1, levels.height + 1):
        known = ~np.isnan(levels.lows[level])
        assert (levels.lows[level][known] <= numbers[known]).all()
        assert (numbers[known] <= levels.highs[level][known]).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=40))
@pytest.mark.parametrize("name", CATEGORIES)
def test_levels_of_categories(name: str, values: list[str]) -> None:
    testing.check_hierarchy(*domain_of(values, name))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-30, 90), min_size=2, max_size=40), st.randoms(use_true_random=False))
@pytest.mark.parametrize("name", NUMBERS)
def test_the_order_of_records_changes_nothing(name: str, values: list[int], random: Any) -> None:
    hierarchy, domain = domain_of(values, name)
    shuffled = random.sample(values, len(values))
    again, other = domain_of(shuffled, name)
    assert hierarchy.build(domain, missing=None).labels == again.build(other, missing=None).labels


@pytest.mark.parametrize("ending", [".csv", ".yaml", ".xml"])
@pytest.mark.parametrize("name", [n for n in NUMBERS if n != "divisor-based"])
def test_what_is_written_reads_back_as_the_same_levels(name: str, ending: str, tmp_path: Path) -> None:
    ages = shoal.datasets.adult().select("age")
    table = tmp_path / "age.csv"
    ages.write_csv(table)
    built = inspect(table, "age", draft_policy(ages, "age", {"hierarchy": name}))
    path = tmp_path / f"tree{ending}"
    built.write(path)
    _, domain = domain_of(ages["age"].to_list(), name)
    again = Tree.read(path).build(domain, missing=None)
    levels = built.levels
    shown = [[levels.text(level, code) for code in range(levels.size)] for level in range(levels.height + 1)]
    reread = [[again.text(level, code) for code in range(again.size)] for level in range(again.height + 1)]
    kept = [row for n, row in enumerate(shown) if n == 0 or row != shown[n - 1]]
    assert [row for n, row in enumerate(reread) if n == 0 or row != reread[n - 1]] == kept


@pytest.mark.parametrize("name", [*NUMBERS, *CATEGORIES])
@pytest.mark.parametrize("values", [[5] * 6, [5], [None] * 6])
def test_constant_single_and_missing_columns(name: str, values: list[Any]) -> None:
    column = pl.Series("x", values, dtype=pl.Int64 if name in NUMBERS else pl.String, strict=False)
    table = pl.DataFrame([column, pl.Series("y", [1] * len(values))])
    policy = Policy(
        quasi_identifiers={"x": {"hierarchy": name}, "y": {}},
        models=[{"name": "k-anonymity", "k": 2}],
        algorithm="exhaustive",
    )
    try:
        assert shoal.anonymize(table, policy).audit.holds
    except ShoalError as error:
        assert len(values) == 1, error


def test_infinities_are_refused() -> None:
    asked = {"quasi_identifiers": {"x": "conventional"}, "models": [{"name": "k-anonymity", "k": 2}]}
    with pytest.raises(Misfit, match=r"quasi_identifiers\.x: holds infinite values"):
        shoal.anonymize(pl.DataFrame({"x": [1.0, float("inf")]}), asked)


@pytest.mark.parametrize("smallest", [0, -1, float("inf"), "wide"])
def test_a_smallest_interval_must_be_one(smallest: Any) -> None:
    for builder in (Conventional, DivisorBased):
        with pytest.raises(PolicyError, match="smallest"):
            builder(smallest=smallest)


def test_auto_takes_the_least_loss_and_shows_what_it_compared() -> None:
    ages = shoal.datasets.adult()["age"].to_list()
    _, domain = domain_of(ages, "auto")
    compared = Auto().compare(domain)
    nesting = [candidate for candidate in compared if candidate.levels.nested]
    assert nesting[0].loss == min(candidate.loss for candidate in nesting)
    assert {candidate.hierarchy.key() for candidate in compared} >= set(NUMBERS) - {"auto"}
    best = catalog.find("hierarchies", nesting[0].hierarchy.key())()
    assert Auto().build(domain, missing=None).labels == best.build(domain, missing=None).labels  # type: ignore[attr-defined]


def test_similar_jobs_are_put_together() -> None:
    """Values that occur with the same values of another column come into one group."""
    jobs = ["nurse", "midwife", "welder", "mason"]
    rows = [(job, "f" if (job in jobs[:2]) == (i % 10 != 0) else "m") for job in jobs for i in range(50)]
    table = pl.DataFrame(rows, schema=["job", "sex"], orient="row")
    policy = Policy(
        quasi_identifiers={"job": {"hierarchy": "similarity"}, "sex": "suppress"},
        models=[{"name": "k-anonymity", "k": 60}],
        algorithm="exhaustive",
    )
    release = shoal.anonymize(table, policy)
    assert release.recoding.to_dict()["levels"]["job"] >= 1
    hierarchy, domain = policy.quasi_identifiers["job"].hierarchy, column_domain(CountedTable(table), "job", policy)
    assert hierarchy is not None
    assert set(hierarchy.build(domain, missing=None).labels[1]) == {"{mason, welder}", "{midwife, nurse}"}
