"""A record matches if what is shown of it can only stand for values that match."""

from __future__ import annotations

import time
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import Refused
from shoal.gateway.evaluation import QueryableTable, evaluate, find_matching
from shoal.gateway.label_column import LabelColumn
from shoal.gateway.labels import LabelReader
from shoal.gateway.request import Among, Compare, Condition, Every, IsNull, Item, Not, Order, Request, Some
from shoal.hierarchies import Intervals, Mask, Tree

SIGNS = ("=", "<>", "<", "<=", ">", ">=")
WORDS = ["a", "b", "c", "d"]
LETTERS = Tree(nodes={"any": {"ab": ["a", "b"], "cd": ["c", "d"]}})


def holds(condition: Condition, record: dict[str, Any]) -> bool | None:
    """SQL's own three truth values, written out."""
    if isinstance(condition, Not):
        part = holds(condition.part, record)
        return None if part is None else not part
    if isinstance(condition, (Every, Some)):
        parts = [holds(part, record) for part in condition.parts]
        decisive = isinstance(condition, Some)
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    value = record[condition.column]
    if isinstance(condition, IsNull):
        return value is None
    if value is None:
        return None
    if isinstance(condition, Among):
        return value in condition.values
    other: Any = condition.value
    return {
        "=": value == other,
        "<>": value != other,
        "<": value < other,
        "<=": value <= other,
        ">": value > other,
        ">=": value >= other,
    }[condition.sign]


