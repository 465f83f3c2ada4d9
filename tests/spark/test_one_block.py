"""Where the combinations fit the driver, Spark gives the release of one machine, record for record."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import AuditFailed, Misfit, TableError
from shoal.policy import Policy
from tests.spark.conftest import adult, adult_policy, here, there

K = [{"name": "k-anonymity", "k": 3}]


def same(spark: Any, frame: pl.DataFrame, policy: Policy, partitions: int | None = None) -> shoal.Release:
    """Anonymize on both and compare the records, their order too."""
    release = shoal.anonymize(there(spark, frame, partitions), policy)
    local = shoal.anonymize(frame, policy)
    assert here(release.table).equals(local.table)
    assert release.attained == local.attained and release.loss == local.loss
    return release


@pytest.mark.parametrize("algorithm", ["optimal", "datafly", "mondrian", "shoal"])
def test_the_release_of_one_machine(spark: Any, algorithm: str) -> None:
    same(spark, adult(1_500), adult_policy(algorithm, max_suppressed=0.05))


def test_split_combinations_carry_their_other_columns_as_on_one_machine(spark: Any) -> None:
    frame = pl.DataFrame(
        {
            "age": [20 + index % 7 // 2 for index in range(400)],
            "illness": [["flu", "cold", None][index % 3] for index in range(400)],
            "note": [[1.5, float("nan"), -0.0, 0.0, None][index % 5] for index in range(400)],
            "city": ["", "Bonn", "Ulm", None] * 100,
            "name": [str(index) for index in range(400)],
        }
    )
    policy = Policy(
        identifiers=["name"],
        quasi_identifiers=["age"],
        sensitive=["illness"],
        others="keep",
        models=[{"name": "k-anonymity", "k": 30}],
        algorithm={"name": "mondrian", "cuts": "relaxed"},
    )
    release = same(spark, frame, policy)
    assert release.rows is not None and release.rows.n_unique() < len(release.rows)  # some are split
    assert "name" not in release.table.columns


def test_odd_names_and_missing_values(spark: Any) -> None:
    rows = 60
    frame = pl.DataFrame(
        {
            "*": [index % 4 for index in range(rows)],
            "^a$": [["x", "", "y", None][index % 4] for index in range(rows)],
            "a.b": [None if index % 7 == 0 else index % 3 for index in range(rows)],
            "`q`": [index % 2 == 0 for index in range(rows)],
            "A": [index % 5 for index in range(rows)],
            "a": [["u", "v"][index % 2] for index in range(rows)],
            "nothing": pl.Series([None] * rows, dtype=pl.String),
        }
    )
    roles = {"quasi_identifiers": ["*", "^a$", "a.b", "`q`", "nothing"], "sensitive": ["a"], "others": "keep"}
    release = same(spark, frame, Policy(**roles, models=K))  # type: ignore[arg-type]
    assert release.table.columns == frame.columns


@pytest.mark.parametrize("limits", [{}, {"fits": 1, "block": 400}], ids=["one block", "in blocks"])
def test_texts_that_could_be_read_in_two_ways_are_refused(spark: Any, limits: dict[str, int]) -> None:
    frame = pl.DataFrame({"q": ["*", "a", "b"] * 4, "s": ["*", "x", "y"] * 4})
    policy = Policy(quasi_identifiers=["q"], sensitive=["s"], models=K)
    with pytest.raises(Misfit, match="written as suppressed ones are"):
        shoal.anonymize(there(spark, frame), policy, **limits)
    nodes = {"*": {"{a, c}": ["a", "b"], "rest": ["c"]}}
    labelled = policy.replace(quasi_identifiers={"q": {"hierarchy": "tree", "nodes": nodes}})
    with pytest.raises(Misfit, match="labels that read as a set"):
        shoal.anonymize(there(spark, frame.filter(pl.col("q") != "*")), labelled, **limits)


def test_types_of_spark(spark: Any) -> None:
    table = spark.sql(
        "select cast(id % 3 as tinyint) q, cast(id % 2 as float) / 10 as f, cast(id % 4 as decimal(9,2)) d, "
        "date_add(date'2020-01-01', cast(id % 3 as int)) day, null as v, cast(id as string) who from range(90)"
    )
    policy = Policy(
        identifiers=["who"], quasi_identifiers=["q", "f", "day", "v"], sensitive=["d"], models=K, publish="ranges"
    )
    release = shoal.anonymize(table, policy)
    assert release.audit.holds
    assert set(here(release.table)["f"].unique()) <= {"0", "0.0", "0.1", "[0, 0.1]", "[0.0, 0.1]"}


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_partitions_and_order_decide_nothing(spark: Any, partitions: int) -> None:
    frame = adult(600)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=partitions)
    policy = adult_policy("mondrian")
    release = shoal.anonymize(there(spark, shuffled, partitions), policy)
    assert here(release.table).equals(shoal.anonymize(frame, policy).table)


def test_one_combination_with_nearly_all_records(spark: Any) -> None:
    frame = pl.DataFrame({"age": [30] * 4_950 + list(range(20, 70)), "ill": ["a", "b"] * 2_500})
    same(spark, frame, Policy(quasi_identifiers=["age"], sensitive=["ill"], models=K, algorithm={"name": "mondrian"}))


def test_persons_are_counted(spark: Any) -> None:
    draw = random.Random(1)
    frame = pl.DataFrame(
        {
            "who": [draw.randrange(80) for _ in range(300)],
            "age": [draw.randrange(20, 30) for _ in range(300)],
            "ill": [draw.choice("abc") for _ in range(300)],
        }
    )
    policy = Policy(
        quasi_identifiers=["age"], sensitive=["ill"], subject="who", models=K, algorithm={"name": "mondrian"}
    )
    same(spark, frame, policy)


def test_the_audit_counts_on_spark(spark: Any) -> None:
    frame, policy = adult(1_000), adult_policy("mondrian")
    local = shoal.anonymize(frame, policy)
    there_too = shoal.audit(there(spark, local.table), policy, original=there(spark, frame)).to_dict()
    expected = shoal.audit(local.table, policy, original=frame).to_dict()
    for told in (there_too, expected):
        told["hygiene"] = [check for check in told["hygiene"] if check["check"] != "order"]
    assert there_too == expected
    raw = shoal.audit(there(spark, frame), policy)
    assert not raw.holds


def test_an_identifier_in_a_published_table_is_found(spark: Any) -> None:
    frame = pl.DataFrame({"name": ["a", "b", "c"], "age": ["20"] * 3})
    audit = shoal.audit(there(spark, frame), Policy(identifiers=["name"], quasi_identifiers=["age"], models=K))
    assert [fault.where for fault in audit.faults] == ["name"]


def test_a_broken_recoding_is_caught(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.engines.spark import engine

    honest = engine.expand_counts

    def broken(session: Any, frame: pl.DataFrame) -> Any:
        first = frame.columns[0]
        return honest(session, frame.with_columns(pl.col(first).shift(1).fill_null("*")))

    monkeypatch.setattr(engine, "expand_counts", broken)
    with pytest.raises(AuditFailed):
        shoal.anonymize(there(spark, adult(300)), adult_policy("mondrian"))


def test_records_that_are_lost_are_missed(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.engines.spark import engine

    honest = engine.expand_counts
    monkeypatch.setattr(engine, "expand_counts", lambda session, frame: honest(session, frame).limit(290))
    with pytest.raises(AuditFailed, match="does not hold the released records"):
        shoal.anonymize(there(spark, adult(300)), adult_policy("mondrian", max_suppressed=0.5))


def test_other_columns_that_were_moved_are_found(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark.sql.functions as F  # noqa: N812

    from shoal.engines.spark import engine

    frame = pl.DataFrame({"age": [20, 21] * 20, "city": ["Bonn", "Ulm", "Kiel", "Jena"] * 10})
    policy = Policy(quasi_identifiers=["age"], others="keep", models=K)
    honest = engine.join_others
    monkeypatch.setattr(engine, "join_others", lambda *a: honest(*a).withColumn("c1", F.lit("Bonn")))
    with pytest.raises(AuditFailed, match="published as they are"):
        shoal.anonymize(there(spark, frame), policy)


@pytest.mark.parametrize("limits", [{}, {"fits": 5, "block": 5}])
def test_other_columns_of_other_records_are_found(
    spark: Any, limits: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each city is there as often as before, each class too: only beside whom it stands is another."""
    import pyspark.sql.functions as F  # noqa: N812

    from shoal.engines.spark import blocks, engine

    frame = pl.DataFrame({"age": [20, 21, 40, 41] * 20, "city": ["Bonn", "Bonn", "Kiel", "Kiel"] * 20})
    frame = frame.with_columns(size=pl.int_range(80) // 16)
    policy = Policy(quasi_identifiers=["age", "size"], others="keep", models=K, algorithm="mondrian")
    assert shoal.anonymize(there(spark, frame), policy, **limits).audit.holds
    for module in (engine, blocks):
        honest = module.join_others  # type: ignore[attr-defined]

        def moved(*given: Any, honest: Any = honest) -> Any:
            city = F.when(F.col("c1") == "Bonn", "Kiel").otherwise("Bonn")
            return honest(*given).withColumn("c1", city)

        monkeypatch.setattr(module, "join_others", moved)
    with pytest.raises(AuditFailed, match="published as they are"):
        shoal.anonymize(there(spark, frame), policy, **limits)


@pytest.mark.parametrize("limits", [{}, {"fits": 5, "block": 5}])
def test_texts_of_other_records_are_found(spark: Any, limits: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.engines.spark import blocks, engine

    frame = pl.DataFrame({"age": [20, 21, 40, 41] * 20, "city": ["Bonn", "Ulm", "Kiel", "Jena"] * 20})
    frame = frame.with_columns(size=pl.int_range(80) // 16)
    policy = Policy(quasi_identifiers=["age", "size"], others="keep", models=K, algorithm="mondrian")
    for module in (engine, blocks):
        honest = module.join_others  # type: ignore[attr-defined]

        def moved(*given: Any, honest: Any = honest) -> Any:
            joined = honest(*given)
            text = next(name for name in joined.columns if name.startswith("t"))
            texts = [row[0] for row in joined.select(text).distinct().orderBy(text).collect()]
            return joined.replace(dict(zip(texts, [*texts[1:], texts[0]], strict=True)), subset=[text])

        monkeypatch.setattr(module, "join_others", moved)
    with pytest.raises(AuditFailed, match=r"beside other texts"):
        shoal.anonymize(there(spark, frame), policy, **limits)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"quasi_identifiers": ["ages"]}, "did you mean 'age'"),
        (
            {
                "models": [{"name": "differential-privacy", "epsilon": 2.0, "delta": 0.01}],
                "algorithm": {"name": "fixed-levels", "levels": {"age": 0}},
                "suppressed": "drop",
                "max_suppressed": 1,
                "seed": 2**127,
            },
            "drawn by itself",
        ),
        ({"others": "keep", "identifiers": []}, "nearly unique"),
        ({"others": None, "identifiers": []}, "columns without a role"),
    ],
)
def test_misfits_are_told_before_anything_is_searched(spark: Any, change: dict[str, Any], says: str) -> None:
    frame = pl.DataFrame({"who": [str(index) for index in range(40)], "age": [20, 21] * 20})
    roles = {"identifiers": ["who"], "quasi_identifiers": ["age"], "models": K} | change
    with pytest.raises(Misfit, match=says):
        shoal.anonymize(there(spark, frame), Policy(**roles))


