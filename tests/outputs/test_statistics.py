"""Statistics: what each class held, told beside the classes, and checked against the records."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.factories import policies

import shoal
from shoal.engines.dictionary import TableDictionary
from shoal.errors import AuditFailed, Misfit, PolicyError
from shoal.pipeline import output_forms as outputs
from shoal.pipeline import write as release
from shoal.pipeline.publish import Published


def people() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20, 22, 24, 40, 40, 46],
            "town": ["Ulm", "Ulm", "Bonn", "Jena", "Jena", "Jena"],
            "illness": ["flu", "cold", "flu", "cold", "gout", "flu"],
        }
    )


policy = policies(
    quasi_identifiers={"age": {}, "town": {}},
    sensitive=["illness"],
    models=[{"name": "k-anonymity", "k": 3}],
    algorithm="mondrian",
    output="statistics",
)


def whats(audit: shoal.Audit) -> str:
    return " | ".join(str(fault) for fault in audit.failures())


def test_means_variances_and_distributions_by_hand() -> None:
    made = shoal.anonymize(people(), policy())
    assert made.table.columns == ["age", "town", "illness", "class"]
    assert made.table["class"].to_list() == [1, 1, 1, 2, 2, 2]
    assert made.beside.rows() == [
        (1, "age", None, 3, 22.0, pytest.approx(8 / 3)),
        (1, "town", "Bonn", 1, None, None),
        (1, "town", "Ulm", 2, None, None),
        (2, "age", None, 3, 42.0, 8.0),
        (2, "town", "Jena", 3, None, None),
    ]


def test_files_are_vouched_for_and_hold(tmp_path: Path) -> None:
    for kind in ("csv", "parquet", "feather", "excel", "jsonl"):
        files = shoal.anonymize(people(), policy()).write(tmp_path / kind, format=kind)
        hashes = json.loads(files["manifest"].read_text())["files"]
        assert files["release-statistics"].name in hashes
        assert shoal.audit(files["release"], policy(), original=people()).holds
        assert shoal.audit(files["release"], policy()).holds


def test_another_form_takes_the_old_file_away(tmp_path: Path) -> None:
    shoal.anonymize(people(), policy()).write(tmp_path)
    shoal.anonymize(people(), policy(output="generalized")).write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "audit.json",
        "manifest.json",
        "release.csv",
        "report.html",
    ]


def test_the_order_of_the_records_does_not_matter() -> None:
    table = shoal.datasets.adult(part="test").head(300).select("age", "sex", "hours-per-week", "occupation")
    asked = policy(quasi_identifiers=["age", "sex", "hours-per-week"], sensitive=["occupation"])
    made, reversed_ = (shoal.anonymize(one, asked).beside for one in (table, table.reverse()))
    assert made.equals(reversed_)


def test_dates_are_days_and_missing_values_are_counted() -> None:
    days = [date(1970, 1, 2), date(1970, 1, 4), None, date(1999, 1, 1), date(1999, 1, 1), date(1999, 1, 1)]
    table = people().with_columns(age=pl.Series(days), town=pl.Series([None, "Ulm", "Ulm", "x", "x", "x"]))
    asked = policy(models=[{"name": "k-anonymity", "k": 2}], algorithm={"name": "k-member"})
    made = shoal.anonymize(table, asked)
    told = made.beside.filter(pl.col("column") == "age")
    assert told["records"].sum() == 5
    assert shoal.audit(made.table, asked, original=table, beside=made.beside, rows=made.rows).holds


def test_a_mean_of_fewer_than_k_values_is_not_told() -> None:
    table = people().with_columns(age=pl.Series([20, None, None, 40, 40, 46]))
    asked = policy(quasi_identifiers={"age": {"missing": "wildcard"}, "town": {}})
    made = shoal.anonymize(table, asked)
    few = made.beside.filter((pl.col("column") == "age") & (pl.col("records") < 3))
    assert few.height
    assert few["mean"].null_count() == few["variance"].null_count() == few.height


def test_suppressed_records_have_no_statistics() -> None:
    table = pl.DataFrame(
        {"age": [20] * 5 + [90, 91, 92], "town": ["Ulm"] * 5 + ["Bonn", "Jena", "Gera"], "illness": list("ababcabc")}
    )
    asked = policy(
        quasi_identifiers={"age": "suppress", "town": "suppress"},
        algorithm={"name": "fixed-levels", "levels": {"age": 0, "town": 0}},
        max_suppressed=0.5,
    )
    made = shoal.anonymize(table, asked)
    assert made.audit.starred == 3
    assert set(made.beside["value"].drop_nulls()) == {"Ulm"}
    assert "Gera" not in made.beside.write_csv()
    added = pl.concat([pl.DataFrame([(1, "age", None, 3, 91.0, 2 / 3)], made.beside.schema, orient="row"), made.beside])
    assert "suppressed records have none" in whats(shoal.audit(made.table, asked, beside=added))


TAMPERED: list[tuple[str, list[Any], str]] = [
    ("mean", [22.5, None, None, 42.0, None], "not those of the records"),
    ("variance", [2.0, None, None, 8.0, None], "not those of the records"),
    ("records", [3, 2, 1, 3, 3], "not those of the records"),
    ("value", [None, "Bonn", "Jena", None, "Jena"], "not those of the records|not true of the texts"),
    ("mean", [99.0, None, None, 42.0, None], "not true of the texts"),
    ("variance", [400.0, None, None, 8.0, None], "not true of the texts"),
    ("records", [3, 1, 1, 3, 3], "do not add up"),
    ("records", [2, 1, 2, 3, 3], "fewer values than k"),
    ("variance", [-1.0, None, None, 8.0, None], "that are none"),
    ("variance", [None, None, None, 8.0, None], "that are none"),
    ("class", [1, 1, 1, 2, 3], "not those of the classes"),
    ("column", ["age", "town", "town", "age", "illness"], "of other columns"),
    ("column", ["town", "age", "town", "age", "town"], "not in their order"),
    ("mean", ["much", None, None, "42", None], "no numbers"),
]


@pytest.mark.parametrize(("column", "values", "told"), TAMPERED)
def test_tampered_statistics_are_found(column: str, values: list[Any], told: str) -> None:
    made = shoal.anonymize(people(), policy())
    tampered = made.beside.with_columns(pl.Series(column, values))
    audit = shoal.audit(made.table, policy(), original=people(), beside=tampered, rows=made.rows)
    assert any(what in whats(audit) for what in told.split("|"))


def test_what_the_published_tables_alone_show() -> None:
    made = shoal.anonymize(people(), policy())
    possible = made.beside.with_columns(pl.Series("mean", [22.5, None, None, 42.0, None]))
    assert shoal.audit(made.table, policy(), original=people(), beside=possible).holds  # only the owner knows better
    assert not shoal.audit(made.table, policy(), original=people(), beside=possible, rows=made.rows).holds
    for broken in (made.beside.head(4), made.beside.reverse(), pl.concat([made.beside, made.beside.tail(1)])):
        assert not shoal.audit(made.table, policy(), beside=broken).holds
    assert "a part of the release is missing" in whats(shoal.audit(made.table, policy()))
    assert "columns of the statistics are others" in whats(
        shoal.audit(made.table, policy(), beside=made.beside.drop("mean"))
    )


@pytest.mark.parametrize("numbers", [[1, 1, 2, 2, 2, 2], [2, 2, 2, 1, 1, 1], [1, 1, 1, 1, 1, 1], [1, 1, None, 2, 2, 2]])
def test_numbers_that_are_not_those_of_the_classes(numbers: list[int | None]) -> None:
    made = shoal.anonymize(people(), policy())
    renumbered = made.table.with_columns(pl.Series("class", numbers))
    assert "numbered one to one" in whats(shoal.audit(renumbered, policy(), beside=made.beside))


def test_rows_that_are_not_rows_of_the_original() -> None:
    made = shoal.anonymize(people(), policy())
    for rows in ([0, 0, 1, 2, 3, 4], [0, 1], [0, 1, 2, 3, 4, 60]):
        audit = shoal.audit(made.table, policy(), original=people(), beside=made.beside, rows=pl.Series(rows))
        assert "are not known" in whats(audit)


def test_a_file_that_breaks_on_the_way_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = release.to_bytes

    def shifts(frame: pl.DataFrame, kind: str, *how: str) -> bytes:
        return honest(frame.with_columns(pl.col("mean") + 0.5) if "mean" in frame.columns else frame, kind)

    monkeypatch.setattr(release, "to_bytes", shifts)
    with pytest.raises(AuditFailed, match="statistics that are not those of the records"):
        shoal.anonymize(people(), policy()).write(tmp_path / "out")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_statistics_of_other_classes_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = outputs.tabulate_classes

    def of_others(published: Published, words: TableDictionary) -> pl.DataFrame:
        owner = replace(published.owner, rows=published.rows.reverse())
        return honest(replace(published, owner=owner), words)

    monkeypatch.setattr(outputs, "tabulate_classes", of_others)
    with pytest.raises(AuditFailed, match="not those of the records"):
        shoal.anonymize(people(), policy())


def test_a_raw_value_in_the_statistics_file_is_found(tmp_path: Path) -> None:
    table = people().with_columns(name=pl.Series(["Ann-Marie", "Bob", "Cleo", "Dora", "Emil", "Fritz"]))
    asked = policy(identifiers=["name"])
    files = shoal.anonymize(table, asked).write(tmp_path)
    assert shoal.audit(files["release"], asked, original=table).holds
    told = files["release-statistics"]
    told.write_text(told.read_text().replace("Bonn", "Ann-Marie"))
    assert not shoal.audit(files["release"], asked, original=table).holds


@pytest.mark.parametrize(("k", "told"), [(2, "2 numbers are those numbers"), (20, "and their range are often those")])
def test_check_warns_whatever_the_k(k: int, told: str) -> None:
    faults = policy(models=[{"name": "k-anonymity", "k": k}]).check(pl.concat([people()] * 4))
    assert any(told in str(fault) and fault.kind == "warning" for fault in faults)


def test_mean_and_variance_of_two_numbers_are_the_numbers() -> None:
    # the reason for the warning: what anybody can work out from a class of two
    made = shoal.anonymize(
        pl.DataFrame({"age": [23, 31], "sex": ["f", "f"]}),
        policy(quasi_identifiers=["age", "sex"], sensitive=[], models=[{"name": "k-anonymity", "k": 2}]),
    )
    ((mean, variance),) = made.beside.filter(pl.col("column") == "age").select("mean", "variance").rows()
    assert [mean - variance**0.5, mean + variance**0.5] == [23, 31]


def test_bad_policies_and_tables() -> None:
    with pytest.raises(PolicyError, match=r"output\.number: is a column of the statistics"):
        policy(output={"form": "statistics", "number": "value"})
    with pytest.raises(PolicyError, match="each must be about another person"):
        policy(subject="name")
    alone = {"name": "recursive-l-diversity", "on": "illness", "c": 3, "l": 2}
    assert policy(models=[alone]).output.form == "statistics"
    with pytest.raises(PolicyError, match="statistics of a single record are its values"):
        policy(models=[{"name": "t-closeness", "on": "illness", "t": 0.5}])
    for model in ({"name": "k-map", "k": 3}, {"name": "scenarios", "k": 2, "known": [["age"]]}):
        with pytest.raises(PolicyError, match=r"models\[1\]: .* statistics rule some of them out"):
            policy(models=[{"name": "k-anonymity", "k": 2}, model], population="people.csv")
    with pytest.raises(PolicyError, match="more would be told than the texts of a sample; got statistics"):
        shoal.Policy(
            quasi_identifiers={"age": "suppress"},
            models=[{"name": "differential-privacy", "epsilon": 1, "delta": 0.001}],
            algorithm={"name": "fixed-levels", "levels": {"age": 0}},
            suppressed="drop",
            max_suppressed=1,
            seed=2**90,
            output="statistics",
        )
    with pytest.raises(Misfit, match="two columns of that name; got 'class'"):
        shoal.anonymize(people().rename({"illness": "class"}), policy(sensitive=["class"]))
    renamed = policy(sensitive=["class"], output={"form": "statistics", "number": "shoal"})
    assert shoal.anonymize(people().rename({"illness": "class"}), renamed).beside.columns[0] == "shoal"
