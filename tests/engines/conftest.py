"""Every engine with a way to lay a table before it; an engine without one is a failure of the conformance tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal

spark_tests = pytest.importorskip("tests.spark.conftest", reason="pyspark is not installed")
spark = spark_tests.spark


@dataclass(frozen=True)
class Laid:
    """A table as an engine takes it, and the options that make it do so."""

    table: Any
    options: dict[str, Any]
    format: str


def in_memory(frame: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Laid:
    return Laid(frame, {}, "csv")


def in_files(frame: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Laid:
    path = folder / "table.parquet"
    frame.write_parquet(path)
    return Laid(path, {"memory": "1GB"}, "parquet")


def in_spark(frame: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Laid:
    if not spark_tests.has_java():
        pytest.skip("Spark needs Java, and there is none on this machine")
    return Laid(spark_tests.there(request.getfixturevalue("spark"), frame, 1), {}, "parquet")


def in_file_blocks(frame: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Laid:
    return replace(in_files(frame, folder, request), options={"memory": "1GB", "fits": 20, "block": 60})


def in_blocks(frame: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Laid:
    return replace(in_spark(frame, folder, request), options={"fits": 20, "block": 60})


ENGINES: dict[str, Callable[[pl.DataFrame, Path, pytest.FixtureRequest], Laid]] = {
    "memory": in_memory,
    "files": in_files,
    "spark": in_spark,
}


ANYWHERE = {**ENGINES, "file blocks": in_file_blocks, "blocks": in_blocks}
"""Also a table that is cut: it is searched in other blocks than on one machine, so its release is another one."""


@pytest.fixture(params=list(ANYWHERE))
def lay_anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[pl.DataFrame], Laid]:
    """Return how a table is laid before one engine after the other, and cut into blocks."""
    return lambda frame: ANYWHERE[request.param](frame, tmp_path, request)


@pytest.fixture(params=list(ENGINES))
def lay(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[pl.DataFrame], Laid]:
    """Return how a table is laid before one engine after the other."""
    return lambda frame: ENGINES[request.param](frame, tmp_path, request)


def release_of(laid: Laid, policy: Any, **more: Any) -> shoal.Release:
    """Return the release of a table where it lies."""
    return shoal.anonymize(laid.table, policy, **laid.options, **more)
