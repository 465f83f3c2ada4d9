"""The lattice: every node as it is counted record by record from the table."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import log2
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.algorithms.lattice import lattice as lattices
from shoal.algorithms.lattice import walk as walks
from shoal.algorithms.lattice.best import Best
from shoal.algorithms.lattice.lattice import Lattice, NodeOutcomes
from shoal.errors import Infeasible
from shoal.explore.lattice import lattice
from shoal.policy import Policy
from shoal.testing import encode_table
from shoal.utility.certainty_penalty import CertaintyPenalty
from shoal.utility.class_size import ClassSize
from shoal.utility.discernibility import Discernibility

from .cases import NODES, cases

COMMON = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
FREE = -1
LOSSES = [
    "certainty-penalty", "discernibility", "distortion-ratio", "granularity", "height", "minimal-distortion",
    "non-uniform-entropy", "precision",
]  # fmt: skip

COSTS = ("penalty", "exact", "generalization_height", "log_cover_size")


class Plain:
    """A table, record by record: what each shows at a node, and what becomes of it."""

    def __init__(self, table: pl.DataFrame, policy: Policy) -> None:
        self.columns = encode_table(table, policy).columns
        self.policy, self.specs = policy, list(policy.quasi_identifiers.values())
        names = [column.name for column in self.columns]
        self.all = list(table.iter_rows(named=True))
        roles = [*policy.quasi_identifiers.items(), *policy.sensitive.items()]
        barred = [name for name, role in roles if role.missing == "suppress"]
        self.records = [record for record in self.all if not any(record[name] is None for name in barred)]
        self.values = [[record[name] for name in names] for record in self.records]

    def code(self, index: int, value: Any) -> int:
        texts = self.columns[index].levels.domain.texts
        return len(texts) if value is None else texts.index(str(value))

    def shown(self, index: int, level: int, value: Any) -> tuple[str | None, bool]:
        """What is shown of a value, and whether it is above its boundary."""
        column = self.columns[index]
        if level == FREE:
            return "free", False
        text = column.levels.text(level, self.code(index, value))
        beyond = False
        for below in range(level):
            label = column.levels.text(below, self.code(index, value))
            beyond |= label in self.specs[index].boundaries and label != text
        return text, beyond

    def node(self, levels: tuple[int, ...]) -> dict[str, Any]:
        rows, beyond = [], []
        for values in self.values:
            cells = [
                self.shown(index, level, value) for index, (level, value) in enumerate(zip(levels, values, strict=True))
            ]
            rows.append(tuple(text for text, _ in cells))
            beyond.append(any(above for _, above in cells))
        members: dict[Any, list[int]] = {}
        for number, row in enumerate(rows):
            if not beyond[number]:
                members.setdefault(row, []).append(number)
        alone = len(set(zip(rows, beyond, strict=True))) == 1  # who shows * like everybody is not suppressed
        silent = [all(text == "*" for text in row) and not alone for row in members]
        kept = [
            number
            for numbers, hidden in zip(members.values(), silent, strict=True)
            if self._holds(numbers) and not hidden
            for number in numbers
        ]
        out = sorted(set(range(len(rows))) - set(kept))
        sizes = [
            len(numbers)
            for numbers, hidden in zip(members.values(), silent, strict=True)
            if self._holds(numbers) and not hidden
        ]
        everyone = Counter(rows)
        whole = list(range(len(rows)))
        return {
            "smallest": min((self._persons(numbers) for numbers in members.values()), default=0),
            "suppressed": len(out),
            "suppressed_entropy": [self._suppressed_entropy(index, rows, out) for index in range(len(levels))],
            **self._sums(levels, kept, sizes, len(self.all)),
            "whole": self._sums(levels, whole, list(everyone.values()), len(rows)),
        }

    def _persons(self, numbers: list[int]) -> int:
        if self.policy.subject is None:
            return len(numbers)
        return len({self.records[number][self.policy.subject] for number in numbers})

    def _holds(self, numbers: list[int]) -> bool:
        for model in self.policy.models:
            attained = self._persons(numbers)
            for name in model.sensitive_columns:
                found = {self.records[number][name] for number in numbers}
                wild = {None} if self.policy.sensitive[name].missing == "wildcard" else set()
                attained = min(attained, max(len(found - wild), 1))
            if attained < model.asked:
                return False
        return True

    def _suppressed_entropy(self, index: int, rows: list[Any], out: list[int]) -> float:
        alike = Counter(rows[number][index] for number in out)
        return sum(log2(len(out) / alike[rows[number][index]]) for number in out)

    def _sums(self, levels: tuple[int, ...], kept: list[int], sizes: list[int], records: int) -> dict[str, Any]:
        sums: dict[str, Any] = {name: [0.0] * len(levels) for name in COSTS}
        for index, level in enumerate(levels):
            for number in kept:
                cost = self._cost(index, level, self.values[number][index])
                for name, value in zip(COSTS, cost, strict=True):
                    sums[name][index] += value
        weights = [spec.weight for spec in self.specs]
        penalties = [penalty + records - len(kept) for penalty in sums["penalty"]]
        total = sum(weight * penalty for weight, penalty in zip(weights, penalties, strict=True))
        return {
            **sums,
            "classes": len(sizes),
            "squares": sum(size**2 for size in sizes),
            "certainty-penalty": total / (sum(weights) * records),
            "discernibility": sum(size**2 for size in sizes) + records * (records - len(kept)),
            "class-size": records / max((len(sizes) + (records > len(kept))) * self.policy.k, 1),
        }

    def _cost(self, index: int, level: int, value: Any) -> tuple[float, float, float, float]:
        if level == FREE:  # as little as any label may leave open, in values of the domain
            levels = self.columns[index].levels
            narrow = [float(penalty) for row in levels.penalties for penalty in row if penalty > 0.0]
            return 0.0, min([1.0, *(penalty * levels.size for penalty in narrow)]), 0.0, 0.0
        column, code, text = self.columns[index], self.code(index, value), self.shown(index, level, value)[0]
        penalty = float(column.levels.penalties[level, code])
        climbed = 1.0 if text == "*" else float(column.levels.lowest[level, code]) / max(column.levels.height, 1)
        counted = self.specs[index].missing in ("own-value", "wildcard")
        others = [record[column.name] for record in self.all if counted or record[column.name] is not None]
        alike = [other for other in others if text == "*" or self.shown(index, level, other)[0] == text]
        return penalty, float(penalty == 0.0), climbed, log2(max(len(alike), 1))


def compare(looked: NodeOutcomes, plain: Plain, nodes: list[tuple[int, ...]]) -> None:
    outcome: Any = looked.outcome
    for number, levels in enumerate(nodes):
        expected = plain.node(levels)
        assert looked.smallest[number] == expected["smallest"], levels
        assert looked.suppressed[number] == expected["suppressed"], levels
        assert outcome.suppressed_entropy[number] == pytest.approx(expected["suppressed_entropy"], abs=1e-9), levels
        for which, sums in ((outcome, expected), (outcome.whole, expected["whole"])):
            assert (which.classes[number], which.squares[number]) == (sums["classes"], sums["squares"]), levels
            for name in COSTS:
                assert getattr(which, name)[number] == pytest.approx(sums[name], abs=1e-9), (levels, name)
            for metric in (CertaintyPenalty(), Discernibility(), ClassSize()):
                assert metric.totals(which)[number] == pytest.approx(sums[metric.key()], abs=1e-12), (levels, metric)


def lattice_of(table: pl.DataFrame, policy: Policy) -> Lattice | None:
    try:
        return Lattice(encode_table(table, policy).problem(policy.replace(max_suppressed=1.0)))
    except Infeasible:  # every record has a missing value that suppresses it
        return None


def all_levels(space: Lattice) -> list[tuple[int, ...]]:
    return list(product(*(levels.tolist() for levels in space.choices)))


@COMMON
@given(cases())
def test_every_node_is_as_counted_record_by_record(case: tuple[pl.DataFrame, Policy]) -> None:
    table, policy = case
    space = lattice_of(table, policy)
    if space is None:
        return
    nodes = all_levels(space)
    assert sorted(map(tuple, space.nodes().tolist())) == nodes
    compare(space.look(np.array(nodes, np.int16)), Plain(table, policy), nodes)


@COMMON
@given(cases(), st.data())
def test_free_columns_are_left_out(case: tuple[pl.DataFrame, Policy], data: st.DataObject) -> None:
    table, policy = case
    space = lattice_of(table, policy)
    if space is None:
        return
    levels = [st.sampled_from([FREE, *range(height + 1)]) for height in space.heights]
    nodes = data.draw(st.lists(st.tuples(*levels), min_size=1, max_size=12))
    coded = np.where(np.array(nodes) == FREE, space.free, nodes).astype(np.int16)
    compare(space.look(coded), Plain(table, policy), nodes)


def fields(looked: NodeOutcomes) -> list[Any]:
    one: Any = looked.outcome
    names = ("suppressed", "classes", "squares", "penalty", "exact", "generalization_height", "log_cover_size")
    return [looked.smallest, one.suppressed_entropy, *(getattr(o, name) for o in (one, one.whole) for name in names)]


@settings(COMMON, max_examples=30)
@given(cases(), st.randoms(use_true_random=False))
def test_neither_threads_nor_order_nor_room_change_anything(case: tuple[pl.DataFrame, Policy], random: Any) -> None:
    table, policy = case
    space = lattice_of(table, policy)
    if space is None:
        return
    nodes = space.nodes()
    order = list(range(len(nodes)))
    random.shuffle(order)
    alone = fields(space.look(nodes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattices, "count_cores", lambda: 3)
        patch.setattr(lattices, "WORTH_THREADS", 0)
        patch.setattr(walks, "ROWS", 1)
        together = fields(space.look(nodes[order]))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one[order], other)


def test_no_nodes() -> None:
    table = pl.DataFrame({"place": ["a", "b"], "age": [1, 2]})
    space = lattice_of(table, small())
    assert space is not None
    looked = space.look(np.zeros((0, 2), np.int16))
    assert looked.suppressed.shape == looked.smallest.shape == (0,)
    assert looked.outcome.penalty.shape == (0, 2)


def small(**more: Any) -> Policy:
    quasi = {"place": {"hierarchy": "tree", "nodes": NODES}, "age": {"hierarchy": "intervals", "widths": [5]}}
    quasi = {name: {**spec, **more.pop(name, {})} for name, spec in quasi.items()}
    return Policy(quasi_identifiers=quasi, **{"models": [{"name": "k-anonymity", "k": 2}], **more})


def test_one_person_is_one_person() -> None:
    # a single kind of cells: the person must be counted all the same
    table = pl.DataFrame({"place": ["a", "a", "b", "b"], "age": [1, 1, 1, 1], "who": ["x"] * 4})
    nodes = lattice(table, small(subject="who", identifiers=["who"]))
    assert {(node["k"], node["suppressed"]) for node in nodes} == {(1, 4)}


def test_a_free_column_is_above_no_boundary() -> None:
    # in one call, and rolled up from a level that is
    table = pl.DataFrame({"place": list("abcde") * 2, "age": [1] * 10})
    space = lattice_of(table, small(place={"boundaries": ["a", "hills"]}))
    assert space is not None
    free = int(space.free[0])
    looked = space.look(np.array([[2, 0], [3, 0], [free, 0]], np.int16))
    assert looked.suppressed.tolist()[-1] == 0
    assert looked.smallest.tolist()[-1] == 10


def test_with_nobody_suppressed_a_class_is_one_whatever_its_boundaries() -> None:
    table = pl.DataFrame({"place": list("aabb"), "age": [1] * 4})
    space = lattice_of(table, small(place={"boundaries": ["a"]}))
    assert space is not None
    whole: Any = space.look(np.array([[2, 0]], np.int16)).outcome.whole
    assert (whole.classes.tolist(), whole.squares.tolist()) == ([1], [16])


def test_more_nodes_than_len_can_tell() -> None:
    table = pl.DataFrame({f"c{index}": ["a", "b"] for index in range(70)})
    policy = Policy(
        quasi_identifiers=dict.fromkeys(table.columns, "suppress"), models=[{"name": "k-anonymity", "k": 2}]
    )
    space = lattice_of(table, policy)
    assert space is not None
    assert space.size == 2**70
    looked = space.look(np.array([[0] * 70, [1] * 70, [0] * 69 + [1]], np.int16))
    assert looked.smallest.tolist() == [1, 2, 1]


def test_neighbours_stay_in_the_lattice() -> None:
    space = lattice_of(pl.DataFrame({"place": list("abcde"), "age": [1, 2, 3, 4, 9]}), small())
    assert space is not None
    top, bottom = np.array(space.heights, np.int16), np.zeros(2, np.int16)
    assert space.predecessors(bottom).tolist() == []
    assert sorted(space.predecessors(top).tolist()) == sorted([[top[0] - 1, top[1]], [top[0], top[1] - 1]])
    found = {
        tuple(node)
        for height in range(sum(space.heights) + 1)
        for block in space.at_height(height)
        for node in block.tolist()
    }
    assert found == set(all_levels(space))


@pytest.mark.parametrize("missing", ["own-value", "wildcard"])
def test_a_column_of_missing_values_only(missing: str) -> None:
    table = pl.DataFrame({"place": pl.Series([None] * 4, dtype=pl.String), "age": [1, 1, 7, 7]})
    policy = small(place={"missing": missing})
    space = lattice_of(table, policy)
    assert space is not None
    nodes = all_levels(space)
    compare(space.look(np.array(nodes, np.int16)), Plain(table, policy), nodes)


def test_leaving_columns_out_keeps_few_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    # sets of columns that grow one by one share what they are made from, in whatever order columns are decided
    random = np.random.default_rng(1)
    sizes = random.permutation(20) + 2
    table = pl.DataFrame({f"c{size}": random.integers(0, size, 200) for size in sizes.tolist()})
    policy = Policy(
        quasi_identifiers=dict.fromkeys(table.columns, "suppress"), models=[{"name": "k-anonymity", "k": 2}]
    )
    space = lattice_of(table, policy)
    assert space is not None
    made, without = [], walks.Walk.without

    def count(walk: walks.Walk, indices: tuple[int, ...]) -> walks.Walk:
        made.append(indices)
        return without(walk, indices)

    monkeypatch.setattr(walks.Walk, "without", count)
    node = space.free.copy()
    for column in space.order[::-1].tolist():
        node[column] = 0
        space.look(node[None, :])
    assert 0 < len(made) <= 20


# --- levels that publish the same --------------------------------------------------------------------------------


@COMMON
@given(cases(), st.sampled_from(LOSSES))
def test_levels_that_are_not_told_apart_hide_no_better_node(case: tuple[pl.DataFrame, Policy], loss: str) -> None:
    table, policy = case
    try:
        problem = encode_table(table, policy.replace(loss=loss)).problem(policy.replace(loss=loss))
    except Infeasible:
        return
    found = []
    for space in (Lattice(problem), Lattice(problem, every_level=True)):
        best = Best(problem)
        best.take(space.look(space.nodes()))
        found.append((None if best.node is None else best.node.tolist(), best.loss))
    assert found[0][0] == found[1][0]
    assert found[0][1] == pytest.approx(found[1][1], nan_ok=True)


def test_a_star_above_a_root_with_a_name_is_no_level_of_its_own() -> None:
    tree = {"hierarchy": "tree", "nodes": {"any": {"north": ["a", "b"], "south": ["c", "d"]}}}
    table = pl.DataFrame({"place": list("abcd")})
    policy = Policy(quasi_identifiers={"place": tree}, models=[{"name": "k-anonymity", "k": 2}])
    space = lattice_of(table, policy)
    assert space is not None and space.heights == (3,)
    assert [levels.tolist() for levels in space.choices] == [[0, 1, 2]]
    assert space.top.tolist() == [2] and space.size == 3


@pytest.mark.parametrize(("missing", "choices"), [("own-value", [0, 1, 2, 3]), ("wildcard", [0, 1, 2, 3])])
def test_a_star_that_hides_who_has_no_value_is_a_level(missing: str, choices: list[int]) -> None:
    tree = {"hierarchy": "tree", "nodes": {"any": {"north": ["a", "b"], "south": ["c", "d"]}}, "missing": missing}
    table = pl.DataFrame({"place": ["a", "b", "c", "d", None]})
    space = lattice_of(table, Policy(quasi_identifiers={"place": tree}, models=[{"name": "k-anonymity", "k": 2}]))
    assert space is not None
    assert space.choices[0].tolist() == choices
