"""The one reader of published values: every notation of its table, what shoal writes, and no reader beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from datetime import date, datetime
from math import inf
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import shoal
from shoal.encoding.domains import Domain, Kind
from shoal.encoding.label_writing import write_range, write_set, write_shortened_set
from shoal.encoding.labels import PublishedValue, find_masked, read_label
from shoal.encoding.notations import NOTATIONS, Notation
from shoal.engines.columns import domain_of
from shoal.hierarchies import Dates, Intervals, Quantiles
from shoal.hierarchies.base import Hierarchy

SOURCE = Path(shoal.__file__).parent
DOCS = SOURCE.parents[1] / "docs"

# ---- the table


@pytest.mark.parametrize(
    ("text", "row"), [pytest.param(text, row, id=text) for row in NOTATIONS for text in row.examples]
)
def test_every_notation_means_what_the_table_says(text: str, row: Notation) -> None:
    read = read_label(text, row.kind)
    assert read.form == row.form
    assert [value for value in row.covers if not read.covers(value)] == []
    assert [value for value in row.excludes if read.covers(value)] == []


def test_the_documentation_shows_the_same_table() -> None:
    lines = [
        f"| {', '.join(f'`{text}`' for text in row.examples)} | {row.means} | {row.writer} |".replace("a|b", "a\\|b")
        for row in NOTATIONS
    ]
    head = ["| written | means | by |", "|---|---|---|"]
    assert "\n".join([*head, *lines]) in (DOCS / "audit.md").read_text()


@pytest.mark.parametrize(
    ("text", "kind", "least", "greatest"),
    [
        ("[20, 25)", "integer", 20, 24),
        ("(20.5, 25.5)", "integer", 21, 25),
        ("[20, 25)", "float", 20.0, 25.0),
        ("20-29", "integer", 20, 29),
        ("20 - 30", "integer", 20, 30),
        ("-5--3", "integer", -5, -3),
        ("20to29", "integer", 20, 29),
        ("<20", "integer", -inf, 19),
        ("≥ 65", "integer", 65, inf),
        ("(-inf, 5]", "integer", -inf, 5),
        ("[5, 1e999]", "integer", 5, inf),
        ("9007199254740993", "integer", 9007199254740993, 9007199254740993),
        ("{7, 9, 8}", "integer", 7, 9),
        ("{7, (missing)}", "integer", -inf, inf),
        ("2020-02", "date", 18293, 18321),
        ("2020-Q1 - 2020-Q2", "date", 18262, 18443),
        ("[2020-01-01, 2020-02-01)", "date", 18262, 18292),
        (">=2020", "date", 18262, inf),
        ("2020-01-01", "datetime", 18262 * 86_400_000_000, 18263 * 86_400_000_000 - 1),
        ("2020-01-01T00:00:01", "datetime", 18262 * 86_400_000_000 + 1_000_000, 18262 * 86_400_000_000 + 1_000_000),
    ],
)
def test_ends(text: str, kind: Kind, least: float, greatest: float) -> None:
    read = read_label(text, kind)
    assert (read.least, read.greatest) == (least, greatest)


@pytest.mark.parametrize("kind", ["integer", "float", "date", "datetime"])
@pytest.mark.parametrize("text", ["", "young", "30-20", "[30:20]", "[20", "20-", "1/2", "1_0", "now", "NaT", "**", "{"])
def test_what_follows_no_notation_is_a_name(text: str, kind: Kind) -> None:
    assert read_label(text, kind).form == "name"


@pytest.mark.parametrize("text", ["2020-02-30", "2020-13", "2020-01-01 25:00:00", "[2020-02-30, 2020-03-01)"])
def test_days_that_no_calendar_has_are_no_days(text: str) -> None:
    assert read_label(text, "date").form in ("name", "list")


def test_texts_have_no_ranges_but_by_their_ends() -> None:
    assert read_label("20-29").form == read_label("90+").form == "name"
    assert (read_label("[a, b]").form, read_label("[a, b]").ends) == ("range", ("a", "b"))


def test_the_end_of_a_dash_is_in_doubt_and_belongs() -> None:
    for kind in ("integer", "float"):
        assert read_label("20-30", kind).is_doubtful and read_label("20-30", kind).covers("30")  # type: ignore[arg-type]
        assert not read_label("[20, 30]", kind).is_doubtful  # type: ignore[arg-type]


def test_masks_hide_a_character_each_or_the_rest() -> None:
    assert find_masked("476**", ["47651", "476", "4765"]) == [0]
    assert find_masked("476**", ["476", "4765", "477"]) == [0, 1]
    assert find_masked("*51", ["47651", "47652"]) == [0]
    assert find_masked("4*6", ["476", "4776"]) == [0]
    assert find_masked("4*7", ["476", "4776"]) == []


# ---- what shoal writes is read as it was meant

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False).map(lambda number: number + 0.0)
DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))
VALUES: dict[Kind, st.SearchStrategy[object]] = {
    "integer": st.integers(-(2**63), 2**63 - 1),
    "float": NUMBERS,
    "date": DAYS,
    "datetime": MOMENTS,
}
AWKWARD = st.text(st.sampled_from(list('ab,{}[]()*" \\…-|~;\n')), min_size=1, max_size=5) | st.sampled_from(
    ["(missing)", "… 5 …", "a, b", "[1, 2]", "20-29", "NA", "*"]
)


def column(kind: Kind, values: list[object]) -> Domain:
    types = {"integer": pl.Int64, "float": pl.Float64, "date": pl.Date, "datetime": pl.Datetime("us")}
    return domain_of(pl.Series("values", values, dtype=types[kind]))


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_values_and_ranges_of_values(kind: Kind, data: st.DataObject) -> None:
    domain = column(kind, data.draw(st.lists(VALUES[kind], min_size=2, max_size=2, unique=True)))
    if len(domain) < 2:
        return
    (first, last), (low, high) = domain.texts, domain.values.tolist()
    for text, number in ((first, low), (last, high)):
        read = read_label(text, kind)
        assert (read.form, read.least, read.greatest) == ("value", number, number)
    closed, half_open = (read_label(write_range(first, last, closed=closed), kind) for closed in (True, False))
    assert (closed.form, closed.least, closed.greatest, closed.names) == ("range", low, high, (first, last))
    assert closed.covers(first) and closed.covers(last) and not closed.is_doubtful
    assert half_open.covers(first) and not half_open.covers(last)


@given(st.lists(AWKWARD | st.none(), min_size=1, max_size=6, unique=True))
@example(["(missing)", None, "… 5 …", "a, b"])
def test_sets_of_awkward_texts(texts: list[str | None]) -> None:
    read = read_label(write_set(texts))
    assert (read.form, read.items) == ("set", tuple(texts))
    assert all(read.covers(text) for text in texts)


@given(st.lists(AWKWARD, min_size=3, max_size=9, unique=True))
def test_shortened_sets_name_their_ends_and_are_no_sets(texts: list[str]) -> None:
    read = read_label(write_shortened_set(texts))
    assert (read.form, read.names) == ("shortened", (texts[0], texts[-1]))


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_sets_of_numbers_and_dates(kind: Kind, data: st.DataObject) -> None:
    domain = column(kind, data.draw(st.lists(VALUES[kind], min_size=2, max_size=5, unique=True)))
    read = read_label(write_set(domain.texts), kind)
    assert read.items == domain.texts
    assert (read.least, read.greatest) == (domain.values[0], domain.values[-1])


BUILDERS: list[tuple[Kind, Hierarchy]] = [
    ("integer", Intervals(widths=[5, 10])),
    ("float", Intervals(widths=[0.1, 0.5, 5])),
    *[(kind, Quantiles()) for kind in VALUES],
    *[(kind, Dates(levels=["week", "month"])) for kind in ("date", "datetime")],
    *[(kind, Dates(levels=["day", "month", "quarter", "year", "5-years", "decade"])) for kind in ("date", "datetime")],
]
"""Hierarchies whose labels say themselves what they cover."""
SMALL = {**VALUES, "integer": st.integers(-99, 99), "float": st.integers(-99, 99).map(lambda number: number / 8)}


@pytest.mark.parametrize(("kind", "hierarchy"), BUILDERS)
@given(data=st.data())
def test_labels_of_hierarchies_cover_what_their_builder_says(
    kind: Kind, hierarchy: Hierarchy, data: st.DataObject
) -> None:
    domain = column(kind, data.draw(st.lists(SMALL[kind], min_size=1, max_size=12, unique=True)))
    for step in hierarchy.steps(domain):
        assert step.lows is not None and step.highs is not None
        for number, name in enumerate(step.names):
            read = read_label(name, kind)
            assert (float(read.least), float(read.greatest)) == (step.lows[number], step.highs[number])
            assert all(read.covers(domain.texts[code]) for code in np.flatnonzero(step.numbers == number))


# ---- nobody else reads or writes labels

READERS = {
    "encoding/labels.py": "the reader",
    "encoding/label_writing.py": "the writer",
    "hierarchies/_vgh.py": "reads the ranges of the UTD toolbox's XML files, and refuses what is not written so there",
}
BRACKETS_OF_OTHER_THINGS = {
    "algorithms/bounds/domain_partition.py": 1,  # values with a brace make a bound give up, whatever they say
    "cli/hierarchy.py": 1,  # lists and mappings in YAML, typed as options
    "engines/spark/sessions.py": 1,  # a trace of Java's
    "explore/hierarchy.py": 1,  # parameters in an error
    "hierarchies/_xml.py": 1,  # how an XML file begins
    "hierarchies/grid.py": 1,  # coordinates of a place
    "hierarchies/rare.py": 1,  # its own label is numbered within its brackets
    "importers/utd_config.py": 1,  # how an XML file begins
    "studio/forms.py": 1,  # lists in YAML, typed into fields
}
_BRACKETS = set("[](){}")
_CUTTERS = {"strip", "lstrip", "rstrip", "split", "rsplit", "partition", "rpartition", "startswith", "endswith"}
_CUTTERS |= {"removeprefix", "removesuffix"}
_BETWEEN = {" - ", " – ", "–", "..", " to ", "~", "≥", "≤", ">=", "<=", "≥ ", "≤ ", "<", ">", "+", "-inf", "∞"}
"""What stands between the ends of a range, or before its only one."""


def written_out(node: ast.AST) -> str:
    """The texts in an expression, also those of an f-string; what is filled in is a NUL."""
    if isinstance(node, ast.JoinedStr):
        return "".join(written_out(part) for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "\0"


def reads_brackets(call: ast.Call) -> bool:
    """Whether a call cuts a text at marks of ranges and sets, or makes a pattern that looks for such marks."""
    if not isinstance(call.func, ast.Attribute):
        return False
    texts = [written_out(node) for argument in call.args for node in ast.walk(argument)]
    if isinstance(call.func.value, ast.Name) and call.func.value.id == "re":
        return any(mark in text for text in texts for mark in (r"\[", r"\]", r"\{", "[{", "≤", "<=|", r"\+)"))
    return call.func.attr in _CUTTERS and any(text and (set(text) <= _BRACKETS or text in _BETWEEN) for text in texts)


def places(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and reads_brackets(node):
            yield node.lineno
        if isinstance(node, ast.JoinedStr) and written_out(node).startswith("[\0, \0"):
            yield node.lineno


def test_no_other_module_reads_or_writes_labels() -> None:
    paths = {str(path.relative_to(SOURCE)): path for path in SOURCE.rglob("*.py")}
    found = {name: list(places(ast.parse(path.read_text()))) for name, path in paths.items() if name not in READERS}
    others = {name: lines for name, lines in found.items() if len(lines) > BRACKETS_OF_OTHER_THINGS.get(name, 0)}
    assert others == {}
    assert {*READERS, *BRACKETS_OF_OTHER_THINGS} <= {*paths}


@pytest.mark.parametrize(
    "source",
    [
        r'_RANGE = re.compile(r"\[([^,\[\]{}]+), ([^,\[\]{}]+)[\])]")',
        r'_BRACKETS = re.compile(rf"([\[(])\s*{_NUMBER}\s*,\s*{_NUMBER}\s*([\])])")',
        r'_SINGLE = re.compile(rf"(<=|>=|≤|≥|<|>)?\s*{_NUMBER}\s*(\+)?")',
        r'_SET = re.compile(r"\{([^{}\"]+)\}")',
        'inside = values < high if str(text).endswith(")") else inside',
        'first, _, last = text.strip("[]").partition(", ")',
        'label = f"[{low}, {high}]"',
        'first, last = text.split(" - ")',
        'least = float(text.removeprefix("≥"))',
    ],
)
def test_a_reader_beside_it_would_be_found(source: str) -> None:
    assert list(places(ast.parse(source)))


def test_a_published_value_is_a_value() -> None:
    assert read_label("20-29", "integer") == read_label("20-29", "integer")
    assert hash(PublishedValue(text="a", kind="text", form="name")) == hash(read_label("a"))
    assert read_label(None).covers(None) and not read_label(None).covers("a")
