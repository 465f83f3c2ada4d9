"""Samarati, Incognito, Datafly and Heuristic against a plain enumeration of every node."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms import Heuristic, Incognito
from shoal.algorithms.lattice.lattice import Lattice
from shoal.errors import Infeasible, PolicyError
from shoal.policy import Policy
from shoal.testing import encode_table

PLACES = {"*": {"north": ["a", "b"], "south": {"coast": ["c"], "hills": ["d", "e"]}}}


def policy(k: int, share: float, algorithm: Any, **more: Any) -> Policy:
    return Policy(
        quasi_identifiers={
            "age": {"hierarchy": "intervals", "widths": [5, 10]},
            "place": {"hierarchy": "tree", "nodes": PLACES},
            "sex": "suppress",
        },
        models=[{"name": "k-anonymity", "k": k}],
        algorithm=algorithm,
        max_suppressed=share,
        **more,
    )


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    record = st.tuples(st.integers(18, 40), st.sampled_from("abcde"), st.sampled_from("fm"))
    rows = draw(st.lists(record, min_size=4, max_size=24))
    return pl.DataFrame(rows, schema=["age", "place", "sex"], orient="row")


def left_over(table: pl.DataFrame, asked: Policy) -> dict[tuple[int, ...], int]:
    """The records that each node would have to suppress, counted record by record."""
    columns = encode_table(table, asked).columns
    codes = [{text: code for code, text in enumerate(column.levels.domain.texts)} for column in columns]
    found = {}
    for levels in product(*(range(column.max_level + 1) for column in columns)):
        shown = Counter(
            tuple(
                column.levels.text(level, code[str(value)])
                for column, level, code, value in zip(columns, levels, codes, record, strict=True)
            )
            for record in table.iter_rows()
        )
        found[levels] = sum(size for size in shown.values() if size < asked.k)
    return found


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(2, 5), st.sampled_from([0.0, 0.2, 0.5]))
def test_samarati_takes_a_node_of_the_lowest_height(table: pl.DataFrame, k: int, share: float) -> None:
    asked = policy(k, share, "samarati")
    fine = [levels for levels, out in left_over(table, asked).items() if out <= int(share * table.height)]
    if not fine:
        with pytest.raises(Infeasible):
            shoal.anonymize(table, asked)
        return
    recoding: Any = asked.algorithm.search(encode_table(table, asked).problem(asked))
    assert tuple(recoding.levels.values()) in fine
    assert sum(recoding.levels.values()) == min(map(sum, fine))


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(2, 5), st.sampled_from([0.0, 0.2, 0.5]))
def test_incognito_finds_all_minimal_nodes(table: pl.DataFrame, k: int, share: float) -> None:
    asked = policy(k, share, "incognito")
    fine = {levels for levels, out in left_over(table, asked).items() if out <= int(share * table.height)}
    lowest = {
        levels
        for levels in fine
        if not any(other != levels and all(a <= b for a, b in zip(other, levels, strict=True)) for other in fine)
    }
    lattice = Lattice(encode_table(table, asked).problem(asked))
    assert {tuple(node) for node in Incognito().minimal(lattice).tolist()} == lowest


@settings(max_examples=40, deadline=None)
@given(tables(), st.integers(2, 4), st.sampled_from([0.0, 0.3]))
def test_datafly_raises_the_column_with_most_values_and_no_further_than_it_must(
    table: pl.DataFrame, k: int, share: float
) -> None:
    asked = policy(k, share, "datafly")
    problem = encode_table(table, asked).problem(asked)
    over, allowed = left_over(table, asked), min(k, int(share * table.height))
    if min(over.values()) > allowed:
        return
    rounds = list(asked.algorithm.rounds(Lattice(problem)))  # type: ignore[attr-defined]
    path = [tuple(listed.levels.tolist()) for listed in rounds]
    assert [over[levels] <= allowed for levels in path] == [False] * (len(path) - 1) + [True]
    heights = [column.max_level for column in problem.columns]
    for listed, before, after in zip(rounds, path, path[1:], strict=False):
        raised = next(index for index in range(3) if after[index] != before[index])
        able = [index for index in range(3) if before[index] < heights[index]]
        assert raised == max(able, key=lambda index: (listed.distinct[index], -index))


def test_datafly_suppresses_a_class_more_so_that_no_few_are_left_alone() -> None:
    rows = [("a", "f")] * 3 + [("b", "f")] * 4 + [("c", "m")]
    table = pl.DataFrame(rows, schema=["place", "sex"], orient="row")
    asked = Policy(
        quasi_identifiers=dict.fromkeys(["place", "sex"], "suppress"),
        models=[{"name": "k-anonymity", "k": 3}],
        algorithm="datafly",
        max_suppressed=0.5,
    )
    release = shoal.anonymize(table, asked)
    # one record is left over; the smallest class (three of a, f) joins it: four stars are a class like any other
    assert Counter(release.table.iter_rows()) == {("*", "*"): 4, ("b", "f"): 4}
    assert shoal.anonymize(table, asked.replace(max_suppressed=0.2)).audit.suppressed == 1  # no room: it is left out


def wide(columns: int) -> pl.DataFrame:
    return pl.DataFrame(
        {f"c{index}": [(7 * row + index * row * row) % 5 for row in range(60)] for index in range(columns)}
    )


def wide_policy(columns: int, algorithm: Any) -> Policy:
    return Policy(
        quasi_identifiers={f"c{index}": {"hierarchy": "intervals", "widths": [2, 4]} for index in range(columns)},
        models=[{"name": "k-anonymity", "k": 3}],
        algorithm=algorithm,
        max_suppressed=0.1,
    )


def test_a_lattice_too_large_to_walk_is_told_and_the_heuristic_says_how_near_it_is() -> None:
    table = wide(14)  # 4 ** 14 nodes, of which some publish the same
    for name in ("exhaustive", "samarati", "incognito"):
        with pytest.raises(PolicyError, match=r"11,337,408 nodes.*heuristic"):
            shoal.anonymize(table, wide_policy(14, name))
    release = shoal.anonymize(table, wide_policy(14, Heuristic(looks=2000)))
    proof = release.recoding.proof
    assert proof is not None and proof.bound is not None and proof.gap is not None
    assert 0.0 <= proof.bound <= proof.loss == pytest.approx(release.loss)
    assert proof.proven or proof.stopped == "after 2,000 looks"


def test_more_looks_never_find_a_worse_node_and_end_at_the_optimum() -> None:
    table = wide(5)
    losses = [shoal.anonymize(table, wide_policy(5, Heuristic(looks=n))).loss for n in (1, 50, 100_000)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == shoal.anonymize(table, wide_policy(5, "exhaustive")).loss
    proof = shoal.anonymize(table, wide_policy(5, Heuristic(looks=1))).recoding.proof
    assert proof is not None and proof.bound is not None and proof.bound <= losses[-1]


@pytest.mark.parametrize("algorithm", ["samarati", "incognito"])
def test_levels_that_do_not_nest_turn_the_short_cuts_off(algorithm: str) -> None:
    table = pl.DataFrame({"age": [20, 21, 24, 25, 26, 29, 33, 34], "sex": list("ffmmffmm")})
    asked = Policy(
        quasi_identifiers={"age": {"hierarchy": "divisor-based", "smallest": 4}, "sex": "suppress"},
        models=[{"name": "k-anonymity", "k": 2}],
        algorithm=algorithm,
    )
    proof = shoal.anonymize(table, asked).recoding.proof
    assert proof is not None and any("way up" in note for note in proof.notes)
