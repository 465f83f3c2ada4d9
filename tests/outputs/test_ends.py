"""Ends: low and high of what a text shows, and nothing that it does not show."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import AuditFailed, Misfit
from shoal.pipeline import ends


def policy(column: Any = None, **more: Any) -> shoal.Policy:
    return shoal.Policy(
        **{
            "quasi_identifiers": {"age": column or {}, "sex": {}},
            "models": [{"name": "k-anonymity", "k": 2}],
            "algorithm": "mondrian",
            "output": {"form": "generalized", "ends": True},
            **more,
        }
    )


def people(ages: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"age": ages, "sex": ["f"] * len(ages)})


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("34", "integer", (34, 34)),
        ("[-5, 9]", "integer", (-5, 9)),
        ("[0.2, 0.3)", "float", (0.2, 0.3)),
        ("{3, 1, 2}", "integer", (1, 3)),
        ("{1, (missing)}", "integer", None),
        ("*", "integer", None),
        (None, "integer", None),
        ("13***", "integer", None),
        ("young", "integer", None),
        ("1995", "date", (datetime(1995, 1, 1), datetime(1995, 12, 31, 23, 59, 59, 999999))),
        ("1996-Q1", "date", (datetime(1996, 1, 1), datetime(1996, 3, 31, 23, 59, 59, 999999))),
        ("[1990, 1999]", "date", (datetime(1990, 1, 1), datetime(1999, 12, 31, 23, 59, 59, 999999))),
        ("1996-02-30", "date", None),
        ("1996-02-29 10:00:00", "datetime", (datetime(1996, 2, 29, 10), datetime(1996, 2, 29, 10))),
    ],
)
def test_what_a_text_says(text: str | None, kind: Any, expected: Any) -> None:
    assert ends.read_ends(text, kind) == expected


def test_numbers_have_ends_and_texts_have_none() -> None:
    made = shoal.anonymize(people([20, 21, 30, 34]), policy())
    assert made.table.columns == ["age", "age.low", "age.high", "sex"]
    assert made.table.rows() == [("[20, 21]", 20, 21, "f")] * 2 + [("[30, 34]", 30, 34, "f")] * 2


def test_stars_and_missing_values_have_no_ends() -> None:
    missing = shoal.anonymize(people([20, 21, None, None]), policy())
    assert missing.table.filter(pl.col("age").is_null()).rows() == [(None, None, None, "f")] * 2
    mixed = shoal.anonymize(people([20, None]), policy())
    assert mixed.table.rows() == [("*", None, None, "f")] * 2


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "excel", "jsonl"])
def test_dates_have_ends_in_every_format(kind: str, tmp_path: Path) -> None:
    days = [date(1995, 1, 3), date(1995, 2, 20), date(1999, 5, 1), date(1999, 12, 31)]
    for values in (days, [datetime(d.year, d.month, d.day, 12) for d in days]):
        asked = policy({"hierarchy": "dates", "levels": ["month", "year"]}, publish="labels")
        table = people(values)
        made = shoal.anonymize(table, asked)
        assert str(made.table["age.high"][0]).startswith("1995-12-31")
        files = made.write(tmp_path / type(values[0]).__name__, format=kind)
        assert shoal.audit(files["release"], asked, original=table).holds
        assert shoal.audit(files["release"], asked).holds


def test_half_open_ranges_in_a_file(tmp_path: Path) -> None:
    table, asked = people([0.21, 0.29, 0.35, 0.36]), policy({"hierarchy": "intervals", "widths": [0.1]})
    made = shoal.anonymize(table, asked.replace(algorithm="exhaustive"))
    assert made.table.row(0) == ("[0.2, 0.3)", 0.2, 0.3, "f")
    files = made.write(tmp_path)
    assert shoal.audit(files["release"], asked, original=table).holds


def test_labels_that_look_like_numbers_have_no_ends() -> None:
    rows = [["20", "2"], ["21", "2"], ["30", "3"], ["34", "3"]]
    asked = policy({"hierarchy": "tree", "rows": rows}, algorithm="exhaustive")
    assert shoal.anonymize(people([20, 21, 30, 34]), asked).table.rows()[0] == ("2", None, None, "f")


def test_ends_that_are_narrower_than_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ends.read_ends
    monkeypatch.setattr(ends, "read_ends", lambda text, kind: (20, 20) if text == "[20, 21]" else honest(text, kind))
    with pytest.raises(AuditFailed, match=r"age: ends that are not those of the text; got '\[20, 21\]: 20 to 20'"):
        shoal.anonymize(people([20, 21, 30, 34]), policy())


def test_ends_of_a_star_that_tell_the_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "read_ends", lambda text, kind: (20, 20))
    with pytest.raises(AuditFailed, match="ends that are not those of the text"):
        shoal.anonymize(people([20, None]), policy())


@pytest.mark.parametrize(
    "change",
    [
        {"age.low": [21, 20, 30, 30]},
        {"age.high": [21, 21, None, 34]},
        {"age.low": ["x", "20", "30", "30"]},
        {"age.high": [35, 35, 40, 40]},
    ],
)
def test_tampered_ends_are_found_in_the_table_alone(change: dict[str, list[Any]]) -> None:
    made = shoal.anonymize(people([20, 21, 30, 34]), policy())
    assert shoal.audit(made.table, policy()).holds
    tampered = made.table.with_columns(**{name: pl.Series(values) for name, values in change.items()})
    assert not shoal.audit(tampered, policy()).holds


def test_missing_and_unasked_ends_are_found() -> None:
    table = people([20, 21, 30, 34])
    made = shoal.anonymize(table, policy())
    assert not shoal.audit(made.table.drop("age.low"), policy()).holds
    assert not shoal.audit(made.table.drop("age.low", "age.high"), policy(), original=table).holds
    assert not shoal.audit(made.table, policy(output="generalized")).holds


def test_a_numeric_label_whose_ends_leave_values_out() -> None:
    rows = [["20", "2"], ["21", "2"], ["30", "3"], ["34", "3"]]
    table, asked = people([20, 21, 30, 34]), policy({"hierarchy": "tree", "rows": rows}, algorithm="exhaustive")
    made = shoal.anonymize(table, asked).table
    false = made.with_columns(
        pl.col("age").cast(pl.Int64).alias("age.low"), pl.col("age").cast(pl.Int64).alias("age.high")
    )
    assert not shoal.audit(false, asked, original=table).holds


def test_a_table_with_such_a_column() -> None:
    table = people([20, 21]).with_columns(pl.Series("age.low", [1, 1]))
    with pytest.raises(Misfit, match=r"two columns of that name; got 'age\.low'"):
        shoal.anonymize(table, policy(others="keep"))
