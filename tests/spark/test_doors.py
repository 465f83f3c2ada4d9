"""The command line, spark-submit, files in and out, and machines on which something is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.engines.columns import to_texts
from shoal.errors import MissingExtra, TableError, WriteError
from shoal.policy import Policy
from tests.spark.conftest import SOURCE, adult, adult_policy, here, there

K = [{"name": "k-anonymity", "k": 3}]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    adult(400).write_csv(tmp_path / "people.csv")
    adult_policy("mondrian").write(tmp_path / "policy.yaml")
    return tmp_path


def run(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(SOURCE),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=300)


def test_spark_submit_with_a_policy_file(files: Path) -> None:
    job = run(sys.executable, "-m", "shoal.spark.job", "--path").stdout.strip()
    submit = Path(sys.executable).parent / "spark-submit"
    asked = ["--data", str(files / "people.csv"), "--policy", str(files / "policy.yaml"), "--out", str(files / "out")]
    done = run(str(submit), "--master", "local[2]", "--conf", "spark.ui.enabled=false", job, *asked)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "<Release k-anonymity=" in done.stdout
    written = pl.read_parquet(files / "out" / "release.parquet" / "*.parquet")
    assert written.equals(shoal.anonymize(files / "people.csv", files / "policy.yaml").table)


def test_the_command_line_asks_spark(spark: Any, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In this process, with the session that there is."""
    from typer.testing import CliRunner

    from shoal.cli.app import app

    asked = [
        "anonymize",
        str(files / "people.csv"),
        "--policy",
        str(files / "policy.yaml"),
        "--out",
        str(files / "out"),
    ]
    done = CliRunner().invoke(app, [*asked, "--engine", "spark", "--format", "csv", "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert told["holds"] and set(told["files"]) == {"release", "audit", "report", "manifest"}
    parts = sorted((files / "out" / "release.csv").iterdir())
    assert [part.name for part in parts] == [f"part-{n:05d}.csv" for n in range(len(parts))]
    written = pl.concat([pl.read_csv(part, infer_schema=False) for part in parts])
    local = shoal.anonymize(files / "people.csv", files / "policy.yaml").table
    assert written.equals(local.select(pl.all().cast(pl.String)))
    manifest = json.loads((files / "out" / "manifest.json").read_text())
    assert manifest["engine"]["name"] == "spark" and f"release.csv/{parts[0].name}" in manifest["files"]
    for wrong in (["--engine", "flink"], ["--master", "local[2]"], ["--engine", "spark", "--delimiter", ";"]):
        assert CliRunner().invoke(app, [*asked, *wrong]).exit_code == 2


def test_written_files_are_audited_before_they_get_their_name(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.engines.spark import engine

    release = shoal.anonymize(there(spark, adult(300)), adult_policy("mondrian"))
    honest = engine.write_files

    def broken(table: Any, target: Path, format: str) -> None:
        honest(table, target, format)
        part = next(target.iterdir())
        table = pl.read_parquet(part)
        table.with_columns(pl.lit("17").alias("age")).write_parquet(part)

    monkeypatch.setattr(engine, "write_files", broken)
    with pytest.raises(shoal.AuditFailed):
        release.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    release.write(tmp_path / "out", format="jsonl")
    written = release.write(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "audit.json",
        "manifest.json",
        "release.parquet",
        "report.html",
    ]
    told = json.loads(written["audit"].read_text())["statistics"]
    assert set(told["columns"]) == {*release.policy.quasi_identifiers, *release.policy.sensitive}
    plain = release.write(tmp_path / "plain", statistics=False)
    assert "statistics" not in json.loads(plain["audit"].read_text())


def test_blocks_persons_and_others_are_written_too(spark: Any, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "who": [n // 2 for n in range(200)],
            "age": [20 + n % 30 for n in range(200)],
            "pay": [n % 7 / 2 for n in range(200)],
        }
    )
    policy = Policy(
        identifiers=["who"],
        subject="none",
        quasi_identifiers=["age"],
        others="keep",
        models=K,
        algorithm={"name": "mondrian"},
    )
    in_blocks = shoal.anonymize(there(spark, frame), policy, fits=5, block=12).write(tmp_path / "blocks", format="csv")
    assert "statistics" not in json.loads(in_blocks["audit"].read_text())
    assert json.loads(in_blocks["manifest"].read_text())["recoding"]["blocks"] > 1
    persons = policy.replace(identifiers=[], subject="who", others="keep")
    written = shoal.anonymize(there(spark, frame), persons).write(tmp_path / "persons")
    assert json.loads(written["audit"].read_text())["counted"] == "persons"


def test_the_original_is_not_replaced(spark: Any, tmp_path: Path) -> None:
    there(spark, adult(300)).write.parquet((tmp_path / "release.parquet").as_uri())
    release = shoal.anonymize(spark.read.parquet((tmp_path / "release.parquet").as_uri()), adult_policy("mondrian"))
    with pytest.raises(WriteError, match="would be replaced"):
        release.write(tmp_path)
    with pytest.raises(WriteError, match="Hadoop cannot write there"):
        release.write("s3a://bucket/out")
    with pytest.raises(WriteError, match="the spark engine does not write it"):
        release.write(tmp_path / "out", format="excel")


def test_cells_of_a_csv_have_the_types_that_shoal_finds(spark: Any, tmp_path: Path) -> None:
    from shoal.engines.spark.reading import read_spark
    from shoal.spark import job

    text = "zip,age,pay,ok,day,at,name\n02138,21,1.5,true,1995-01-31,2020-01-01 10:00:00,\n02139,,2,FALSE,,,x\n"
    (tmp_path / "people.csv").write_text(text)
    table = here(read_spark(spark, str(tmp_path / "people.csv")))
    expected = shoal.read(tmp_path / "people.csv")
    assert table.schema == expected.schema and table.equals(expected)
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(TableError, match="Malformed CSV record"):
        job.release_of(tmp_path / "ragged.csv", _policy(tmp_path), tmp_path / "out")
    with pytest.raises(TableError, match=r"(?i)path does not exist|PATH_NOT_FOUND"):
        job.release_of(tmp_path / "none.csv", _policy(tmp_path), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_policy_says_how_spark_reads(spark: Any, tmp_path: Path) -> None:
    from shoal.encoding.read_options import ReadOptions
    from shoal.engines.spark.reading import read_spark

    path = tmp_path / "people.csv"
    path.write_text("21;2020-01-01T10:00:00+02:00;f\n?;2020-01-01T08:00:00Z;m\n34;2020-01-01T03:30:00-05:00;f\n")
    said = ReadOptions(header=False, delimiter=";", missing=["?"])
    table, expected = here(read_spark(spark, str(path), reading=said)), shoal.read(path, **said.to_dict())
    assert [to_texts(table[name]).to_list() for name in table.columns] == [
        to_texts(expected[name]).to_list() for name in expected.columns
    ]
    with pytest.raises(TableError, match="looks like a record"):
        read_spark(spark, str(path), reading=ReadOptions(delimiter=";"))
    with pytest.raises(TableError, match=r"read\.decimal: Spark does not read files so"):
        read_spark(spark, str(path), reading=ReadOptions(decimal=","))


def _policy(folder: Path) -> Path:
    Policy(quasi_identifiers=["a", "b"], models=K).write(folder / "ab.yaml")
    return folder / "ab.yaml"


def test_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from shoal.engines.spark.sessions import require_java

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(MissingExtra, match=r"needs Java, and there is none on PATH.*JAVA_HOME"):
        require_java()


def test_without_pyspark(files: Path) -> None:
    """The command ends with words, and nothing else of shoal needs pyspark."""
    code = (
        "import sys; sys.modules['pyspark'] = None; sys.argv = ['shoal', *sys.argv[1:]]\n"
        "from shoal.cli import run; run()"
    )
    asked = [
        "anonymize",
        str(files / "people.csv"),
        "--policy",
        str(files / "policy.yaml"),
        "--out",
        str(files / "out"),
    ]
    done = run(sys.executable, "-c", code, *asked, "--engine", "spark")
    assert done.returncode == 1 and 'pip install "shoal[spark]"' in done.stderr and "Traceback" not in done.stderr
    assert not (files / "out").exists()


@pytest.mark.parametrize(
    ("header", "said"), [(",age", "a column has no name; got column 1 of 2"), ("age,age", "column names occur twice")]
)
def test_names_of_a_csv_are_those_that_are_written(spark: Any, header: str, said: str, tmp_path: Path) -> None:
    from shoal.engines.spark.reading import read_spark

    (tmp_path / "data.csv").write_text(f"{header}\n0,21\n1,21\n")
    with pytest.raises(TableError, match=said):
        read_spark(spark, str(tmp_path / "data.csv"))


def test_a_table_with_a_column_without_a_name_is_told(spark: Any) -> None:
    table = spark.createDataFrame([(1, 2), (1, 2)], "a int, b int").toDF("a", "")
    with pytest.raises(TableError, match="a column has no name; got column 2 of 2"):
        shoal.anonymize(
            table, {"quasi_identifiers": ["a"], "others": "keep", "models": [{"name": "k-anonymity", "k": 2}]}
        )
