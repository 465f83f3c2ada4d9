"""Boundaries: the most general label that a value may reach."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import registry as catalog
from shoal.errors import Infeasible
from shoal.pipeline.solve import Solution
from shoal.policy import Policy
from shoal.recodings.equivalence_classes import list_pieces
from shoal.testing import solve_table
from tests.strategies import FALLING_BACK

NODES = {"*": {"Secondary": ["9th", "10th", "11th"], "Higher": {"First": ["BA", "BSc"], "Second": ["MA", "PhD"]}}}
UNDER = {"Secondary": {"9th", "10th", "11th"}, "Higher": {"BA", "BSc", "MA", "PhD"}, "First": {"BA", "BSc"}}
LABELS = {**{v: {v} for v in ("9th", "10th", "11th", "BA", "BSc", "MA", "PhD")}, **UNDER, "Second": {"MA", "PhD"}}
ALGORITHMS: list[Any] = [
    *FALLING_BACK,
    {"name": "mondrian", "cuts": "relaxed"},
    {"name": "spanning-tree", "removal": "allowable", "block": 3},
    {"name": "weighted-boundaries", "pace": "level"},
]
"""Every search that any models do for, and some in another mood."""


def policy(algorithm: Any, boundaries: list[str], share: float = 0.5, publish: str = "labels", k: int = 3) -> Policy:
    spec = {"hierarchy": "tree", "nodes": NODES, "boundaries": boundaries}
    return Policy(
        quasi_identifiers={"education": spec, "age": {"hierarchy": "intervals", "widths": [10, 20]}},
        models=[{"name": "k-anonymity", "k": k}],
        algorithm=algorithm,
        max_suppressed=share,
        publish=publish,
    )


def name_of(algorithm: Any) -> str:
    return algorithm if isinstance(algorithm, str) else str(algorithm["name"])


def values_of(text: str) -> set[str]:
    if text.startswith("{"):
        return set(text[1:-1].split(", "))
    return LABELS[text] if text != "*" else set().union(*UNDER.values())


def most_general(value: str, boundaries: list[str]) -> set[str]:
    """MAGVal (Definition 3) as the values under it: the first boundary on the way up, else the root."""
    above = sorted((UNDER[label] for label in boundaries if value in UNDER[label]), key=len)
    return above[0] if above else values_of("*")


def published(solution: Solution) -> Iterator[tuple[str, str]]:
    """Yield each value of education with the text that it is published as, but for suppressed records."""
    cells, classes, _ = list_pieces(solution.publication)
    frequencies, (column, *_) = solution.encoded.frequencies, solution.encoded.columns
    shown = solution.publication.columns[0]
    for cell, number in zip(cells.tolist(), classes.tolist(), strict=True):
        if number >= 0 and number != solution.publication.starred:
            code = int(frequencies.tuples[frequencies.cell_tuples[cell], 0])
            yield str(column.levels.text(0, code)), str(shown.texts[shown.ids[number]])


@settings(max_examples=12, deadline=None)  # for each of some twenty algorithms
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(LABELS.keys() - UNDER.keys() - {"Second"})), st.integers(18, 60)), min_size=8
    ),
    st.sampled_from([["Secondary", "Higher"], ["Secondary", "First"], ["First"], ["Higher", "First"]]),
    st.sampled_from(["labels", "sets"]),
)
@pytest.mark.parametrize("algorithm", [*ALGORITHMS, {"name": "fixed-levels", "levels": {"education": 2, "age": 3}}])
def test_definition_5_no_record_shows_a_value_above_its_boundary(
    algorithm: Any, rows: list[tuple[str, int]], boundaries: list[str], publish: str
) -> None:
    table = pl.DataFrame(rows, schema=["education", "age"], orient="row").unique(maintain_order=True)
    table = pl.concat([table, table])
    asked = policy(algorithm, boundaries, publish=publish)
    try:
        solution = solve_table(table, asked)
    except Infeasible:
        return
    occurring = set(table["education"])
    for value, text in published(solution):
        assert values_of(text) & occurring <= most_general(value, boundaries), f"{value} is published as {text}"
    assert shoal.anonymize(table, asked).audit.holds


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_contracts_boundaries_are_kept(algorithm: Any) -> None:
    table = pl.DataFrame({"education": ["9th", "10th", "BA", "MA"] * 3, "age": list(range(20, 32))})
    release = shoal.anonymize(table, policy(algorithm, ["Secondary", "Higher"]))
    kept = release.table.filter((pl.col("age") != "*") | (pl.col("education") != "*"))
    assert kept.height
    assert "*" not in set(kept["education"])
    # k = 12 of 12 records needs one class, which holds both sides: without boundaries it goes to the top
    assert set(shoal.anonymize(table, policy(algorithm, [], k=12)).table["education"]) == {"*"}
    with pytest.raises(Infeasible):
        shoal.anonymize(table, policy(algorithm, ["Secondary", "Higher"], k=12))


LONELY = pl.DataFrame({"education": ["9th"] * 6 + ["BA"], "age": [20] * 7})
"""One record that nobody may join: nobody else is under Higher."""


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_records_that_would_go_beyond_are_suppressed(algorithm: Any) -> None:
    release = shoal.anonymize(LONELY, policy(algorithm, ["Secondary", "Higher"], share=0.15))
    assert release.audit.left_out == 1  # it alone: nobody else is given up for it


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_boundary_that_blocks_is_named(algorithm: Any) -> None:
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(LONELY, policy(algorithm, ["Secondary", "Higher"], share=0.0))
    assert caught.value.boundaries == {"education": {"Higher": 1}}
    assert caught.value.blocking == ("education",)
    assert "Boundaries of education that block, with the records they hold back: Higher: 1." in str(caught.value)
    assert any("lift the boundaries of education" in change.text for change in caught.value.relaxations)
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.boundaries == caught.value.boundaries


ONE_CUT = ("bottom-up", "single-dimensional", "top-down-specialization")
"""Searches that cut each column once for the whole table: not every part can be kept by one cut."""
LOCAL = [
    algorithm
    for algorithm in ALGORITHMS
    if not catalog.find("algorithms", name_of(algorithm)).needs_hierarchies  # type: ignore[attr-defined]
    and name_of(algorithm) not in ONE_CUT
]


@settings(max_examples=8, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from([["Secondary", "Higher"], ["Secondary", "First"], ["First"]]))
@pytest.mark.parametrize("algorithm", LOCAL)
def test_only_those_are_suppressed_whom_the_boundaries_leave_alone(
    algorithm: Any, draw: random.Random, boundaries: list[str]
) -> None:
    leaves = sorted(LABELS.keys() - UNDER.keys() - {"Second"})
    shares = [draw.random() ** 2 for _ in leaves]
    rows = [(value, draw.randint(18, 60)) for value in draw.choices(leaves, shares, k=30)]
    together = Counter(frozenset(most_general(value, boundaries)) for value, _ in rows)
    alone = sum(records for records in together.values() if records < 3)
    table = pl.DataFrame(rows, schema=["education", "age"], orient="row")
    solution = solve_table(table, policy(algorithm, boundaries, share=round(alone / 30 + 0.001, 3)))
    assert solution.publication.suppressed == alone


def test_boundaries_of_two_columns_that_block_only_together_are_both_named() -> None:
    table = pl.DataFrame({"education": ["9th"] * 3 + ["BA"] * 3, "age": [25, 25, 35, 25, 35, 35]})
    asked = policy("mondrian", ["Secondary", "Higher"], share=0.0)
    spec = {"hierarchy": "intervals", "widths": [10], "boundaries": ["[20, 29]", "[30, 39]"]}
    both = asked.replace(quasi_identifiers={**asked.quasi_identifiers, "age": spec})
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(table, both)
    # lifting either would leave classes of three
    assert set(caught.value.boundaries) == {"education", "age"}
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(table, both.replace(models=[{"name": "k-anonymity", "k": 4}]))
    assert caught.value.boundaries == {
        "education": {"Secondary": 3, "Higher": 3},
        "age": {"[20, 29]": 3, "[30, 39]": 3},
    }


def test_boundaries_are_not_blamed_where_something_else_blocks() -> None:
    with pytest.raises(Infeasible) as caught:
        shoal.anonymize(LONELY, policy("mondrian", ["Secondary", "Higher"], k=8, share=0.0))
    assert caught.value.boundaries == {}


def test_whole_labels_are_shown_and_each_value_stops_at_its_own_boundary() -> None:
    table = pl.DataFrame({"education": ["BA", "BSc", "MA", "PhD", "9th", "10th"], "age": [20] * 6})
    asked = policy("weighted-boundaries", ["First", "Higher"], k=2, share=0.0)
    release = shoal.anonymize(table, asked)
    assert set(release.table["education"]) == {"First", "Higher", "*"}
    assert release.recoding.to_dict()["levels"]["education"] == 3


def test_the_audit_finds_a_value_above_its_boundary() -> None:
    table = pl.DataFrame({"education": ["9th", "BA", "MA"] * 4, "age": [20] * 12})
    published = pl.DataFrame({"education": ["*"] * 12, "age": ["20"] * 12})
    audit = shoal.audit(published, policy("exhaustive", ["Secondary", "Higher"]), original=table)
    assert [fault.what for fault in audit.faults if fault.kind == "fault"] == [
        "no assignment of original records explains what is published: values were moved, exchanged or made up",
        "published above a boundary",
    ]
    some = policy("exhaustive", ["Secondary"])  # the text may be that of others, but these are not so many
    assert not shoal.audit(published, some, original=table).holds
    assert shoal.audit(published.head(8), some, original=table).holds


def test_an_unknown_boundary_is_a_misfit() -> None:
    table = pl.DataFrame({"education": ["9th"] * 3, "age": [20] * 3})
    faults = policy("exhaustive", ["Tertiary"]).check(table)
    assert "no such label in the hierarchy; got 'Tertiary'" in str(faults[0])
    with pytest.raises(shoal.PolicyError, match="boundaries are labels of a hierarchy"):
        Policy(quasi_identifiers={"age": {"boundaries": ["x"]}}, models=[{"name": "k-anonymity", "k": 2}])


def test_the_audit_finds_who_can_only_be_above_a_boundary() -> None:
    """The text may be that of others, but all who have this sensitive value are held back."""
    table = pl.DataFrame({"q": ["1", "2", "3", "3"], "r": ["x"] * 4, "s": ["b", "b", "c", "c"]})
    policy = Policy(
        quasi_identifiers={"q": {"hierarchy": "suppress", "boundaries": ["3"]}, "r": "suppress"},
        sensitive=["s"],
        models=[{"name": "k-anonymity", "k": 2}],
        max_suppressed=0.5,
        suppressed="drop",
    )
    published = pl.DataFrame({"q": ["*", "*"], "r": ["x", "x"], "s": ["b", "c"]})
    assert not shoal.audit(published, policy, original=table).holds
    assert shoal.audit(published.with_columns(s=pl.lit("b")), policy, original=table).holds


@pytest.mark.parametrize("algorithm", ["optimal", "exhaustive", "samarati", "incognito", "heuristic", "datafly"])
def test_stars_behind_a_boundary_are_no_answer(algorithm: str) -> None:
    values = ["null", None, "x", None, None, "true"]
    table = pl.DataFrame({"p": ["d", None, "e", "f", "a", "e"], "q": values})
    tree = {"hierarchy": "tree", "nodes": {"*": {"G": ["x", "null"], "I": ["true"]}}, "boundaries": ["G", "I"]}
    policy = Policy(
        quasi_identifiers={"p": {"hierarchy": "suppress", "missing": "suppress"}, "q": {**tree, "missing": "wildcard"}},
        algorithm=algorithm,
        models=[{"name": "k-anonymity", "k": 2}],
        max_suppressed=0.167,
    )
    with pytest.raises(shoal.Infeasible):
        shoal.anonymize(table, policy)
