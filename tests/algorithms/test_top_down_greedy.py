"""Top-down greedy search: the paper's steps, by hand."""

from __future__ import annotations

import polars as pl

import shoal
from shoal.policy import Policy


def shown(ages: list[int], k: int, seed: int = 0) -> list[str]:
    asked = Policy(
        quasi_identifiers=["age"], models=[{"name": "k-anonymity", "k": k}], algorithm="top-down-greedy", seed=seed
    )
    return sorted(shoal.anonymize(pl.DataFrame({"age": ages}), asked).table["age"].to_list())


def test_records_go_to_the_nearer_of_two_seeds() -> None:
    assert shown([0, 1, 2, 10, 11, 12], 3) == ["[0, 2]"] * 3 + ["[10, 12]"] * 3


def test_a_small_group_borrows_what_it_needs() -> None:
    # {0, 1, 2, 3} and {10, 11}; the first is not parted, as neither part would have 3; {10, 11} takes the 3
    for seed in range(5):
        assert shown([0, 1, 2, 3, 10, 11], 3, seed) == ["[0, 2]"] * 3 + ["[3, 11]"] * 3


def test_a_small_group_joins_one_that_cannot_spare() -> None:
    assert shown([0, 1, 2, 10, 11], 3) == ["[0, 11]"] * 5
