"""weigh(): what a request weighs, and what follows."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.policy import Policy
from shoal.policy.disclosure_weights import weigh
from tests.factories import policies

policy = policies(
    identifiers=["name"],
    quasi_identifiers={"age": {"weight": 0.1}, "zip": {"weight": 0.2}},
    sensitive=["illness"],
    models=[{"name": "k-anonymity", "k": 2}],
    threshold=0.3,
)


def test_weights_are_compared_exactly() -> None:
    assert 0.1 + 0.2 > 0.3
    assert weigh(policy(), ["age", "zip"]).action == "release"
    assert weigh(policy(threshold=0.29999999999999999), ["age", "zip"]).action == "release"  # the same float
    assert weigh(policy(threshold=0.2999999), ["age", "zip"]).action == "anonymize"


def test_a_column_counts_once_and_sensitive_ones_nothing() -> None:
    assert weigh(policy(), ["age", "age", "illness"]).total == 0.1
    heavy = policy(sensitive={"illness": {"weight": 0.25}})
    assert weigh(heavy, ["age", "illness"]).action == "anonymize"


def test_without_a_threshold_nothing_is_released_as_it_is() -> None:
    assert weigh(policy(threshold=None), ["illness"]).action == "anonymize"
    assert weigh(policy(threshold=None), []).action == "anonymize"


def test_an_identifier_weighs_the_threshold_and_is_never_given_out() -> None:
    asked = weigh(policy(), ["name"])
    assert (asked.total, asked.action, asked.withheld) == (0.3, "anonymize", ("name",))
    light = weigh(policy(identifiers={"name": {"weight": 0.01}}), ["name"])
    assert (light.total, light.action) == (0.01, "anonymize")
    about = weigh(policy(subject="person"), ["person", "age"])
    assert (about.total, about.action, about.withheld) == (0.4, "anonymize", ("person",))


def test_columns_without_a_role() -> None:
    with pytest.raises(shoal.PolicyError, match="did you mean 'age'"):
        weigh(policy(), ["ages"])
    assert weigh(policy(others="keep"), ["height"]).action == "anonymize"
    assert weigh(policy(others="keep", raw={"least": 1}), ["height"]).action == "release"
    dropped = weigh(policy(others="drop"), ["height"])
    assert (dropped.action, dropped.withheld) == ("anonymize", ("height",))


def test_a_light_table_still_keeps_its_models() -> None:
    """At or under the threshold the paper releases raw data; a release promises its models all the same."""
    table, asked = shoal.datasets.load("employees")
    light = asked.replace(threshold=100)
    assert weigh(light, ["marital_status", "age", "race", "sex", "salary"]).action == "release"
    release = shoal.anonymize(table, light)
    assert release.attained == {"k-anonymity": 2, "distinct-l-diversity": 2}
    assert not shoal.audit(table.drop("name"), light).holds


def test_a_threshold_that_lets_everything_through_is_told() -> None:
    table, asked = shoal.datasets.load("employees")
    assert [fault.where for fault in asked.check(table)] == ["raw.least"]  # the paper's own way
    assert not asked.replace(raw=None).check(table)
    faults = asked.replace(threshold=100, raw=None).check(
        table.drop("name").with_columns(name=pl.Series([f"x{i}" for i in range(table.height)]))
    )
    assert [(fault.kind, fault.where) for fault in faults] == [("warning", "threshold")]


def test_identifiers_are_names_or_a_mapping() -> None:
    plain, heavy = policy(), policy(identifiers={"name": {"weight": 2}})
    assert plain.to_dict()["identifiers"] == ["name"]
    assert heavy.to_dict()["identifiers"] == {"name": {"weight": 2}}
    assert list(plain.identifiers) == list(heavy.identifiers) == ["name"]
    assert Policy.from_yaml(heavy.to_yaml()) == heavy
    with pytest.raises(shoal.PolicyError, match=r"identifiers\.name\.weight: must be more than 0"):
        policy(identifiers={"name": {"weight": 0}})
    with pytest.raises(shoal.PolicyError, match="threshold: must be more than 0"):
        policy(threshold=0)
