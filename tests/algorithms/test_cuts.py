"""Cuts: what a step is forecast to do is what it does, counted again record by record."""

from __future__ import annotations

import copy
from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.base import Problem
from shoal.algorithms.cuts.cuts import HierarchyCut
from shoal.algorithms.cuts.impurity import Impurity
from shoal.algorithms.cuts.trees import ValueTree
from shoal.algorithms.subtree.bottom_up import Generalizations
from shoal.algorithms.subtree.top_down_specialization import Specializations
from shoal.frequencies.frequencies import Frequencies
from shoal.policy import Policy
from shoal.recodings.forms import FORMS, ClassMembers
from shoal.testing import encode_table

NODES = {"*": {"north": ["a", "b"], "south": {"coast": ["c"], "hills": ["d", "e"]}}}


def problem_of(table: pl.DataFrame, share: float, columns: dict[str, Any], k: int = 2, **more: Any) -> Problem:
    policy = Policy(
        quasi_identifiers=columns,
        sensitive=["class"],
        models=[{"name": "k-anonymity", "k": k}, {"name": "distinct-l-diversity", "on": "class", "l": 2}],
        max_suppressed=share,
        **more,
    )
    return encode_table(table, policy).problem(policy)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    row = st.tuples(
        st.integers(18, 40),
        st.one_of(st.sampled_from("abcde"), st.none()),
        st.sampled_from([1, 2, 3, 50]),
        st.sampled_from("xyz"),
    )
    rows = draw(st.lists(row, min_size=4, max_size=30))
    table = pl.DataFrame(rows, schema=["age", "place", "free", "class"], orient="row")
    age = draw(st.sampled_from([{"widths": [5, 10], "hierarchy": "intervals"}, {"hierarchy": "divisor-based"}]))
    index = {"hierarchy": "tree", "nodes": NODES, "boundaries": draw(st.sampled_from([[], ["south"], ["hills"]]))}
    columns = {
        "age": {**age, "weight": 2.5},
        "place": {**index, "missing": draw(st.sampled_from(["own-value", "wildcard"]))},
        "free": {},
    }
    return problem_of(
        table,
        draw(st.sampled_from([0.0, 0.2, 1.0])),
        columns,
        draw(st.integers(2, 4)),
        publish=draw(st.sampled_from(["labels", "ranges", "sets"])),
    )


def counted(cut: HierarchyCut) -> tuple[int, int, float, float, int]:
    """Records and classes that cannot be published, cost, cost if all were published, smallest published class."""
    problem, frequencies = cut.problem, cut.problem.frequencies
    classes: dict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
    for cell, number in enumerate(frequencies.cell_tuples.tolist()):
        labels = tuple(int(cut.at[j][cut.codes[j][number]]) for j in range(len(cut.trees)))
        classes[labels].append((int(frequencies.sensitive[cell, 0]), int(frequencies.cell_counts[cell])))
    lost = broken = 0
    cost = wide = 0.0
    sizes = []
    for labels, cells in classes.items():
        size = sum(count for _, count in cells)
        each = sum(float(tree.penalty[label]) for tree, label in zip(cut.trees, labels, strict=True))
        nothing = all(tree.starred[label] for tree, label in zip(cut.trees, labels, strict=True))
        fits = size >= problem.models[0].asked and len({value for value, _ in cells}) >= problem.models[1].asked
        fits = fits and not (nothing and size < frequencies.records)
        wide += size * each
        cost += size * (each if fits else float(problem.weights.sum()))
        lost, broken = lost + size * (not fits), broken + (not fits)
        sizes += [size] * fits
    return lost, broken, cost, wide, min(sizes, default=np.iinfo(np.int64).max)


def check_forecasts(cut: HierarchyCut) -> int:
    now = counted(cut)
    assert (cut.lost, cut.smallest) == (now[0], now[4])
    tried = 0
    for moves in cut.moves():
        for number, node in enumerate(moves.nodes.tolist()):
            other = copy.deepcopy(cut)
            other.step(moves.place, node)
            then = counted(other)
            assert moves.lost[number] == then[0] - now[0]
            assert moves.broken[number] == then[1] - now[1]
            assert moves.cost[number] == pytest.approx(then[2] - now[2])
            assert moves.smallest[number] == then[4]
            if isinstance(cut, Generalizations):
                assert moves.widened[number] == pytest.approx(then[3] - now[3])
            tried += 1
    return tried


