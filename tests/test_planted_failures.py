"""Broken parts, planted on purpose: each must be caught, and nothing may be left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.local.mondrian import Mondrian
from shoal.auditing.hygiene import bytes_faults
from shoal.engines.memory import source as engine
from shoal.engines.memory import write
from shoal.errors import AuditFailed
from shoal.models.k_anonymity import KAnonymity
from shoal.pipeline import anonymize as pipeline
from shoal.recodings.local import Local

pytestmark = pytest.mark.slow


@pytest.fixture
def case() -> tuple[pl.DataFrame, shoal.Policy]:
    table = shoal.datasets.adult(part="test").head(500).with_columns(name=pl.int_range(500).cast(pl.String) + " Doe")
    policy = shoal.Policy(
        identifiers=["name"],
        quasi_identifiers={"age": {}, "education": {}, "hours-per-week": {}},
        sensitive=["occupation"],
        others="drop",
        models=[{"name": "k-anonymity", "k": 5}, {"name": "distinct-l-diversity", "on": "occupation", "l": 2}],
        algorithm="mondrian",
    )
    return table, policy


def refused(table: pl.DataFrame, policy: shoal.Policy, folder: Path) -> str:
    with pytest.raises(AuditFailed) as caught:
        shoal.anonymize(table, policy).write(folder / "out")
    assert [p for p in folder.rglob("*") if p.is_file()] == []
    return str(caught.value)


def test_the_honest_case_passes(case: tuple[pl.DataFrame, shoal.Policy], tmp_path: Path) -> None:
    shoal.anonymize(*case).write(tmp_path / "out")
    assert len(list((tmp_path / "out").iterdir())) == 4


def test_a_search_that_leaks_one_record(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Mondrian.search

    def leaky(self: Mondrian, problem: Any) -> Local:
        found = honest(self, problem)
        members = found.members.copy()
        members[np.argmax(problem.frequencies.cell_counts == 1)] = found.count  # one record in a class of its own
        return Local(members)

    monkeypatch.setattr(Mondrian, "search", leaky)
    assert "k-anonymity does not hold" in refused(*case, tmp_path)


def test_a_search_that_forgets_a_model(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a class with one occupation, and a search that never looks at occupations
    table, policy = case
    monkeypatch.setattr(
        "shoal.models.distinct_l_diversity.DistinctLDiversity.holds",
        lambda self, classes, sensitive: np.ones(classes.count, bool),
    )
    same = table.with_columns(
        pl.when(pl.col("age") < 30).then(pl.lit("Sales")).otherwise(pl.col("occupation")).alias("occupation")
    )
    assert "distinct-l-diversity does not hold" in refused(same, policy, tmp_path)


def test_a_model_that_always_says_yes(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KAnonymity, "holds", lambda self, classes, sensitive: np.ones(classes.count, bool))
    monkeypatch.setattr(KAnonymity, "least_records", property(lambda self: 1))
    assert "k-anonymity does not hold" in refused(*case, tmp_path)


def test_a_recoding_that_keeps_a_raw_value(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = engine.to_bytes

    def keeps(frame: pl.DataFrame, kind: str, *how: str) -> bytes:
        raw = frame.with_columns(age=pl.Series(["17", *frame["age"].to_list()[1:]]))
        return honest(raw, kind)

    monkeypatch.setattr(engine, "to_bytes", keeps)
    assert "k-anonymity does not hold" in refused(*case, tmp_path)


def test_a_recoding_that_invents_a_value(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "shoal.recodings.forms.write_ranges",
        lambda levels, low, high: ["about forty" if wide else "40" for wide in (low != high).tolist()],
    )
    assert "no value, label, range or set" in refused(*case, tmp_path)


def test_a_file_with_an_index(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = engine.to_bytes
    monkeypatch.setattr(engine, "to_bytes", lambda frame, kind, *how: honest(frame.with_row_index("index"), kind, *how))
    assert "index: a column without a role is published" in refused(*case, tmp_path)


def test_an_index_among_kept_columns(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, policy = case
    honest = engine.to_bytes
    monkeypatch.setattr(engine, "to_bytes", lambda frame, kind, *how: honest(frame.with_row_index("index"), kind, *how))
    assert "original does not have" in refused(table.drop("fnlwgt"), policy.replace(others="keep"), tmp_path)


def test_a_file_that_holds_an_identifier(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, policy = case
    honest = engine.to_bytes
    leaking = str(table["name"][7]).encode()

    def with_comment(frame: pl.DataFrame, kind: str, *how: str) -> bytes:
        first, newline, rest = honest(frame, kind).partition(b"\n")
        return first + newline + rest.replace(b"Sales", leaking, 1)

    monkeypatch.setattr(engine, "to_bytes", with_comment)
    assert "raw values that are not published" in refused(table, policy, tmp_path)


@pytest.mark.parametrize("kind", ["parquet", "feather", "excel", "jsonl", "csv"])
def test_raw_values_in_the_bytes_are_found(case: Any, kind: str) -> None:
    table, policy = case
    made = shoal.anonymize(table, policy)
    data = write.to_bytes(made.frame, kind)
    assert bytes_faults(data, kind, made.frame, table) == []
    if kind != "excel":
        leaked = data + b"123 Doe"
        assert bytes_faults(leaked, kind, made.frame, table) != []


def test_unused_categories_in_a_file_are_found(case: Any) -> None:
    table, policy = case
    made = shoal.anonymize(table, policy)
    hidden = made.frame.with_columns(
        pl.col("occupation").cast(pl.Enum([*made.frame["occupation"].drop_nulls().unique(), *table["name"].tail(3)]))
    )
    data = write.to_bytes(hidden, "feather")
    assert bytes_faults(data, "feather", made.frame, table) != []


def test_the_original_order_is_found(case: Any) -> None:
    table, policy = case
    published = table.select(
        pl.lit("*").alias("age"), pl.lit("*").alias("education"), pl.lit("*").alias("hours-per-week"), "occupation"
    )
    audit = shoal.audit(published, policy.replace(max_suppressed=1.0), original=table)
    assert "the records stand in their original order" in [fault.what for fault in audit.faults]


def test_a_search_that_suppresses_too_much_is_not_taken(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table, policy = case
    honest = Mondrian.search

    def lazy(self: Mondrian, problem: Any) -> Local:
        found = honest(self, problem)
        return Local(np.where(found.members < 10, -1, found.members - 10))

    monkeypatch.setattr(Mondrian, "search", lazy)
    made = shoal.anonymize(table, policy)  # what it answers is not taken, and that is told
    assert made.audit.suppressed == 0
    assert "without an answer" in made.recoding.to_dict()["proof"]["stopped"]


def test_a_claim_that_the_audit_does_not_find(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KAnonymity, "measure", lambda self, classes, sensitive: 99)
    with pytest.raises(AuditFailed, match="the search claims 99"):
        shoal.anonymize(*case)


def test_a_lying_audit_file_does_not_help(case: Any, tmp_path: Path) -> None:
    made = shoal.anonymize(*case)
    files = made.write(tmp_path)
    claimed = json.loads(files["audit"].read_text())
    tampered = pl.read_csv(files["release"], infer_schema=False).with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("17")).otherwise(pl.col("age")).alias("age")
    )
    assert claimed["holds"]
    assert not shoal.audit(tampered, made.policy).holds


def test_values_of_records_that_are_left_out_are_looked_for(case: Any) -> None:
    table, policy = case
    rare = table.with_columns(
        pl.when(pl.int_range(pl.len()) == 3)
        .then(pl.lit("Lighthouse-keeper"))
        .otherwise("occupation")
        .alias("occupation")
    )
    made = shoal.anonymize(table, policy)
    data = write.to_bytes(made.frame, "csv") + b"Lighthouse-keeper"
    assert bytes_faults(data, "csv", made.frame, rare) != []


def test_the_number_of_a_row_is_no_leak() -> None:
    years = pl.DataFrame({"age": [30, 40] * 1000, "year": list(range(1, 2001))})
    policy = shoal.Policy(quasi_identifiers=["age"], others="drop", models=[{"name": "k-anonymity", "k": 5}])
    made = shoal.anonymize(years, policy)
    for kind in ("excel", "csv", "jsonl", "parquet", "feather"):
        assert bytes_faults(write.to_bytes(made.frame, kind), kind, made.frame, years) == [], kind


def test_a_raw_value_in_an_excel_file_is_found(tmp_path: Path) -> None:
    import zipfile

    table = pl.DataFrame({"age": [30, 40] * 10, "name": ["Ann-Marie", "Bob"] * 10})
    roles = {"identifiers": ["name"], "quasi_identifiers": ["age"], "subject": "none"}
    policy = shoal.Policy(**roles, models=[{"name": "k-anonymity", "k": 5}])
    made = shoal.anonymize(table, policy)
    path = tmp_path / "release.xlsx"
    path.write_bytes(write.to_bytes(made.frame, "excel"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("docProps/custom.xml", "<author>Ann-Marie</author>")
    assert bytes_faults(path.read_bytes(), "excel", made.frame, table) != []


def rolled(frame: pl.DataFrame, name: str, by: int = 3) -> pl.DataFrame:
    """Move the values of a column by some records: each value is there as often as before."""
    values = frame[name].to_list()
    return frame.with_columns(pl.Series(name, values[-by:] + values[:-by], dtype=frame[name].dtype))


@pytest.mark.parametrize("name", ["occupation", "income"])
def test_values_that_apply_moves_to_other_records(name: str, case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    table, policy = case
    honest = pipeline.publish

    def moving(*given: Any) -> Any:
        published = honest(*given)
        return replace(published, table=published.table.with_frame(rolled(published.table.frame, name)))

    monkeypatch.setattr(pipeline, "publish", moving)
    with pytest.raises(AuditFailed, match=f"{name}: published values that are not those of their records"):
        shoal.anonymize(table.drop("fnlwgt"), policy.replace(others="keep"))


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "excel", "jsonl"])
@pytest.mark.parametrize("name", ["occupation", "income"])
def test_values_that_a_writer_moves(
    name: str, kind: str, case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, policy = case
    made = shoal.anonymize(table.drop("fnlwgt"), policy.replace(others="keep"))
    honest = engine.to_bytes
    monkeypatch.setattr(engine, "to_bytes", lambda frame, kind, *how: honest(rolled(frame, name), kind, *how))
    with pytest.raises(AuditFailed, match="not those of their records"):
        made.write(tmp_path / "out", format=kind)
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_classes_that_a_writer_exchanges(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two whole classes change their texts: every count stays, and the file is another table."""
    table, policy = case
    made = shoal.anonymize(table, policy)
    honest, first, last = engine.to_bytes, made.frame.row(0), made.frame.row(-1)
    names = list(policy.quasi_identifiers)

    def exchanging(frame: pl.DataFrame, kind: str, *how: str) -> bytes:
        texts = [{first[frame.columns.index(n)]: last[frame.columns.index(n)]} for n in names]
        return honest(frame.with_columns(pl.col(n).replace(t) for n, t in zip(names, texts, strict=True)), kind)

    monkeypatch.setattr(engine, "to_bytes", exchanging)
    with pytest.raises(AuditFailed):
        made.write(tmp_path / "out")


