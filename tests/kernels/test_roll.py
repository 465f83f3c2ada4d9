"""The compiled kernels of the lattice count what their plain twins count."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.plain.roll import Row, raised, sums_of, table_at

from shoal.algorithms.base import Problem
from shoal.algorithms.lattice.packing import Labels, Packing, lay_out_bits
from shoal.algorithms.lattice.walk import Walk, find_power_above
from shoal.encoding.domains import Domain
from shoal.frequencies.frequencies import Background, Frequencies, SensitiveColumn
from shoal.hierarchies import Step
from shoal.hierarchies.base import Levels
from shoal.hierarchies.divisor_based import DivisorBased
from shoal.kernels.group import group
from shoal.kernels.roll import raise_narrow, raise_wide, sum_up
from shoal.models.distinct_l_diversity import DistinctLDiversity
from shoal.recodings.base import Column
from shoal.utility.certainty_penalty import CertaintyPenalty

SEEDS = st.integers(0, 2**32 - 1)


# --- raise_column -----------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.sampled_from(["narrow", "wide", "several"]), st.booleans(), st.booleans(), st.booleans())
def test_raising_one_column(seed: int, width: str, mark: bool, in_place: bool, wanted: bool) -> None:
    random = np.random.default_rng(seed)
    sizes = random.choice([1, 2, 3, 9, 60_000], size=random.integers(7, 12) if width == "several" else 3).tolist()
    if width == "several":
        sizes[:5] = [60_000] * 5
        random.shuffle(sizes)
    kinds = int(random.choice([1, 3]))
    words, shifts, masks = lay_out_bits([*sizes, kinds], used=int(mark))
    assert (int(words.max()) > 0) == (width == "several")
    rows: dict[Row, int] = {}
    for _ in range(int(random.choice([0, 1, 30]))):
        numbers = tuple(int(random.choice([0, size - 1, random.integers(size)])) for size in sizes)
        row = (numbers, bool(mark and random.random() < 0.3), int(random.integers(kinds)))
        rows[row] = int(random.integers(1, 2**40))
    begin, start = (0, 0) if in_place else random.integers(0, 3, 2).tolist()
    keys = random.integers(0, 2**63, (int(words.max()) + 1, begin + len(rows) + 2)).astype(np.uint64)
    counts = np.full(keys.shape[1], -7, np.int64)
    packed = [_packed(row, words, shifts) for row in rows]
    for index, (key, count) in enumerate(zip(packed, rows.values(), strict=True), start=begin):
        keys[:, index], counts[index] = key, count
    index = int(random.integers(len(sizes)))
    labels = random.integers(0, max(sizes[index] // 2, 1), sizes[index]).astype(np.int32)
    beyond = random.random(sizes[index]) < 0.3
    above, went = raised(rows, index, labels.tolist(), (beyond & mark).tolist())
    out_keys, out_counts = (keys, counts) if in_place else (np.zeros_like(keys), np.zeros_like(counts))
    if not in_place:
        out_keys, out_counts = (
            np.zeros((len(keys), start + len(rows) + 1), np.uint64),
            np.full(start + len(rows) + 1, 5),
        )
    members = np.full(keys.shape[1] if wanted else 0, -1, np.int32)
    slots = np.empty(find_power_above(4 * len(rows)), np.int32)
    kernel = raise_narrow if width == "narrow" else raise_wide
    bits = words[index], shifts[index], masks[index]
    end = kernel(
        keys, counts, begin, begin + len(rows), out_keys, out_counts, start, slots, *bits, labels, beyond,
        np.uint64(mark), members,
    )  # fmt: skip
    found = [_unpacked(key, words, shifts, masks, mark) for key in out_keys[:, start:end].T]
    assert dict(zip(found, out_counts[start:end].tolist(), strict=True)) == above
    assert len(found) == len(above)
    if not in_place:
        assert (out_counts[:start] == 5).all() and (out_counts[end:] == 5).all()
    if wanted:
        assert [found[member - start] for member in members[begin : begin + len(rows)]] == list(went.values())


def _packed(row: Row, words: Any, shifts: Any) -> list[int]:
    numbers, marked, kind = row
    key = [0] * (int(words.max()) + 1)
    key[0] = int(marked)
    for number, word, shift in zip([*numbers, kind], words.tolist(), shifts.tolist(), strict=True):
        key[word] |= number << shift
    return key


def _unpacked(key: Any, words: Any, shifts: Any, masks: Any, mark: bool) -> Row:
    fields = zip(words.tolist(), shifts.tolist(), masks.tolist(), strict=True)
    *numbers, kind = ((int(key[word]) >> shift) & mask for word, shift, mask in fields)
    return tuple(numbers), bool(mark and int(key[0]) & 1), kind


# --- roll_up ----------------------------------------------------------------------------------------------------


@cache
def levels_of(size: int, shape: str, seed: int) -> Levels:
    """Nested levels that join neighbours at random, levels that do not nest, or those of divisors."""
    random = np.random.default_rng(seed)
    domain = Domain.of("integer", list(range(1, size + 1)))
    if shape == "divisors":
        return DivisorBased(smallest=2).build(domain, missing=None)
    if shape == "crossing":
        steps = [random.integers(0, max(size // 2, 1), size) for _ in range(3)]
    else:
        steps = [np.cumsum(np.append(0, random.random(size - 1) < 0.5))]
        for _ in range(int(random.integers(0, 3))):
            wide = np.cumsum(np.append(0, random.random(int(steps[-1].max())) < 0.4))
            steps.append(wide[steps[-1]])
    named = [Step.of([f"{level}:{number}" for number in step.tolist()]) for level, step in enumerate(steps)]
    return Levels.of(domain, named, missing=None, nested=shape == "nested")


def column_of(random: np.random.Generator, name: str, sizes: list[int], bounded: bool) -> Column:
    size, shape = int(random.choice(sizes)), str(random.choice(["nested", "nested", "crossing", "divisors"]))
    levels = levels_of(size, shape, int(random.integers(3)))
    limits = None
    if bounded and shape == "nested":
        texts = [text for level in levels.labels for text in level if text is not None]
        limits = levels.limits(random.choice(texts, size=3).tolist())
    elif bounded:
        limits = random.integers(0, levels.height + 1, size)
    top = levels.height if random.random() < 0.8 else 0
    return Column(name=name, levels=levels, form="labels", max_level=top, limits=limits)


def problem_of(random: np.random.Generator, wide: bool) -> Problem:
    """A few records; kinds by a sensitive column with missing values that match anything, and by persons."""
    count = int(random.choice([9, 14])) if wide else int(random.integers(1, 5))
    sizes = [300, 1000] if wide else [1, 2, 5, 12]
    bounded = bool(random.random() < 0.5)
    columns = tuple(column_of(random, f"c{index}", sizes, bounded and random.random() < 0.6) for index in range(count))
    rows = int(random.choice([1, 2, 40]))
    spread = [random.choice(column.levels.size, min(column.levels.size, 4)) for column in columns]
    codes = [random.choice(values, rows) for values in spread]
    kinds = str(random.choice(["none", "sensitive", "subjects", "both"]))
    sensitive = random.integers(-1, 3, rows) if kinds in ("sensitive", "both") else np.zeros(rows, np.int64)
    subjects = random.integers(0, 4, rows) if kinds in ("subjects", "both") else None
    tuple_of, firsts = group(codes, [column.levels.size for column in columns])
    extra = [sensitive + 1, *([] if subjects is None else [subjects])]
    _, cells = group([tuple_of, *extra], [rows, *([rows + 4] * len(extra))])
    frequencies = Frequencies(
        np.stack([code[firsts] for code in codes], axis=1).astype(np.int32),
        tuple_of[cells],
        random.integers(1, 9, len(cells)),
        sensitive[cells][:, None].astype(np.int32),
        None if subjects is None else subjects[cells],
    )
    models = (DistinctLDiversity(on="s", l=2),) if kinds in ("sensitive", "both") else ()
    return Problem(
        frequencies=frequencies,
        columns=columns,
        models=models,
        background=Background(frequencies, {"s": SensitiveColumn(0, 3)}),
        loss=CertaintyPenalty(),
    )


def walk_of(problem: Problem) -> Walk:
    frequencies = problem.frequencies
    labels = Labels.of(problem.columns, frequencies.tuples, frequencies.counts)
    return Walk(Packing.of(problem), labels, np.arange(len(problem.columns)))


def nodes_of(random: np.random.Generator, problem: Problem, order: Any, count: int) -> Any:
    """Sorted nodes with gaps between them; levels, or all of them at a column, may be those of a free column."""
    heights = np.array([column.levels.height for column in problem.columns])
    nodes = random.integers(0, heights + 1, (count, len(heights)))
    nodes[:, random.random(len(heights)) < 0.3] = 0
    nodes[random.random(nodes.shape) < 0.3] = 0
    never = np.array([column.limits is None for column in problem.columns])
    nodes = np.where((random.random(nodes.shape) < 0.2) & never, heights + 1, nodes)
    nodes = np.where(random.random(len(heights)) < 0.1, heights + 1, nodes)
    nodes = np.unique(nodes[:, order], axis=0)
    return np.ascontiguousarray(nodes, np.int16)


def rolled(walk: Walk, nodes: Any, room: int, *, regrouped: bool = False) -> list[tuple[Any, Any]]:
    """Keys and counts of each node, written by as many calls as the room needs."""
    fill, _ = walk._regrouped() if regrouped else walk._rolled_up(nodes.shape[1])
    words, _ = walk.packing.keys.shape
    keys, counts, ends = np.empty((words, room), np.uint64), np.empty(room, np.int64), np.zeros(len(nodes), np.int64)
    at, start, tables = np.full(1, -1, np.int64), 0, []
    while True:
        stop = fill(nodes, start, keys, counts, ends, at)
        begin = 0
        for node in range(start, stop):
            tables.append((keys[:, begin : ends[node]].copy(), counts[begin : ends[node]].copy()))
            begin = int(ends[node])
        if stop == len(nodes):
            return tables
        assert stop > start, "a node that has room is written"
        start = stop


def plain_columns(problem: Problem) -> list[dict[str, Any]]:
    return [{"codes": column.levels.codes, "limits": column.limits} for column in problem.columns]


def values_of(problem: Problem, packing: Packing) -> dict[tuple[tuple[int, ...], int], int]:
    """Records by values and kind; a kind is found by what it stands for."""
    frequencies = problem.frequencies
    looked_at = bool(problem.models)
    people = [-1] * len(packing.sensitive) if packing.subjects is None else packing.subjects.tolist()
    kinds = {
        (values[0] if looked_at else 0, person): kind
        for kind, (values, person) in enumerate(zip(packing.sensitive.tolist(), people, strict=True))
    }
    assert len(kinds) == len(packing.sensitive)
    found: dict[tuple[tuple[int, ...], int], int] = {}
    for cell, count in enumerate(frequencies.cell_counts.tolist()):
        person = -1 if frequencies.subjects is None else int(frequencies.subjects[cell])
        value = int(frequencies.sensitive[cell, 0]) if looked_at else 0
        key = (tuple(frequencies.tuples[frequencies.cell_tuples[cell]].tolist()), kinds[value, person])
        found[key] = found.get(key, 0) + count
    return found


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.booleans(), st.sampled_from(["tight", "some", "ample"]), st.sampled_from([0, 1, 12]), st.booleans())
def test_rolling_up(seed: int, wide: bool, room: str, count: int, regrouped: bool) -> None:
    random = np.random.default_rng(seed)
    problem = problem_of(random, wide)
    order = random.permutation(len(problem.columns))
    walk = walk_of(problem)
    assert not wide or len(walk.packing.keys) > 1
    placed = walk.reorder(order)
    nodes = nodes_of(random, problem, order, count)
    if regrouped:  # in any order
        nodes = np.ascontiguousarray(random.permutation(nodes))
    rows = len(walk.packing.counts)
    room_of = {"tight": rows, "some": 2 * rows + 1, "ample": (count + 1) * rows}
    tables = rolled(placed, nodes, room_of[room], regrouped=regrouped)
    values, columns = values_of(problem, walk.packing), plain_columns(problem)
    assert len(tables) == len(nodes)
    packing, mark = walk.packing, bool(walk.packing.mark)
    for node, (keys, counts) in zip(nodes, tables, strict=True):
        levels = node[np.argsort(order)]
        found = [_unpacked(key, packing.words, packing.shifts, packing.masks, mark) for key in keys.T]
        expected = table_at(values, levels.tolist(), columns)
        assert dict(zip(found, counts.tolist(), strict=True)) == expected
        assert len(found) == len(expected)


# --- sum_up -----------------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.booleans(), st.sampled_from([0.0, 0.2, 0.8, 1.0]), st.sampled_from([0, 1, 8]))
def test_summing_up(seed: int, wide: bool, share: float, count: int) -> None:
    random = np.random.default_rng(seed)
    problem = problem_of(random, wide)
    order = random.permutation(len(problem.columns))
    walk = walk_of(problem).reorder(order)
    nodes = nodes_of(random, problem, order, count)
    packing, labels = walk.packing, walk.labels
    tables = rolled(walk, nodes, len(packing.counts))
    ends = np.cumsum([len(counts) for _, counts in tables]).astype(np.int64)
    keys = np.concatenate([np.zeros((len(packing.keys), 0), np.uint64), *(keys for keys, _ in tables)], axis=1)
    counts = np.concatenate([np.zeros(0, np.int64), *(counts for _, counts in tables)])
    fits = random.random(len(counts)) < share
    costs = random.random((3, labels.costs.shape[1]))
    suppressed, classes, squares, all_squares = np.full((4, len(nodes)), -1, np.int64)
    kept, entropies = np.full((3, *nodes.shape), np.nan), np.full(nodes.shape, np.nan)
    sum_up(
        nodes, ends, np.ascontiguousarray(keys), counts, fits, packing.words[:-1], packing.shifts[:-1],
        packing.masks[:-1], labels.offsets, labels.totals, costs, suppressed, classes, squares, all_squares,
        kept, entropies,
    )  # fmt: skip
    begin = 0
    for node, end in enumerate(ends.tolist()):
        rows = [
            _unpacked(key, packing.words, packing.shifts, packing.masks, bool(packing.mark))[0]
            for key in keys[:, begin:end].T
        ]
        of_label = [
            [dict(enumerate(row[start:])) for start in labels.offsets[np.arange(nodes.shape[1]), nodes[node]].tolist()]
            for row in costs.tolist()
        ]
        triples = list(zip(rows, counts[begin:end].tolist(), fits[begin:end].tolist(), strict=True))
        expected = sums_of(triples, of_label)
        assert [suppressed[node], classes[node], squares[node], all_squares[node]] == [
            expected[name] for name in ("suppressed", "classes", "squares", "all_squares")
        ]
        assert kept[:, node] == pytest.approx(np.array(expected["kept"]))
        assert entropies[node] == pytest.approx(np.array(expected["suppressed_entropy"]), abs=1e-9)
        begin = end


def test_squares_of_many_records_do_not_overflow() -> None:
    nodes, ends = np.zeros((1, 1), np.int16), np.array([1], np.int64)
    suppressed, classes, squares, all_squares = np.zeros((4, 1), np.int64)
    kept, suppressed_entropy = np.zeros((1, 1, 1)), np.zeros((1, 1))
    sum_up(
        nodes, ends, np.zeros((1, 1), np.uint64), np.array([3 * 10**9]), np.ones(1, bool), np.zeros(1, np.int64),
        np.zeros(1, np.uint64), np.zeros(1, np.uint64), np.array([[0, 1]]), np.array([3 * 10**9]), np.ones((1, 1)),
        suppressed, classes, squares, all_squares, kept, suppressed_entropy,
    )  # fmt: skip
    assert (squares[0], kept[0, 0, 0]) == (9 * 10**18, 3e9)
