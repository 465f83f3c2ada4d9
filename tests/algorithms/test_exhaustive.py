"""Exhaustive: the optimum, compared with a plain enumeration; every node counted right."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms.full_domain.exhaustive import walk_lattice
from shoal.algorithms.lattice.lattice import Lattice
from shoal.explore.lattice import lattice
from shoal.policy import Policy
from shoal.testing import encode_table

NODES = {"*": {"north": ["a", "b"], "south": {"coast": ["c"], "hills": ["d", "e"]}}}


def policy(k: int, share: float, loss: str = "certainty-penalty") -> Policy:
    return Policy(
        quasi_identifiers={
            "age": {"hierarchy": "intervals", "widths": [5, 10]},
            "place": {"hierarchy": "tree", "nodes": NODES},
            "sex": "suppress",
        },
        models=[{"name": "k-anonymity", "k": k}],
        algorithm="exhaustive",
        loss=loss,
        max_suppressed=share,
    )


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    rows = draw(
        st.lists(
            st.tuples(st.integers(18, 40), st.sampled_from("abcde"), st.sampled_from("fm")), min_size=6, max_size=30
        )
    )
    return pl.DataFrame(rows, schema=["age", "place", "sex"], orient="row")


def every_node(table: pl.DataFrame, asked: Policy) -> dict[tuple[int, ...], tuple[int, int, float, int]]:
    """k, suppressed, certainty penalty and discernibility of each node, counted record by record."""
    columns = encode_table(table, asked).columns
    indices = [{text: code for code, text in enumerate(c.levels.domain.texts)} for c in columns]
    k, found = asked.models[0].asked, {}
    for levels in product(*(range(column.max_level + 1) for column in columns)):
        shown = []
        costs = []
        for record in table.select(c.name for c in columns).iter_rows():
            codes = [index[str(value)] for index, value in zip(indices, record, strict=True)]
            cells = list(zip(columns, levels, codes, strict=True))
            shown.append(tuple(column.levels.text(level, code) for column, level, code in cells))
            costs.append(sum(float(column.levels.penalties[level, code]) for column, level, code in cells))
        sizes = Counter(shown)
        out = sum(size for size in sizes.values() if size < k)
        lost = sum(cost if sizes[key] >= k else len(columns) for key, cost in zip(shown, costs, strict=True))
        dm = sum(size**2 for size in sizes.values() if size >= k) + table.height * out
        found[levels] = (min(sizes.values()), out, lost / (table.height * len(columns)), dm)
    return found


@settings(max_examples=25, deadline=None)
@given(tables(), st.integers(2, 5), st.sampled_from([0.0, 0.2, 0.9]))
def test_the_optimum_and_every_node(table: pl.DataFrame, k: int, share: float) -> None:
    asked = policy(k, share)
    nodes = every_node(table, asked)
    for node in lattice(table, asked):
        attained, out, lost, dm = nodes[tuple(node["levels"].values())]
        assert (node["k"], node["suppressed"]) == (attained, out)
        assert node["losses"]["certainty-penalty"] == pytest.approx(lost)
        assert node["losses"]["discernibility"] == dm
    for loss, index in (("certainty-penalty", 2), ("discernibility", 3)):
        best = min(values[index] for values in nodes.values() if values[1] <= int(share * table.height))
        chosen: Any = shoal.anonymize(table, asked.replace(loss=loss)).recoding
        assert nodes[tuple(chosen.levels.values())][index] == pytest.approx(best)


def test_the_lattice_is_walked_once_each() -> None:
    table = pl.DataFrame({"age": [20, 30], "place": ["a", "e"], "sex": ["f", "m"]})
    problem = encode_table(table, policy(2, 0.0)).problem(policy(2, 0.0))
    nodes = [tuple(node) for looked in walk_lattice(Lattice(problem)) for node in looked.nodes.tolist()]
    assert len(nodes) == len(set(nodes)) == Lattice(problem).size < 4 * 4 * 2  # some levels publish the same
    every = Lattice(problem, every_level=True)
    nodes = [tuple(node) for looked in walk_lattice(every) for node in looked.nodes.tolist()]
    assert len(nodes) == len(set(nodes)) == every.size == 4 * 4 * 2


def test_ties_go_to_the_lower_node() -> None:
    table = pl.DataFrame({"age": [20, 20], "place": ["a", "a"], "sex": ["f", "f"]})
    release: Any = shoal.anonymize(table, policy(2, 0.0))
    assert set(release.recoding.levels.values()) == {0}