@pytest.mark.parametrize("algorithm", ["mondrian", "shoal", "optimal", "k-member"])
def test_sensitive_values_exchanged_between_classes_are_found_from_outside(algorithm: str) -> None:
    """Whoever has both tables can know, whatever the classes: no assignment of original records explains it."""
    table = shoal.datasets.adult(part="test").head(160)
    policy = shoal.Policy(
        quasi_identifiers={"age": {"hierarchy": "intervals", "widths": [10, 20]}, "education": "suppress", "sex": {}},
        sensitive=["occupation"],
        others="drop",
        models=[{"name": "k-anonymity", "k": 4}],
        algorithm=algorithm,
    )
    made = shoal.anonymize(table, policy).frame
    assert shoal.audit(made, policy, original=table).holds
    names = list(policy.quasi_identifiers)
    random, found, lies = np.random.default_rng(5), 0, 0
    for _ in range(30):
        one, other = random.choice(made.height, 2, replace=False).tolist()
        moved = made["occupation"].to_list()
        if made.select(names).row(one) == made.select(names).row(other) or moved[one] == moved[other]:
            continue
        moved[one], moved[other] = moved[other], moved[one]
        lie = made.with_columns(pl.Series("occupation", moved, dtype=pl.String))
        checked = shoal.audit(lie, policy, original=table)
        assert checked.holds == explained(lie, table, policy)
        lies, found = lies + 1, found + (not checked.holds)
    assert found > lies / 2


def explained(published: pl.DataFrame, original: pl.DataFrame, policy: shoal.Policy) -> bool:
    """Whether each published record can be a different original one: by augmenting paths, record by record."""
    names = list(policy.quasi_identifiers)
    fits = [
        [
            number
            for number, held in enumerate(original.iter_rows(named=True))
            if held["occupation"] == shown["occupation"] and all(covers(shown[n], held[n]) for n in names)
        ]
        for shown in published.iter_rows(named=True)
    ]
    taken: dict[int, int] = {}

    def index(record: int, seen: set[int]) -> bool:
        for number in fits[record]:
            if number not in seen:
                seen.add(number)
                if number not in taken or index(taken[number], seen):
                    taken[number] = record
                    return True
        return False

    return all(index(record, set()) for record in range(len(fits)))


def covers(text: str, value: object) -> bool:
    if text == "*" or text == str(value):
        return True
    if text.startswith("["):
        low, high = text[1:-1].split(", ")
        above = float(low) <= float(str(value))
        return above and (float(str(value)) <= float(high) if text.endswith("]") else float(str(value)) < float(high))
    return text.startswith("{") and str(value) in text[1:-1].split(", ")
