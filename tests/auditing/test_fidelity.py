"""Statistics in an audit: what they say, what they must not say, and what happens on odd tables."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from tests.strategies import tables_and_policies, unexplained

import shoal
from shoal.auditing import Fidelity
from shoal.auditing.original import OriginalTable
from shoal.auditing.reread import reread_columns
from shoal.cli import run
from shoal.engines.counted import CountedTable
from shoal.errors import Infeasible, Misfit, PolicyError
from shoal.policy import Policy

AGES = [21, 23, 25, 27, 31, 33, 35, 37, 41, 43, 45, 90]
TABLE = pl.DataFrame({"age": AGES, "sex": ["f", "m"] * 6, "income": [10.0, 20.0] * 6, "ill": ["flu", "cold"] * 6})
POLICY = Policy(
    quasi_identifiers={"age": {"hierarchy": "intervals", "widths": [10, 100]}, "sex": "suppress"},
    sensitive=["ill"],
    others="keep",
    models=[{"name": "k-anonymity", "k": 4}],
    max_suppressed=0.5,
)
DECADES = ["[20, 29]"] * 4 + ["[30, 39]"] * 4 + ["[40, 49]"] * 3 + ["[90, 99]"]


def published(**changes: Any) -> pl.DataFrame:
    return TABLE.with_columns(pl.Series("age", DECADES)).with_columns(
        **{name: pl.Series(values) for name, values in changes.items()}
    )


def statistics_of(table: pl.DataFrame, original: pl.DataFrame = TABLE, policy: Policy = POLICY, **asked: Any) -> Any:
    audit = shoal.audit(table, policy, original=original, statistics=Fidelity(**asked))
    json.dumps(audit.to_dict(), allow_nan=False)
    return audit.statistics


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        ("midpoint", [24.5] * 4 + [34.5] * 4 + [44.5] * 3 + [94.5]),
        ("uniform", [20.75, 23.25, 25.75, 28.25, 30.75, 33.25, 35.75, 38.25, 41.1667, 44.5, 47.8333, 94.5]),
        ("class", [24.0] * 4 + [34.0] * 4 + [43.0] * 3 + [90.0]),
    ],
)
def test_what_stands_for_a_range_is_as_asked_and_told(standing: Any, expected: list[float]) -> None:
    column = reread_columns(published(), TABLE, OriginalTable.of(CountedTable(TABLE), POLICY), standing)["age"].column
    assert column.numbers is not None
    assert column.numbers[0].tolist() == AGES
    assert column.numbers[1].tolist() == pytest.approx(expected, abs=1e-3)
    found = statistics_of(published(), standing=standing)
    assert found["standing"] == standing
    assert found["columns"]["age"]["mean"] == pytest.approx({"before": np.mean(AGES), "after": np.mean(expected)})
    assert statistics_of(published())["standing"] == "midpoint"


def test_a_table_published_as_it_is_differs_in_nothing() -> None:
    found = statistics_of(TABLE.with_columns(pl.col("age").cast(pl.String)).reverse())
    for told in found["columns"].values():
        assert told["histogram"]["before"] == pytest.approx(told["histogram"]["after"])
    assert found["columns"]["age"]["kolmogorov-smirnov"] == {"statistic": 0.0, "p_value": 1.0}
    assert found["columns"]["age"]["welch"]["p_value"] == pytest.approx(1)
    assert found["columns"]["age"]["distance"] == {"largest": 0.0, "mean_square": 0.0}
    assert found["joint"]["largest"] == 0
    assert found["clusters"]["utility"] == pytest.approx(0)
    assert found["queries"]["median_relative_error"] == 0
    assert found["correlations"]["before"] == found["correlations"]["after"]


def test_the_keys_are_stable() -> None:
    found = statistics_of(published())
    assert list(found) == [
        "for",
        "standing",
        "records",
        "columns",
        "joint",
        "clusters",
        "correlations",
        "queries",
        "eigenvalues",
        "regressions",
        "propensity",
    ]
    assert found["records"] == {"original": 12, "published": 12, "compared": 12}
    assert list(found["columns"]) == ["age", "sex", "income", "ill"]
    assert set(found["columns"]["age"]) == {
        "kind", "distance", "mean", "variance", "kolmogorov-smirnov", "welch", "variance-ratio", "histogram",
        "distribution",
    }  # fmt: skip
    assert set(found["columns"]["sex"]) == {"kind", "histogram", "total_variation"}
    assert found["joint"]["columns"] == ["age", "income"]
    measures = found["correlations"]["measures"]
    assert (measures[0][2], measures[0][1], measures[1][3]) == ("pearson", "correlation-ratio", "cramer-v")
    assert found["correlations"]["spearman"]["columns"] == ["age", "income"]


def test_no_record_is_told() -> None:
    """The oldest is 90 and nobody else is over 45: no bin and no edge may say so."""
    found = statistics_of(published())
    shown = found["columns"]["age"]["histogram"]
    assert min(shown["before"]) * 12 >= 5 - 1e-9  # k is 4, and never fewer than five
    assert not {45, 90} & set(shown["edges"])
    rare = TABLE.with_columns(ill=pl.Series(["flu"] * 11 + ["plague"]))
    found = statistics_of(published(ill=["flu"] * 11 + ["plague"]), rare)
    assert "plague" not in json.dumps(found)
    assert found["columns"]["ill"]["histogram"]["values"] == ["(others)"]
    assert json.loads(json.dumps(found)) == found  # plain data


def test_starred_records_are_not_compared() -> None:
    starred = published(age=[*DECADES[:11], "*"], sex=[*TABLE["sex"].to_list()[:11], "*"])
    found = statistics_of(starred)
    assert found["records"] == {"original": 12, "published": 12, "compared": 11}
    assert found["columns"]["age"]["mean"]["after"] == pytest.approx((24.5 * 4 + 34.5 * 4 + 44.5 * 3) / 11)


def test_an_empty_release() -> None:
    found = statistics_of(published().head(0).cast(pl.String))
    assert found["records"]["compared"] == 0
    assert "nothing to compare" in found["note"]
    assert "columns" not in found


def test_a_column_without_variance() -> None:
    flat = TABLE.with_columns(income=pl.lit(7.0), sex=pl.lit("f"))
    found = statistics_of(published(income=[7.0] * 12, sex=["f"] * 12), flat)
    told = found["columns"]["income"]
    assert (told["welch"]["p_value"], told["variance-ratio"]["p_value"]) == (1.0, 1.0)
    assert told["histogram"] == {"edges": [], "before": [1.0], "after": [1.0]}
    assert found["correlations"]["before"][2] == [None] * 4
    stars = statistics_of(published(age=["*"] * 12))  # everyone's age stands for the same
    assert stars["columns"]["age"]["variance-ratio"]["statistic"] is None  # infinite
    assert stars["columns"]["age"]["variance"]["after"] == 0


def test_a_value_outside_the_hierarchy_is_counted_as_unreadable() -> None:
    found = statistics_of(published(age=[*DECADES[:11], "old"], sex=["f", "m"] * 5 + ["f", "x"]))
    assert found["columns"]["age"]["unreadable"] == 1
    assert found["columns"]["sex"]["unreadable"] == 1
    assert found["columns"]["age"]["mean"]["after"] == pytest.approx((24.5 * 4 + 34.5 * 4 + 44.5 * 3) / 11)


def test_other_columns_and_other_lengths() -> None:
    fewer = statistics_of(published().drop("income").head(8))
    assert "income" not in fewer["columns"]
    assert fewer["records"] == {"original": 12, "published": 8, "compared": 8}
    assert fewer["joint"] is None  # one column of numbers is left
    audit = shoal.audit(published().drop("age"), POLICY, original=TABLE, statistics=True)
    assert not audit.holds
    assert audit.statistics is None  # a quasi-identifier is not there: nothing is counted
    with pytest.raises(Misfit, match="age"):
        shoal.audit(published(), POLICY, original=TABLE.drop("age"), statistics=True)
    more = shoal.audit(pl.concat([published(), published()]), POLICY, original=TABLE, statistics=True)
    assert not more.holds
    assert more.statistics is not None


def test_it_needs_the_original_and_a_known_standing() -> None:
    with pytest.raises(Misfit, match="statistics compare the published table with the original"):
        shoal.audit(published(), POLICY, statistics=True)
    with pytest.raises(PolicyError, match="must be one of 'midpoint', 'uniform' or 'class'"):
        Fidelity(standing="middle")
    with pytest.raises(Misfit, match="class column must be in both tables"):
        statistics_of(published(), class_column="age")
    assert shoal.audit(published(), POLICY, original=TABLE).statistics is None
    assert "statistics" not in shoal.audit(published(), POLICY, original=TABLE).to_dict()


def test_identifiers_are_never_looked_at() -> None:
    named = TABLE.with_columns(name=pl.Series([f"person {n}" for n in range(12)]))
    policy = POLICY.replace(identifiers=["name"])
    leaked = named.with_columns(pl.Series("age", DECADES))
    audit = shoal.audit(leaked, policy, original=named, statistics=True)
    assert not audit.holds
    assert "person" not in json.dumps(audit.statistics)


def test_dates_are_numbers_with_a_unit() -> None:
    born = [date(1990, 1, 1 + n) for n in range(12)]
    table = pl.DataFrame({"born": born, "sex": ["f", "m"] * 6})
    policy = Policy(
        quasi_identifiers={"born": {}, "sex": "suppress"},
        models=[{"name": "k-anonymity", "k": 2}],
        publish="ranges",
    )
    shown = table.with_columns(born=pl.Series(["[1990-01-01, 1990-01-12]"] * 12))
    told = statistics_of(shown, table, policy)["columns"]["born"]
    days = (date(1990, 1, 1) - date(1970, 1, 1)).days + 5.5
    assert (told["unit"], told["mean"]) == ("days since 1970", {"before": days, "after": days})


def test_learning_is_told() -> None:
    pytest.importorskip("sklearn")
    table = shoal.datasets.adult(complete=True, part="test").head(1500)
    policy = Policy(
        quasi_identifiers={
            "age": {"hierarchy": "intervals", "widths": [10]},
            "education": "suppress",
            "sex": "suppress",
        },
        sensitive=["income"],
        others="drop",
        models=[{"name": "k-anonymity", "k": 5}],
        max_suppressed=0.05,
        algorithm="mondrian",
    )
    release = shoal.anonymize(table, policy)
    found = statistics_of(release.frame, table, policy, class_column="income")["learning"]
    assert (found["class_column"], found["learner"], found["tested"]) == ("income", "logistic regression", 450)
    assert 0.6 < found["accuracy"]["majority"] <= found["accuracy"]["original"] + 0.05 < 1
    assert 0.6 < found["accuracy"]["published"] < 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tables_and_policies())
def test_any_release_has_statistics_that_json_can_hold(case: tuple[pl.DataFrame, Policy]) -> None:
    table, policy = case
    try:
        with unexplained():
            release = shoal.anonymize(table, policy)
    except Infeasible:
        return
    for standing in ("midpoint", "uniform", "class"):
        asked = Fidelity(standing=standing, queries=5)
        audit = shoal.audit(
            release.frame,
            policy,
            original=table,
            subjects=release.subjects,
            requested_k=release.owner.requested_k,
            statistics=asked,
        )
        text = json.dumps(audit.to_dict(), allow_nan=False)
        assert audit.statistics is not None
        assert json.loads(text)["statistics"] == audit.statistics
        for told in audit.statistics.get("columns", {}).values():
            for shares in (told.get("histogram", {}).get(when, [1.0]) for when in ("before", "after")):
                assert sum(shares) == pytest.approx(1) or sum(shares) == 0


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    TABLE.write_csv(tmp_path / "table.csv")
    published().write_csv(tmp_path / "release.csv")
    POLICY.write(tmp_path / "policy.yaml")

    def command(*options: str) -> tuple[int, str, str]:
        given = ["shoal", "audit", "release.csv", "--policy", "policy.yaml", *options]
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", given)
        with pytest.raises(SystemExit) as ended:
            run()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    _, text, _ = command("--original", "table.csv", "--statistics")
    assert "original against published (a range stands for its midpoint); for the owner only" in text
    assert "age: distributions differ by" in text
    _, text, _ = command("--original", "table.csv", "--statistics", "--standing", "uniform", "--json")
    assert json.loads(text)["statistics"]["standing"] == "uniform"
    code, _, error = command("--statistics")
    assert code == 2
    assert "needs --original" in error
    code, _, error = command("--standing", "uniform")
    assert "is for --statistics" in error
    code, _, error = command("--original", "table.csv", "--statistics", "--standing", "middle")
    assert code == 2
    assert "one of midpoint, uniform, class" in error


def test_a_few_numbers_are_not_told_by_their_mean_and_variance() -> None:
    table = pl.DataFrame(
        {"age": [20 + n % 4 for n in range(40)], "debt": pl.Series([123_456, 777_001, *[None] * 38], dtype=pl.Int64)}
    )
    policy = Policy(quasi_identifiers=["age"], sensitive=["debt"], models=[{"name": "k-anonymity", "k": 10}])
    release = shoal.anonymize(table, policy)
    told = shoal.audit(release.table, policy, original=table, statistics=True).statistics
    assert told is not None
    assert told["columns"]["debt"] == {"kind": "number", "note": "too few numbers to compare"}
