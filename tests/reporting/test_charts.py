"""Charts say what the data say, escape what they are given, and are valid XML."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.reporting.svg import bars, class_sizes
from shoal.reporting.svg.distributions import draw_distribution
from shoal.reporting.svg.elements import ALARM, estimate_width
from shoal.reporting.svg.heatmap import draw_heatmap

SVG = "{http://www.w3.org/2000/svg}"
SIZES = st.lists(st.integers(1, 10_000), min_size=1, max_size=60)
ASKED = st.none() | st.integers(2, 200)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def draw_bars(values: Sequence[tuple[str, float]]) -> str:
    return bars.draw_pairs([(label, None, value) for label, value in values], "Loss per column", legend=False)


@given(SIZES, ASKED)
def test_bins_hold_every_class_once(sizes: list[int], asked: int | None) -> None:
    parts = class_sizes.bin_class_sizes(sizes, asked)
    assert sum(part.classes for part in parts) == len(sizes)
    for part in parts:
        inside = [size for size in sizes if part.low <= size and (part.high is None or size <= part.high)]
        assert part.classes == len(inside)


@given(SIZES, ASKED)
def test_bins_are_adjacent_and_few(sizes: list[int], asked: int | None) -> None:
    parts = class_sizes.bin_class_sizes(sizes, asked)
    assert len(parts) <= 33
    for left, right in pairwise(parts):
        assert left.high is not None
        assert left.high + 1 == right.low


@given(SIZES, st.integers(2, 200))
def test_no_bin_mixes_sizes_below_and_above_the_asked_one(sizes: list[int], asked: int) -> None:
    parts = class_sizes.bin_class_sizes(sizes, asked)
    assert any(part.low == asked for part in parts)
    assert not any(part.low < asked and (part.high is None or part.high >= asked) for part in parts)


def test_one_huge_class_does_not_squeeze_the_others() -> None:
    parts = class_sizes.bin_class_sizes([*range(10, 20)] * 30 + [40_000], asked=10)
    assert parts[-1].high is None
    assert parts[-1].classes == 1
    assert sum(part.classes > 0 for part in parts) == 11


def test_histogram_marks_what_is_asked() -> None:
    svg = class_sizes.draw_class_sizes(np.array([2, 5, 5, 9]), asked=5)
    assert "asked: at least 5" in texts(svg)
    assert svg.count(ALARM) == len([part for part in class_sizes.bin_class_sizes([2, 5, 5, 9], 5) if part.low < 5])


def test_histogram_has_no_alarm_where_all_classes_are_large_enough() -> None:
    assert ALARM not in class_sizes.draw_class_sizes([5, 6, 7], asked=5)


@pytest.mark.parametrize(
    "sizes",
    [range(10_000, 19_001, 100), [3, 3, 4, 6], [2] * 200 + [5000], range(5, 2_000_000, 777)],
    ids=["large", "small", "open", "huge"],
)
def test_labels_under_bars_keep_apart_and_inside(sizes: Sequence[int]) -> None:
    shown = [
        (float(found.attrib["x"]), 6.4 * len(found.text or ""))
        for found in ElementTree.fromstring(class_sizes.draw_class_sizes(sizes, asked=5)).iter()
        if found.tag.endswith("text") and found.attrib.get("y") == "220"
    ]
    assert len(shown) > 1
    for (x, width), (other, wide) in pairwise(sorted(shown)):
        assert x + width / 2 < other - wide / 2
    assert all(x + width / 2 <= 760 + 1 for x, width in shown)


def test_histogram_says_what_is_counted() -> None:
    assert "class size, in persons" in texts(class_sizes.draw_class_sizes([5], unit="persons"))


def test_nothing_to_draw_is_nothing() -> None:
    assert class_sizes.draw_class_sizes([]) == ""
    assert draw_bars([]) == ""
    assert bars.draw_pairs([], "Risk") == ""


@pytest.mark.parametrize("sizes", [[1], [1, 1, 1], [7], [1, 10**9], [3] * 1000])
@pytest.mark.parametrize("asked", [None, 2, 500])
def test_histogram_is_valid_xml(sizes: list[int], asked: int | None) -> None:
    ElementTree.fromstring(class_sizes.draw_class_sizes(sizes, asked))


def test_bars_have_a_full_scale() -> None:
    root = ElementTree.fromstring(draw_bars([("none", 0.0), ("half", 0.5), ("all", 1.0)]))
    widths = [float(rect.attrib["width"]) for rect in root.iter(f"{SVG}rect")]
    tracks, drawn = widths[::2], widths[1::2]
    assert drawn == [0, tracks[0] / 2, tracks[0]]


def test_a_small_loss_can_be_seen() -> None:
    root = ElementTree.fromstring(draw_bars([("tiny", 1e-9)]))
    assert float(list(root.iter(f"{SVG}rect"))[1].attrib["width"]) > 0


def test_values_that_are_no_numbers_are_not_drawn() -> None:
    svg = draw_bars([("odd", float("nan")), ("endless", float("inf"))])
    assert texts(svg).count("–") == 2
    assert "nan" not in svg


def test_before_is_left_out_where_it_is_unknown() -> None:
    assert "before" not in texts(bars.draw_pairs([("worst", None, 0.2)], "Risk"))
    assert "before" in texts(bars.draw_pairs([("worst", 1.0, 0.2)], "Risk"))


def test_labels_are_escaped_and_long_ones_cut() -> None:
    name = "<script>alert('x')</script>" + "y" * 100
    svg = draw_bars([(name, 0.5)])
    assert "<script" not in svg
    label = next(text for text in texts(svg) if text.startswith("<script"))
    assert len(label) == 26
    titles = [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}title")]
    assert name in titles


@given(SIZES, ASKED)
def test_the_same_data_are_the_same_text(sizes: list[int], asked: int | None) -> None:
    assert class_sizes.draw_class_sizes(sizes, asked) == class_sizes.draw_class_sizes(np.array(sizes), asked)


def luminance(color: str) -> float:
    """Return the relative luminance of a colour (WCAG 2)."""
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("change", [0.0, 0.05, 0.099, 0.15, 0.2, 0.3, 0.33, 0.34, 0.5, 1.0])
def test_correlations_can_be_read_on_every_shade(change: float) -> None:
    drawn = draw_heatmap({"columns": ["a", "b"], "before": [[1, 0], [0.0, 1]], "after": [[1, 0], [change, 1]]})
    elements = list(ElementTree.fromstring(drawn).iter())
    found = [element for element in elements if element.tag == f"{SVG}rect" and element.find(f"{SVG}title") is not None]
    shade = luminance(found[0].attrib["fill"])
    shown = [element for element in elements if element.tag == f"{SVG}text" and "." in (element.text or "")]
    assert len(shown) == 2
    for element in shown:
        lighter, darker = sorted([shade, luminance(element.attrib["fill"])], reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 3.5


def test_nothing_is_not_less_than_nothing() -> None:
    drawn = draw_heatmap({"columns": ["a", "b"], "before": [[1, 0], [-0.001, 1]], "after": [[1, 0], [0.0, 1]]})
    assert "-0.00" not in drawn


def test_the_last_date_under_a_chart_is_whole() -> None:
    edges = [float(18_000 + 31 * place) for place in range(14)]
    shares = [place / 13 for place in range(14)]
    reached: Any = {"edges": edges, "before": shares, "after": shares}
    statistics = {"kind": "number", "unit": "days since 1970", "histogram": reached, "distribution": reached}
    drawn = ElementTree.fromstring(draw_distribution("seen", statistics)).find(f"{SVG}g")
    assert drawn is not None
    labels = [element for element in drawn.iter(f"{SVG}text") if element.get("text-anchor") == "middle"]
    assert len(labels) >= 2 and any((label.text or "").startswith("2020") for label in labels)
    for label in labels:
        assert float(label.attrib["x"]) + estimate_width(label.text or "", 10) / 2 <= 380
