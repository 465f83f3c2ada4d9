"""What is written is read back before it leaves: every format, every kind of cell, and writers that are broken."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import AuditFailed
from shoal.gateway import formats
from shoal.gateway.formats import MEDIA, Format, Reply, write_reply
from tests.gateway.served import example, served

KINDS: dict[str, list[Any]] = {
    "whole": [1, None, -(2**60)],
    "float": [0.1, float("inf"), float("nan")],
    "text": ['a,"b"\r\n', None, ""],
    "odd": ["\u202e", "\x00", "x" * 200_000],
    "truth": [True, None, False],
    "date": [date(2020, 1, 2), None, date(1, 1, 1)],
    "moment": [datetime(2020, 1, 2, 3, 4, 5, 6), None, datetime(1999, 1, 1)],
    "time": [time(1, 2, 3), None, time(4, 5)],
    "exact": [Decimal("1.50"), None, Decimal("-2.25")],
}


@pytest.mark.parametrize("format", MEDIA)
@pytest.mark.parametrize("names", [*([name] for name in KINDS), list(KINDS)], ids=str)
def test_what_is_written_well_is_accepted(format: Format, names: list[str]) -> None:
    table = pl.DataFrame({name: KINDS[name] for name in names})
    for one in (table, table.clear(), pl.concat([table, table])):
        write_reply(Reply(one, {"request": "7"}), format)


cells = st.one_of(st.none(), st.text(max_size=4))


@given(st.lists(st.tuples(cells, st.none() | st.integers(-(2**63), 2**63 - 1), st.none() | st.floats()), max_size=5))
def test_whatever_is_held_is_accepted(rows: list[Any]) -> None:
    table = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.Int64, "c": pl.Float64}, orient="row")
    for format in MEDIA:
        write_reply(Reply(table, {}), format)


SPOILED: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "another value": lambda table: table.with_columns(age=pl.lit(31)),
    "a record too many": lambda table: pl.concat([table, table.head(1)]),
    "a record too few": lambda table: table.head(1),
    "another order": lambda table: table.reverse(),
    "a column too many": lambda table: table.with_columns(name=pl.lit("Alice")),
    "another name": lambda table: table.rename({"ill": "sick"}),
    "a value for none": lambda table: table.with_columns(ill=pl.col("ill").fill_null("flu")),
}


@pytest.mark.parametrize("format", MEDIA)
@pytest.mark.parametrize("how", SPOILED)
def test_a_broken_writer_is_caught(monkeypatch: pytest.MonkeyPatch, format: Format, how: str) -> None:
    table = pl.DataFrame({"age": [30, 40], "ill": ["gout", None]})
    real = formats.WRITERS[format]
    broken = lambda reply: real(Reply(SPOILED[how](reply.table), reply.explanation))  # noqa: E731
    monkeypatch.setitem(formats.WRITERS, format, broken)
    with pytest.raises(AuditFailed, match=f"^{format}: what was written"):
        write_reply(Reply(table, {}), format)


def test_over_http_nothing_of_it_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(formats.WRITERS, "csv", lambda reply: b"age\nhunter2\n")
    with served(example(tmp_path / "example")) as service:
        refused = service.ask("SELECT age, race, salary FROM people", format="csv")
        failed = [line["error"] for line in service.lines() if line["event"] == "failed"]
    assert refused.status_code >= 500 and "hunter2" not in refused.text and failed == ["AuditFailed"]
