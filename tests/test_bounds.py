"""No local recoding goes below the bound: compared with the best of all recodings of small tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.base import Problem
from shoal.algorithms.bounds import lower_bound as bounds
from shoal.algorithms.bounds.lower_bound import LowerBound
from shoal.algorithms.local.mondrian import Mondrian
from shoal.algorithms.local.shoal import Shoal
from shoal.pipeline.encode import Encoded
from shoal.pipeline.solve import Solution
from shoal.policy import Policy
from shoal.recodings.equivalence_classes import finish_recoding
from shoal.recodings.local import Local
from shoal.reporting import render
from shoal.testing import encode_table
from shoal.utility.certainty_penalty import CertaintyPenalty

pytestmark = pytest.mark.slow

TREES: list[Any] = [
    {"*": {"low": ["a", "b"], "high": {"mid": ["c", "d"], "e": ["e"]}}},
    {"*": {"a": ["a", "b"], "high": ["c", "d", "e"]}},  # a label that is called like one of its values
    {"*": {"d": ["a", "b"], "x": ["c", "d", "e"]}},  # and one like a value that is not under it
]
NUMBERS: list[dict[str, Any]] = [
    {},
    {"publish": "sets"},
    {"hierarchy": "intervals", "widths": [2, 4], "publish": "labels"},
    {"hierarchy": "intervals", "widths": [2, 4], "publish": "ranges"},
    {"hierarchy": "divisor-based", "publish": "labels"},
    {"domain": [-2, 30]},
]


@st.composite
def cases(draw: st.DrawFn, most: int, width: int = 3) -> tuple[pl.DataFrame, Policy]:
    count = draw(st.integers(3, most))
    columns, roles = [], {}
    for index in range(draw(st.integers(1, width))):
        name = f"c{index}"
        if draw(st.booleans()):
            values: st.SearchStrategy[Any] = st.sampled_from([0, 1, 2, 5, 9])
            role, kind = dict(draw(st.sampled_from(NUMBERS))), pl.Int64()
        else:
            values, kind = st.sampled_from("abcde"), pl.String()
            options = [{}, *({"hierarchy": "tree", "nodes": nodes, "publish": "labels"} for nodes in TREES)]
            role = dict(draw(st.sampled_from(options)))
            if "nodes" in role and draw(st.integers(0, 4)) == 0:
                role["boundaries"] = [next(iter(role["nodes"]["*"]))]
        if draw(st.integers(0, 2)) == 0:
            values = st.one_of(values, st.none())
            role["missing"] = draw(st.sampled_from(["own-value", "wildcard", "suppress"]))
        role["weight"] = draw(st.sampled_from([1, 1, 0.5, 3]))
        columns.append(pl.Series(name, draw(st.lists(values, min_size=count, max_size=count)), dtype=kind))
        roles[name] = role
    k, apart, counted = draw(st.integers(2, 4)), draw(st.sampled_from([0, 0, 2, 3])), draw(st.integers(0, 2)) == 0
    models: list[dict[str, Any]] = [{"name": "k-anonymity", "k": k}]
    if apart:
        columns.append(pl.Series("s", draw(st.lists(st.sampled_from("xyz"), min_size=count, max_size=count))))
        models.append({"name": "distinct-l-diversity", "on": "s", "l": apart})
    if counted:
        columns.append(pl.Series("who", draw(st.lists(st.sampled_from("pqrs"), min_size=count, max_size=count))))
    policy = Policy(
        quasi_identifiers=roles,
        sensitive=["s"] if apart else [],
        subject="who" if counted else None,
        models=models,
        algorithm="mondrian",
        max_suppressed=draw(st.sampled_from([0.0, 0.0, 0.2, 0.5])),
        suppressed=draw(st.sampled_from(["star", "drop"])),
    )
    return pl.DataFrame(columns), policy


def partitions(count: int, least: int, suppressed: int) -> Iterator[list[int]]:
    """Yield every way to put records into classes of at least ``least``, some of them suppressed (-1)."""
    members: list[int] = []
    sizes: list[int] = []

    def grow() -> Iterator[list[int]]:
        missing = sum(max(least - size, 0) for size in sizes)
        if missing > count - len(members):
            return
        if len(members) == count:
            yield list(members)
            return
        for number in range(-1 if members.count(-1) < suppressed else 0, len(sizes) + 1):
            if number == len(sizes):
                sizes.append(0)
            if number >= 0:
                sizes[number] += 1
            members.append(number)
            yield from grow()
            members.pop()
            if number >= 0:
                sizes[number] -= 1
                if not sizes[number]:
                    sizes.pop()

    yield from grow()


def loss_of(encoded: Encoded, policy: Policy, members: list[int], cells: Any) -> float | None:
    """Return what a recoding loses, ``None`` where it is not allowed."""
    searchable = encoded.searchable
    rank = np.lexsort([members, cells])
    recoding = Local(np.array(members, np.int64)[rank], cells[rank], np.ones(len(cells), np.int64))
    publication = finish_recoding(
        recoding.extend(encoded.frequencies), encoded.frequencies, encoded.columns, policy.models, encoded.background,
        star=policy.suppressed == "star",
    )  # fmt: skip
    classes = publication.classes
    if not classes.count or publication.suppressed > policy.may_suppress(encoded.frequencies.records):
        return None
    if not all(model.holds(classes, encoded.background).all() for model in policy.models):
        return None
    assert searchable.records == len(members)
    return CertaintyPenalty().measure(Solution(policy, encoded, recoding, publication).outcome()).total


def bounds_of(problem: Problem) -> Iterator[float]:
    """Yield bounds of all kinds: basic, raised, with open columns counted at once, and with little work to spend."""
    yield LowerBound(effort=0).of(problem).total
    yield LowerBound(effort=0.02).of(problem).total
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.algorithms.bounds.dual_bound._MUCH", 0.0)
        yield LowerBound(effort=0.02).of(problem).total
    for work in (100, 1_000, 60_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("shoal.algorithms.bounds.lower_bound._CELL", 0)
            patch.setattr("shoal.algorithms.bounds.lower_bound._LEAST", work)
            yield LowerBound(effort=1e-9).of(problem).total


def best_and_bounds(table: pl.DataFrame, policy: Policy, least: int) -> tuple[float | None, list[float]]:
    encoded = encode_table(table, policy)
    if not encoded.searchable.records or encoded.forced_suppression > policy.may_suppress(table.height):
        return None, []
    cells = np.repeat(np.arange(len(encoded.searchable.cell_counts)), encoded.searchable.cell_counts)
    suppressed = policy.may_suppress(table.height) - encoded.forced_suppression
    losses = [loss_of(encoded, policy, members, cells) for members in partitions(len(cells), least, suppressed)]
    problem = encoded.problem(policy)
    barred, records = encoded.forced_suppression, encoded.frequencies.records
    bounds = [(bound * (records - barred) + barred) / records for bound in bounds_of(problem)]
    return min((loss for loss in losses if loss is not None), default=None), bounds


@settings(max_examples=80, deadline=None)
@given(cases(most=5))
def test_no_recoding_goes_below_the_bound_however_classes_are_joined(case: tuple[pl.DataFrame, Policy]) -> None:
    best, bounds = best_and_bounds(*case, least=1)  # small classes that look alike are one class
    if best is not None:
        assert max(bounds) <= best + 1e-12
        assert bounds[0] <= bounds[1] + 1e-12


@settings(max_examples=80, deadline=None)
@given(cases(most=7))
def test_no_recoding_goes_below_the_bound(case: tuple[pl.DataFrame, Policy]) -> None:
    table, policy = case
    best, bounds = best_and_bounds(table, policy, least=policy.k)
    if best is not None:
        assert max(bounds) <= best + 1e-12


@settings(max_examples=60, deadline=None)
@given(cases(most=40, width=4), st.integers(2, 6))
def test_the_bound_never_falls_as_k_rises(case: tuple[pl.DataFrame, Policy], k: int) -> None:
    table, policy = case
    encoded = encode_table(table, policy)
    policies = [policy.replace(models=[{"name": "k-anonymity", "k": value}]) for value in (k, k + 1)]
    if not encoded.searchable.records or encoded.forced_suppression > policy.may_suppress(table.height):
        return
    found = [LowerBound(effort=0).of(encoded.problem(asked)).total for asked in policies]
    assert found[0] <= found[1] + 1e-12
    assert found[0] == LowerBound(effort=0).of(encoded.problem(policies[0])).total


def test_nothing_must_be_lost_where_all_have_company() -> None:
    table = pl.DataFrame({"age": [30] * 3 + [40] * 3, "sex": ["F"] * 3 + ["M"] * 3})
    policy = Policy(quasi_identifiers={"age": {}, "sex": {}}, models=[{"name": "k-anonymity", "k": 3}])
    assert LowerBound(effort=1).of(encode_table(table, policy).problem(policy)).total == 0.0


def test_raising_finds_what_an_outlier_costs_its_company() -> None:
    """One record far from a crowd of two: all three pay for it, and the bound says so."""
    table = pl.DataFrame({"age": [30, 30, 40, 40, 40, 40], "sex": ["F"] * 6})
    policy = Policy(quasi_identifiers={"age": {}, "sex": {}}, models=[{"name": "k-anonymity", "k": 3}])
    problem = encode_table(table, policy).problem(policy)
    assert LowerBound(effort=0).of(problem).total == pytest.approx(2 * 1.0 / (6 * 2))
    # {30, 30, 40} and {40, 40, 40}: three records pay 1
    assert LowerBound(effort=1).of(problem).total == pytest.approx(3 * 1.0 / (6 * 2), rel=1e-3)


def test_open_columns_tell_more_where_several_have_ranges() -> None:
    """Five records on a diagonal, k = 2: neighbours are 1/4 apart in both columns, not only on the line."""
    table = pl.DataFrame({"x": [0, 1, 2, 3, 4], "y": [0, 1, 2, 3, 4]})
    policy = Policy(quasi_identifiers={"x": {}, "y": {}}, models=[{"name": "k-anonymity", "k": 2}])
    assert LowerBound(effort=0).of(encode_table(table, policy).problem(policy)).total == pytest.approx(1 / 4)


def test_open_columns_tell_more_where_sets_must_be_large() -> None:
    """Six different values, k = 3: every class shows three of them."""
    table = pl.DataFrame({"job": list("abcdef")})
    policy = Policy(quasi_identifiers={"job": {}}, models=[{"name": "k-anonymity", "k": 3}], publish="sets")
    assert LowerBound(effort=0).of(encode_table(table, policy).problem(policy)).total == pytest.approx(3 / 6)


def wide(records: int, columns: int, k: int) -> Problem:
    random = np.random.default_rng(0)
    table = pl.DataFrame({f"c{index}": random.integers(0, 50, records) for index in range(columns)})
    policy = Policy(quasi_identifiers={name: {} for name in table.columns}, models=[{"name": "k-anonymity", "k": k}])
    return encode_table(table, policy).problem(policy)


def test_a_table_of_more_boxes_than_there_is_work_for_still_gets_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, found = wide(300, 3, 5), []
    monkeypatch.setattr("shoal.algorithms.bounds.lower_bound._CELL", 0)
    monkeypatch.setattr("shoal.algorithms.bounds.lower_bound._PAIRS", 0)  # boxes alone
    for work in (40_000, 100_000, 10**6, 10**9):
        monkeypatch.setattr("shoal.algorithms.bounds.lower_bound._LEAST", work)
        found.append(LowerBound(effort=0).of(problem))
    totals = [bound.total for bound in found]
    assert 0.0 < totals[0] < totals[1] < totals[2] < totals[3]
    assert "were not told apart" in found[1].how and "were not told apart" not in found[3].how


def test_many_columns_of_numbers_are_bounded_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = wide(300, 3, 5), wide(300, 6, 5)
    nearest = LowerBound(effort=1).of(many).total
    monkeypatch.setattr("shoal.algorithms.bounds.lower_bound._PAIRS", 0)  # boxes alone
    bound = LowerBound(effort=1).of(many)
    assert "columns in 2 groups" in bound.how
    assert nearest > bound.total > 0.5 * LowerBound(effort=1).of(few).total


@pytest.mark.parametrize("k", [2, 30])
@pytest.mark.parametrize("effort", [0.0, 0.1])
@pytest.mark.parametrize("columns", [2, 20])
def test_the_work_is_bounded(k: int, effort: float, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the table: what a walk goes beyond its budget is one window at most."""
    from shoal.kernels import bounding

    spent, walk = [], bounding.walk_boxes

    def counted(boxes: Any, parts: Any, scan: Any, open_: Any, by_mean: bool, budget: int, *rest: Any) -> int:
        left = int(walk(boxes, parts, scan, open_, by_mean, budget, *rest))
        spent.append(budget - left)
        return left

    monkeypatch.setattr(bounding, "walk_boxes", counted)
    problem = wide(2_000, columns, k)
    LowerBound(effort=effort).of(problem)
    allowed = effort * bounds._SECOND + bounds._LEAST + bounds._CELL * 2_000 * columns
    assert 0 < sum(spent) <= allowed + 2_000 * 600


