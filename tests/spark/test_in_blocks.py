"""Where the combinations do not fit, the table is cut first; every promise holds of the whole all the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import AuditFailed, Misfit, MissingExtra
from shoal.policy import Policy
from tests.spark.conftest import adult, adult_policy, here, there

SMALL = {"fits": 50, "block": 400}


def checked(spark: Any, frame: pl.DataFrame, policy: Policy, **limits: int) -> shoal.Release:
    """Anonymize in blocks; count what comes out once more, on one machine and against the original records."""
    release = shoal.anonymize(there(spark, frame), policy, **({**SMALL, **limits}))
    assert release.manifest["recoding"]["blocks"] > 1
    again = shoal.audit(here(release.table), policy, original=frame)
    assert again.holds, again.failures()
    assert again.utility == release.audit.utility and again.records == release.audit.records
    assert [one.attained for one in again.models] == [one.attained for one in release.audit.models]
    return release


def test_k_and_l_hold_and_little_more_is_lost(spark: Any) -> None:
    frame, policy = adult(2_000), adult_policy("mondrian")
    release = checked(spark, frame, policy, block=600)
    assert release.loss < 1.25 * shoal.anonymize(frame, policy).loss
    assert release.audit.risk_before == {}


MODELS: list[list[dict[str, Any]]] = [
    [{"name": "k-anonymity", "k": 4}, {"name": "t-closeness", "on": "occupation", "t": 0.5}],
    [{"name": "k-anonymity", "k": 4}, {"name": "beta-likeness", "on": "occupation", "beta": 3.0}],
    [{"name": "entropy-l-diversity", "on": "occupation", "l": 2.0}, {"name": "average-risk", "threshold": 0.2}],
]


@pytest.mark.parametrize("models", MODELS, ids=lambda models: models[-1]["name"])
def test_models_that_look_at_the_whole_table(spark: Any, models: list[dict[str, Any]]) -> None:
    checked(spark, adult(1_200), adult_policy("mondrian", models=models))


def test_the_default_search_with_suppression_and_missing_values(spark: Any) -> None:
    frame = adult(1_200)
    policy = adult_policy("shoal", max_suppressed=0.03)
    specs = dict(policy.quasi_identifiers)
    specs["workclass"] = specs["workclass"].replace(missing="suppress")
    less = frame.with_columns(pl.when(pl.col("age") == 33).then(None).otherwise(pl.col("workclass")).alias("workclass"))
    few = less["workclass"].null_count() / frame.height
    policy = policy.replace(quasi_identifiers=specs, max_suppressed=round(few + 0.03, 3))
    release = checked(spark, less, policy)
    assert less["workclass"].null_count() <= release.audit.suppressed <= policy.may_suppress(frame.height)


def test_missing_sensitive_values_that_are_suppressed_count_as_the_worst(spark: Any) -> None:
    frame = adult(1_200).with_columns(
        pl.when(pl.col("age") == 33).then(None).otherwise(pl.col("occupation")).alias("occupation")
    )
    models = [{"name": "k-anonymity", "k": 4}, {"name": "t-closeness", "on": "occupation", "t": 0.6}]
    policy = adult_policy("mondrian", models=models, sensitive={"occupation": {"missing": "suppress"}})
    few = round(frame["occupation"].null_count() / frame.height + 0.002, 3)
    release = checked(spark, frame, policy.replace(max_suppressed=few))
    known = shoal.audit(here(release.table), policy, original=frame.filter(pl.col("occupation").is_not_null()))
    assert known.models[1].attained < release.audit.models[1].attained


def test_partitions_and_order_decide_nothing(spark: Any) -> None:
    frame, policy, tables = adult(1_000), adult_policy("mondrian"), []
    for partitions in (1, 2, 7):
        shuffled = frame.sample(fraction=1.0, shuffle=True, seed=partitions)
        tables.append(here(shoal.anonymize(there(spark, shuffled, partitions), policy, **SMALL).table))
    assert tables[0].equals(tables[1]) and tables[0].equals(tables[2])


def test_skew_with_other_columns_that_ride_along(spark: Any) -> None:
    """One combination has 99 % of the records, one column has no value at all; split combinations carry their notes."""
    rare = adult(150).select("age", "sex", "occupation")
    heavy = pl.DataFrame({"age": [30], "sex": ["Male"], "occupation": ["Sales"]})
    frame = pl.concat([rare, *([heavy] * 14_850)]).with_columns(
        pl.Series("note", [index % 3 for index in range(15_000)]), pl.lit(None, pl.String).alias("nothing")
    )
    policy = Policy(
        quasi_identifiers=["age", "sex", "nothing"],
        sensitive=["occupation"],
        others="keep",
        models=[{"name": "k-anonymity", "k": 4}],
        algorithm={"name": "mondrian", "cuts": "relaxed"},
    )
    release = checked(spark, frame, policy, block=60)
    notes = here(release.table)["note"].value_counts().sort("note")
    assert notes.equals(frame["note"].value_counts().sort("note"))


def test_flat_hierarchies_leave_no_block_without_a_word(spark: Any) -> None:
    """A block that can show nothing but ``*`` would look suppressed beside the others: it names its values instead."""
    letters = [chr(97 + index % 26) + chr(97 + index % 13) for index in range(2_000)]
    frame = pl.DataFrame({"code": letters, "other": [str(index % 17) for index in range(2_000)]})
    flat = {"hierarchy": "suppress"}
    policy = Policy(
        quasi_identifiers={"code": flat, "other": flat},
        models=[{"name": "k-anonymity", "k": 100}],
        algorithm={"name": "single-dimensional"},
    )
    release = checked(spark, frame, policy, block=100)
    assert release.audit.suppressed == 0


def test_a_table_cut_wrongly_is_caught(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark.sql.functions as F  # noqa: N812

    from shoal.engines.spark import blocks

    honest = blocks.SparkPieces.publish

    def broken(found: blocks.SparkPieces) -> Any:
        text = F.when(F.col("t1") == "Male", F.lit("90")).otherwise(F.col("t0"))
        return honest(replace(found, pieces=found.pieces.withColumn("t0", text)))

    monkeypatch.setattr(blocks.SparkPieces, "publish", broken)
    policy = Policy(quasi_identifiers=["age", "sex"], models=[{"name": "k-anonymity", "k": 4}])
    with pytest.raises(AuditFailed):
        shoal.anonymize(there(spark, adult(600).select("age", "sex")), policy, fits=10, block=40)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"algorithm": {"name": "optimal"}}, "one recoding for the whole table"),
        ({"subject": "who"}, "persons are not counted in blocks"),
        (
            {"models": [{"name": "entropy-l-diversity", "on": "ill", "l": 2.0, "estimator": "grassberger"}]},
            "look alike",
        ),
        ({"quasi_identifiers": {"age": {"hierarchy": "auto"}}}, "built from whole records"),
    ],
)
def test_what_blocks_cannot_keep_is_refused(spark: Any, change: dict[str, Any], says: str) -> None:
    frame = pl.DataFrame({"who": list(range(60)), "age": list(range(60)), "ill": ["a", "b", "c"] * 20})
    roles: dict[str, Any] = {
        "identifiers": ["who"],
        "quasi_identifiers": {"age": {"hierarchy": "intervals", "widths": [5, 10]}},
        "sensitive": ["ill"],
        "models": [{"name": "k-anonymity", "k": 3}],
    }
    with pytest.raises(Misfit, match=says):
        shoal.anonymize(there(spark, frame), Policy(**(roles | change)), fits=5)


def test_what_cannot_be_promised_is_infeasible(spark: Any) -> None:
    policy = adult_policy("mondrian", models=[{"name": "k-anonymity", "k": 700}])
    with pytest.raises(shoal.Infeasible, match="attains 600"):
        shoal.anonymize(there(spark, adult(600)), policy, **SMALL)


def test_an_executor_without_a_library_is_told_in_words(spark: Any, tmp_path: Path) -> None:
    blocker = tmp_path / "sitecustomize.py"
    blocker.write_text(
        "import sys\n"
        "class Without:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'numba':\n"
        "            raise ModuleNotFoundError(\"No module named 'numba'\", name='numba')\n"
        "sys.meta_path.insert(0, Without())\n"
    )
    environment = spark.sparkContext.environment
    before = dict(environment)
    environment["PYTHONPATH"] = f"{tmp_path}"
    try:
        with pytest.raises(MissingExtra) as caught:
            shoal.anonymize(there(spark, adult(300)), adult_policy("mondrian"), fits=10, block=100)
    finally:
        environment.clear()
        environment.update(before)
    assert "the Python of an executor has no numba" in str(caught.value)
    assert "\tat " not in str(caught.value) and len(str(caught.value)) < 600
