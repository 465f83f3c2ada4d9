"""The worked examples of Ramana et al. (2013), number for number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal import notation
from shoal.policy import Policy

PAPER: dict[str, Any] = notation.load((Path(__file__).parent / "ramana13.yaml").read_text())
ORIGINAL = pl.DataFrame(PAPER["records"], schema=PAPER["columns"], orient="row")
POLICY = Policy(
    quasi_identifiers=PAPER["hierarchies"],
    sensitive=["disease"],
    models=[{"name": "k-anonymity", "k": 3}],
    algorithm="exhaustive",
)


def published(name: str) -> pl.DataFrame:
    return in_printed_order(name).sort(PAPER["columns"])


def in_printed_order(name: str) -> pl.DataFrame:
    return pl.DataFrame(PAPER[name], schema=PAPER["columns"], orient="row", strict=False)


def test_the_printed_order_gives_the_persons_away() -> None:
    audit = shoal.audit(in_printed_order("local"), POLICY, original=ORIGINAL)
    assert audit.models[0].holds
    assert not audit.holds  # record i is record i of the original: the unsorted matching attack
    assert [fault.what for fault in audit.faults] == ["the records stand in their original order"]


def test_table_1_b_is_3_anonymous() -> None:
    audit = shoal.audit(published("global"), POLICY, original=ORIGINAL)
    assert audit.holds
    assert audit.models[0].attained == 4  # four women, six men
    assert audit.classes == 2


def test_table_1_c_is_3_anonymous_with_its_three_classes() -> None:
    audit = shoal.audit(published("local"), POLICY, original=ORIGINAL)
    assert audit.holds
    assert sorted(audit.sizes.tolist()) == sorted(PAPER["classes"])


def test_table_1_c_measures_of_equations_5_to_9() -> None:
    audit = shoal.audit(published("local"), POLICY, original=ORIGINAL)
    ages, zips = 7, 5  # distinct values of the columns
    age = 3 * 3 / ages + 4 * 1.0 + 3 * 2 / ages  # eq. 6: leaves under the label over all values
    zip_code = 0 + 4 * 1.0 + 3 * 2 / zips
    assert audit.utility["certainty-penalty"].total == pytest.approx((age + zip_code) / (3 * 10))  # eq. 7
    assert audit.utility["discernibility"].total == 3**2 + 4**2 + 3**2  # eq. 8
    assert audit.utility["class-size"].total == pytest.approx(10 / (3 * 3))  # eq. 9


def test_table_1_b_loses_more_than_table_1_c() -> None:
    losses = [
        shoal.audit(published(name), POLICY, original=ORIGINAL).utility["certainty-penalty"].total
        for name in ("global", "local")
    ]
    assert losses[0] > losses[1]


def test_the_searches_lose_no_more_than_the_paper() -> None:
    printed = {
        name: shoal.audit(published(name), POLICY, original=ORIGINAL).utility["certainty-penalty"].total
        for name in ("global", "local")
    }
    assert shoal.anonymize(ORIGINAL, POLICY).loss <= printed["global"]
    assert shoal.anonymize(ORIGINAL, POLICY.replace(algorithm="mondrian")).loss <= printed["local"]
