"""Bottom-up generalization: each step's loss per gain by hand; it ends as soon as the models hold."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.algorithms.credit import NODES, TABLE, credit_policy, run_of

import shoal
from shoal.algorithms.subtree.bottom_up import Generalizations
from shoal.errors import Infeasible
from shoal.policy import Policy
from shoal.testing import encode_table

ROOT, SECONDARY, UNIVERSITY, SEX = "education 10th..MSc", "education 10th..9th", "education BSc..MSc", "sex F..M"


def policy(k: int = 3, class_column: str | None = None, **changes: Any) -> Policy:
    return credit_policy("bottom-up", k, class_column, **changes)


def walk(asked: Policy, class_place: int | None) -> list[dict[str, float]]:
    """Return the loss per gain of the generalizations at each step; the least is made."""
    cut = Generalizations(encode_table(TABLE, asked).problem(asked), class_place)
    steps = []
    while cut.lost > cut.problem.max_suppressed:
        scores = {}
        for moves in cut.moves():
            tree = cut.trees[moves.place]
            for node, score in zip(moves.nodes.tolist(), cut.score(moves)[1].tolist(), strict=True):
                scores[run_of(tree, node)] = score
        steps.append(scores)
        assert cut.generalize()
    return steps


def shown(release: shoal.Release) -> dict[tuple[str, str], int]:
    table: pl.DataFrame = release.table  # type: ignore[assignment]
    return {(education, sex): count for education, sex, count in table.group_by("education", "sex").len().rows()}


def test_the_loss_per_gain_of_each_step() -> None:
    steps = walk(policy(), None)
    # four classes of 2 break k = 3. Secondary: 6 records from 0 to 2/4, (9th, M) and (10th, M) join: 4 are spared.
    # University: 8 records, (BSc, F) joins MSc: 2 spared. Sex: 14 records from 0 to 1, all but 10th: 6 spared.
    assert steps[0] == pytest.approx({SECONDARY: 3 / 4, UNIVERSITY: 4 / 2, SEX: 14 / 6})
    # (Secondary, F) and (BSc, F) are left; the root waits for University
    assert steps[1] == pytest.approx({UNIVERSITY: 4 / 2, SEX: 14 / 4})
    # (Secondary, F) is left: 14 records from 2/4 to 1, or 14 from 0 to 1
    assert steps[2] == pytest.approx({ROOT: 7 / 2, SEX: 14 / 2})
    assert len(steps) == 3
    assert shown(shoal.anonymize(TABLE, policy())) == {("*", "M"): 7, ("*", "F"): 7}


def test_the_loss_per_gain_with_a_class_column() -> None:
    steps = walk(policy(3, "credit"), 0)
    # entropy: Secondary 0; University (7:1) 0.5436, BSc (4:1) 0.7219, MSc 0; all 1, M (2:5) and F (5:2) 0.8631
    university, sex = 0.5435644 - 5 / 8 * 0.7219281, 1 - 0.8631206
    assert steps[0] == pytest.approx({SECONDARY: 0, UNIVERSITY: university / 2, SEX: sex / 6}, abs=1e-6)
    assert steps[1] == pytest.approx({UNIVERSITY: university / 2, SEX: sex / 4}, abs=1e-6)
    assert len(steps) == 2
    released = shown(shoal.anonymize(TABLE, policy(3, "credit")))
    assert released == {("Secondary", "*"): 6, ("BSc", "*"): 5, ("MSc", "*"): 3}


def test_a_table_that_complies_stays_as_it_is() -> None:
    release = shoal.anonymize(TABLE, policy(2))
    assert release.loss == 0


def test_it_ends_when_few_enough_records_are_left() -> None:
    # after Secondary four records are in classes of 2; University would spare two of them and cost as much
    release = shoal.anonymize(TABLE, policy(3, max_suppressed=0.3))
    assert release.audit.suppressed == 4
    assert shown(release) == {("Secondary", "M"): 4, ("BSc", "M"): 3, ("MSc", "F"): 3, ("*", "*"): 4}


def test_records_are_not_suppressed_only_because_they_may_be() -> None:
    # all eight may be suppressed at once (cost 16), but Secondary spares four of them for 2
    release = shoal.anonymize(TABLE, policy(3, max_suppressed=1.0))
    assert release.audit.suppressed == 4
    assert ("Secondary", "M") in shown(release)


def test_a_step_that_only_joins_classes_is_better_than_none() -> None:
    # four records of their own, k = 4: no single step spares one, but both columns must go
    table = pl.DataFrame({"x": ["a", "a", "b", "b"], "y": ["c", "d", "c", "d"]})
    asked = Policy(
        quasi_identifiers={"x": "suppress", "y": "suppress"},
        models=[{"name": "k-anonymity", "k": 4}],
        algorithm="bottom-up",
    )
    assert set(shoal.anonymize(table, asked).table.rows()) == {("*", "*")}


def test_only_values_in_classes_that_break_a_model_are_generalized() -> None:
    table = pl.DataFrame({"education": ["9th"] * 3 + ["10th"] * 3 + ["BSc"] * 2 + ["MSc"] * 2, "sex": ["F"] * 10})
    release = shoal.anonymize(table, policy(3, sensitive=[]))
    assert {education for education, _ in shown(release)} == {"9th", "10th", "University"}


def test_what_waits_for_a_finer_sibling_is_reached() -> None:
    # MSc alone breaks k = 2 and can only go with Secondary, which complies and must be generalized first
    nodes = {"*": {"Secondary": ["9th", "10th"], "MSc": ["MSc"]}}
    table = pl.DataFrame({"education": ["9th"] * 3 + ["10th"] * 3 + ["MSc"], "sex": ["F"] * 7})
    columns = {"education": {"hierarchy": "tree", "nodes": nodes}, "sex": {}}
    release = shoal.anonymize(table, policy(2, quasi_identifiers=columns, sensitive=[]))
    assert shown(release) == {("*", "F"): 7}


def test_boundaries_are_not_crossed() -> None:
    columns = {"education": {"hierarchy": "tree", "nodes": NODES, "boundaries": ["University"]}, "sex": "suppress"}
    with pytest.raises(Infeasible):
        shoal.anonymize(TABLE, policy(8, quasi_identifiers=columns))
    release = shoal.anonymize(TABLE, policy(6, quasi_identifiers=columns))
    assert shown(release) == {("Secondary", "*"): 6, ("University", "*"): 8}


def test_a_column_without_a_hierarchy_is_halved() -> None:
    table = pl.DataFrame({"age": [20, 21, 22, 23, 24, 25, 26, 27]})
    asked = Policy(quasi_identifiers=["age"], models=[{"name": "k-anonymity", "k": 3}], algorithm="bottom-up")
    assert set(shoal.anonymize(table, asked).table["age"]) == {"[20, 23]", "[24, 27]"}


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.integers(18, 40), st.none()),
            st.sampled_from(["9th", "10th", "BSc", "MSc"]),
            st.sampled_from("fm"),
            st.one_of(st.integers(1, 9), st.none()),
        ),
        min_size=3,
        max_size=30,
    ),
    st.integers(2, 4),
    st.sampled_from([None, "credit"]),
    st.sampled_from([0.0, 0.3]),
)
def test_the_models_hold_and_did_not_before(rows: list[Any], k: int, class_column: str | None, share: float) -> None:
    table = pl.DataFrame(rows, schema=["age", "education", "credit", "hours"], orient="row")
    columns = {
        "age": {"hierarchy": "intervals", "widths": [5, 10]},
        "education": {"hierarchy": "tree", "nodes": NODES},
        "hours": {"missing": "wildcard"},
    }
    asked = policy(k, class_column, quasi_identifiers=columns, max_suppressed=share)
    as_it_is = table.group_by("age", "education", "hours").len()["len"]
    too_few = sum(size for size in as_it_is if size < k)
    try:
        release = shoal.anonymize(table, asked)
    except Infeasible:
        assert table.height < k
        return
    assert release.audit.holds
    assert release.audit.suppressed <= share * table.height
    assert release.loss > 0 or not too_few


def test_values_that_break_no_model_are_not_generalized_for_less() -> None:
    # (a1, p) and (a2, q) stand alone. Neither A nor PQ joins them at once; B would lose less, but touches neither
    columns = {
        "x": {"hierarchy": "tree", "nodes": {"*": {"A": ["a1", "a2"], "B": ["b1", "b2"]}}},
        "y": {"hierarchy": "tree", "nodes": {"*": {"PQ": ["p", "q"], "R": ["r", "s"]}}, "weight": 10},
    }
    rows = [("a1", "p"), ("a2", "q"), *[("a1", "r"), ("a2", "r")] * 5, *[("b1", "r"), ("b2", "r")] * 2]
    table = pl.DataFrame(rows, schema=["x", "y"], orient="row")
    release = shoal.anonymize(table, policy(2, quasi_identifiers=columns, sensitive=[]))
    assert set(release.table.rows()) == {("A", "PQ"), ("A", "r"), ("b1", "r"), ("b2", "r")}


def test_where_no_record_is_spared_the_loss_is_per_class_that_is_joined() -> None:
    # six records of their own, k = 4: x makes 3 pairs of them (6 × 1 / 3), y 2 triples (6 × 1.2 / 4)
    table = pl.DataFrame([(x, y) for x in "ab" for y in "pqr"], schema=["x", "y"], orient="row")
    columns = {"x": "suppress", "y": {"hierarchy": "suppress", "weight": 1.2}}
    asked = policy(4, quasi_identifiers=columns, sensitive=[])
    cut = Generalizations(encode_table(table, asked).problem(asked), None)
    assert cut.generalize()
    assert [len(set(at.tolist())) for at in cut.at] == [2, 1]
