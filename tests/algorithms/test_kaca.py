"""KACA: distances in hierarchies, and the paper's steps by hand."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.algorithms.local.kaca import weigh_distances
from shoal.policy import Policy
from shoal.testing import encode_table

NODES = {"*": {"A": ["a1", "a2"], "B": ["b1", "b2"]}}


def policy(k: int = 2, **more: object) -> Policy:
    return Policy(
        quasi_identifiers={"place": {"hierarchy": "tree", "nodes": NODES}},
        models=[{"name": "k-anonymity", "k": k}],
        algorithm={"name": "kaca", **more},
    )


def test_steps_near_the_top_weigh_more() -> None:
    column = encode_table(pl.DataFrame({"place": ["a1", "a2", "b1", "b2"]}), policy()).columns[0]
    # two steps: the first weighs 1/2, the one to the top 1
    assert weigh_distances(column, 1.0)[:, 0].tolist() == pytest.approx([0, 1 / 3, 1])
    assert weigh_distances(column, 0.0)[:, 0].tolist() == pytest.approx([0, 1 / 2, 1])
    assert weigh_distances(column, 2.0)[:, 0].tolist() == pytest.approx([0, 1 / 5, 1])


def test_the_closest_classes_join() -> None:
    table = pl.DataFrame({"place": ["a1", "a2", "b1", "b1", "b1", "b2"]})
    # a1 and a2 are 2 × 1/3 apart, a1 and a b1 2 × 1; b2 takes one b1, two are left and stay as they are
    published = sorted(shoal.anonymize(table, policy()).table["place"])
    assert published == ["A", "A", "B", "B", "b1", "b1"]


def test_a_class_that_cannot_spare_joins_as_a_whole() -> None:
    table = pl.DataFrame({"place": ["a1", "a1", "a2"]})
    assert shoal.anonymize(table, policy()).table["place"].to_list() == ["A", "A", "A"]
