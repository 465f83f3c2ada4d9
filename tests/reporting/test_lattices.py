"""Drawings of lattices: every node once, the true Pareto front, valid XML, escaped, small, and nothing from outside."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.cli import show
from shoal.errors import WriteError
from shoal.reporting import lattice_page
from shoal.reporting.lattice_space import (
    CUT,
    KINDS,
    SHORT,
    WHOLE,
    Point,
    Space,
    find_optimum,
    pareto_front,
    read_points,
)
from shoal.reporting.svg import lattice, scatter

SVG = "{http://www.w3.org/2000/svg}"


def made(*sizes: int, names: Sequence[str] = (), allowed: int = 10, unsuppressed: bool = True) -> list[dict[str, Any]]:
    """A lattice with so many levels per column; k doubles with each step, as does what is lost."""
    nodes = []
    for levels in itertools.product(*map(range, sizes)):
        k, height = 2 ** sum(levels), sum(levels)
        suppressed = {0: 40, 1: 20, 2: 5}.get(height, 0)
        share = height / max(sum(sizes) - len(sizes), 1)
        node: dict[str, Any] = {
            "levels": dict(zip(names or "abcdefghi", levels, strict=False)),
            "k": k,
            "suppressed": suppressed,
            "allowed": allowed,
            "losses": {"lm": min(share + suppressed / 100, 1.0), "other": 1.0},
        }
        nodes.append(node | ({"unsuppressed": {"lm": share, "other": 1.0}} if unsuppressed else {}))
    return nodes


def point(k: int, loss: float, index: int = 0, suppressed: int = 0) -> Point:
    return Point(levels=(index,), k=k, loss=loss, released=loss, suppressed=suppressed, allowed=0, exact=True)


def tree(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def drawn(svg: str, kind: str = "") -> list[str]:
    """The labels of the nodes that are drawn."""
    groups = [group for group in tree(svg).iter(f"{SVG}g") if group.get("class", "").startswith(f"node {kind}")]
    return [next(t.text or "" for t in group.iter(f"{SVG}text") if (t.text or "").startswith("⟨")) for group in groups]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in tree(svg).iter(f"{SVG}text")]


def edges(svg: str) -> int:
    return sum(path.get("d", "").count("M") for path in tree(svg).iter(f"{SVG}path") if path.get("class") == "edges")


# The Pareto front

PAIRS = st.lists(st.tuples(st.integers(1, 12), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0])), max_size=40)


@given(PAIRS)
def test_the_front_is_what_nothing_beats(pairs: list[tuple[int, float]]) -> None:
    found = pareto_front(point(k, loss, index) for index, (k, loss) in enumerate(pairs))
    best = {
        (k, loss)
        for k, loss in pairs
        if not any((a >= k and b <= loss) and (a > k or b < loss) for a, b in pairs)  # said by the definition
    }
    assert [(p.k, p.loss) for p in found] == sorted(best)  # each once, the least k first
    for each in found:  # ties go to the lower node
        assert each.levels[0] == pairs.index((each.k, each.loss))


def test_losses_that_are_no_numbers_are_not_on_the_front() -> None:
    assert pareto_front([point(9, math.nan), point(8, math.inf), point(2, 0.5)]) == [point(2, 0.5)]
    assert pareto_front([]) == []


@given(PAIRS, st.integers(1, 12))
def test_the_stepped_line_is_the_least_loss_of_at_least_that_k(pairs: list[tuple[int, float]], k: int) -> None:
    found = pareto_front(point(a, loss) for a, loss in pairs)
    enough = [loss for a, loss in pairs if a >= k]
    assert next((p.loss for p in found if p.k >= k), None) == min(enough, default=None)


def test_the_stepped_line_rises_at_a_node_and_runs_to_the_next() -> None:
    nodes = [_node((0,), 1, 0.0), _node((1,), 10, 0.5), _node((2,), 100, 1.0)]
    path = next(p for p in tree(scatter.draw_scatter(Space.of(nodes))).iter(f"{SVG}path") if p.get("class") == "front")
    circles = [
        (float(c.get("cx", "")), float(c.get("cy", "")))
        for c in tree(scatter.draw_scatter(Space.of(nodes))).iter(f"{SVG}circle")
        if c.get("r") == "3.2"
    ]
    (x0, y0), (x1, y1), (x2, y2) = circles
    numbers = [float(number) for number in re.findall(r"[\d.]+", path.get("d", ""))]
    assert numbers == pytest.approx([x0, y0, x0, y1, x1, y2, x2])
    assert x2 - x1 == pytest.approx(x1 - x0, abs=0.2)  # 1, 10, 100 are as far apart
    assert y0 > y1 > y2


def _node(levels: tuple[int, ...], k: int, loss: float) -> dict[str, Any]:
    named = dict(zip("abc", levels, strict=False))
    return {"levels": named, "k": k, "suppressed": 0, "allowed": 0, "losses": {"lm": loss}}


# What is read


def test_k_stands_beside_the_loss_with_nothing_suppressed_where_it_is_known() -> None:
    known, unknown = read_points(made(2), "lm"), read_points(made(2, unsuppressed=False), "lm")
    assert [(p.loss, p.released, p.exact) for p in known] == [(0.0, 0.4, True), (1.0, 1.0, True)]
    assert [(p.loss, p.exact) for p in unknown] == [(0.4, False), (1.0, False)]
    assert "Read with care" in lattice_page.render_lattice_page(made(2, unsuppressed=False), asked=4)
    assert "Read with care" not in lattice_page.render_lattice_page(made(2), asked=4)


def test_the_front_is_called_exact_above_the_asked_k_only_where_it_is() -> None:
    nodes = made(3, 3, unsuppressed=False)  # from k = 8 on nothing is suppressed
    assert Space.of(nodes, 8).is_exact_above
    assert not Space.of(nodes, 4).is_exact_above
    assert "front from k = 8 upwards" in lattice_page.render_lattice_page(nodes, asked=8)
    assert "front from k = 4 upwards" not in lattice_page.render_lattice_page(nodes, asked=4)


def test_kinds_and_the_optimum() -> None:
    space = Space.of(made(3, 3), 4)
    assert space.counts() == {WHOLE: 3, CUT: 3, SHORT: 3}
    # height 2 loses 0.5 and 0.05 more for what is suppressed; the first of three equal nodes
    assert space.best is not None
    assert (space.best.label, space.best.released) == ("⟨0,2⟩", 0.55)
    assert find_optimum([point(1, 0.0, suppressed=1)]) is None
    assert find_optimum([point(1, math.nan), point(1, 0.5, 1)]) == point(1, 0.5, 1)


# The lattice


@pytest.mark.parametrize("sizes", [(1,), (4,), (2, 3), (3, 3, 2), (5, 5, 6)])
def test_a_small_lattice_has_every_node_once_and_every_step(sizes: tuple[int, ...]) -> None:
    nodes = made(*sizes)
    svg = lattice.draw_lattice(Space.of(nodes))
    labels = [f"⟨{','.join(map(str, node['levels'].values()))}⟩" for node in nodes]
    assert sorted(drawn(svg)) == sorted(labels)
    whole = math.prod(sizes)
    assert edges(svg) == sum(whole // size * (size - 1) for size in sizes)
    assert texts(svg).count("★") == (0 if sizes == (1,) else 2)  # the optimum and the key; one node does not comply


def test_nodes_are_marked_by_kind() -> None:
    space = Space.of(made(3, 3))
    svg = lattice.draw_lattice(space)
    for kind in KINDS:
        assert sorted(drawn(svg, kind)) == sorted(p.label for p in space.points if p.kind == kind)
    assert texts(svg).count("k 4 (−5)") == 3  # suppressed within what is allowed


def test_boxes_do_not_overlap_and_rise_with_height() -> None:
    space = Space.of(made(5, 5, 6))
    boxes = []
    for group in tree(lattice.draw_lattice(space)).iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        if group.get("class", "").startswith("node") and rect is not None:
            x, y, wide, tall = (float(rect.get(key, "")) for key in ("x", "y", "width", "height"))
            boxes.append((x, y, x + wide, y + tall))
    assert len(boxes) == 150
    for a, b in itertools.combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    labels = drawn(lattice.draw_lattice(space))
    assert boxes[labels.index("⟨0,0,0⟩")][1] == max(box[1] for box in boxes)
    assert boxes[labels.index("⟨4,4,5⟩")][1] == min(box[1] for box in boxes)


def test_a_large_lattice_is_told_by_height_and_around_the_optimum() -> None:
    nodes = made(6, 6, 6)
    space = Space.of(nodes, 4)
    svg = lattice.draw_lattice(space)
    assert space.best is not None
    assert space.best.label == "⟨0,0,2⟩"
    assert sorted(drawn(svg)) == ["⟨0,0,1⟩", "⟨0,0,2⟩", "⟨0,0,3⟩", "⟨0,1,2⟩", "⟨1,0,2⟩"]
    assert edges(svg) == 4
    strips: dict[str, float] = dict.fromkeys(KINDS, 0)
    for rect in tree(svg).iter(f"{SVG}rect"):
        if (name := rect.get("class", "")).startswith("strip"):
            title = rect.find(f"{SVG}title")
            assert title is not None
            strips[name.split()[1]] += int((title.text or "").split(":")[0])
    assert strips == space.counts()
    assert "Drawn as a summary, since 216 nodes" in lattice_page.render_lattice_page(nodes, asked=4)
    assert "Drawn as a Hasse diagram" in lattice_page.render_lattice_page(made(2, 2), asked=4)


def test_a_lattice_too_wide_to_read_is_summarized() -> None:
    space = Space.of(made(2, 2, 2, 2, 2, 2, 2))  # 128 nodes, 35 of the same height
    assert not lattice.fits_whole(space)
    assert len(drawn(lattice.draw_lattice(space))) == 1 + 7


def test_a_large_lattice_without_an_optimum() -> None:
    nodes = [{**node, "suppressed": 99} for node in made(6, 6, 6)]
    assert drawn(lattice.draw_lattice(Space.of(nodes))) == []
    assert "No node complies" in lattice_page.render_lattice_page(nodes, asked=4)


# Both


NASTY = ["<b>", 'a"&b', "two\nlines\x00", "]]>"]


@pytest.mark.parametrize("sizes", [(2, 2, 2, 2), (4, 4, 4, 4)])
def test_names_are_escaped(sizes: tuple[int, ...]) -> None:
    nodes = made(*sizes, names=NASTY)
    nodes = [{**node, "losses": {"<i>": 1.0}, "unsuppressed": {"<i>": 1.0}} for node in nodes]
    svg, page = lattice_page.draw_lattice_and_scatter(nodes, asked=3), lattice_page.render_lattice_page(nodes, asked=3)
    assert any("<b>" in text for text in texts(svg))  # parses as XML, and says it
    for text in (svg, page):
        assert "<b>" not in text
        assert "<i>" not in text
        assert "\x00" not in text


@pytest.mark.parametrize("sizes", [(1,), (3, 3), (6, 6, 6)])
def test_nothing_from_outside_and_no_script(sizes: tuple[int, ...]) -> None:
    svg, page = (
        lattice_page.draw_lattice_and_scatter(made(*sizes), asked=4),
        lattice_page.render_lattice_page(made(*sizes), asked=4),
    )
    for text in (svg, page):
        assert set(re.findall(r"https?://[^\"' ]+", text)) <= {"http://www.w3.org/2000/svg"}
        assert "<script" not in text
        assert not re.search(r"(?:src|href)=|url\(|@import", text)
    assert tree(svg).find(f"{SVG}title") is not None
    assert tree(svg).find(f"{SVG}desc") is not None
    for inline in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        tree(inline)


def test_thousands_of_nodes_stay_small() -> None:
    nodes = made(2, 5, 2, 3, 4, 3, 3, 3, 2)  # as many as Adult's with ARX's hierarchies
    for index, node in enumerate(nodes):
        node["k"] = 1 + index % 6000  # as bad as it gets: no two dots are alike
        node["unsuppressed"] = {"lm": (index * 7919 % 12_960) / 12_960}
    assert len(nodes) == 12_960
    assert len(lattice_page.draw_lattice_and_scatter(nodes, asked=5).encode()) < 500_000
    assert len(lattice_page.render_lattice_page(nodes, asked=5).encode()) < 500_000


def test_every_dot_is_there_once() -> None:
    nodes = [_node((0,), 1, 0.0), _node((1,), 1, 0.0), _node((2,), 10, 1.0)]
    svg = scatter.draw_scatter(Space.of(nodes))
    dots = [p.get("d", "").count("M") for p in tree(svg).iter(f"{SVG}path") if p.get("class") == WHOLE]
    assert dots == [2]


def test_the_asked_k_and_the_optimum_are_marked() -> None:
    svg = scatter.draw_scatter(Space.of(made(3, 3), 4))
    assert "asked: k = 4" in texts(svg)
    assert "optimum ⟨0,2⟩, 5 suppressed: k ≥ 4, loss 0.5500" in texts(svg)
    assert sum(c.get("class") == "optimum" for c in tree(svg).iter(f"{SVG}circle")) == 1
    assert not any("asked" in text for text in texts(scatter.draw_scatter(Space.of(made(3, 3)))))


def test_the_front_is_listed() -> None:
    page = lattice_page.render_lattice_page(made(3, 3), asked=4)
    rows = re.findall(r'<td class="node">(.*?)</td><td class="right">(.*?)</td><td class="right">(.*?)</td>', page)
    assert rows == [
        ("⟨0,0⟩", "1", "40"),
        ("⟨0,1⟩", "2", "20"),
        ("⟨0,2⟩ ★", "4", "5"),
        ("⟨1,2⟩", "8", "0"),
        ("⟨2,2⟩", "16", "0"),
    ]


@pytest.mark.parametrize(
    "nodes",
    [[], made(1), [{**made(1)[0], "k": 0}], [{**made(1)[0], "levels": {}}], [_node((0,), 1, math.nan)]],
    ids=["none", "one", "empty table", "no columns", "no loss"],
)
def test_hardly_any_lattice(nodes: list[dict[str, Any]]) -> None:
    tree(lattice_page.draw_lattice_and_scatter(nodes, asked=2))
    assert "<svg" in lattice_page.render_lattice_page(nodes)


def test_files_are_written_whole_or_not(tmp_path: Path) -> None:
    files = lattice_page.write_lattice_page(made(2, 2), tmp_path, asked=4)
    assert {path.name for path in files.values()} == {"lattice.html", "lattice.svg"}
    assert files["page"].read_text(encoding="utf-8") == lattice_page.render_lattice_page(made(2, 2), asked=4)
    tree(files["drawing"].read_text(encoding="utf-8"))
    with pytest.raises(WriteError):
        lattice_page.write_lattice_page(made(2, 2), tmp_path / "nowhere", asked=4)
    assert {path.name for path in tmp_path.iterdir()} == {"lattice.html", "lattice.svg"}


def test_the_nodes_that_attain_k() -> None:
    assert [p.k for p in Space.of(made(3, 3), 4).enough] == [4, 8, 16]
    assert Space.of(made(3, 3), 99).enough == ()
    assert len(Space.of(made(3, 3)).enough) == 5


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (4, "3 of 3 nodes with k ≥ 4"),
        (None, "5 of 5 nodes, the least"),
        (99, "no node with k ≥ 99; the most"),
    ],
)
def test_the_front_is_printed(capsys: pytest.CaptureFixture[str], asked: int | None, said: str) -> None:
    show.print_front(made(3, 3), asked)
    printed = capsys.readouterr().out
    assert said in printed
    assert "count the suppressed" not in printed
    show.print_front(made(2, unsuppressed=False), asked)
    assert "count the suppressed" in capsys.readouterr().out
