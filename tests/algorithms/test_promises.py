"""What a local search promises: more freedom never loses more, its loss is the policy's, and no order counts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.algorithms.clustering.coarsening import choose_sizes, coarsen
from shoal.algorithms.clustering.rounds import run_rounds
from shoal.algorithms.clustering.sequence import search_sequences
from shoal.algorithms.clustering.units import Units
from shoal.errors import PolicyError
from shoal.policy import Policy
from shoal.testing import encode_table, solve_table

pytestmark = pytest.mark.slow

TREE = {"hierarchy": "tree", "nodes": {"*": {"ab": ["a", "b"], "cde": {"c": ["c"], "de": ["d", "e"]}}}}
COLUMNS: dict[str, dict[str, Any]] = {
    "age": {},
    "size": {"publish": "sets"},
    "place": TREE,
    "zip": {"hierarchy": "mask", "keep": [2, 1]},
    "year": {"hierarchy": "intervals", "widths": [5, 20], "publish": "labels"},
}
ADDITIVE = ["certainty-penalty", "granularity", "minimal-distortion", "non-uniform-entropy", "precision"]
SEARCHES = [{"name": "mondrian"}, {"name": "mondrian", "cuts": "relaxed"}, {"name": "shoal", "effort": 0.1}]
LIMITS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
slowly = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def table_of(records: int, seed: int) -> pl.DataFrame:
    """Skewed, correlated columns of all kinds."""
    draw = np.random.default_rng(seed)
    common = draw.exponential(1.0, records)
    return pl.DataFrame(
        {
            "age": np.rint(20 + 12 * common + draw.normal(0, 5, records)).astype(np.int64),
            "size": draw.choice(list("klmnopq"), records, p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.03, 0.02]),
            "place": [*"abcde"] + [["a", "b", "c", "d", "e"][min(int(2 * one), 4)] for one in common[5:].tolist()],
            "zip": [f"{min(int(60 * one), 599):03}" for one in common.tolist()],
            "year": draw.integers(1950, 2000, records),
        }
    )


def ask(names: tuple[str, ...] = tuple(COLUMNS), k: int = 3, how: Any = None, **more: Any) -> Policy:
    models = [{"name": "k-anonymity", "k": k}]
    quasi = {name: COLUMNS[name] for name in names}
    return Policy(
        quasi_identifiers=quasi, models=models, algorithm=how or {"name": "shoal", "effort": 0.1}, others="drop", **more
    )


@slowly
@given(st.integers(0, 2**32 - 1), st.integers(12, 150), st.integers(2, 6), st.sampled_from([0.0, 0.1, 0.4]))
def test_more_suppression_never_loses_more(seed: int, records: int, k: int, effort: float) -> None:
    table, how = table_of(records, seed), {"name": "shoal", "effort": effort}
    losses = [solve_table(table, ask(k=k, how=how, max_suppressed=limit)).loss for limit in LIMITS]
    assert all(after <= before + 1e-9 for before, after in pairwise(losses))


@pytest.mark.parametrize("seed", range(3))
def test_more_suppression_between_two_limits_never_loses_more(seed: int) -> None:
    table, limits = table_of(260, seed), (0.1, 0.12, 0.14, 0.17, 0.2)
    losses = [
        solve_table(table, ask(k=8, how={"name": "shoal", "effort": 0}, max_suppressed=one)).loss for one in limits
    ]
    assert all(after <= before + 1e-9 for before, after in pairwise(losses))


def test_suppression_is_made_use_of() -> None:
    table = table_of(400, 1).with_columns(age=pl.Series([*range(20, 30)] * 40)[:-1].append(pl.Series([10**4])))
    free, strict = (solve_table(table, ask(("age", "place"), 5, max_suppressed=share)) for share in (0.05, 0.0))
    assert free.loss < strict.loss
    assert 0 < free.publication.suppressed <= 20


@slowly
@given(st.integers(0, 2**32 - 1), st.integers(12, 150), st.sampled_from([0.0, 0.05]))
def test_more_effort_never_loses_more(seed: int, records: int, limit: float) -> None:
    table = table_of(records, seed)
    asked = [ask(k=4, how={"name": "shoal", "effort": e}, max_suppressed=limit) for e in (0.0, 0.04, 0.1, 0.3, 0.8)]
    losses = [solve_table(table, one).loss for one in asked]
    assert all(after <= before + 1e-9 for before, after in pairwise(losses))


@pytest.mark.parametrize("seed", range(4))
def test_a_much_smaller_k_loses_less(seed: int) -> None:
    table = table_of(300, seed)
    losses = [solve_table(table, ask(k=k)).loss for k in (2, 3, 5, 8, 12, 20, 40, 80)]
    assert all(small < large for small, large in pairwise(losses))


@slowly
@given(st.permutations([*COLUMNS]), st.integers(0, 2**32 - 1), st.sampled_from(SEARCHES))
def test_the_order_of_columns_does_not_count(names: list[str], seed: int, how: dict[str, Any]) -> None:
    table = table_of(90, seed)
    shares = (0.0, 0.05) if how["name"] == "shoal" else (0.0,)
    for share in shares:
        found = [solve_table(table, ask(tuple(order), how=how, max_suppressed=share)) for order in (COLUMNS, names)]
        sizes = [sorted(one.publication.classes.sizes.tolist()) for one in found]
        assert sizes[0] == sizes[1]
        assert found[0].loss == pytest.approx(found[1].loss, abs=1e-12)


@pytest.mark.parametrize("loss", [*ADDITIVE, "distortion-ratio", {"name": "granularity", "aggregate": "sum"}])
@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_what_the_search_counts_is_the_loss_of_the_policy(loss: Any, weight: float) -> None:
    """Costs of any classes differ as their losses do; sets have no cover that the search could count."""
    names = ("age", "place", "zip", "year", *([] if loss == "non-uniform-entropy" else ["size"]))
    table, asked = table_of(80, 5), ask(names, loss=loss)
    roles = {**asked.quasi_identifiers, "age": asked.quasi_identifiers["age"].replace(weight=weight)}
    asked = asked.replace(quasi_identifiers=roles)
    costs, losses = [], []
    for seed in range(6):
        encoded = encode_table(table, asked)
        units = Units.of(encoded.problem(asked))
        members = np.random.default_rng(seed).permutation(np.arange(len(units)) // (1 + 2 * seed))
        costs.append(units.cost(members))
        losses.append(publish(encoded, asked, units.recoding(members)))
    slope = (costs[-1] - costs[0]) / (losses[-1] - losses[0])
    assert slope > 0
    assert costs == pytest.approx([costs[0] + slope * (one - losses[0]) for one in losses], rel=1e-9)


def publish(encoded: Any, asked: Policy, recoding: Any) -> float:
    from shoal.pipeline.solve import Solution
    from shoal.recodings.equivalence_classes import finish_recoding

    publication = finish_recoding(recoding, encoded.frequencies, encoded.columns, asked.models, encoded.background)
    return float(Solution(asked, encoded, recoding, publication).loss)


@pytest.mark.parametrize("loss", ["minimal-distortion", "non-uniform-entropy", "precision"])
def test_who_asks_for_a_loss_loses_less_of_it(loss: str) -> None:
    names = ("age", "place", "zip", "year")
    lost = dict.fromkeys((loss, "certainty-penalty"), 0.0)
    for seed in range(4):
        table = table_of(200, seed)
        for asked in lost:
            found = solve_table(table, ask(names, k=4, loss=asked))
            lost[asked] += type(ask(loss=loss).loss)().measure(found.outcome()).total
    assert lost[loss] < lost["certainty-penalty"]


@pytest.mark.parametrize(
    "loss",
    [
        "discernibility",
        "class-size",
        {"name": "granularity", "aggregate": "max"},
        {"name": "granularity", "gs_factor": 0.8},
    ],
)
@pytest.mark.parametrize("name", ["shoal", "mondrian", "k-member", "spanning-tree"])
def test_a_loss_that_does_not_add_up_is_refused(loss: Any, name: str) -> None:
    with pytest.raises(PolicyError, match=f"loss: {name} searches by losses that add up") as refused:
        ask(how={"name": name}, loss=loss)
    assert "granularity" in str(refused.value) and "optimal" in str(refused.value)


def test_whole_numbers_far_from_zero_are_told_apart() -> None:
    near, far = ([start + 10 * one for one in range(12)] for start in (0, 2**62))
    sizes = []
    for values in (near, far):
        asked = Policy(quasi_identifiers={"id": {}}, models=[{"name": "k-anonymity", "k": 3}], algorithm="shoal")
        units = Units.of(encode_table(pl.DataFrame({"id": values}), asked).problem(asked))
        sizes.append((units.boxes.lows[:, 0] - units.boxes.lows[0, 0]).tolist())
    assert sizes[0] == sizes[1]


def test_pieces_lie_within_classes_and_hold_enough() -> None:
    asked = ask(k=50)
    units = Units.of(encode_table(table_of(900, 2), asked).problem(asked))
    assert choose_sizes(units) == [8, 4, 2]
    *_, members = search_sequences(units)
    pieces, own = coarsen(units, members, 8, 0)
    assert pieces.weights.sum() == units.weights.sum()
    assert pieces.weights.min() >= 8
    for piece in range(len(pieces)):
        assert len(set(members[own == piece].tolist())) == 1
    assert len(pieces) > 2 * (members.max() + 1)


def test_rounds_of_pieces_keep_the_least_size_and_never_cost_more() -> None:
    asked = ask(k=50)
    units = Units.of(encode_table(table_of(900, 3), asked).problem(asked))
    *_, members = search_sequences(units)
    costs = [units.cost(members)]
    for found in run_rounds(units, members, 3 * costs[0] / 900, range(6)):
        assert np.bincount(found, units.weights).min() >= 50
        costs.append(units.cost(found))
    assert all(after <= before + 1e-6 for before, after in pairwise(costs))
    assert costs[-1] < costs[0]
