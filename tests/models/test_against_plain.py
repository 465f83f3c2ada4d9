"""Each model against a plain, slow one: from its definition, on random classes; and wildcards against every value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from math import exp, inf, log
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from shoal import registry as catalog
from shoal.models.base import PrivacyModel
from shoal.testing import background_of, census_of, check_model, classes_of

Row = Sequence[int]
SIZE = 4


def model(name: str, **parameters: Any) -> PrivacyModel:
    return cast("PrivacyModel", catalog.find("models", name)(on="s", **parameters))


def moved(own: Row, table: Row, apart: Callable[[int, int], float]) -> float:
    """The earth mover's distance, as the transport problem that it is; absent values are no part of it."""
    return _moved(tuple(own), tuple(table), tuple(apart(i, j) for i in range(len(own)) for j in range(len(table))))


@cache
def _moved(own: tuple[int, ...], table: tuple[int, ...], costs: tuple[float, ...]) -> float:
    p, q = np.array(own) / sum(own), np.array(table) / sum(table)
    away = np.kron(np.eye(len(p)), np.ones(len(q)))
    there = np.kron(np.ones(len(p)), np.eye(len(q)))
    return float(linprog(costs, A_eq=np.vstack([away, there]), b_eq=np.concatenate([p, q])).fun)


def ordered(own: Row, table: Row) -> float:
    present = [value for value, count in enumerate(table) if count]
    steps = max(len(present) - 1, 1)
    return moved([own[v] for v in present], [table[v] for v in present], lambda i, j: abs(i - j) / steps)


def hierarchical(own: Row, table: Row) -> float:
    return moved(own, table, lambda i, j: 0.0 if i == j else 0.5 if i // 2 == j // 2 else 1.0)


def gain(own: Row, table: Row) -> float:
    n, whole = sum(own), sum(table)
    return max(0.0, *(c / n * whole / q - 1 for c, q in zip(own, table, strict=True) if q))


def enhanced(own: Row, table: Row) -> float:
    n, whole = sum(own), sum(table)
    for c, q in zip(own, table, strict=True):
        if q and c / n > q / whole and c / n * whole / q - 1 > log(whole / q) + 1e-12:
            return inf
    return gain(own, table)


def disclosure(own: Row, table: Row) -> float:
    n, whole = sum(own), sum(table)
    pairs = [(c, q) for c, q in zip(own, table, strict=True) if q]
    return max(abs(log(c / n * whole / q)) if c else inf for c, q in pairs)


def entropy(own: Row, _: Row) -> float:
    return exp(-sum(c / sum(own) * log(c / sum(own)) for c in own if c))


def grassberger(own: Row, _: Row) -> float:
    from scipy.special import digamma

    def g(n: int) -> float:
        return float(digamma(n) + (-1) ** n / 2 * (digamma((n + 1) / 2) - digamma(n / 2)))

    n = sum(own)
    return max(1.0, min(exp(log(n) - sum(c * g(c) for c in own if c) / n), sum(c > 0 for c in own)))


def depth(own: Row, _: Row) -> float:
    counts = sorted((c for c in own if c), reverse=True)
    return max((length for length in range(1, 5) if counts[0] < 1.5 * sum(counts[length - 1 :])), default=0)


PLAIN: list[tuple[PrivacyModel, Callable[[Row, Row], float], Callable[..., float]]] = [
    (model("t-closeness", t=0.5), lambda p, q: moved(p, q, lambda i, j: float(i != j)), max),
    (model("t-closeness", t=0.5, distance="ordered"), ordered, max),
    (model("t-closeness", t=0.5, distance="hierarchical"), hierarchical, max),
    (model("beta-likeness", beta=1, enhanced=False), gain, max),
    (model("beta-likeness", beta=1), enhanced, max),
    (model("delta-disclosure", delta=1), disclosure, max),
    (model("entropy-l-diversity", l=2), entropy, min),
    (model("entropy-l-diversity", l=2, estimator="grassberger"), grassberger, min),
    (model("recursive-l-diversity", c=1.5, l=2), depth, min),
    (model("alpha-k-anonymity", alpha=0.5, k=2), lambda p, _: max(p) / sum(p), max),
    (model("p-sensitive", p=2, k=2), lambda p, _: sum(c > 0 for c in p), min),
]
ROWS = st.lists(st.integers(0, 6), min_size=SIZE, max_size=SIZE)
NAMES = [f"{one.key()} {number}" for number, (one, _, _) in enumerate(PLAIN)]


def measured(one: PrivacyModel, rows: Sequence[Row], rest: Row) -> float:
    """What classes attain; of two values the one on sensitive values. The last count of a row is that of wild ones."""
    told = one.measure(classes_of(rows), background_of([*rows, rest], ("s",)))
    return float(told[0] if isinstance(told, tuple) else told)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROWS.filter(any), min_size=1, max_size=4), ROWS)
