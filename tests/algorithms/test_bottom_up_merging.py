"""Bottom-up merging: the paper's steps, by hand."""

from __future__ import annotations

import polars as pl

import shoal
from shoal.policy import Policy


def shown(ages: list[int], k: int) -> list[str]:
    asked = Policy(quasi_identifiers=["age"], models=[{"name": "k-anonymity", "k": k}], algorithm="bottom-up-merging")
    return sorted(shoal.anonymize(pl.DataFrame({"age": ages}), asked).table["age"].to_list())


def test_small_groups_merge_with_the_cheapest() -> None:
    # 1 with 2; 3 with {1, 2}: 3 × 2/11 - 2 × 1/11, with 10: 2 × 7/11; 10 with 11; 12 with {10, 11}
    assert shown([1, 2, 3, 10, 11, 12], 3) == ["[1, 3]"] * 3 + ["[10, 12]"] * 3


def test_large_groups_are_split() -> None:
    # in units of 1/101: 0 with 2; 5 with {0, 2}: 15 - 4 = 11, with 12: 14; 12 with {0, 2, 5}: 48 - 15, with 100: 176
    # the group of 4 is split: seeds 0 and 12; 2 and 5 (15 - 4 = 11 or 14) go to 0; 12 takes 5 back to have 2
    assert shown([0, 2, 5, 12, 100, 101], 2) == ["[0, 2]"] * 2 + ["[100, 101]"] * 2 + ["[5, 12]"] * 2


def test_a_frequent_tuple_gives_only_what_is_needed() -> None:
    assert shown([30] * 9 + [33], 3) == ["30"] * 7 + ["[30, 33]"] * 3
