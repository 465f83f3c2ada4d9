"""What each builder calls a value, at the edges above all."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.encoding.domains import Domain
from shoal.engines.columns import column_domain, domain_of
from shoal.engines.counted import CountedTable
from shoal.errors import HierarchyError, Misfit, PolicyError
from shoal.hierarchies import Dates, Hierarchy, Intervals, Mask, Suppress, Tree


def labels(hierarchy: Hierarchy, domain: Domain, level: int) -> dict[str, str | None]:
    levels = hierarchy.build(domain, missing=None)
    return {text: levels.text(level, code) for code, text in enumerate(levels.domain.texts)}


def test_a_value_at_the_edge_gets_its_own_interval() -> None:
    # a peer labels 20 as [15, 20)
    found = labels(Intervals(widths=[5]), Domain.of("integer", [19, 20, 24, 25]), 1)
    assert found == {"19": "[15, 19]", "20": "[20, 24]", "24": "[20, 24]", "25": "[25, 29]"}


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20, unique=True), st.sampled_from([0.1, 0.3, 7.0, 1e-3]))
def test_every_number_lies_in_its_interval(values: list[float], width: float) -> None:
    domain = Domain.of("float", sorted({v + 0.0 for v in values}))
    levels = Intervals(widths=[width, 2 * width]).build(domain, missing=None)
    from fractions import Fraction

    for code, value in enumerate(levels.domain.values.tolist()):
        for level in (1, 2):
            text = levels.text(level, code)
            assert text is not None
            low, high = (Fraction(part) for part in text.strip("[)").split(", "))
            # the ends are printed as decimals; what counts is that they hold the value as it is written
            assert float(low) <= value <= float(high)


def test_intervals_of_negative_numbers() -> None:
    assert labels(Intervals(widths=[10]), Domain.of("integer", [-11, -10, -1, 0]), 1) == {
        "-11": "[-20, -11]",
        "-10": "[-10, -1]",
        "-1": "[-10, -1]",
        "0": "[0, 9]",
    }


def test_breaks_of_several_levels() -> None:
    hierarchy = Intervals(breaks=[[0, 18, 65, 120], [0, 65, 120]])
    domain = Domain.of("float", [0.0, 17.9, 18.0, 64.9, 65.0, 120.0])
    assert list(labels(hierarchy, domain, 1).values()) == [
        "[0, 18)", "[0, 18)", "[18, 65)", "[18, 65)", "[65, 120]", "[65, 120]",
    ]  # fmt: skip
    assert list(labels(hierarchy, domain, 2).values()) == ["[0, 65)"] * 4 + ["[65, 120]"] * 2


def test_values_outside_the_breaks_are_named() -> None:
    with pytest.raises(HierarchyError, match="values outside the breaks; got -1, 121"):
        Intervals(breaks=[0, 120]).build(Domain.of("integer", [-1, 5, 121]), missing=None)


@pytest.mark.parametrize("breaks", [[1], [[2, 1]], [[0, 10], [0, 5]], [[0, 5, 10], [0, 7, 10]], [[0, 5, 10], [0, 5]]])
def test_breaks_that_do_not_nest_are_refused(breaks: Any) -> None:
    with pytest.raises(PolicyError):
        Intervals(breaks=breaks)


def test_penalties_of_intervals_are_shares_of_the_range() -> None:
    levels = Intervals(widths=[5, 10]).build(Domain.of("integer", [20, 24, 25, 40]), missing=None)
    assert levels.penalties[1].tolist() == [4 / 20, 4 / 20, 4 / 20, 0.0]  # [40, 44] is cut off at 40
    assert levels.penalties[3].tolist() == [1.0] * 4


def test_weeks_end_with_their_month() -> None:
    days = domain_of(pl.Series([date(2023, 1, 1), date(2023, 1, 2), date(2023, 1, 31), date(2023, 2, 1)]))
    assert labels(Dates(levels=["week", "month"]), days, 1) == {
        "2023-01-01": "2023-01-01",
        "2023-01-02": "[2023-01-02, 2023-01-08]",
        "2023-01-31": "[2023-01-30, 2023-01-31]",
        "2023-02-01": "[2023-02-01, 2023-02-05]",
    }


def test_the_whole_ladder_of_a_date() -> None:
    days = domain_of(pl.Series([date(1995, 9, 20), date(1969, 12, 31)]))
    levels = Dates().build(days, missing=None)
    code = levels.domain.texts.index("1995-09-20")
    assert [levels.text(level, code) for level in range(levels.height + 1)] == [
        "1995-09-20", "[1995-09-18, 1995-09-24]", "1995-09", "1995-Q3", "1995", "[1995, 1999]", "[1990, 1999]", "*",
    ]  # fmt: skip
    early = levels.domain.texts.index("1969-12-31")
    assert levels.text(2, early) == "1969-12"
    assert levels.text(6, early) == "[1960, 1969]"


def test_moments_begin_with_their_day() -> None:
    moments = domain_of(pl.Series([datetime(1995, 9, 20, 23, 59, 59), datetime(1995, 9, 20)]))
    assert set(labels(Dates(levels=["day", "year"]), moments, 1).values()) == {"1995-09-20"}


@given(st.lists(st.dates(date(1800, 1, 1), date(2200, 1, 1)), min_size=1, max_size=30, unique=True))
def test_labels_of_dates_cover_them(days: list[date]) -> None:
    levels = Dates().build(domain_of(pl.Series(days, dtype=pl.Date)), missing=None)
    for level in range(1, levels.height):
        numbers = levels.domain.values.astype(float)
        assert (levels.lows[level] <= numbers).all()
        assert (numbers <= levels.highs[level]).all()


def test_dates_need_dates() -> None:
    with pytest.raises(HierarchyError, match="needs a column of dates; got text values"):
        Dates().build(Domain.of("text", ["1995"]), missing=None)


def test_masks_of_both_ends() -> None:
    domain = Domain.of("text", ["0123", "0456", "99"])
    assert labels(Mask(keep=[2]), domain, 1) == {"0123": "01**", "0456": "04**", "99": "99"}
    assert labels(Mask(keep=[1], side="suffix"), domain, 1) == {"0123": "***3", "0456": "***6", "99": "*9"}


def test_short_branches_are_aligned_at_the_root() -> None:
    tree = Tree(nodes={"*": {"deep": {"deeper": ["a", "b"]}, "flat": ["c"]}})
    domain = Domain.of("text", ["a", "b", "c"])
    assert labels(tree, domain, 1) == {"a": "deeper", "b": "deeper", "c": "c"}
    assert labels(tree, domain, 2) == {"a": "deep", "b": "deep", "c": "flat"}


def test_a_root_that_is_a_word_gets_a_star_above_it() -> None:
    levels = Tree(nodes={"Person": ["m", "f"]}).build(Domain.of("text", ["f", "m"]), missing=None)
    assert levels.labels == (("f", "m"), ("Person",), ("*",))
    assert levels.penalties[1].tolist() == [1.0, 1.0]


def test_trees_of_numbers() -> None:
    tree = Tree(rows=[[1, "low", "*"], [2, "low", "*"], [30, "high", "*"]])
    assert labels(tree, Domain.of("integer", [1, 2, 30]), 1) == {"1": "low", "2": "low", "30": "high"}


@pytest.mark.parametrize("text", ["a;x;*\nb;y;*\n", "a,x,*\nb,y,*\n", "\ufeffa;x;*\nb;y;*"])
def test_csv_as_arx_writes_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tree.csv"
    path.write_text(text, encoding="utf-8")
    assert Tree.read(path) == Tree(nodes={"*": {"x": ["a"], "y": ["b"]}})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a;x;*\na;y;*\n", "rows 1 and 2 say different labels"),
        ("a;x;*\nb;y\n", "row 2 has 2 levels where the first has 3"),
        ("", "the file is empty"),
    ],
)
def test_bad_hierarchy_files(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "tree.csv"
    path.write_text(text)
    with pytest.raises(HierarchyError, match=words):
        Tree.read(path)


@pytest.mark.parametrize(
    "hierarchy",
    [
        {"hierarchy": "tree", "nodes": {"*": {"": ["a", "b"], "G": ["c"]}}},
        {"hierarchy": "tree", "nodes": {"*": {" \t": ["a", "b"], "G": ["c"]}}},
        {"hierarchy": "tree", "rows": [["a", "", "*"], ["b", "", "*"], ["c", "G", "*"]]},
        {"hierarchy": "rare", "label": "", "records": [2]},
    ],
)
@pytest.mark.parametrize("algorithm", ["shoal", "optimal"])
def test_a_label_that_shows_nothing_is_told_before_anything_is_done(hierarchy: dict[str, Any], algorithm: str) -> None:
    asked = {"quasi_identifiers": {"q": hierarchy}, "models": [{"name": "k-anonymity", "k": 2}], "algorithm": algorithm}
    words = (
        r"quasi_identifiers\.q: a label shows nothing; got '( \\t)?' at level 1, over 'a', 'b'\. Hint: give it a name"
    )
    with pytest.raises(Misfit, match=words):
        shoal.anonymize(pl.DataFrame({"q": ["a", "b", "c", "c"]}), asked)


def test_an_empty_cell_of_a_file_is_such_a_label(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("a;;*\nb;;*\nc;G;*\n")
    with pytest.raises(HierarchyError, match="a label shows nothing; got '' at level 1"):
        Tree.read(tmp_path / "tree.csv").build(Domain.of("text", ["a", "b", "c"]), missing=None)


def test_a_value_of_blanks_may_stay_as_it_is_and_an_empty_one_is_none() -> None:
    tree = Tree(nodes={"*": {"deep": {"deeper": ["a", "b"]}, " ": [" "], "none": [""]}})
    assert labels(tree, Domain.of("text", [" ", "a", "b"]), 1) == {" ": " ", "a": "deeper", "b": "deeper"}
    table = pl.DataFrame({"q": [" ", " ", "a", "a"]})
    asked = {"quasi_identifiers": {"q": {"hierarchy": "tree", "nodes": tree.nodes, "domain": "hierarchy"}}}
    release = shoal.anonymize(table, {**asked, "models": [{"name": "k-anonymity", "k": 2}]})
    assert release.table["q"].to_list() == [" ", " ", "a", "a"]
    assert column_domain(CountedTable(table), "q", release.policy).texts == (" ", "a", "b")


def test_nested_yaml_files(tmp_path: Path) -> None:
    path = tmp_path / "tree.yaml"
    path.write_text("'*':\n  x: [a]\n  y: [No, 12]\n")
    assert Tree.read(path).leaves() == ("a", "No", "12")


def test_missing_values_are_their_own_until_the_top() -> None:
    levels = Suppress().build(Domain.of("text", ["a", "b"]), missing="own-value")
    assert levels.labels == (("a", "b", None), ("*",))
    wild = Suppress().build(Domain.of("text", ["a", "b"]), missing="wildcard")
    assert wild.labels == (("a", "b", "*"), ("*",))
    assert wild.penalties[0].tolist() == [0.0, 0.0, 1.0]


def test_joins_are_lowest_common_ancestors_of_neighbours() -> None:
    tree = Tree(nodes={"*": {"x": ["a", "b"], "y": ["c"]}})
    levels = tree.build(Domain.of("text", ["a", "b", "c"]), missing=None)
    assert levels.joins.tolist() == [1, 2]
    assert np.array_equal(levels.position, [0, 1, 2])
