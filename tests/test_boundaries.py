"""Boundaries: the most general label that a value may reach."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import Infeasible
from shoal.policy import Policy

NODES = {"*": {"Secondary": ["9th", "10th", "11th"], "Higher": {"First": ["BA", "BSc"], "Second": ["MA", "PhD"]}}}
UNDER = {"Secondary": {"9th", "10th", "11th"}, "Higher": {"BA", "BSc", "MA", "PhD"}, "First": {"BA", "BSc"}}
LABELS = {**{v: {v} for v in ("9th", "10th", "11th", "BA", "BSc", "MA", "PhD")}, **UNDER, "Second": {"MA", "PhD"}}
ALGORITHMS: list[Any] = [
    "exhaustive",
    "mondrian",
    {"name": "mondrian", "cuts": "relaxed"},
    "single-dimensional",
    "top-down-specialization",
    "bottom-up",
    "spanning-tree",
    {"name": "spanning-tree", "removal": "allowable", "block": 3},
    "similarity-clustering",
    "k-member",
    "kaca",
    "bottom-up-merging",
    "top-down-greedy",
]


def policy(algorithm: Any, boundaries: list[str], share: float = 0.5, publish: str = "labels", k: int = 3) -> Policy:
    spec = {"hierarchy": "tree", "nodes": NODES, "boundaries": boundaries}
    return Policy(
        quasi_identifiers={"education": spec, "age": {"hierarchy": "intervals", "widths": [10, 20]}},
        models=[{"name": "k-anonymity", "k": k}],
        algorithm=algorithm,
        max_suppressed=share,
        publish=publish,
    )


def values_of(text: str) -> set[str]:
    if text.startswith("{"):
        return set(text[1:-1].split(", "))
    return LABELS[text] if text != "*" else set().union(*UNDER.values())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(LABELS.keys() - UNDER.keys() - {"Second"})), st.integers(18, 60)), min_size=8
    ),
    st.sampled_from(ALGORITHMS),
    st.sampled_from([["Secondary", "Higher"], ["Secondary", "First"], ["First"], ["Higher", "First"]]),
    st.sampled_from(["labels", "sets"]),
)
def test_no_published_value_is_above_its_boundary(
    rows: list[tuple[str, int]], algorithm: Any, boundaries: list[str], publish: str
) -> None:
    table = pl.DataFrame(rows, schema=["education", "age"], orient="row").unique(maintain_order=True)
    table = pl.concat([table, table])
    try:
        release = shoal.anonymize(table, policy(algorithm, boundaries, publish=publish))
    except Infeasible:
        return
    occurring = set(table["education"])
    for text in release.table.filter(pl.col("age") != "*")["education"].unique():
        shown = values_of(text) & occurring
        allowed = [UNDER[b] for b in boundaries]
        free = {v for v in shown if not any(v in under for under in allowed)}
        assert free or any(shown <= under for under in allowed), text


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_contracts_boundaries_are_kept(algorithm: Any) -> None:
    table = pl.DataFrame({"education": ["9th", "10th", "BA", "MA"] * 3, "age": list(range(20, 32))})
    release = shoal.anonymize(table, policy(algorithm, ["Secondary", "Higher"]))
    shown = set(release.table.filter(pl.col("age") != "*")["education"])
    assert shown
    assert "*" not in shown
    # k = 12 of 12 records needs one class, which holds both sides: without boundaries it goes to the top
    assert set(shoal.anonymize(table, policy(algorithm, [], k=12)).table["education"]) == {"*"}
    with pytest.raises(Infeasible):
        shoal.anonymize(table, policy(algorithm, ["Secondary", "Higher"], k=12))


def test_records_that_would_go_beyond_are_suppressed() -> None:
    table = pl.DataFrame({"education": ["9th"] * 6 + ["BA"], "age": [20] * 7})
    release = shoal.anonymize(table, policy("exhaustive", ["Secondary", "Higher"]))
    assert release.audit.left_out == 1


def test_boundaries_that_leave_nothing_are_explained() -> None:
    table = pl.DataFrame({"education": ["9th"] * 6 + ["BA"], "age": [20] * 7})
    with pytest.raises(Infeasible, match="boundaries hold back education"):
        shoal.anonymize(table, policy("exhaustive", ["Secondary", "Higher"], share=0.0))


def test_the_audit_finds_a_value_above_its_boundary() -> None:
    table = pl.DataFrame({"education": ["9th", "BA", "MA"] * 4, "age": [20] * 12})
    published = pl.DataFrame({"education": ["*"] * 12, "age": ["20"] * 12})
    audit = shoal.audit(published, policy("exhaustive", ["Secondary", "Higher"]), original=table)
    assert [fault.what for fault in audit.faults] == ["published above a boundary"]
    assert shoal.audit(published, policy("exhaustive", ["Secondary"]), original=table).holds


def test_an_unknown_boundary_is_a_misfit() -> None:
    table = pl.DataFrame({"education": ["9th"] * 3, "age": [20] * 3})
    faults = policy("exhaustive", ["Tertiary"]).check(table)
    assert "no such label in the hierarchy; got 'Tertiary'" in str(faults[0])
    with pytest.raises(shoal.PolicyError, match="boundaries are labels of a hierarchy"):
        Policy(quasi_identifiers={"age": {"boundaries": ["x"]}}, models=[{"name": "k-anonymity", "k": 2}])
