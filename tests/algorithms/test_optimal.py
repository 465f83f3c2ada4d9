"""Optimal: the node that exhaustive finds, and nothing claimed that is not proven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.base import Problem
from shoal.algorithms.full_domain.exhaustive import Exhaustive
from shoal.algorithms.full_domain.optimal import Optimal
from shoal.algorithms.lattice import branches
from shoal.algorithms.lattice.lattice import Lattice
from shoal.errors import Infeasible, PolicyError
from shoal.frequencies.frequencies import Classes
from shoal.models.base import Census, Holds, PrivacyModel
from shoal.models.k_anonymity import KAnonymity
from shoal.policy import Policy
from shoal.recodings.full_domain import FullDomain
from shoal.testing import encode_table
from shoal.utility.base import Floats, Metric, Outcome

from .cases import NODES, cases

COMMON = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def problem_of(table: pl.DataFrame, policy: Policy) -> Problem | None:
    try:
        return encode_table(table, policy).problem(policy)
    except Infeasible:
        return None


def found(algorithm: Exhaustive | Optimal, problem: Problem) -> FullDomain | None:
    try:
        return algorithm.search(problem)
    except Infeasible:
        return None


def assert_same(problem: Problem) -> FullDomain | None:
    """Both find the same node, both have proven it."""
    slow, fast = found(Exhaustive(), problem), found(Optimal(), problem)
    assert (slow is None) == (fast is None)
    if slow is None or fast is None or slow.proof is None or fast.proof is None:
        return None
    assert slow.levels == fast.levels
    assert (slow.suppressed == fast.suppressed).all()
    assert fast.proof.loss == pytest.approx(slow.proof.loss, rel=1e-12)
    for proof in (slow.proof, fast.proof):
        assert proof.proven
        assert proof.gap == 0.0
        assert not proof.stopped
        assert proof.looked <= proof.nodes == Lattice(problem).size
    return fast


@COMMON
@given(cases(), st.sampled_from([1, 2, 256]))
def test_finds_what_exhaustive_finds(case: tuple[pl.DataFrame, Policy], batch: int) -> None:
    problem = problem_of(*case)
    if problem is not None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(branches, "BATCH", 2 * batch)
            answer = assert_same(problem)
        if answer is not None:
            records = problem.frequencies.counts[answer.suppressed].sum()
            assert records <= problem.max_suppressed
            assert records < problem.frequencies.records


class OddSize(PrivacyModel):
    """A class complies only if its size is odd: joining classes may break it, and so may parting them."""

    monotone: ClassVar[bool] = False
    absorbing: ClassVar[bool] = False

    @property
    def asked(self) -> str:
        return "odd"

    def holds(self, classes: Classes, sensitive: Mapping[str, int]) -> Holds:
        result: Holds = classes.records % 2 == 1
        return result

    def measure(self, classes: Classes, sensitive: Mapping[str, int]) -> str:
        return "odd" if self.holds(classes, sensitive).all() else "even"

    def recount(self, census: Census) -> str:
        return "odd" if (census.sizes % 2 == 1).all() else "even"

    def meets(self, attained: Any) -> bool:
        return attained == "odd"

    def relaxed(self, attained: Any) -> PrivacyModel | None:
        return None


class Between(OddSize):
    """A class complies only if it has two to four records."""

    @property
    def least_records(self) -> int:
        return 2

    def holds(self, classes: Classes, sensitive: Mapping[str, int]) -> Holds:
        return (classes.records >= 2) & (classes.records <= 4)


@COMMON
@given(cases(), st.sampled_from([(OddSize(),), (Between(),), (KAnonymity(k=3), OddSize()), (OddSize(), Between())]))
def test_models_that_fail_when_classes_are_joined(
    case: tuple[pl.DataFrame, Policy], models: tuple[PrivacyModel, ...]
) -> None:
    problem = problem_of(*case)
    if problem is None:
        return
    answer = assert_same(replace(problem, models=models))
    if answer is not None:
        assert answer.proof is not None
        assert any("may fail when classes are joined" in note for note in answer.proof.notes)


def test_such_a_model_takes_a_lower_node_than_the_top() -> None:
    # four records together are even, one by one they are odd: a coarser node complies less
    table = pl.DataFrame({"place": list("abcd"), "age": [1] * 4})
    problem = replace(problem_of(table, small()), models=(OddSize(),))  # type: ignore[type-var]
    answer = assert_same(problem)
    assert answer is not None
    assert answer.levels == {"place": 0, "age": 0}


class Kept(Metric):
    """The share of kept records, more of it is better: a metric the other way round, with a bound."""

    direction: ClassVar[Any] = "higher is better"

    def totals(self, outcome: Outcome) -> Any:
        return outcome.kept / outcome.records - 0.1 * outcome.penalty.sum(axis=-1) / outcome.records

    def bounds(self, outcome: Outcome) -> Floats:
        return self.ranks(outcome)


class Twofold(Metric):
    """Few suppressed first, then few classes: two ranks, and no bound."""

    def totals(self, outcome: Outcome) -> Any:
        return outcome.suppressed * 1.0

    def ranks(self, outcome: Outcome) -> Floats:
        return np.stack([outcome.suppressed * 1.0, -outcome.classes * 1.0], axis=-1)


@settings(COMMON, max_examples=40)
@given(cases(), st.sampled_from([Kept(), Twofold()]))
def test_metrics_of_other_kinds(case: tuple[pl.DataFrame, Policy], loss: Metric) -> None:
    problem = problem_of(*case)
    if problem is not None:
        assert_same(replace(problem, loss=loss))


@settings(COMMON, max_examples=40)
@given(cases(), st.sampled_from(["certainty-penalty", "discernibility"]))
def test_a_larger_k_never_loses_less(case: tuple[pl.DataFrame, Policy], loss: str) -> None:
    table, policy = case
    losses = []
    for k in (2, 3, 5):
        asked = policy.replace(models=[KAnonymity(k=k), *policy.models[1:]], loss=loss)
        problem = problem_of(table, asked)
        answer = None if problem is None else found(Optimal(), problem)
        losses.append(np.inf if answer is None or answer.proof is None else answer.proof.loss)
    assert losses == sorted(losses) or np.allclose(losses, sorted(losses), rtol=1e-12)


@settings(COMMON, max_examples=40)
@given(cases())
def test_a_coarser_node_never_lowers_k(case: tuple[pl.DataFrame, Policy]) -> None:
    table, policy = case
    specs = {n: s.model_copy(update={"boundaries": ()}) for n, s in policy.quasi_identifiers.items()}
    problem = problem_of(table, policy.replace(quasi_identifiers=specs))
    if problem is None or not all(column.levels.nested for column in problem.columns):
        return
    space = Lattice(problem)
    looked = space.look(space.nodes())
    k = {tuple(node): size for node, size in zip(looked.nodes.tolist(), looked.smallest.tolist(), strict=True)}
    for node, size in k.items():
        for above in map(tuple, (np.array(node) + np.eye(len(node), dtype=int)).tolist()):
            assert k.get(above, size) >= size  # a level above the top is no node


# --- interrupted ------------------------------------------------------------------------------------------------


def interrupted(problem: Problem, after: int) -> Problem:
    calls = iter(range(after))

    def progress(what: str, done: int, total: int) -> None:
        if next(calls, None) is None:
            raise KeyboardInterrupt

    return replace(problem, progress=progress)


@settings(COMMON, max_examples=60)
@given(cases(plain=True, most=30), st.integers(0, 40), st.sampled_from([2, 4, 256]))
def test_an_interrupt_claims_nothing_that_is_not_proven(
    case: tuple[pl.DataFrame, Policy], after: int, batch: int
) -> None:
    problem = problem_of(*case)
    best = None if problem is None else found(Exhaustive(), problem)
    if problem is None or best is None or best.proof is None:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branches, "BATCH", batch)
        try:
            answer = Optimal().search(interrupted(problem, after))
        except KeyboardInterrupt:
            return  # there was no node yet
    proof = answer.proof
    assert proof is not None
    tolerance = 1e-9 * max(abs(best.proof.loss), 1.0)
    if not proof.stopped:
        assert proof.proven
    if proof.bound is not None:
        assert proof.bound <= best.proof.loss + tolerance
        assert proof.proven == (proof.gap is not None and proof.gap <= tolerance)
    if proof.proven:
        assert proof.loss == pytest.approx(best.proof.loss, rel=1e-9)
    assert proof.loss >= best.proof.loss - tolerance


def many() -> pl.DataFrame:
    random = np.random.default_rng(5)
    return pl.DataFrame({"place": random.choice(list("abcde"), 60), "age": random.integers(1, 40, 60)})


def small(**more: Any) -> Policy:
    quasi = {"place": {"hierarchy": "tree", "nodes": NODES}, "age": {"hierarchy": "intervals", "widths": [5, 10, 20]}}
    return Policy(
        **{"quasi_identifiers": quasi, "models": [{"name": "k-anonymity", "k": 4}], "max_suppressed": 0.2, **more}
    )


def test_every_place_of_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branches, "BATCH", 2)
    problem = problem_of(many(), small())
    assert problem is not None
    best = Exhaustive().search(problem).proof
    assert best is not None
    seen = set()
    for after in range(1000):
        try:
            proof = Optimal().search(interrupted(problem, after)).proof
        except KeyboardInterrupt:
            seen.add("no node yet")
            continue
        assert proof is not None
        assert proof.bound is not None
        assert proof.bound <= best.loss + 1e-12
        assert not proof.proven or proof.loss == pytest.approx(best.loss)
        seen.add("by the user, open" if proof.stopped and not proof.proven else proof.stopped or "ran to its end")
        if not proof.stopped:
            break
    assert {"no node yet", "by the user, open", "ran to its end"} <= seen


def test_an_interrupt_tells_no_bound_where_none_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branches, "BATCH", 2)
    problem = problem_of(many(), small())
    assert problem is not None
    problem = replace(problem, loss=Kept())
    stopped = []
    for after in range(40):
        try:
            proof = Optimal().search(interrupted(problem, after)).proof
        except KeyboardInterrupt:
            continue
        assert proof is not None
        if proof.stopped:
            stopped.append(proof)
    assert stopped
    best = found(Exhaustive(), problem)
    assert best is not None
    assert best.proof is not None
    for proof in stopped:
        assert proof.bound is None or (proof.proven and proof.loss == pytest.approx(best.proof.loss))


def test_exhaustive_stops_with_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.algorithms.full_domain.exhaustive._BLOCK", 3)
    problem = problem_of(many(), small())
    assert problem is not None
    with pytest.raises(KeyboardInterrupt):
        Exhaustive().search(interrupted(problem, 0))
    proof = Exhaustive().search(interrupted(problem, 6)).proof
    assert proof is not None
    assert proof.stopped == "by the user"
    assert not proof.proven
    assert proof.bound is None
    assert proof.looked == 18


# --- extremes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [24, 70])
def test_a_lattice_that_is_too_large_to_walk(columns: int) -> None:
    table = pl.DataFrame({f"c{index}": ["a", "a", "b", "b"] for index in range(columns)})
    policy = Policy(
        quasi_identifiers=dict.fromkeys(table.columns, "suppress"),
        models=[{"name": "k-anonymity", "k": 2}],
        algorithm="exhaustive",
    )
    with pytest.raises(PolicyError, match=r"more than the 10,000,000 that are walked.*heuristic"):
        shoal.anonymize(table, policy)
    release: Any = shoal.anonymize(table, policy.replace(algorithm="optimal"))
    assert release.recoding.proof.proven
    assert release.recoding.proof.nodes == 2**columns
    assert release.loss == 0.0


@pytest.mark.parametrize("algorithm", ["exhaustive", "optimal"])
@pytest.mark.parametrize("loss", ["certainty-penalty", "discernibility", "class-size"])
@pytest.mark.parametrize("k", [2, 8])
def test_who_may_suppress_all_still_publishes_some(algorithm: str, loss: str, k: int) -> None:
    # a node that suppresses everybody costs as much as the top, or nothing at all: it is no release
    table = pl.DataFrame({"place": list("abcdeabc"), "age": list(range(1, 9))})
    asked = small(algorithm=algorithm, loss=loss, max_suppressed=1.0, models=[{"name": "k-anonymity", "k": k}])
    assert shoal.anonymize(table, asked).table.height > 0


@pytest.mark.parametrize("algorithm", ["exhaustive", "optimal"])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_more_than_there_are_cannot_be_asked(algorithm: str, share: float) -> None:
    asked = small(algorithm=algorithm, max_suppressed=share, models=[{"name": "k-anonymity", "k": 9}])
    with pytest.raises(Infeasible):
        shoal.anonymize(pl.DataFrame({"place": list("abcdeabc"), "age": list(range(8))}), asked)
    with pytest.raises(Infeasible):
        shoal.anonymize(pl.DataFrame({"place": ["a"], "age": [1]}), asked)


@pytest.mark.parametrize("algorithm", ["exhaustive", "optimal"])
def test_ties_go_to_the_lower_then_the_first_node(algorithm: str) -> None:
    # either column may be raised, at the same price
    table = pl.DataFrame({"x": ["a", "a", "b", "b"], "y": ["c", "d", "c", "d"]})
    policy = Policy(
        quasi_identifiers={"x": "suppress", "y": "suppress"},
        models=[{"name": "k-anonymity", "k": 2}],
        algorithm=algorithm,
    )
    for frame in (table, table.reverse()):
        release: Any = shoal.anonymize(frame, policy)
        assert release.recoding.levels == {"x": 0, "y": 1}
    same: Any = shoal.anonymize(pl.DataFrame({"x": ["a"] * 4, "y": ["c"] * 4}), policy)
    assert same.recoding.levels == {"x": 0, "y": 0}


def test_a_column_of_100_000_values() -> None:
    table = pl.DataFrame({"id": list(range(100_000)), "sex": ["f", "m"] * 50_000})
    policy = Policy(
        quasi_identifiers={"id": {"hierarchy": "intervals", "widths": [10, 1000]}, "sex": "suppress"},
        models=[{"name": "k-anonymity", "k": 5}],
    )
    problem = problem_of(table, policy)
    assert problem is not None
    answer = assert_same(problem)
    assert answer is not None
    assert answer.levels == {"id": 1, "sex": 0}


# --- what is proven is what is released -------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["exhaustive", "optimal"])
@pytest.mark.parametrize("loss", ["certainty-penalty", "discernibility"])
def test_records_that_no_search_sees_are_lost_all_the_same(algorithm: str, loss: str) -> None:
    table = pl.DataFrame({"place": ["a", "a", "b", "c", None, None, None], "age": [1, 1, 9, 9, 1, 2, 3]})
    quasi = {"place": {"hierarchy": "suppress", "missing": "suppress"}, "age": "suppress"}
    asked = small(quasi_identifiers=quasi, models=[{"name": "k-anonymity", "k": 2}], max_suppressed=0.9)
    release: Any = shoal.anonymize(table, asked.replace(algorithm=algorithm, loss=loss))
    assert release.recoding.proof.loss == pytest.approx(release.loss)


def test_they_count_for_which_node_is_best() -> None:
    # a suppressed record costs the whole table, the barred ones included
    table = pl.DataFrame({"place": list("aaabbbc") + [None] * 9, "age": [1] * 16})
    quasi = {"place": {"hierarchy": "suppress", "missing": "suppress"}, "age": "suppress"}
    asked = small(quasi_identifiers=quasi, models=[{"name": "k-anonymity", "k": 2}], max_suppressed=0.9)
    release: Any = shoal.anonymize(table, asked.replace(algorithm="optimal", loss="discernibility"))
    # as it is: 9 + 9 + 16·10 = 178; place as *: 49 + 16·9 = 193
    assert release.recoding.levels == {"place": 0, "age": 0}
    more = pl.concat([table, table.tail(9), table.tail(9), table.tail(9)])
    release = shoal.anonymize(more, asked.replace(algorithm="optimal", loss="discernibility"))
    # as it is: 9 + 9 + 43·37 = 1,609; place as *: 49 + 43·36 = 1,597
    assert release.recoding.levels == {"place": 1, "age": 0}


def test_class_size_counts_the_starred_class() -> None:
    table = pl.DataFrame({"place": list("aabbcde"), "age": [1] * 7})
    asked = small(
        algorithm="exhaustive", loss="class-size", max_suppressed=0.5, models=[{"name": "k-anonymity", "k": 2}]
    )
    release: Any = shoal.anonymize(table, asked)
    assert release.recoding.proof.loss == pytest.approx(release.loss)


def test_records_that_show_only_wildcards_are_suppressed_ones() -> None:
    # at the bottom two records show * everywhere, which are too many; with both columns at the top none is singled out
    table = pl.DataFrame({"x": ["a", "a", "b", "b", None, None], "y": ["c", "c", "d", "d", None, None]})
    wild = {"hierarchy": "suppress", "missing": "wildcard"}
    asked = small(
        quasi_identifiers={"x": wild, "y": wild}, models=[{"name": "k-anonymity", "k": 2}], max_suppressed=0.0
    )
    release: Any = shoal.anonymize(table, asked.replace(algorithm="exhaustive"))
    assert release.recoding.levels == {"x": 1, "y": 1}
