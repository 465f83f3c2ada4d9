"""Moments on Spark: the zone of a session changes no release, and files hold what every other road writes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import Misfit
from tests.spark.conftest import here, there

FIRST = datetime(2021, 10, 31, 0, 30, tzinfo=UTC)
"""In Berlin the clock shows the half hour that starts an hour later once more."""
TABLE = pl.DataFrame(
    {
        "born": pl.Series([FIRST + timedelta(hours=n % 3) for n in range(24)], dtype=pl.Datetime("us", "UTC")),
        "sex": ["f", "m"] * 12,
        "seen": pl.Series([FIRST + timedelta(microseconds=n % 2) for n in range(24)], dtype=pl.Datetime("us", "UTC")),
        "paid": [1e7, 1e-4, None, 0.1 + 0.2] * 6,
        "left": pl.Series(
            [FIRST - timedelta(days=20_000 * (n % 4)) for n in range(24)], dtype=pl.Datetime("us", "UTC")
        ),
    }
)
POLICY = shoal.Policy(
    quasi_identifiers={"born": {"hierarchy": "dates", "levels": ["day", "year"]}, "sex": "suppress"},
    sensitive=["seen", "paid"],
    others="keep",
    models=[{"name": "k-anonymity", "k": 2}],
    algorithm={"name": "mondrian"},
)


@pytest.fixture(params=["Etc/UTC", "Europe/Berlin"])
def zoned(spark: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A session whose clocks show the time of some place."""
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield spark
    spark.conf.unset("spark.sql.session.timeZone")


def rows(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    return sorted(frame.cast(pl.String).rows(), key=str)


@pytest.mark.parametrize("how", [{}, {"fits": 5, "block": 5}], ids=["whole", "blocks"])
def test_the_zone_of_a_session_changes_no_release(zoned: Any, how: dict[str, int]) -> None:
    release = shoal.anonymize(there(zoned, TABLE), POLICY, **how)
    assert rows(here(release.table)) == rows(shoal.anonymize(TABLE, POLICY).table)


def test_files_hold_moments_as_every_other_road_writes_them(zoned: Any, tmp_path: Path) -> None:
    at_once = shoal.anonymize(TABLE, POLICY)
    names = [name for name in TABLE.columns if name != "paid"]  # Spark writes 1.0E7: the same number
    expected = shoal.read(at_once.write(tmp_path / "here", statistics=False)["release"], types=False)
    release = shoal.anonymize(there(zoned, TABLE), POLICY)
    for format in ("csv", "jsonl", "parquet"):
        files = release.write(tmp_path / format, format=format, statistics=False)
        parts = [shoal.read(part, types=False) for part in sorted(files["release"].glob("part-*"))]
        assert rows(pl.concat(parts).select(names)) == rows(expected.select(names))


@pytest.mark.parametrize("number", [float("inf"), -1e301])
def test_numbers_beyond_all_measure_are_misfits_only_where_they_are_looked_at(spark: Any, number: float) -> None:
    frame = pl.DataFrame({"q": ["a"] * 8, "x": [number, 1.0] * 4})
    asked: dict[str, Any] = {"quasi_identifiers": ["q"], "models": [{"name": "k-anonymity", "k": 2}]}
    for more in ({"others": "drop"}, {"identifiers": ["x"], "subject": "none"}):
        assert shoal.anonymize(there(spark, frame), {**asked, **more}).audit.holds
    for more in ({"others": "keep"}, {"sensitive": ["x"]}, {"quasi_identifiers": ["q", "x"]}):
        told = []
        for table in (frame, there(spark, frame)):
            with pytest.raises(Misfit, match="holds infinite values, or numbers beyond 1e300") as error:
                shoal.anonymize(table, {**asked, **more})
            told.append(str(error.value))
        assert told[0] == told[1]
