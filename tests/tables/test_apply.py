"""apply(): what is published, in which order, and nothing else: not even in memory."""

from __future__ import annotations

import datetime as dt
import io
import pickle
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from tests.factories import policies

import shoal
from shoal.policy.published_columns import published_columns

SECRET = "a secret that is longer than twelve letters"
PUBLIC = "a value that is longer than twelve letters"


policy = policies(
    quasi_identifiers={"q": {"hierarchy": "suppress", "missing": "suppress"}},
    max_suppressed=0.5,
    others="keep",
    models=[{"name": "k-anonymity", "k": 2}],
)


def ipc(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_ipc(buffer, compression="uncompressed", compat_level=pl.CompatLevel.newest())
    return buffer.getvalue()


@pytest.mark.parametrize("dump", [ipc, pickle.dumps])
@pytest.mark.parametrize("role", ["q", "ill", "other"])
def test_memory_holds_nothing_of_records_that_are_left_out(dump: Callable[[Any], bytes], role: str) -> None:
    # polars keeps the texts of picked rows together with those of the others
    table = pl.DataFrame({name: [PUBLIC] * 10 + [SECRET if name == role else None] for name in ("q", "ill", "other")})
    table = table.with_columns(id=pl.Series([PUBLIC] * 10 + [None]))
    asked = policy(
        quasi_identifiers={"q": {"hierarchy": "suppress"}, "id": {"hierarchy": "suppress", "missing": "suppress"}},
        sensitive=["ill"],
        suppressed="drop",
    )
    release = shoal.anonymize(table, asked)
    assert release.audit.left_out == 1
    assert PUBLIC.encode() in dump(release.table)
    assert SECRET.encode() not in dump(release.table)


def test_memory_holds_nothing_of_records_that_were_filtered_before() -> None:
    whole = pl.DataFrame({"q": ["x"] * 3, "other": [PUBLIC, PUBLIC, SECRET]})
    asked = whole.filter(pl.col("other") == PUBLIC)
    assert SECRET.encode() in ipc(asked)
    assert SECRET.encode() not in ipc(shoal.anonymize(asked, policy()).table)


def test_labels_that_are_not_used_are_not_kept() -> None:
    table = pl.DataFrame({"q": [PUBLIC, PUBLIC, SECRET]})
    release = shoal.anonymize(table, policy(max_suppressed=0.0))
    assert release.table["q"].to_list() == ["*"] * 3
    assert SECRET.encode() not in ipc(release.table)
    assert PUBLIC.encode() not in ipc(release.table)


def test_columns_keep_their_order_and_hidden_ones_are_gone() -> None:
    frame = pl.DataFrame({name: ["x"] for name in ("z", "name", "q", "a", "__index_level_0__", "person")})
    asked = policy(identifiers=["name"], subject="person", sensitive=["a"])
    assert published_columns(frame.columns, asked) == ["z", "q", "a"]
    assert published_columns(frame.columns, asked.replace(others="drop")) == ["q", "a"]


def test_records_stand_in_the_order_of_what_is_published() -> None:
    table = pl.DataFrame({"q": ["b", "a", "b", "a"], "other": [2, 4, 1, 3]})
    for frame in (table, table.reverse(), table[[2, 0, 3, 1]]):
        assert shoal.anonymize(frame, policy()).table.rows() == [("a", 3), ("a", 4), ("b", 1), ("b", 2)]


@pytest.mark.parametrize("name", ["*", "^.*$", " ", " x ", "x\ny", "row", "class", "o0", "subject", "cell"])
def test_any_name_for_any_role(name: str) -> None:
    table = pl.DataFrame({"p": ["u", "v", "u", "v"], name: ["a", "a", "b", "b"], "end": [1, 2, 3, 4]})
    others = shoal.anonymize(table, policy(quasi_identifiers={"p": {}})).table
    assert others.columns == ["p", name, "end"]
    assert sorted(others[name].to_list()) == ["a", "a", "b", "b"]
    quasi = shoal.anonymize(table, policy(quasi_identifiers={name: {}})).table
    assert quasi.columns == ["p", name, "end"]
    assert sorted(quasi[name].to_list()) == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("values", "published"),
    [
        (pl.Series([1, None], dtype=pl.Int8), [1, None]),
        (pl.Series([2**64 - 1, 5], dtype=pl.UInt64), ["18446744073709551615", "5"]),
        (pl.Series(["x", "y"], dtype=pl.Enum(["z", "y", "x"])), ["x", "y"]),
        (pl.Series(["x", ""], dtype=pl.Categorical), ["x", None]),
        (pl.Series([0.5, float("nan")]), [0.5, None]),
        (pl.Series([dt.date(2020, 1, 1), None]), [dt.date(2020, 1, 1), None]),
        (pl.Series([True, None]), [True, None]),
    ],
)
def test_kept_columns_keep_their_values(values: pl.Series, published: list[Any]) -> None:
    table = pl.DataFrame({"q": ["x"] * 2, "other": values})
    assert set(shoal.anonymize(table, policy()).table["other"].to_list()) == set(published)
