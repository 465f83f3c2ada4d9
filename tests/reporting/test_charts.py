"""Charts say what the data say, escape what they are given, and are valid XML."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.reporting.svg import bars, class_sizes
from shoal.reporting.svg.elements import ALARM

SVG = "{http://www.w3.org/2000/svg}"
SIZES = st.lists(st.integers(1, 10_000), min_size=1, max_size=60)
ASKED = st.none() | st.integers(2, 200)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


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
    assert bars.draw_bars([]) == ""
    assert bars.draw_pairs([], "Risk") == ""


@pytest.mark.parametrize("sizes", [[1], [1, 1, 1], [7], [1, 10**9], [3] * 1000])
@pytest.mark.parametrize("asked", [None, 2, 500])
def test_histogram_is_valid_xml(sizes: list[int], asked: int | None) -> None:
    ElementTree.fromstring(class_sizes.draw_class_sizes(sizes, asked))


def test_bars_have_a_full_scale() -> None:
    root = ElementTree.fromstring(bars.draw_bars([("none", 0.0), ("half", 0.5), ("all", 1.0)]))
    widths = [float(rect.attrib["width"]) for rect in root.iter(f"{SVG}rect")]
    tracks, drawn = widths[::2], widths[1::2]
    assert drawn == [0, tracks[0] / 2, tracks[0]]


def test_a_small_loss_can_be_seen() -> None:
    root = ElementTree.fromstring(bars.draw_bars([("tiny", 1e-9)]))
    assert float(list(root.iter(f"{SVG}rect"))[1].attrib["width"]) > 0


def test_values_that_are_no_numbers_are_not_drawn() -> None:
    svg = bars.draw_bars([("odd", float("nan")), ("endless", float("inf"))])
    assert texts(svg).count("–") == 2
    assert "nan" not in svg


def test_before_is_left_out_where_it_is_unknown() -> None:
    assert "before" not in texts(bars.draw_pairs([("worst", None, 0.2)], "Risk"))
    assert "before" in texts(bars.draw_pairs([("worst", 1.0, 0.2)], "Risk"))


def test_labels_are_escaped_and_long_ones_cut() -> None:
    name = "<script>alert('x')</script>" + "y" * 100
    svg = bars.draw_bars([(name, 0.5)])
    assert "<script" not in svg
    label = next(text for text in texts(svg) if text.startswith("<script"))
    assert len(label) == 26
    titles = [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}title")]
    assert name in titles


@given(SIZES, ASKED)
def test_the_same_data_are_the_same_text(sizes: list[int], asked: int | None) -> None:
    assert class_sizes.draw_class_sizes(sizes, asked) == class_sizes.draw_class_sizes(np.array(sizes), asked)
