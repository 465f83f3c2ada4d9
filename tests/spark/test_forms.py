"""What needs more than counts of combinations elsewhere works on Spark too: forms, pseudonyms, populations, weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import Misfit, PolicyError, TableError
from tests.spark.conftest import here, there

KEY = b"correct horse battery staple"
PEOPLE = pl.DataFrame(
    {
        "city": [["Bonn", "Ulm", "Kiel"][n % 3] for n in range(60)],
        "name": [f"person {n:02d}" for n in range(60)],
        "age": [20 + n % 12 for n in range(60)],
        "zip": [["53111", "89073"][n % 2] for n in range(60)],
        "pay": [1000.5 + 250 * (n % 7) for n in range(60)],
        "illness": ["flu", "cold", "cough", "gout", "mumps"] * 12,
        "own": [2 + n % 3 for n in range(60)],
        "weight": [1.5 + n % 4 for n in range(60)],
    }
)
ROLES: dict[str, Any] = {
    "identifiers": ["name", "own", "weight"],
    "subject": "none",
    "quasi_identifiers": ["age", "zip"],
    "sensitive": ["illness", "pay"],
    "others": "keep",
    "models": [{"name": "k-anonymity", "k": 4}],
    "algorithm": "mondrian",
}
CASES: dict[str, dict[str, Any]] = {
    "pseudonyms": {"identifiers": {"name": {"pseudonym": True}, "own": {}, "weight": {}}},
    "ends": {"output": {"form": "generalized", "ends": True}},
    "statistics": {"output": "statistics"},
    "personal-k": {"identifiers": ["name", "weight"], "models": [{"name": "personal-k", "on": "own"}]},
    "survey": {
        "identifiers": ["name", "own"],
        "survey_weight": "weight",
        "models": [{"name": "k-map", "k": 9}],
    },
    "anatomy": {
        "output": "anatomy",
        "sensitive": ["illness"],
        "identifiers": ["name", "own", "weight", "pay", "city"],
        "models": [{"name": "distinct-l-diversity", "on": "illness", "l": 3}],
        "seed": 2**100,
    },
}


def compare(spark: Any, frame: pl.DataFrame, policy: shoal.Policy, folder: Path) -> None:
    """Anonymize on both; the tables, their order, what stands beside them and the files are the same."""
    local = shoal.anonymize(frame, policy, key=KEY)
    release = shoal.anonymize(there(spark, frame, 3), policy, key=KEY)
    assert here(release.table).equals(local.table)
    assert release.attained == local.attained and release.loss == pytest.approx(local.loss, nan_ok=True)
    if local.beside is not None:
        assert release.beside.equals(local.beside)
    for format in ("parquet", "csv", "jsonl"):
        files = release.write(folder / format, format=format, statistics=False)
        checks = {one["check"]: one["outcome"] for one in json.loads(files["audit"].read_text())["hygiene"]}
        assert checks["order"] == "passed"
        assert checks["bytes"] == ("not run" if "city" in local.table.columns else "passed")
        parts = [shoal.read(part, types=False) for part in sorted(files["release"].glob("part-*"))]
        assert sorted(parts[0].columns) == sorted(local.table.columns)
        assert sum(part.height for part in parts) == local.table.height


@pytest.mark.parametrize("others", ["keep", "drop"])
@pytest.mark.parametrize("case", CASES)
def test_the_same_as_on_one_machine(spark: Any, case: str, others: str, tmp_path: Path) -> None:
    asked = {**ROLES, **CASES[case], "others": others}
    if (case, others) == ("anatomy", "keep"):
        with pytest.raises(PolicyError, match="beside exact quasi-identifiers"):
            shoal.Policy(**asked)
        return
    compare(spark, PEOPLE, shoal.Policy(**asked), tmp_path)


def test_a_population_is_compared_with_what_was_counted(spark: Any, tmp_path: Path) -> None:
    pl.concat([PEOPLE, PEOPLE]).write_csv(tmp_path / "everyone.csv")
    more = {"population": str(tmp_path / "everyone.csv"), "models": [{"name": "k-map", "k": 8}]}
    compare(spark, PEOPLE, shoal.Policy(**{**ROLES, **more}), tmp_path)


def test_persons_are_in_no_file_and_every_cell_is_compared(spark: Any, tmp_path: Path) -> None:
    frame = PEOPLE.with_columns(pl.Series("name", [f"person {n // 2:02d}" for n in range(60)]))
    compare(spark, frame, shoal.Policy(**{**ROLES, "identifiers": ["own", "weight"], "subject": "name"}), tmp_path)


def test_a_column_that_rides_along_has_no_name_that_a_form_gives(spark: Any) -> None:
    frame = PEOPLE.rename({"city": "age.low"})
    with pytest.raises(Misfit, match="two columns of that name"):
        shoal.anonymize(there(spark, frame), shoal.Policy(**{**ROLES, **CASES["ends"]}))


@pytest.mark.parametrize("case", [name for name in CASES if name != "anatomy"])
def test_blocks_refuse_what_is_made_of_the_whole_table(spark: Any, case: str) -> None:
    policy = shoal.Policy(**{**ROLES, **CASES[case]})
    with pytest.raises(Misfit, match="let more combinations be counted together"):
        shoal.anonymize(there(spark, PEOPLE), policy, fits=5, block=5, key=KEY)


def test_spark_connect_is_refused_in_words() -> None:
    kind = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})
    with pytest.raises(TableError, match=r"tables of Spark Connect cannot be .*pyspark\.sql\.connect.*classic session"):
        shoal.anonymize(kind(), shoal.Policy(**ROLES))
    with pytest.raises(TableError, match="Spark Connect"):
        shoal.audit(kind(), shoal.Policy(**ROLES))
