"""Line charts are valid XML, show every point, and tell lines apart without colours."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from shoal.reporting.svg.lines import Panel, draw_panels

SVG = "{http://www.w3.org/2000/svg}"
POINTS = st.lists(st.tuples(st.integers(1, 500), st.just(0.0) | st.floats(1e-9, 1e6)), min_size=1, max_size=8)


@given(st.dictionaries(st.text(min_size=1, max_size=8), POINTS, min_size=1, max_size=9), st.booleans())
def test_any_points_are_drawn_within_the_sheet(lines: dict[str, list[tuple[int, float]]], logarithmic: bool) -> None:
    root = ElementTree.fromstring(draw_panels([Panel("<&>", "k", lines, logarithmic=logarithmic)]))
    height = float(root.get("height", "0"))
    shown = sum(y > 0 or not logarithmic for points in lines.values() for _, y in points)
    assert len(root.findall(f".//{SVG}polygon")) == shown + len(lines)  # and a key for each line
    for stroke in root.iter(f"{SVG}polyline"):
        for corner in (stroke.get("points") or "").split():
            x, y = map(float, corner.split(","))
            assert 0 <= x <= 380
            assert 0 <= y <= height


def test_lines_differ_in_dashes_or_points() -> None:
    root = ElementTree.fromstring(draw_panels([Panel("t", "k", {str(name): [(1, 1), (2, 2)] for name in range(8)})]))
    strokes = list(root.iter(f"{SVG}polyline"))[:8]
    assert len({(stroke.get("stroke"), stroke.get("stroke-dasharray")) for stroke in strokes}) == 8
    assert len({stroke.get("stroke-dasharray") for stroke in strokes[:4]}) == 4


def test_a_chart_without_points_is_still_a_chart() -> None:
    assert draw_panels([Panel("seconds", "k", {"none": [(2, 0.0)]}, logarithmic=True)]).startswith("<svg")


def test_many_values_get_round_numbers_under_the_axis() -> None:
    drawn = draw_panels([Panel("t", "age", {"all": [(age, 1.0) for age in range(17, 91)]}, dots=False)])
    texts = {element.text for element in ElementTree.fromstring(drawn).iter(f"{SVG}text")}
    assert {"20", "50", "80"} <= texts
    assert "17" not in texts
    assert "<polygon" not in drawn
