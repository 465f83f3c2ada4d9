"""Drawings of hierarchies are valid XML, escape every label, stay small, and are as wide as what they cover."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.encoding.domains import Domain
from shoal.engines.columns import domain_of
from shoal.hierarchies import CardinalityBased, Dates, DivisorBased, Hierarchy, Intervals, Mask, Ordering, Quantiles
from shoal.hierarchies._nodes import Row, rows
from shoal.reporting import hierarchy_page
from shoal.reporting.svg.hierarchy import WIDTH, draw_hierarchy

SVG = "{http://www.w3.org/2000/svg}"


def seen(hierarchy: Hierarchy, domain: Domain, missing: str | None = None, records: int = 3) -> list[Row]:
    levels = hierarchy.build(domain, missing=missing)
    return rows(levels, hierarchy.distortions(levels), np.full(levels.size, records))


def boxes(svg: str) -> list[tuple[str, dict[str, float]]]:
    """What each box tells who points at it, and where it lies."""
    found = []
    for rect in ElementTree.fromstring(svg).iter(f"{SVG}rect"):
        title = rect.find(f"{SVG}title")
        if title is not None:
            index = {key: float(rect.attrib[key]) for key in ("x", "y", "width", "height")}
            found.append((title.text or "", index))
    return found


def rendered(shown: list[Row], **title: Any) -> str:
    return hierarchy_page.render_hierarchy_page(shown, hierarchy_page.HierarchyTitle(**title))


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def box(svg: str, label: str) -> dict[str, float]:
    return next(index for told, index in boxes(svg) if told.startswith(f"{label}: "))


AGES = Domain.of("integer", [20, 24, 25, 31, 38, 39])


def test_a_label_is_as_wide_as_its_range() -> None:
    svg = draw_hierarchy(seen(Intervals(widths=[10]), AGES), "age", kind="integer")
    whole, twenties, thirties = (box(svg, label) for label in ("*", "[20, 29]", "[30, 39]"))
    assert twenties["width"] == thirties["width"] == pytest.approx(whole["width"] / 2, abs=0.1)
    assert whole["y"] < twenties["y"] < box(svg, "20")["y"]
    assert box(svg, "25")["x"] == pytest.approx(whole["x"] + whole["width"] * 5 / 20, abs=0.1)


def test_values_without_a_distance_have_the_same_size() -> None:
    svg = draw_hierarchy(seen(Ordering(sizes=[2]), Domain.of("text", list("abcd"))), "size")
    assert {box(svg, label)["height"] for label in "abcd"} == {18.0}
    assert box(svg, "{a, b}")["height"] == 36.0
    assert box(svg, "*")["x"] < box(svg, "{a, b}")["x"] < box(svg, "a")["x"]


def test_the_more_records_the_darker() -> None:
    levels = Intervals(widths=[10]).build(AGES, missing=None)
    drawn = draw_hierarchy(rows(levels, levels.penalties, [100, 1, 1, 1, 1, 1]), "age", kind="integer")
    fills = {}
    for rect in ElementTree.fromstring(drawn).iter(f"{SVG}rect"):
        title = rect.find(f"{SVG}title")
        if title is not None and title.text:
            fills[title.text.split(":")[0]] = int(rect.attrib["fill"][1:3], 16)
    assert fills["*"] < fills["[20, 29]"] < fills["[30, 39]"]


def test_the_missing_value_stands_beside_the_scale() -> None:
    svg = draw_hierarchy(seen(Intervals(widths=[10]), AGES, "own-value"), "age", kind="integer")
    last, missing = box(svg, "[30, 39]"), box(svg, "(missing)")
    assert missing["x"] > last["x"] + last["width"]
    whole = box(svg, "*")
    assert whole["x"] + whole["width"] == pytest.approx(missing["x"] + missing["width"], abs=0.1)


HOSTILE = [
    "<script>alert(1)</script>", "a & b", '"quoted"', "]]>", "x" * 500, "\x00\x1b[31m", "two\nlines", "{{ 7 * 7 }}",
    "\ufffe", "نص", "漢字" * 40, "'><svg onload=alert(1)>", "&lt;", "\u202egnirts",
]  # fmt: skip


@pytest.mark.parametrize("column", ["plain", *HOSTILE])
def test_hostile_labels_are_escaped(column: str) -> None:
    domain = Domain.of("text", sorted(HOSTILE))
    shown = seen(Ordering(sizes=[2, 4]), domain)
    svg = draw_hierarchy(shown, column)
    assert {element.tag for element in ElementTree.fromstring(svg).iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "title", "rect", "text", "line")
    }
    page = rendered(shown, column=column, method="ordering", parameters={"order": column})
    assert "<script" not in page
    assert "<svg onload" not in page
    assert "{{ 7 * 7 }}" in page
    assert "\x00" not in svg


@given(st.lists(st.text(max_size=30), min_size=1, max_size=20, unique=True))
def test_any_text_is_valid_xml(labels: list[str]) -> None:
    domain = Domain.of("text", sorted(labels))
    ElementTree.fromstring(draw_hierarchy(seen(Ordering(sizes=[2]), domain), labels[0]))


@pytest.mark.parametrize(
    ("hierarchy", "domain"),
    [
        (CardinalityBased(), Domain.of("integer", list(range(0, 100_000, 10)))),
        (Quantiles(), Domain.of("float", [n**1.5 / 7 for n in range(10_000)])),
        (Mask(keep=[4, 3, 2, 1]), Domain.of("text", [f"{n:05d}" for n in range(0, 100_000, 10)])),
    ],
)
def test_ten_thousand_values_stay_a_small_drawing(hierarchy: Hierarchy, domain: Domain) -> None:
    shown = seen(hierarchy, domain)
    svg = draw_hierarchy(shown, "v", kind=domain.kind)
    assert len(boxes(svg)) <= 450 * len(shown)
    assert len(svg) < 1_000_000
    assert max(index["y"] + index["height"] for _, index in boxes(svg)) < 2000
    # what is drawn together is counted together
    bottom = max(index["y"] for _, index in boxes(svg))
    records = [told.rsplit(": ", 1)[1] for told, index in boxes(svg) if index["y"] == bottom]
    assert sum(int(text.split(" ")[0].replace(",", "")) for text in records) == 30_000


@pytest.mark.parametrize("column", [[5], [5.5], [None, 5], [-1e300, 1e300], [0.1, 0.2, 0.30000001]])
def test_odd_columns_are_drawn(column: list[Any]) -> None:
    series = pl.Series("values", column, strict=False)
    domain = domain_of(series)
    missing = "own-value" if series.null_count() else None
    shown = seen(Quantiles(), domain, missing)
    svg = draw_hierarchy(shown, "v", kind=domain.kind)
    assert "nan" not in svg
    assert "inf" not in svg
    for _, index in boxes(svg):
        assert 0 <= index["x"] <= index["x"] + index["width"] <= WIDTH + 0.2


def test_nothing_to_draw_says_so() -> None:
    empty = domain_of(pl.Series("values", [], dtype=pl.String))
    shown = seen(Ordering(), empty)
    assert texts(draw_hierarchy(shown, "v")) == ["There are no values to draw."]
    assert "There are no values" in rendered(shown, column="v", method="ordering")


def test_dates_lie_on_a_scale() -> None:
    days = domain_of(pl.Series("values", ["1995-01-31", "1995-12-31", "2004-06-01"]).str.to_date())
    svg = draw_hierarchy(seen(Dates(levels=["year", "decade"]), days), "born", kind="date")
    assert box(svg, "1995")["width"] > box(svg, "2004")["width"]  # cut off where the values end
    assert {"1995-01-31", "2004-06-01"} <= set(texts(svg))


def test_a_label_that_has_no_room_is_shortened_and_told() -> None:
    long = [f"{'a very long name of a category ' * 3}{n}" for n in range(4)]
    svg = draw_hierarchy(seen(Ordering(sizes=[2]), Domain.of("text", long)), "job")
    assert any(text.endswith("…") for text in texts(svg))
    assert not any(long[0] in text for text in texts(svg))
    assert any(told.startswith(long[0]) for told, _ in boxes(svg))


def test_the_page_tells_each_level() -> None:
    shown = seen(CardinalityBased(smallest=10), Domain.of("integer", list(range(1, 101))), records=7)
    page = rendered(shown, column="hours", kind="integer", method="cardinality-based", parameters={"smallest": "10"})
    for words in ("hours", "cardinality-based", "smallest", "700", "Level by level", "0.455", "0.96", "2.98"):
        assert words in page, words
    assert page.count("<tr>") == 1 + len(shown)
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert "do not nest" not in page
    assert page == rendered(
        shown, column="hours", kind="integer", method="cardinality-based", parameters={"smallest": "10"}
    )


def test_the_page_says_where_levels_do_not_nest() -> None:
    shown = seen(DivisorBased(smallest=10), Domain.of("integer", list(range(1, 101))))
    assert "Labels of level 2 lie in several labels of level 3" in rendered(
        shown, column="hours", method="divisor-based"
    )


def test_nodes_count_records_and_name_parents() -> None:
    shown = seen(DivisorBased(smallest=20), Domain.of("integer", list(range(1, 101))))
    assert [len(row.nodes) for row in shown] == [100, 5, 4, 2, 1]
    split = shown[1].nodes[2]
    assert (split.label, split.records, split.values) == ("[41, 60]", 60, 20)
    assert [shown[2].nodes[index].label for index in split.parents] == ["[26, 50]", "[51, 75]"]
    assert shown[-1].records == (300, 300, 300)
    assert shown[-1].loss == 1.0
    assert shown[1].loss == pytest.approx(19 / 99)