@settings(max_examples=25, deadline=None, derandomize=True)
@given(problems())
def test_forecasts_going_down_are_what_happens(problem: Problem) -> None:
    cut = Specializations(problem, 0)
    while True:
        check_forecasts(cut)
        if not cut.specialize():
            return


@settings(max_examples=25, deadline=None, derandomize=True)
@given(problems())
def test_forecasts_going_up_are_what_happens(problem: Problem) -> None:
    cut = Generalizations(problem, None)
    tried = check_forecasts(cut)
    while cut.generalize():
        check_forecasts(cut)
    if tried:  # all the way up: every value at its top
        assert all((tree.top() == at).all() for tree, at in zip(cut.trees, cut.at, strict=True))


def ages(hierarchy: dict[str, Any]) -> ValueTree:
    table = pl.DataFrame({"age": list(range(1, 101)), "class": ["x"] * 100})
    problem = problem_of(table, 0.0, {"age": hierarchy})
    return ValueTree.of(problem.columns[0], np.arange(100))


def test_levels_that_do_not_nest_are_left_out() -> None:
    tree = ages({"hierarchy": "divisor-based", "smallest": 10})  # 10, 20, 25, 50, 100: 20 and 10 do not lie in 25
    widths = [sorted((tree.high - tree.low + 1)[node] for node in tree.children[top]) for top in (0, 1)]
    assert widths == [[50, 50], [25, 25]]
    assert all(len(tree.children[child]) == 25 for child in tree.children[1])


@pytest.mark.parametrize("publish", ["labels", "ranges", "sets"])
@pytest.mark.parametrize("hierarchy", [None, "suppress", "ordering"])
def test_labels_cost_what_their_classes_will_cost(publish: str, hierarchy: str | None) -> None:
    for values in (["a", "b", "c", "d", None], [1, 2, 5, 9, None]):
        table = pl.DataFrame({"x": values, "class": ["x"] * 5})
        spec = {"hierarchy": hierarchy, "missing": "wildcard", "weight": 2}
        column = problem_of(table, 0.0, {"x": spec}, publish=publish).columns[0]
        tree = ValueTree.halves(column, np.arange(5), np.ones(5, np.int64), 1)
        for node in range(len(tree)):
            codes = np.arange(tree.low[node], tree.high[node] + 1)
            shown = FORMS[column.form](column, ClassMembers(np.zeros(len(codes), np.int64), 1), codes)
            assert tree.penalty[node] == 2 * shown.penalties[0]
            assert tree.starred[node] == (shown.texts[shown.ids[0]] == "*")


def test_a_label_with_one_child_is_that_child() -> None:
    table = pl.DataFrame({"place": ["a", "c", "e"], "class": ["x"] * 3})
    problem = problem_of(table, 0.0, {"place": {"hierarchy": "tree", "nodes": NODES}})
    tree = ValueTree.of(problem.columns[0], np.arange(3))
    spans = list(zip(tree.low.tolist(), tree.high.tolist(), strict=True))
    assert spans == [(0, 2), (0, 0), (1, 2), (1, 1), (2, 2)]  # *, a (not north), south, c (not coast), e


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(1, 9)), min_size=2, unique_by=lambda x: x[:2])
)
def test_gains_of_all_places_are_those_of_each(cells: list[tuple[int, int, int]]) -> None:
    codes = np.array(sorted({code for code, _, _ in cells}))
    numbers = {code: number for number, code in enumerate(codes.tolist())}
    cells = sorted(cells)
    frequencies = Frequencies(
        codes[:, None].astype(np.int32),
        np.array([numbers[code] for code, _, _ in cells]),
        np.array([count for *_, count in cells]),
        np.array([[value] for _, value, _ in cells], np.int32),
    )
    impurity = Impurity(frequencies, np.arange(len(codes)), 0)
    last = len(codes) - 1
    each = [impurity.gain(0, last, [(0, index), (index + 1, last)]) for index in range(last)]
    assert impurity.gains(0, last) == pytest.approx(each, abs=1e-9)