def test_types_that_cannot_be_published(spark: Any) -> None:
    table = spark.sql("select id as age, array(id) as list from range(9)")
    with pytest.raises(TableError, match="array<bigint>"):
        shoal.anonymize(table, Policy(quasi_identifiers=["age"], others="keep", models=K))
    assert shoal.anonymize(table, Policy(quasi_identifiers=["age"], others="drop", models=K)).audit.holds


def test_an_empty_table_and_too_high_a_k(spark: Any) -> None:
    policy = Policy(quasi_identifiers=["age"], models=K)
    with pytest.raises(shoal.Infeasible, match="no records"):
        shoal.anonymize(there(spark, pl.DataFrame({"age": [1]})).limit(0), policy)
    with pytest.raises(shoal.Infeasible, match="the whole table attains 2"):
        shoal.anonymize(there(spark, pl.DataFrame({"age": [1, 2]})), policy)


def test_progress_tells_the_stages(spark: Any) -> None:
    told: Counter[str] = Counter()
    shoal.anonymize(
        there(spark, adult(2_000)), adult_policy("mondrian"), progress=lambda what, done, total: told.update([what])
    )
    assert {"Spark: counting", "Spark: auditing"} <= set(told)


def test_progress_counts_the_tasks_of_the_running_stages() -> None:
    """What Spark's tracker says is told under the name of the step; a stage that is gone meanwhile is passed over."""
    from shoal.engines.spark.progress import Stages

    infos = {3: SimpleNamespace(numCompletedTasks=1, numTasks=4), 5: SimpleNamespace(numCompletedTasks=2, numTasks=2)}
    tracker = SimpleNamespace(getActiveStageIds=lambda: [3, 4, 5], getStageInfo=infos.get)
    told: list[tuple[str, int, int]] = []
    stages = Stages(lambda *said: told.append(said))
    stages.look(tracker)  # before any step begins
    stages.begin("Spark: counting")
    stages.look(tracker)
    assert told == [("Spark: counting", 0, 0), ("Spark: counting", 3, 6)]
