"""SABRE, BUREL and t-closeness-first: the papers' sizes and buckets, and that the models hold whatever was planned."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal import testing
from shoal.algorithms.clustering.buckets import BucketedValues, halve_counts
from shoal.algorithms.local.burel import Burel, cut_buckets
from shoal.algorithms.local.sabre import Sabre, fill_buckets
from shoal.algorithms.local.t_closeness_first import TClosenessFirst, count_slices, find_class_size, round_size
from shoal.errors import Infeasible, Misfit
from shoal.models._conditions import Condition
from shoal.policy import Policy

NAMES = ("sabre", "t-closeness-first", "burel")
TREE = {"*": {"low": ["a", "b"], "high": {"mid": ["c", "d"], "top": ["e"]}}}
slowly = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def ordered(records: int, t: float) -> BucketedValues:
    """As many different values as records, in order."""
    shares, places = np.full(records, 1 / records), np.arange(records)
    steps = t * max(records - 1, 1)
    return BucketedValues(Condition("ordered", ("salary",), shares, steps, places[None]), places)


def equal(counts: list[int], t: float) -> BucketedValues:
    """Values any two of which are as far apart."""
    codes = np.repeat(np.arange(len(counts)), counts)
    return BucketedValues(Condition("surplus", ("job",), np.array(counts) / sum(counts), t), codes)


# ------------------------------------------------------------------------------------------- t-closeness-first


@pytest.mark.parametrize("t", [0.01, 0.05, 0.09, 0.13, 0.17, 0.21, 0.25])
@pytest.mark.parametrize("records", [2, 10, 57, 1080])
def test_the_class_size_is_the_papers_where_values_differ(records: int, t: float) -> None:
    """Section 7: k' = max(k, ceil(n / (2 (n - 1) t + 1))), the least with (n - k') / (2 (n - 1) k') at most t.

    That is for slices as large as each other; where n / k' is no whole number some slices are larger, and k' may rise.
    """
    paper = min(ceil(records / (2 * (records - 1) * t + 1)), records)
    found = find_class_size(ordered(records, t), 1)
    assert paper <= found <= paper + 1 or records % paper
    assert found == paper or records % paper
    assert find_class_size(ordered(records, t), 7) >= min(7, records)


@given(st.integers(1, 500), st.integers(1, 500))
def test_what_remains_is_in_the_middle_slices(records: int, size: int) -> None:
    size = round_size(records, min(size, records))
    sizes, classes = count_slices(records, size), records // size
    assert sizes.sum() == records
    assert (np.sort(sizes)[: max(size - 2, 0)] == classes).all()
    assert sizes.sum() - size * classes < classes


@slowly
@given(st.integers(2, 120), st.floats(0.02, 0.6), st.integers(1, 6), st.integers(0, 99))
def test_slices_keep_their_distance_whichever_records_are_taken(records: int, t: float, k: int, seed: int) -> None:
    values = ordered(records, t)
    assume(records % find_class_size(values, k) == 0)  # else the middle is larger than the paper's bound thinks
    slices, drawn = TClosenessFirst().plan(values, k)
    assert (np.bincount(slices) == drawn.sum(axis=0)).all()
    random = np.random.default_rng(seed)
    for own in drawn:
        taken = [random.choice(np.flatnonzero(slices == one)) for one in range(len(own))]
        surplus = np.bincount(taken, minlength=records) / len(taken) - 1 / records
        assert values.measure(surplus) <= values.condition.bound + 1e-9


# ------------------------------------------------------------------------------------------------------ SABRE


def test_values_that_are_all_as_far_apart_have_buckets_of_their_own() -> None:
    assert [bucket.tolist() for bucket in fill_buckets(equal([5, 3, 2], 0.3))] == [[0], [1], [2]]
    assert [bucket.tolist() for bucket in fill_buckets(equal([5, 3, 2], 0.8))] == [[0, 1, 2]]  # 1 - .2 at worst


def test_ordered_values_are_cut_where_they_cause_least() -> None:
    # all at one end of 9 steps is 45 / 10 steps apart; halves of five cause 2 x 10 / 10 = 2
    assert len(fill_buckets(ordered(10, 0.5))) == 1
    halves = fill_buckets(ordered(10, 2 / 9))
    assert [bucket.tolist() for bucket in halves] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert len(fill_buckets(ordered(10, 0.0))) == 10


@slowly
@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.floats(0.0, 1.0), st.integers(1, 5))
def test_any_records_of_the_planned_buckets_are_near_enough(counts: list[int], t: float, least: int) -> None:
    values = equal(counts, t)
    buckets, drawn = Sabre().plan(values, least)
    shares, often = np.array(counts) / sum(counts), np.bincount(buckets, minlength=drawn.shape[1])
    assert (drawn.sum(axis=0) == often).all()
    assert drawn.sum(axis=1).min() >= min(least, sum(counts))
    for own in drawn[:20]:
        worst = np.zeros(len(counts))
        for bucket, taken in enumerate(own.tolist()):
            inside = np.unique(values.codes[buckets == bucket])
            if taken:  # all of the rarest value
                worst[inside[np.argmin(shares[inside])]] += taken / own.sum()
        assert np.maximum(worst - shares, 0).sum() <= t + 1e-9 or len(drawn) == 1


# ------------------------------------------------------------------------------------------------------ BUREL


@given(st.lists(st.integers(1, 50), min_size=1, max_size=8), st.floats(0.1, 4.0))
def test_buckets_are_the_fewest_whose_share_their_rarest_value_may_have(counts: list[int], beta: float) -> None:
    shares = np.sort(np.array(counts) / sum(counts))
    caps = shares * (1 + beta)

    def fewest(begin: int) -> int:
        if begin == len(shares):
            return 0
        ends = range(begin + 1, len(shares) + 1)
        fits = [e for e in ends if e == begin + 1 or shares[begin:e].sum() <= caps[begin] + 1e-12]
        return 1 + min(fewest(end) for end in fits)

    cuts = cut_buckets(shares, caps)
    parts = np.split(shares, cuts)
    assert len(parts) == fewest(0)
    assert all(len(part) == 1 or part.sum() <= (1 + beta) * part[0] + 1e-9 for part in parts)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.floats(0.1, 4.0), st.integers(1, 5))
def test_no_bucket_has_more_of_a_class_than_its_rarest_value_may(counts: list[int], beta: float, least: int) -> None:
    shares = np.array(counts) / sum(counts)
    codes = np.repeat(np.arange(len(counts)), counts)
    caps = shares * (1 + beta)
    buckets, drawn = Burel().plan(BucketedValues(Condition("caps", ("job",), caps), codes), least)
    assert (drawn.sum(axis=0) == np.bincount(buckets, minlength=drawn.shape[1])).all()
    for bucket in range(drawn.shape[1] - 1):
        cap = caps[np.unique(codes[buckets == bucket])].min()
        assert (drawn[:, bucket] <= cap * drawn.sum(axis=1) + 1e-6).all() or len(drawn) == 1


@given(st.lists(st.integers(0, 60), min_size=1, max_size=5).filter(any), st.integers(1, 9))
def test_halves_add_up_and_are_even(counts: list[int], least: int) -> None:
    leaves = halve_counts(np.array(counts), least, lambda half: bool(half.any()))
    assert leaves.sum(axis=0).tolist() == counts
    assert leaves.sum(axis=1).min() >= min(least, sum(counts))
    assert np.ptp(leaves, axis=0).max() <= max(counts) // 2 + 1


# ------------------------------------------------------------------------------------------------- all of them


def ask(name: str, asked: dict[str, Any], k: int = 3) -> Policy:
    column = "salary" if asked.get("distance") == "ordered" else "job"
    return Policy(
        quasi_identifiers={"age": {}, "place": {"hierarchy": "tree", "nodes": TREE, "publish": "labels"}},
        sensitive={"job": {"hierarchy": "tree", "nodes": TREE}, "salary": {}},
        models=[{"name": "k-anonymity", "k": k}, {**asked, "on": column}],
        algorithm=name,
        publish="ranges",
    )


def table_of(records: int, seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    age = draw.integers(20, 90, records)
    job = [("abcde")[min(int(one), 4)] for one in age / 25 + draw.exponential(0.6, records) - 1]
    return pl.DataFrame(
        {"age": age, "place": draw.choice(list("abcde"), records), "job": job, "salary": age // 7 + draw.integers(0, 9)}
    )


ASKED: list[dict[str, Any]] = [
    *({"name": "t-closeness", "t": t, "distance": how} for t in (0.1, 0.3) for how in ("equal", "ordered")),
    {"name": "t-closeness", "t": 0.2, "distance": "hierarchical"},
    *({"name": "beta-likeness", "beta": beta, "enhanced": how} for beta in (0.5, 2) for how in (False, True)),
]
CASES = [(name, asked) for name in NAMES for asked in ASKED if (name == "burel") == (asked["name"] == "beta-likeness")]


@slowly
@given(st.integers(1, 250), st.integers(0, 2**32 - 1), st.sampled_from(CASES))
def test_releases_keep_the_models(records: int, seed: int, case: tuple[str, dict[str, Any]]) -> None:
    name, asked = case
    policy = ask(name, asked)
    made = testing.check_algorithm(policy.algorithm, table_of(records, seed), policy)
    assert made == (records >= 3)  # all records in one class comply


@pytest.mark.parametrize("records", range(6))
@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, (case[0], *case[1].values()))))
def test_tiny_tables_are_published_or_refused(records: int, case: tuple[str, dict[str, Any]]) -> None:
    policy = ask(*case, k=2)
    try:
        release = shoal.anonymize(table_of(6, 1).head(records), policy)
    except Infeasible:
        assert records < 2
    else:
        assert release.audit.holds


def test_missing_values_that_may_be_any() -> None:
    table = table_of(120, 5).with_columns(job=pl.when(pl.arange(0, 120) % 9 > 0).then("job"))
    for name in NAMES:
        asked = {"name": "beta-likeness", "beta": 2} if name == "burel" else {"name": "t-closeness", "t": 0.4}
        policy = ask(name, asked).replace(sensitive={"job": {"missing": "wildcard"}, "salary": {}})
        assert testing.check_algorithm(policy.algorithm, table, policy)


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_without_the_model_is_refused(name: str) -> None:
    with pytest.raises(Misfit, match=f"{name} is led by .*, which no model of the policy is; got k-anonymity"):
        shoal.anonymize(table_of(30, 0), ask(name, ASKED[0]).replace(models=[{"name": "k-anonymity", "k": 3}]))
