"""Suppressed records are a class like any other."""

from __future__ import annotations

import polars as pl

import shoal
from shoal.policy import Policy

TABLE = pl.DataFrame(
    {
        "age": [30] * 5 + [31] * 5 + [90],
        "illness": ["flu", "cold", "flu", "hiv", "cold"] * 2 + ["leprosy"],
    }
)
POLICY = Policy(
    quasi_identifiers={"age": {}},
    sensitive=["illness"],
    models=[{"name": "k-anonymity", "k": 5}],
    algorithm="exhaustive",
    max_suppressed=0.1,
)


def test_one_starred_record_would_be_its_owners_illness() -> None:
    """The attack: everyone knows the one old person; a single starred record tells the illness."""
    naive = TABLE.with_columns(
        age=pl.when(pl.col("age") == 90).then(pl.lit("*")).otherwise(pl.col("age").cast(pl.String))
    )
    found = naive.filter(pl.col("age") == "*")["illness"].to_list()
    assert found == ["leprosy"]  # found
    assert not shoal.audit(naive, POLICY, original=TABLE).holds  # and the audit sees it


def test_so_it_is_left_out() -> None:
    release = shoal.anonymize(TABLE, POLICY)
    assert (release.audit.starred, release.audit.left_out) == (0, 1)
    assert "leprosy" not in release.table["illness"].to_list()
    assert "*" not in release.table["age"].to_list()


def test_enough_starred_records_are_published() -> None:
    old = pl.DataFrame({"age": [90, 91, 92, 93, 94], "illness": ["flu", "cold", "hiv", "flu", "leprosy"]})
    release = shoal.anonymize(pl.concat([TABLE.head(10), old]), POLICY.replace(max_suppressed=0.4))
    assert (release.audit.starred, release.audit.left_out) == (5, 0)
    assert release.audit.holds


def test_starred_records_must_satisfy_every_model() -> None:
    old = pl.DataFrame({"age": [90, 91, 92, 93, 94], "illness": ["flu"] * 5})
    models = [*POLICY.models, {"name": "distinct-l-diversity", "on": "illness", "l": 2}]
    release = shoal.anonymize(pl.concat([TABLE.head(10), old]), POLICY.replace(max_suppressed=0.4, models=models))
    assert (release.audit.starred, release.audit.left_out) == (0, 5)


def test_drop_always_leaves_them_out() -> None:
    old = pl.DataFrame({"age": [90, 91, 92, 93, 94], "illness": ["flu", "cold", "hiv", "flu", "leprosy"]})
    policy = POLICY.replace(max_suppressed=0.4, suppressed="drop")
    release = shoal.anonymize(pl.concat([TABLE.head(10), old]), policy)
    assert (release.audit.starred, release.audit.left_out) == (0, 5)


def test_a_suppressed_record_costs_1_per_cell() -> None:
    release = shoal.anonymize(TABLE, POLICY)
    assert release.loss == 1 / 11
    assert release.audit.utility["discernibility"].total == 5**2 + 5**2 + 11


def test_the_share_is_exact() -> None:
    # 0.29 * 100 is 28.999999999999996 as floats
    policies = [POLICY.replace(max_suppressed=share) for share in (0.29, 0.07, 0.57, 0.1)]
    assert [policy.may_suppress(100) for policy in policies] == [29, 7, 57, 10]
    assert POLICY.replace(max_suppressed=0.1).may_suppress(9) == 0
