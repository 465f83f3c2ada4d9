"""One session for all tests of Spark; they are skipped only where there is no Java, and say so."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.policy import Policy

pytest.importorskip("pyspark", reason="pyspark is not installed")

SOURCE = Path(shoal.__file__).parent.parent
# each test of Spark is over before a thorough compiler would pay
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


def has_java() -> bool:
    home = os.environ.get("JAVA_HOME", "")
    return shutil.which("java") is not None or (Path(home) / "bin" / "java").exists()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in here if not has_java() else []:
        item.add_marker(pytest.mark.skip(reason="Spark needs Java, and there is none on this machine"))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    # executors must find this very code, wherever the tests were started
    os.environ["PYTHONPATH"] = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    session = (
        SparkSession.builder.master("local[2]")
        .appName("shoal tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.log.level", "FATAL")
        .getOrCreate()
    )
    yield session
    session.stop()


def there(spark: Any, frame: pl.DataFrame, partitions: int | None = None) -> Any:
    """Return a frame as a Spark table, in so many partitions."""
    table = spark.createDataFrame(frame.to_arrow())
    return table if partitions is None else table.repartition(partitions)


def here(table: Any) -> pl.DataFrame:
    """Return a Spark table as a frame."""
    frame = pl.from_arrow(table.toArrow())
    assert isinstance(frame, pl.DataFrame)
    return frame


def adult(records: int) -> pl.DataFrame:
    """Return some records of Adult with the columns of its policy."""
    policy = adult_policy()
    columns = [
        name for name in shoal.datasets.adult().columns if name in {*policy.quasi_identifiers, *policy.sensitive}
    ]
    return shoal.datasets.adult()[:records].select(columns)


def adult_policy(algorithm: str = "mondrian", **more: Any) -> Policy:
    """Return the policy of Adult with another search."""
    return shoal.datasets.policy("adult").replace(algorithm={"name": algorithm}, **more)
