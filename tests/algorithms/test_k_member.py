"""k-member: the paper's steps, by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.policy import Policy
from shoal.testing import solve_table


def policy(k: int, **more: object) -> Policy:
    return Policy(
        quasi_identifiers=["age"],
        models=[{"name": "k-anonymity", "k": k}],
        algorithm={"name": "k-member", **more},
    )


def shown(ages: list[int], k: int) -> list[str]:
    return sorted(shoal.anonymize(pl.DataFrame({"age": ages}), policy(k)).table["age"].to_list())


def test_the_furthest_record_starts_and_the_cheapest_joins() -> None:
    # furthest from 1 is 13, then 12 and 11; furthest from 11 is 1, then 2 and 3
    # 10 is left: 4 × 3/12 - 3 × 2/12 = 1/2 beside 11, 12, 13, and 4 × 9/12 - 3 × 2/12 = 5/2 beside 1, 2, 3
    assert shown([1, 2, 3, 10, 11, 12, 13], 3) == ["[1, 3]"] * 3 + ["[10, 13]"] * 4


def test_records_of_one_tuple_are_shared_between_classes() -> None:
    # furthest from 5 is 9, three of the seven 5s join it; the four that are left are a class
    assert shown([5] * 7 + [9], 4) == ["5"] * 4 + ["[5, 9]"] * 4


def test_a_class_grows_until_every_model_holds() -> None:
    table = pl.DataFrame({"age": [1, 2, 3, 10, 11, 12], "illness": ["a", "a", "b", "c", "c", "d"]})
    asked = Policy(
        quasi_identifiers=["age"],
        sensitive=["illness"],
        models=[{"name": "k-anonymity", "k": 2}, {"name": "distinct-l-diversity", "on": "illness", "l": 2}],
        algorithm="k-member",
    )
    # 12 and 11 hold c and d; furthest from 11 is 1, then 2: a and a, so 3 joins; 10 joins 11 and 12
    assert sorted(shoal.anonymize(table, asked).table["age"]) == ["[1, 3]"] * 3 + ["[10, 12]"] * 3


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc")), min_size=2, max_size=40), st.integers(2, 6))
def test_classes_have_at_least_k_and_fewer_than_2k_records(rows: list[tuple[int, str]], k: int) -> None:
    if len(rows) < k:
        return
    asked = policy(k).replace(quasi_identifiers=["age", "place"])
    recoding = solve_table(pl.DataFrame(rows, schema=["age", "place"], orient="row"), asked).recoding
    weights = recoding.weights  # type: ignore[attr-defined]
    if weights is None:
        weights = solve_table(
            pl.DataFrame(rows, schema=["age", "place"], orient="row"), asked
        ).encoded.frequencies.counts
    sizes = np.bincount(recoding.members, weights)  # type: ignore[attr-defined]
    assert sizes.min() >= k
    assert sizes.max() < 2 * k


@pytest.mark.parametrize("k", [2, 7])
def test_blocks_are_tables_of_their_own(k: int) -> None:
    random = np.random.default_rng(0)
    table = pl.DataFrame({"age": random.integers(0, 1000, 900), "place": random.choice(list("abc"), 900)})
    asked = policy(k, block=100).replace(quasi_identifiers=["age", "place"])
    release = shoal.anonymize(table, asked)
    assert release.audit.holds
    assert release.audit.sizes.min() >= k
    whole = shoal.anonymize(table, policy(k).replace(quasi_identifiers=["age", "place"]))
    assert release.loss < 3 * whole.loss