numbers = st.one_of(
    st.builds(Compare, st.just("n"), st.sampled_from(SIGNS), st.integers(0, 12)),
    st.builds(Among, st.just("n"), st.lists(st.integers(0, 12), min_size=1, max_size=6).map(tuple)),
    st.just(IsNull("n")),
)
letters = st.one_of(
    st.builds(Compare, st.just("t"), st.sampled_from(SIGNS), st.sampled_from(WORDS)),
    st.builds(Among, st.just("t"), st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(tuple)),
    st.just(IsNull("t")),
)
conditions = st.recursive(
    numbers | letters,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(Every, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Some, st.lists(inner, min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=8,
)
records = st.lists(
    st.fixed_dictionaries({"n": st.none() | st.integers(0, 12), "t": st.none() | st.sampled_from(WORDS)}),
    min_size=1,
    max_size=12,
)
ALL = (Item("n", "n"), Item("t", "t"))
SCHEMA = {"n": pl.Int64, "t": pl.String}


def matched(condition: Condition, frame: pl.DataFrame, meanings: dict[str, LabelReader]) -> list[bool]:
    found: list[bool] = find_matching(Request("x", ALL, where=condition), QueryableTable(frame, meanings)).tolist()
    return found


@given(records, conditions)
def test_on_values_as_they_are_it_is_sql(rows: list[dict[str, Any]], condition: Condition) -> None:
    frame = pl.DataFrame(rows, schema=SCHEMA)
    meanings = {"n": LabelReader("integer", exact=True), "t": LabelReader("text", exact=True)}
    assert matched(condition, frame, meanings) == [holds(condition, row) is True for row in rows]


def published(row: dict[str, Any], level: int) -> dict[str, str | None]:
    """A record as a release shows it: level 0 as it is, 1 generalized, 2 all stars."""
    if level == 2:
        return {"n": "*", "t": "*"}
    number, text = row["n"], row["t"]
    if level == 0:
        return {"n": None if number is None else str(number), "t": text}
    low = None if number is None else number // 4 * 4
    return {
        "n": None if low is None else f"[{low}, {low + 3}]",
        "t": None if text is None else "ab" if text in "ab" else "cd",
    }


@given(records, conditions, st.lists(st.integers(0, 2), min_size=12, max_size=12))
def test_on_published_texts_a_match_is_certain(
    rows: list[dict[str, Any]], condition: Condition, levels: list[int]
) -> None:
    """Whatever record a text could stand for matches: any other of the same text would do as well."""
    texts = [published(row, level) for row, level in zip(rows, levels, strict=False)]
    frame = pl.DataFrame(texts, schema={"n": pl.String, "t": pl.String})
    meanings = {
        "n": LabelReader.published("integer", Intervals(widths=[4])),
        "t": LabelReader.published("text", LETTERS),
    }
    every = [{"n": n, "t": t} for n in (None, *range(16)) for t in (None, *WORDS)]
    for yes, text, level in zip(matched(condition, frame, meanings), texts, levels, strict=False):
        possible = [one for one in every if published(one, level) == text]
        assert possible
        if yes:
            assert all(holds(condition, one) is True for one in possible)


@given(records, conditions)
def test_values_that_are_published_as_they_are_match_as_they_are(
    rows: list[dict[str, Any]], condition: Condition
) -> None:
    frame = pl.DataFrame([published(row, 0) for row in rows], schema={"n": pl.String, "t": pl.String})
    meanings = {
        "n": LabelReader.published("integer", Intervals(widths=[4])),
        "t": LabelReader.published("text", LETTERS),
    }
    assert matched(condition, frame, meanings) == [holds(condition, row) is True for row in rows]


@pytest.mark.parametrize(
    ("meanings", "text", "sign", "value", "truth"),
    [
        (LabelReader("float"), "[0.2, 0.3)", "<", 0.3, True),
        (LabelReader("float"), "[0.2, 0.3]", "<", 0.3, None),
        (LabelReader("float"), "[0.2, 0.3)", ">=", 0.3, False),
        (LabelReader("float"), "[0.2, 0.3)", ">=", 0.2, True),
        (LabelReader("float"), "(0.2, 0.3]", ">", 0.2, True),
        (LabelReader("integer"), "{20, 25}", "<=", 25, True),
        (LabelReader("integer"), "{20, (missing)}", "<=", 25, None),
        (LabelReader("integer"), "*", "<=", 25, None),
        (LabelReader("integer"), "32", ">", 31.5, True),
    ],
)
def test_comparisons(meanings: LabelReader, text: str, sign: Any, value: float, truth: bool | None) -> None:
    yes, no = LabelColumn.of([meanings.of(text)]).compare(sign, value)
    assert (yes.tolist(), no.tolist()) == ([truth is True], [truth is False])


def test_a_mask_matches_nothing_for_certain_and_rules_out_what_it_does_not_fit() -> None:
    codes = LabelReader.published("text", Mask(keep=[3]))
    masked = codes.of("476**")
    assert masked.among(frozenset({"47651"}), frozenset()) is None
    assert masked.among(frozenset({"47701"}), frozenset()) is False
    assert masked.among(frozenset(), frozenset({"476**"})) is True


def test_a_label_in_a_condition_stands_for_its_values() -> None:
    frame = pl.DataFrame({"t": ["a", "ab", "cd", "any", "*"]})
    shown = QueryableTable(frame, {"t": LabelReader.published("text", LETTERS)})
    asked = Request("x", (Item("t", "t"),), where=Compare("t", "=", "ab"))
    assert evaluate(asked, shown).table["t"].to_list() == ["a", "ab"]
    asked = Request("x", (Item("t", "t"),), where=Compare("t", "<>", "ab"))
    assert evaluate(asked, shown).table["t"].to_list() == ["cd"]


def test_many_tests_of_a_column_with_many_values_take_no_time() -> None:
    """A sensitive number is shown as it is, and may be another one in each record."""
    frame = pl.DataFrame({"n": range(30_000)})
    table = QueryableTable(frame, {"n": LabelReader("integer", exact=True)})
    tests = tuple(Compare("n", ">", number) for number in range(200))
    began = time.thread_time()
    assert evaluate(Request("x", (Item("n", "n"),), where=Every(tests)), table).table.height == 29_800
    assert time.thread_time() - began < 1


def test_what_is_read_does_not_depend_on_the_table() -> None:
    """If only 20 and 25 occur, "[20, 29]" must not match age <= 25: that would tell what occurs."""
    shown = QueryableTable(
        pl.DataFrame({"n": ["[20, 29]"] * 3}), {"n": LabelReader.published("integer", Intervals(widths=[10]))}
    )
    assert not evaluate(Request("x", (Item("n", "n"),), where=Compare("n", "<=", 25)), shown).table.height


@given(st.permutations(range(20)), st.integers(0, 5), st.booleans())
def test_the_order_of_the_original_leaves_no_trace(order: list[int], limit: int, cut: bool) -> None:
    rows = [(f"[{n % 3}, {n % 3 + 1}]", "xyz"[n % 2]) for n in range(20)]
    meanings = {"n": LabelReader("integer"), "t": LabelReader("text", exact=True)}
    asked = Request("x", ALL, order_by=(Order("n"),) if cut else (), limit=limit if cut else None)

    def answered(indices: list[int]) -> list[Any]:
        frame = pl.DataFrame([rows[index] for index in indices], schema=["n", "t"], orient="row")
        return evaluate(asked, QueryableTable(frame, meanings, seed=3)).table.rows()

    assert answered(order) == answered(list(range(20)))


def test_ranges_are_sorted_by_where_they_begin() -> None:
    shown = QueryableTable(pl.DataFrame({"n": ["[100, 109]", "[20, 29]", "[5, 9]"]}), {"n": LabelReader("integer")})
    asked = Request("x", (Item("n", "n"),), order_by=(Order("n", True),))
    assert evaluate(asked, shown).table["n"].to_list() == ["[100, 109]", "[20, 29]", "[5, 9]"]


def ages() -> QueryableTable:
    frame = pl.DataFrame(
        {
            "age": ["[20, 29]"] * 3 + ["[30, 39]"] * 3 + ["*"],
            "pay": [1.0, 2.0, 3.0, 4.0, None, 6.0, 7.0],
            "g": list("aabbbac"),
        }
    )
    meanings = {
        "age": LabelReader.published("integer", Intervals(widths=[10])),
        "pay": LabelReader("float", exact=True),
        "g": LabelReader("text", exact=True),
    }
    return QueryableTable(frame, meanings)


def test_figures_over_ranges_are_from_their_middles_and_say_so() -> None:
    items = (
        Item("mean", "age", "avg"),
        Item("least", "age", "min"),
        Item("pay", "pay", "sum"),
        Item("n", "pay", "count"),
    )
    found = evaluate(Request("x", items), ages())
    assert found.table.rows() == [((3 * 24.5 + 3 * 34.5) / 6, 24.5, 23.0, 6)]
    assert [note.partition(":")[0] for note in found.notes] == ["mean", "least"]
    assert "left out" in found.notes[0]


def test_figures_that_make_no_sense_are_refused() -> None:
    labels = QueryableTable(pl.DataFrame({"t": ["ab", "cd"] * 3}), {"t": LabelReader.published("text", LETTERS)})
    for function in ("sum", "avg", "min", "max"):
        with pytest.raises(Refused):
            evaluate(Request("x", (Item("f", "t", function),)), labels)  # type: ignore[arg-type]
    with pytest.raises(Refused):
        evaluate(Request("x", (Item("f", "g", "sum"),)), ages())


def test_counts_are_those_of_the_records_that_may_be_read() -> None:
    """Whoever may ask may read every record of the release: nothing is left out of its counts."""
    count = (Item("n", None, "count"), Item("s", "pay", "sum"))
    assert evaluate(Request("x", count, where=Compare("g", "=", "z")), ages()).table.rows() == [(0, None)]
    assert evaluate(Request("x", count, where=Compare("g", "=", "c")), ages()).table.rows() == [(1, 7.0)]
    grouped = (Item("g", "g"), Item("n", None, "count"))
    told = evaluate(Request("x", grouped, group_by=("g",)), ages()).table.rows()
    assert dict(told) == {"a": 3, "b": 3, "c": 1}


def test_a_moment_of_another_time_zone_is_the_same_moment() -> None:
    """Tables hold moments in UTC; compared as texts, two zones would give no answer, or a wrong one."""
    moments = LabelReader("datetime", exact=True)
    for said in ("2020-01-02 01:04:05", "2020-01-02T03:04:05+02:00", "2020-01-01T20:04:05-05:00"):
        assert moments.literal(said, "at") == "2020-01-02 01:04:05"
