"""A counted table gives the release, and the audit, of the table that it stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import count_records, tables_and_policies, unexplained

import shoal
from shoal.auditing import Fidelity
from shoal.engines.counted import CountedTable
from shoal.engines.fingerprint import fingerprint
from shoal.engines.limits import find_uncountable
from shoal.errors import Misfit, TableError
from shoal.policy import Policy

ALGORITHMS = ["mondrian", "shoal", "optimal", "datafly", "k-member", "top-down-specialization"]


def outcome(table: Any, policy: Policy) -> tuple[str, Any]:
    """Return a release as sorted records, with its audit; or the error."""
    try:
        with unexplained():
            release = shoal.anonymize(table, policy)
    except shoal.ShoalError as error:
        return type(error).__name__, None
    frame = release.table.expand() if isinstance(release.table, CountedTable) else release.table
    audit = release.audit.to_dict()
    audit["hygiene"] = [check for check in audit["hygiene"] if check["check"] != "order"]
    return frame.write_csv(), audit


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables_and_policies(), st.booleans())
def test_the_same_release_as_record_by_record(case: tuple[pl.DataFrame, Policy], halves: bool) -> None:
    frame, policy = case
    if not frame.height or not frame.width or find_uncountable(policy):
        return
    assert outcome(count_records(frame, halves=halves), policy) == outcome(frame, policy)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_adult_by_its_distinct_records(algorithm: str) -> None:
    frame = shoal.datasets.adult()[:3_000]
    policy = shoal.datasets.policy("adult").replace(algorithm={"name": algorithm})
    kept = [name for name in frame.columns if name in {*policy.quasi_identifiers, *policy.sensitive}]
    frame = pl.concat([frame.select(kept)] * 2)
    small = count_records(frame)
    assert small.frame.height < 0.55 * small.records
    assert outcome(small, policy) == outcome(frame, policy)


def test_rows_say_where_published_records_come_from() -> None:
    frame = pl.DataFrame({"age": [21, 21, 21, 24, 60, 61, 62], "illness": list("abababa")})
    policy = Policy(
        quasi_identifiers=["age"],
        sensitive=["illness"],
        models=[{"name": "k-anonymity", "k": 3}],
        algorithm={"name": "shoal"},
    )
    small = count_records(pl.concat([frame] * 5))
    release = shoal.anonymize(small, policy)
    assert release.details.table.is_counted and release.rows is not None
    given_back = np.zeros(small.frame.height, np.int64)
    np.add.at(given_back, release.rows.to_numpy(), release.details.table.record_counts)
    assert given_back.tolist() == small.counts.to_list()
    assert release.frame["illness"].to_list() == small.frame["illness"].gather(release.rows).to_list()


def test_a_counted_release_is_written_record_by_record(tmp_path: Any) -> None:
    table, policy = shoal.datasets.load("patients")
    paths = shoal.anonymize(count_records(table), policy).write(tmp_path / "small")
    whole = shoal.anonymize(table, policy).write(tmp_path / "whole")
    assert paths["release"].read_bytes() == whole["release"].read_bytes()


def test_persons_of_a_counted_table_are_counted() -> None:
    frame = pl.DataFrame({"who": [1, 1, 1, 2, 3, 3], "age": [20, 20, 20, 21, 20, 21], "ill": list("aaabab")})
    policy = Policy(
        quasi_identifiers=["age"], sensitive=["ill"], subject="who", models=[{"name": "k-anonymity", "k": 3}]
    )
    assert outcome(count_records(frame), policy) == outcome(frame, policy)


def test_the_fingerprint_is_that_of_the_whole_table() -> None:
    table = shoal.datasets.adult()[:500].select("age", "sex")
    small = count_records(table, halves=True)
    assert fingerprint(small, "") == fingerprint(CountedTable(table), "")


@pytest.mark.parametrize("times", [[1, 0], [1], [1.0, 2.0], [1, None]])
def test_times_that_are_no_counts(times: list[Any]) -> None:
    with pytest.raises(TableError):
        CountedTable(pl.DataFrame({"age": [1, 2]}), pl.Series(times))


def test_what_counts_cannot_do_is_refused() -> None:
    table, policy = shoal.datasets.load("patients")
    drawn = policy.replace(
        models=[{"name": "differential-privacy", "epsilon": 2.0, "delta": 0.01}],
        algorithm={"name": "fixed-levels", "levels": dict.fromkeys(policy.quasi_identifiers, 1)},
        seed=2**70,
        suppressed="drop",
        max_suppressed=1.0,
        sensitive=[],
        others="drop",
    )
    with pytest.raises(Misfit, match="each record is drawn by itself"):
        shoal.anonymize(count_records(table), drawn)
    with pytest.raises(Misfit, match="one by one"):
        shoal.audit(count_records(table), policy, attacks=True)


def test_statistics_are_those_of_the_records() -> None:
    table = shoal.datasets.adult()[:2_000]
    policy = shoal.datasets.policy("adult").replace(algorithm="mondrian")
    release = shoal.anonymize(table, policy)
    whole = shoal.audit(release.table, policy, original=table, statistics=True).statistics
    small = shoal.audit(count_records(release.table), policy, original=count_records(table), statistics=True).statistics
    assert whole is not None and small is not None
    assert small["records"] == whole["records"] == {"original": 2_000, "published": 2_000, "compared": 2_000}
    for name, told in whole["columns"].items():
        assert small["columns"][name]["histogram"] == told["histogram"]
        assert small["columns"][name].get("distance") == pytest.approx(told.get("distance"))
    assert np.allclose(small["correlations"]["before"], whole["correlations"]["before"])


def test_statistics_of_many_records_are_those_of_a_sample(tmp_path: Path) -> None:
    table = shoal.datasets.adult()[:2_000]
    policy = shoal.datasets.policy("adult").replace(algorithm="mondrian")
    release = shoal.anonymize(table, policy)
    many = CountedTable(table, pl.Series([1_000] * table.height))
    published = CountedTable(release.table, pl.Series([1_000] * table.height))
    asked = Fidelity(sample=20_000)
    audit = shoal.audit(published, policy, original=many, statistics=asked)
    whole = shoal.audit(release.table, policy, original=table, statistics=True).statistics
    found = audit.statistics
    assert found is not None and whole is not None
    assert found["records"] == {
        "original": 2_000_000, "published": 2_000_000, "compared": 20_000,
        "sampled": {"original": 20_000, "published": 20_000},
    }  # fmt: skip
    for name, told in whole["columns"].items():
        for when, mean in told.get("mean", {}).items():
            assert found["columns"][name]["mean"][when] == pytest.approx(mean, rel=0.01)
        assert found["columns"][name].get("total_variation", 0) == pytest.approx(
            told.get("total_variation", 0), abs=0.02
        )
    assert shoal.audit(published, policy, original=many, statistics=asked).statistics == found
    shoal.report(audit, tmp_path / "report.html")
    assert (
        "Made on 20,000 of 2,000,000 original and 20,000 of 2,000,000 published records"
        in (tmp_path / "report.html").read_text()
    )


@given(st.lists(st.integers(1, 500), min_size=1, max_size=30), st.integers(1, 300), st.integers(0, 5))
def test_a_sample_has_every_record_in_its_share(times: list[int], most: int, seed: int) -> None:
    frame = pl.DataFrame({"row": range(len(times))})
    found = CountedTable(frame, pl.Series(times)).sample(most, seed)["row"]
    assert len(found) == min(sum(times), most)
    for row, often in enumerate(times):
        assert abs((found == row).sum() - often * min(most / sum(times), 1)) < 2
        assert (found == row).sum() <= often


def test_a_sample_is_not_every_tenth_record() -> None:
    years = np.tile(np.arange(2010, 2020), 1_000)
    frame = pl.DataFrame({"person": np.repeat(np.arange(1_000), 10), "year": years})
    found = CountedTable(frame, pl.Series([1] * frame.height)).sample(1_000, 0)["year"].value_counts()["count"]
    assert len(found) == 10 and found.min() > 50


def test_a_published_value_that_the_sample_of_the_original_lacks_is_read() -> None:
    random = np.random.default_rng(0)
    columns = {"age": random.integers(0, 90, 20_000), "pay": random.lognormal(10, 1, 20_000).round().astype(int)}
    table = pl.DataFrame(columns).with_columns((pl.col("pay") % 9_000).cast(pl.String).alias("job"))
    sensitive, models = ["pay", "job"], [{"name": "k-anonymity", "k": 5}]
    policy = Policy(quasi_identifiers=["age"], sensitive=sensitive, models=models, algorithm={"name": "mondrian"})
    published = count_records(shoal.anonymize(table, policy).table)
    found = shoal.audit(published, policy, original=count_records(table), statistics=Fidelity(sample=2_000)).statistics
    assert found is not None and not any("unreadable" in told for told in found["columns"].values())
    mean = float(table["pay"].mean())  # type: ignore[arg-type]
    assert found["columns"]["pay"]["mean"] == pytest.approx({"before": mean, "after": mean}, rel=0.1)
    assert found["clusters"]["utility"] < 0.01


@pytest.mark.parametrize("times", [[2**62, 2**62], [2**53, 1], [2**64 - 1, 1]])
def test_more_records_than_can_be_counted_are_refused(times: list[int]) -> None:
    with pytest.raises(TableError, match="counted exactly"):
        CountedTable(pl.DataFrame({"age": [20, 30]}), pl.Series(times, dtype=pl.UInt64))


def test_wrong_counts_are_caught() -> None:
    """A published table whose counts have a record twice has more records than the original."""
    table, policy = shoal.datasets.load("patients")
    release = shoal.anonymize(count_records(table), policy)
    more = CountedTable(release.frame, release.details.table.counts * 2)
    assert not shoal.audit(more, policy, original=count_records(table)).holds
