"""Texts that a spreadsheet takes for formulas, on every engine: told, made harmless, or refused before any file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.engines import formulas
from shoal.engines.formulas import find_formulas, prefix_formulas, strip_prefixes
from shoal.errors import AuditFailed, Misfit

from .conftest import Laid, release_of

TABLE = pl.DataFrame(
    {
        "=job": [("=1+1", "nurse", "'=1+1")[i // 30] for i in range(90)],
        "age": [20 + i % 9 for i in range(90)],
        "illness": [("flu", "@SUM(A1)", "cold", "-5")[i % 4] for i in range(90)],
        "note": [('"=cmd|x', "+3.2", "fine")[i % 3] for i in range(90)],
    }
)
ASKED: dict[str, Any] = {
    "quasi_identifiers": {"=job": {}, "age": {}},
    "sensitive": ["illness"],
    "others": "keep",
    "models": [{"name": "k-anonymity", "k": 3}],
    "algorithm": "mondrian",
}
COUNTS = {"=job": 31, "illness": 23, "note": 30}


def policy_of(mode: str, **more: Any) -> shoal.Policy:
    return shoal.Policy(**{**ASKED, "hygiene": {"formulas": mode}, **more})


def frame_of(table: Any) -> pl.DataFrame:
    return shoal.read(table.toPandas() if hasattr(table, "toPandas") else getattr(table, "expand", lambda: table)())


def test_by_default_formulas_are_published_and_told(tmp_path: Path) -> None:
    release = shoal.anonymize(TABLE, shoal.Policy(**ASKED))
    told = {fault.where: fault for fault in release.audit.faults}
    assert {name: fault.got for name, fault in told.items()} == {n: f"{c} of them" for n, c in COUNTS.items()}
    assert {fault.kind for fault in told.values()} == {"note"}
    warned = shoal.check(TABLE, shoal.Policy(**ASKED))
    assert {fault.where for fault in warned if fault.kind == "warning"} >= {f"published.{name}" for name in COUNTS}
    files = release.write(tmp_path)
    assert "takes for formulas" in files["report"].read_text(encoding="utf-8")
    assert "=cmd" not in "".join(str(fault) for fault in [*told.values(), *warned])  # which columns, no values


def test_prefixed_on_every_engine_and_true_of_the_original(lay: Callable[[pl.DataFrame], Laid], tmp_path: Path) -> None:
    policy = policy_of("prefix")
    release = release_of(lay(TABLE), policy)
    shown = frame_of(release.table)
    assert shown.columns == ["'=job", "age", "illness", "note"]
    assert set(shown["note"]) == {"'\"=cmd|x", "+3.2", "fine"}
    assert set(shown["illness"]) == {"flu", "'@SUM(A1)", "cold", "-5"}
    assert not any(find_formulas(column).any() for column in shown)
    here = shoal.anonymize(TABLE, policy)
    assert frame_of(here.table).sort(shown.columns).equals(shown.sort(shown.columns))
    for format in release.published.formats:
        written = release.write(tmp_path / format, format=format)["release"]
        assert shoal.audit(written if written.is_file() else here.table, policy, original=TABLE).holds


@pytest.mark.parametrize("output", ["statistics", "anatomy", {"form": "generalized", "ends": True}])
def test_second_tables_and_added_columns(output: Any, tmp_path: Path) -> None:
    models = [{"name": "distinct-l-diversity", "on": "illness", "l": 2}] if output == "anatomy" else ASKED["models"]
    policy = policy_of("prefix", output=output, models=models, others="drop", seed=2**70)
    release = shoal.anonymize(TABLE, policy)
    for table in (release.table, release.beside):
        assert table is None or not any(find_formulas(column).any() for column in table)
    written = release.write(tmp_path)["release"]
    assert shoal.audit(written, policy, original=TABLE).holds


def test_refused_on_every_engine_before_anything_is_written(
    lay_anywhere: Callable[[pl.DataFrame], Laid], tmp_path: Path
) -> None:
    with pytest.raises(Misfit) as error:
        release_of(lay_anywhere(TABLE), policy_of("refuse")).write(tmp_path / "out")
    told = {fault.where.removeprefix("published."): fault.got for fault in error.value.faults}
    # who cuts a table into blocks counts the columns of its promises first, and is told of the others after the search
    assert {**told, "note": "30 of them"} == {name: f"{count} of them" for name, count in COUNTS.items()}
    assert "cmd" not in str(error.value)
    assert "SUM" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_refused_on_every_engine_where_only_a_column_that_rides_along_has_some(
    lay_anywhere: Callable[[pl.DataFrame], Laid], tmp_path: Path
) -> None:
    table = TABLE.select(pl.col("=job").replace("=1+1", "baker").replace("'=1+1", "cook").alias("job"), "age", "note")
    policy = policy_of("refuse", quasi_identifiers={"job": {}, "age": {}}, sensitive=[])
    with pytest.raises(Misfit, match="note: texts that a spreadsheet takes for formulas; got 30 of them"):
        release_of(lay_anywhere(table), policy).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_formula_that_generalization_hides_is_not_refused_and_one_that_it_shows_is() -> None:
    table = TABLE.select(pl.col("=job").alias("job"), "age").with_columns(pl.col("age").cast(pl.String).alias("kept"))
    levels = {"name": "fixed-levels", "levels": {"job": 1, "age": 1}}
    roles = {"job": "suppress", "age": "suppress"}
    hidden = policy_of("refuse", quasi_identifiers=roles, sensitive=[], algorithm=levels)
    assert {fault.kind for fault in shoal.check(table, hidden)} == {"warning"}
    assert set(shoal.anonymize(table, hidden).table["job"]) == {"*"}
    with pytest.raises(Misfit, match="job: texts that a spreadsheet takes for formulas; got 30"):
        shoal.anonymize(table, policy_of("refuse", quasi_identifiers={"job": {}, "age": {}}, sensitive=[]))


def test_blocks_say_that_they_cannot_prefix(lay_anywhere: Callable[[pl.DataFrame], Laid]) -> None:
    laid = lay_anywhere(TABLE)
    if "fits" in laid.options:
        with pytest.raises(Misfit, match=r"hygiene.formulas: .*not rewritten in blocks"):
            release_of(laid, policy_of("prefix"))
    else:
        assert release_of(laid, policy_of("prefix")).audit.holds


def test_an_engine_that_forgets_the_apostrophe_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formulas, "prefix_formulas", lambda frame: frame)
    with pytest.raises(AuditFailed, match="takes for formulas"):
        shoal.anonymize(TABLE, policy_of("prefix"))


def test_an_apostrophe_of_somebody_elses_is_no_licence_to_change_a_value() -> None:
    policy = policy_of("prefix")
    release = shoal.anonymize(TABLE, policy)
    lying = release.table.with_columns(release.table["illness"].replace("flu", "'flu"))
    assert any(fault.where == "illness" for fault in shoal.audit(lying, policy, original=TABLE).faults)
    assert not shoal.audit(release.table, policy.replace(hygiene={}), original=TABLE).holds


def test_what_policies_said_before_keeps_its_hash() -> None:
    assert shoal.Policy(**ASKED).hash == policy_of("warn").hash != policy_of("prefix").hash
    assert shoal.Policy.from_yaml(policy_of("prefix").to_yaml()) == policy_of("prefix")


@given(st.lists(st.text("=+-@\t\r'\" 1a.％＝", max_size=5) | st.none(), max_size=20))
def test_what_is_published_stands_for_one_value(texts: list[str | None]) -> None:
    table = pl.DataFrame({"a": pl.Series(texts, dtype=pl.String)})
    published = prefix_formulas(table)
    assert strip_prefixes(published).equals(table)
    assert not find_formulas(published["a"]).any()


@given(st.sampled_from(["", " ", '"', " \"'"]))
def test_numbers_and_plain_texts_stay(before: str) -> None:
    for text in ("-5", "+3.2", "-1,000.50", "-2%", "1e-5", "-", "a=b", "x-y", ""):
        assert not find_formulas(pl.Series([before + text]))[0]
