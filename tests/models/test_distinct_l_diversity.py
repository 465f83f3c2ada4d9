"""Distinct l-diversity on the tables of its paper."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.models import DistinctLDiversity
from shoal.policy import Policy

# Machanavajjhala et al. (2007), Table 3: a 3-diverse version of twelve patients
CONDITIONS = (
    ["heart", "viral", "cancer", "cancer"],
    ["cancer", "heart", "viral", "viral"],
    ["heart", "viral", "cancer", "cancer"],
)
TABLE = pl.DataFrame(
    [
        (zip_code, condition)
        for zip_code, rows in zip(["1305*", "1485*", "1306*"], CONDITIONS, strict=True)
        for condition in rows
    ],
    schema=["zip", "condition"],
    orient="row",
)


def attained(table: pl.DataFrame, missing: str = "own-value") -> int:
    policy = Policy(
        quasi_identifiers=["zip"],
        sensitive={"condition": {"missing": missing}},
        models=[DistinctLDiversity(on="condition", l=2)],
    )
    value = shoal.audit(table, policy).models[0].attained
    assert isinstance(value, int)
    return value


def test_the_papers_table_is_3_diverse() -> None:
    assert attained(TABLE) == 3


def test_a_missing_value_is_a_value_or_adds_nothing() -> None:
    table = pl.DataFrame({"zip": ["1"] * 3, "condition": ["flu", "flu", None]})
    assert attained(table) == 2
    assert attained(table, "wildcard") == 1
    blank = pl.DataFrame({"zip": ["1"] * 3, "condition": pl.Series([None] * 3, dtype=pl.String)})
    assert attained(blank, "wildcard") == 1


def test_search_and_audit_agree_on_wildcards() -> None:
    table = pl.DataFrame({"age": [1, 1, 2, 2] * 3, "condition": ["flu", None, "flu", "cold"] * 3})
    policy = Policy(
        quasi_identifiers=["age"],
        sensitive={"condition": {"missing": "wildcard"}},
        models=[DistinctLDiversity(on="condition", l=2)],
    )
    release = shoal.anonymize(table, policy)  # an audit that counts otherwise would stop it
    known = release.table.group_by("age").agg(pl.col("condition").drop_nulls().n_unique())
    assert known["condition"].min() == 2
    assert "1" not in known["age"]  # the records of age 1 know only flu
    counted = shoal.anonymize(table, policy.replace(sensitive=["condition"]))
    assert set(counted.table["age"]) == {"1", "2"}  # where a missing one is a value, they know two


def test_l_values_need_l_persons() -> None:
    table = pl.DataFrame({"age": [1, 1, 2, 2], "condition": ["flu", "cold"] * 2, "who": [7, 7, 8, 9]})
    policy = Policy(
        quasi_identifiers=["age"],
        sensitive=["condition"],
        subject="who",
        models=[DistinctLDiversity(on="condition", l=2)],
    )
    release = shoal.anonymize(table, policy)
    assert release.audit.classes == 1  # person 7 alone holds both values of age 1


def test_a_missing_value_that_is_suppressed_adds_none() -> None:
    """It may have been any of the others: among stars, too, it is no value of its own."""
    table = pl.DataFrame({"q": ["a", "b", "c", "d"], "s": ["x", "y", "x", None]})
    policy = shoal.Policy(
        quasi_identifiers={"q": "suppress"},
        sensitive={"s": {"missing": "suppress"}},
        models=[{"name": "k-anonymity", "k": 4}, {"name": "distinct-l-diversity", "on": "s", "l": 2}],
        max_suppressed=0.25,
        algorithm="optimal",
    )
    assert shoal.anonymize(table, policy).attained["distinct-l-diversity"] == 2
    asked = [{"name": "k-anonymity", "k": 4}, {"name": "distinct-l-diversity", "on": "s", "l": 3}]
    with pytest.raises(shoal.Infeasible):
        shoal.anonymize(table, policy.replace(models=asked))