def test_ctrl_c_keeps_what_is_proven() -> None:
    problem = wide(300, 3, 5)

    def impatient(what: str, done: int, total: int) -> None:
        if what == "raising the bound" and done == 2:
            raise KeyboardInterrupt

    found = LowerBound(effort=1).of(replace(problem, progress=impatient))
    assert "2 rounds" in found.how and found.how.endswith("stopped early")
    assert LowerBound(effort=0).of(problem).total < found.total < LowerBound(effort=1).of(problem).total


def test_a_quick_search_gets_a_quick_bound_and_a_long_one_a_better() -> None:
    problem = wide(300, 3, 5)
    assert LowerBound.beside(Mondrian(), problem).effort == 0.0
    assert 0.0 < LowerBound.beside(Shoal(effort=1), problem).effort < LowerBound.beside(Shoal(effort=2), problem).effort


def test_a_local_release_tells_its_bound() -> None:
    table, policy = shoal.datasets.load("hospital")
    release = shoal.anonymize(table, policy.replace(algorithm="mondrian"))
    proof = release.recoding.proof
    assert proof is not None and proof.bound is not None
    assert 0.0 < proof.bound <= release.loss == pytest.approx(proof.loss)
    assert release.audit.to_dict()["bound"] == proof.bound
    assert "claimed by the search" in release.audit.to_dict()["bound_is"]
    assert release.manifest["recoding"]["proof"]["bound"] == proof.bound
    assert "no local recoding can go below" in str(proof)
    assert "no local recoding of this table" in render(release.audit, release.manifest)
    full_domain = shoal.anonymize(table, policy.replace(algorithm="exhaustive"))
    assert "bound" not in full_domain.audit.to_dict()