@pytest.mark.parametrize(("one", "plain", "worst"), PLAIN, ids=NAMES)
def test_models_against_their_definition(
    one: PrivacyModel, plain: Callable[[Row, Row], float], worst: Callable[..., float], rows: list[Row], rest: Row
) -> None:
    table = [sum(column) for column in zip(*rows, rest, strict=True)]
    expected = worst(plain(row, table) for row in rows)
    told = measured(one, [[*row, 0] for row in rows], [*rest, 0])
    assert told == pytest.approx(expected, abs=1e-9)


TOLD_EXACTLY = [number for number, (one, _, _) in enumerate(PLAIN) if "table" in one.needs]
"""The models that compare with the whole table tell what the worst assignment of missing values attains."""


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=3), st.data())
@pytest.mark.parametrize("number", TOLD_EXACTLY, ids=[NAMES[number] for number in TOLD_EXACTLY])
def test_what_is_told_of_missing_values_is_what_the_worst_of_them_attain(
    number: int, rows: list[Row], data: st.DataObject
) -> None:
    one, plain, _ = PLAIN[number]
    wild = data.draw(st.lists(st.integers(0, 3), min_size=len(rows) + 1, max_size=len(rows) + 1))
    wild = [min(count, 1) for count in wild] if sum(wild) > 5 else wild
    wild = [max(count, not any(row)) for count, row in zip(wild, [*rows, [1]], strict=True)]  # no class is empty
    rest = data.draw(st.lists(st.integers(1, 3), min_size=3, max_size=3))
    counts = [[*row, blank] for row, blank in zip(rows, wild, strict=False)]
    others = [*rest, wild[-1]]
    expected = max(_after_every_assignment(plain, [*rows, rest], wild))
    assert measured(one, counts, others) == pytest.approx(expected, abs=1e-9)
    assert one.recount(census_of(counts, others, ("s",))) == pytest.approx(expected, abs=1e-9)
    check_model(one, rows, wild=wild[:-1], rest=others)


def _after_every_assignment(
    plain: Callable[[Row, Row], float], rows: Sequence[Row], wild: Sequence[int]
) -> Iterator[float]:
    """Yield what the worst class attains for each way to fill in the missing values; the last row is in no class."""
    indices = [number for number, count in enumerate(wild) for _ in range(count)]
    for values in product(range(3), repeat=len(indices)):
        known = [list(row) for row in rows]
        for index, value in zip(indices, values, strict=True):
            known[index][value] += 1
        table = [sum(column) for column in zip(*known, strict=True)]
        yield max(plain(row, table) for row in known[:-1])


SAFE = [entry for entry in zip(PLAIN, NAMES, strict=True) if getattr(entry[0][0], "estimator", "") != "grassberger"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any), min_size=1, max_size=3), st.data())
@pytest.mark.parametrize(
    ("one", "worst"), [(one, worst) for (one, _, worst), _ in SAFE], ids=[name for _, name in SAFE]
)
def test_whatever_wild_values_are_a_class_is_no_worse_than_told(
    one: PrivacyModel, worst: Callable[..., float], rows: list[Row], data: st.DataObject
) -> None:
    wild = data.draw(st.lists(st.integers(0, 2), min_size=len(rows) + 1, max_size=len(rows) + 1))
    rest = data.draw(st.lists(st.integers(1, 3), min_size=3, max_size=3))
    if sum(wild) > 4:
        wild = [min(count, 1) for count in wild]
    told = measured(one, [[*row, blank] for row, blank in zip(rows, wild, strict=False)], [*rest, wild[-1]])
    indices = [number for number, count in enumerate(wild) for _ in range(count)]
    for values in product(range(3), repeat=len(indices)):
        known = [list(row) for row in [*rows, rest]]
        for index, value in zip(indices, values, strict=True):
            known[index][value] += 1
        real = measured(one, [[*row, 0] for row in known[:-1]], [*known[-1], 0])
        assert worst(told, real) == told, f"told {told}, and it may be {real} with {known}"
