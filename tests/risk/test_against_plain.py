"""Attacks on random tables give what slow definitions give."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.risk.evidence import covering, evidence, people, published

from shoal.risk import (
    BackgroundKnowledge,
    ComplementaryRelease,
    Composition,
    Inference,
    KnownColumns,
    Linking,
    Skewness,
    Temporal,
)
from shoal.risk.base import Attribute, Evidence, OtherTable
from shoal.risk.minimality import credibility

cell = st.integers(0, 2)
rows_and_values = st.lists(st.tuples(cell, cell, cell, st.integers(0, 3)), min_size=1, max_size=14)


def split(rows: list[tuple[int, ...]]) -> tuple[list[tuple[int, ...]], list[int]]:
    return [row[:-1] for row in rows], [row[-1] for row in rows]


def classes_of(rows: list[tuple[int, ...]]) -> dict[tuple[int, ...], list[int]]:
    found: dict[tuple[int, ...], list[int]] = {}
    for *shown, value in rows:
        found.setdefault(tuple(shown), []).append(value)
    return found


@settings(max_examples=80, deadline=None)
@given(rows_and_values)
def test_known_columns(rows: list[tuple[int, ...]]) -> None:
    shown, values = split(rows)
    measured = KnownColumns(most=3).run(evidence(shown, values))[0].measured
    unique: dict[tuple[int, tuple[int, ...]], bool] = {}
    for many in (1, 2, 3):
        worst, alone = len(rows), set()
        for known in combinations(range(3), many):
            counted = Counter(tuple(row[index] for index in known) for row in shown)
            worst = min(worst, *counted.values())
            for number, row in enumerate(shown):
                unique[number, known] = counted[tuple(row[index] for index in known)] == 1
                alone |= {number} if unique[number, known] else set()
        line = measured["curve"][many - 1]
        assert (line["k"], line["unique"]) == (worst, len(alone) / len(rows))
        minimal = sum(
            found and not any(unique[number, part] for part in combinations(known, many - 1) if part)
            for (number, known), found in unique.items()
            if len(known) == many
        )
        assert measured["minimal_uniques"][many - 1] == minimal


@settings(max_examples=80, deadline=None)
@given(rows_and_values, st.integers(0, 3))
def test_background_knowledge(rows: list[tuple[int, ...]], excluded: int) -> None:
    shown, values = split(rows)
    measured = BackgroundKnowledge(excluded=excluded).run(evidence(shown, values))[0].measured
    worst = Fraction(0)
    for held in classes_of(rows).values():
        for ruled_out in combinations(range(4), excluded):
            left = [value for value in held if value not in ruled_out]
            if left:
                worst = max(worst, Fraction(max(Counter(left).values()), len(left)))
    assert measured["chance"] == pytest.approx(float(worst))


@settings(max_examples=80, deadline=None)
@given(rows_and_values)
def test_skewness(rows: list[tuple[int, ...]]) -> None:
    shown, values = split(rows)
    one = evidence(shown, values)
    assert one.sensitive is not None
    numbers = np.arange(4.0)
    table = np.bincount(values, minlength=4)
    illness = Attribute(np.array(values), table, numbers=numbers)
    measured = Skewness().run(Evidence(one.sizes, release=one.release, sensitive={"illness": illness}))[0].measured
    q = [Fraction(values.count(value), len(rows)) for value in range(4)]
    far, along, gain, fall = Fraction(0), Fraction(0), Fraction(0), Fraction(0)
    for held in classes_of(rows).values():
        p = [Fraction(held.count(value), len(held)) for value in range(4)]
        far = max(far, sum((abs(a - b) for a, b in zip(p, q, strict=True)), Fraction(0)) / 2)
        along = max(along, sum(abs(sum(p[: n + 1]) - sum(q[: n + 1])) for n in range(3)) / Fraction(3))
        gain = max(gain, *((a - b) / b for a, b in zip(p, q, strict=True) if b))
        fall = max(fall, *((b - a) / b for a, b in zip(p, q, strict=True) if b))
    assert measured["distance"] == pytest.approx(float(far))
    assert measured["ordered"] == pytest.approx(float(along), abs=1e-12)
    assert (measured["gain"], measured["fall"]) == pytest.approx((float(gain), float(fall)))


texts = st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=3, max_size=3)
tuples = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=1, max_size=8)


def may_be(row: tuple[int, ...], person: tuple[int, ...], covers: list[list[set[int]]]) -> bool:
    return all(value == -1 or value in covers[n][row[n]] for n, value in enumerate(person))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(cell, cell, cell), min_size=1, max_size=12), texts, texts, tuples)
def test_linking(rows: list[tuple[int, ...]], one: Any, two: Any, persons: list[tuple[int, ...]]) -> None:
    shown, values = split(rows)
    meaning = (covering(*one, count=4), covering(*two, count=4))
    measured = Linking(least=3).run(evidence(shown, values, meaning=meaning, external=people(*persons)))[0].measured
    found = [[row for row in rows if may_be(row, person, [one, two])] for person in persons]
    matched = [records for records in found if records]
    assert measured["matched"] == len(matched)
    assert measured["alone"] == sum(len(records) == 1 for records in found)
    assert measured["mean"] == pytest.approx(sum(1 / len(r) for r in matched) / len(matched) if matched else 0)
    assert measured["above"] == pytest.approx(sum(len(r) < 3 for r in matched) / len(matched) if matched else 0)
    assert measured["learned"]["illness"] == sum(len({row[-1] for row in records}) == 1 for records in matched)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(cell, cell), min_size=1, max_size=10),
    st.lists(st.tuples(cell, cell), min_size=1, max_size=10),
    texts,
    st.lists(st.integers(0, 3), min_size=1, max_size=6),
)
def test_two_releases(now: Any, before: Any, covers: Any, persons: list[int]) -> None:
    codes = np.array([row[1] for row in now]), np.array([row[1] for row in before])
    beside = OtherTable(codes, {"illness": codes}, published([row[:1] for row in before]))
    one = evidence(
        [row[:1] for row in now],
        [row[1] for row in now],
        meaning=(covering(*covers, count=4),),
        people=people(*([value] for value in persons)),
        earlier=(beside,),
    )
    joint, alone, pinned, count = [], [], 0, 0
    for person in persons:
        here = Counter(value for text, value in now if person in covers[text])
        there = Counter(value for text, value in before if person in covers[text])
        both = here & there
        if both:
            joint.append(both.total())
            alone.append(here.total())
            count += 1
            pinned += len(both) == 1
    measured = ComplementaryRelease().run(one)[0].measured
    assert measured["persons"] == count
    assert measured["k"] == (min(joint) if joint else None)
    assert measured["k_alone"] == (min(alone) if alone else None)
    told = Composition().run(one)[0].measured
    assert told["pinned"] == pytest.approx(pinned / count if count else 0)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(cell, cell), min_size=1, max_size=10), st.lists(st.tuples(cell, cell), max_size=10))
def test_temporal(now: Any, before: Any) -> None:
    before = before or [(9, 0)]
    codes = np.array([row[1] for row in now]), np.array([row[1] for row in before])
    beside = OtherTable(codes, release=published([row[:1] for row in before]))
    measured = Temporal().run(evidence([row[:1] for row in now], earlier=(beside,)))[0].measured
    both = {row[0] for row in now} & {row[0] for row in before}
    came = Counter(now) - Counter(before)
    sizes = Counter({text: sum(n for (shown, _), n in came.items() if shown == text) for text in both})
    some = [n for n in sizes.values() if n]
    assert measured["came"] == (min(some) if some else None)
    assert measured["compared"] == pytest.approx(sum(row[0] in both for row in now) / len(now))


@pytest.mark.parametrize(
    ("count", "groups", "limits"),
    [(2, (2, 2), (1, 1)), (2, (2, 3), (1, 1)), (3, (3, 4), (1, 2)), (1, (2, 2), (1, 1)), (3, (2, 2, 3), (1, 1, 2))],
)
def test_credibility_by_listing_every_arrangement(count: int, groups: Any, limits: Any) -> None:
    whole, owner = sum(groups), [n for n, size in enumerate(groups) for _ in range(size)]
    ways = []
    for chosen in combinations(range(whole), count):
        held = Counter(owner[person] for person in chosen)
        if any(held[n] > limits[n] for n in range(len(groups))):
            ways.append(held)
    expected = tuple(
        Fraction(sum(way[n] for way in ways), len(ways) * size) if ways else Fraction(0)
        for n, size in enumerate(groups)
    )
    assert credibility(count, tuple(groups), tuple(limits)) == (expected if ways else ())


@settings(max_examples=30, deadline=None)
@given(rows_and_values)
def test_inference_does_not_depend_on_the_order(rows: list[tuple[int, ...]]) -> None:
    shown, values = split(rows)
    measured = Inference().run(evidence(shown, values))[0].measured
    back = Inference().run(evidence(shown[::-1], values[::-1]))[0].measured
    assert measured == back
    assert measured["baseline"] == max(Counter(values).values()) / len(rows)


def test_inference_without_a_record_is_learned_anew() -> None:
    chance = np.random.default_rng(1)
    rows = [tuple(row) for row in chance.integers(0, 3, (40, 2)).tolist()]
    values = chance.integers(0, 3, 40).tolist()
    whole = Inference().run(evidence(rows, values))[0].measured
    hits = 0
    for out in range(40):
        rest = [-1 if number == out else value for number, value in enumerate(values)]
        hits += _guess(rows, rest, rows[out]) == values[out]
    assert whole["control"] == hits / 40


def _guess(rows: list[tuple[int, ...]], values: list[int], target: tuple[int, ...]) -> int:
    """Naive Bayes by its definition, over the columns and their combination."""
    known = [(row, value) for row, value in zip(rows, values, strict=True) if value >= 0]
    prior = Counter(value for _, value in known)
    order = sorted(range(3), key=lambda value: -Counter(v for v in values if v >= 0)[value])
    best, score = -1, -np.inf
    for value in order:
        told = np.log(prior[value] + 1e-9)
        for view in (lambda r: r[0], lambda r: r[1], lambda r: r):
            held = sum(view(row) == view(target) and v == value for row, v in known)
            everyone = sum(view(row) == view(target) for row, _ in known)
            told += np.log((held + everyone / len(known) + 1e-9) / (prior[value] + 1.0))
        if told > score + 1e-9:
            best, score = value, told
    return best
