"""What a class may still become is judged as its definition says; exchanges cost no more and keep classes complying."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.plain import composition as plain
from tests.kernels.test_neighbourhood import cost_of
from tests.kernels.units import Case

from shoal.algorithms.clustering.composition import _FORMS
from shoal.kernels.blocks import start_random
from shoal.kernels.compose import compose_pool, compose_sequence, find_size, place_rest
from shoal.kernels.composition import Conditions, count_held, may_comply
from shoal.kernels.exchange import exchange, exchange_blocks

SEEDS = st.integers(0, 2**32 - 1)
PLACES = 4


def condition_of(random: np.random.Generator, form: str) -> tuple[list[float], float]:
    """Numbers and a bound that some classes of a few records satisfy, and some do not."""
    shares = random.dirichlet(np.ones(PLACES)).tolist()
    if form in ("caps", "floors"):
        return [share * (1.8 if form == "caps" else 0.4) for share in shares], 0.0
    if form == "requests":
        return random.integers(1, 6, PLACES).astype(float).tolist(), 0.0
    if form == "tail":
        return [float(random.integers(1, 4))], float(random.choice([0.7, 1.5, 3.0]))
    if form == "evenness":
        return [count * np.log(max(count, 1)) for count in range(64)], float(np.log(random.choice([1.5, 2.0, 3.0])))
    if form == "distinct":
        return [], float(random.integers(1, PLACES + 1))
    return shares, float(random.choice([0.1, 0.3, 0.6]))


def conditions_of(every: list[tuple[str, list[float], float]], least: int) -> Conditions:
    """The conditions as kernels see them; all look at the same places."""
    sizes = [len(numbers) + 1 for _, numbers, _ in every]
    return Conditions(
        least,
        PLACES,
        np.array([_FORMS.index(form) for form, _, _ in every], np.int64),
        np.zeros(len(every), np.int64),
        np.full(len(every), PLACES, np.int64),
        np.cumsum([0, *sizes])[:-1].astype(np.int64),
        np.array([bound for _, _, bound in every], np.float64),
        np.concatenate([[*numbers, 0.0] for _, numbers, _ in every]).astype(np.float64),
    )


@pytest.mark.parametrize("form", _FORMS)
@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_a_class_complies_where_its_definition_says_so(form: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    numbers, bound = condition_of(random, form)
    least, held = int(random.integers(1, 5)), random.integers(0, 5, PLACES)
    held[random.integers(0, PLACES)] += 1
    size = int(held.sum())
    own = conditions_of([(form, numbers, bound)], least)
    assert may_comply(own, held.astype(np.int32), size, size) == plain.holds(form, numbers, bound, held.tolist(), least)


@pytest.mark.parametrize("form", _FORMS)
@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_no_class_is_given_up_that_could_still_comply(form: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    numbers, bound = condition_of(random, form)
    held = random.multinomial(int(random.integers(1, 4)), np.ones(PLACES) / PLACES)
    planned = int(held.sum() + random.integers(0, 4))
    may = may_comply(conditions_of([(form, numbers, bound)], 1), held.astype(np.int32), int(held.sum()), planned)
    could = any(plain.holds(form, numbers, bound, whole, 1) for whole in plain.complete(held.tolist(), planned))
    assert may or not could


class Composed(Case):
    """Units with places, and classes of them that comply."""

    def __init__(self, seed: int, most: int = 30) -> None:
        super().__init__(seed, most)
        self.weights = np.ones(len(self.tuples), np.int64)
        self.kinds = self.random.integers(0, PLACES, len(self.tuples))
        self.places = self.kinds[:, None].copy()
        form = str(self.random.choice(_FORMS))
        self.asked = [(form, *condition_of(self.random, form)), ("distinct", [], 1.0)]
        self.conditions = conditions_of(self.asked, int(self.random.integers(1, 4)))

    def complying(self) -> tuple[np.ndarray, int]:
        """Random classes; those that do not comply are joined, all of them where that does not help."""
        members = self.random.integers(0, max(len(self.tuples) // 3, 1), len(self.tuples))
        members = np.where(np.isin(members, self.failing(members)), members.max() + 1, members)
        if len(self.failing(members)):
            members = np.zeros(len(members), np.int64)
        numbers = np.unique(members, return_inverse=True)[1].ravel().astype(np.int64)
        return numbers, int(numbers.max()) + 1

    def failing(self, members: np.ndarray) -> list[int]:
        """The classes that do not comply."""
        held = count_held(self.conditions, self.places, members, int(members.max()) + 1)
        sizes = held.sum(axis=1)
        return [own for own in set(members.tolist()) - {-1} if not self.fits(held[own], int(sizes[own]))]

    def fits(self, held: np.ndarray, size: int) -> bool:
        return bool(may_comply(self.conditions, held, size, size))

    @property
    def data(self) -> tuple[Any, ...]:
        return self.costs, self.units, self.places


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_exchanges_cost_no_more_and_keep_classes_complying(seed: int) -> None:
    case = Composed(seed)
    members, classes = case.complying()
    comply, before = not case.failing(members), cost_of(case, members)
    found = exchange(*case.data, case.kinds, case.conditions, members, classes, 8)
    assert found == pytest.approx(cost_of(case, members), abs=1e-9)
    assert found <= before + 1e-9
    assert not (comply and case.failing(members))


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.integers(0, 3))
def test_blocks_cost_no_more_and_keep_classes_complying(seed: int, turn: int) -> None:
    case = Composed(seed, 40)
    members, _ = case.complying()
    if case.failing(members):
        return
    listed, starts = np.argsort(members, kind="stable"), np.array([0, len(members)])
    improved = np.empty(len(members), np.int64)
    data = (*case.data, case.kinds, case.conditions, listed, starts, members[listed])
    exchange_blocks(*data, 0, 1, 0.0, seed, turn, improved)
    after = np.empty_like(members)
    after[listed] = improved
    assert cost_of(case, after) <= cost_of(case, members) + 1e-9
    assert not case.failing(after)


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.sampled_from([0.3, 1.0]))
def test_composed_classes_comply_and_who_joins_them_breaks_none(seed: int, quota: float) -> None:
    case = Composed(seed)
    count = len(case.tuples)
    needed = np.array([find_size(case.conditions, np.array([[kind]]), 0, 1, 50) for kind in range(PLACES)])
    members, order, size = np.full(count, -1, np.int64), np.arange(count), case.conditions.least
    data = (*case.data, case.kinds, case.conditions)
    classes = compose_sequence(*data, order, needed, size, quota, 10, members)
    assert sorted(set(members.tolist()) - {-1}) == list(range(classes))
    assert not case.failing(members)
    rest = np.flatnonzero(members < 0)
    near = case.random.integers(0, max(classes, 1), len(rest))
    if classes:
        alone = place_rest(*case.data, case.conditions, rest, near, 2, members, classes)
        assert alone == (members < 0).sum()
        assert not case.failing(members)


def test_seeds_that_need_larger_classes_get_them() -> None:
    case = Composed(1)
    conditions = conditions_of([("caps", [0.1, 1.0, 1.0, 1.0], 0.0)], 2)
    found = [find_size(conditions, np.array([[kind]]), 0, 2, 50) for kind in range(2)]
    assert found == [10, 2]
    places = np.ones((len(case.tuples), 1), np.int64)
    members = np.full(len(places), -1, np.int64)
    data = (case.costs, case.units, places, places[:, 0].copy(), conditions)
    assert (
        compose_pool(*data, np.arange(len(places)), 2, 1.0, 0.0, start_random(0, 0, 0), members, 0) == len(places) // 2
    )
