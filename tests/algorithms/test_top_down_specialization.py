"""Top-down specialization: Fung's scores by hand, and nothing left that could be told."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.algorithms.credit import NODES, TABLE, credit_policy, run_of

import shoal
from shoal.algorithms.cuts.trees import runs_anywhere
from shoal.algorithms.subtree.top_down_specialization import Specializations
from shoal.errors import Infeasible, PolicyError
from shoal.policy import Policy
from shoal.testing import encode_table


def policy(k: int = 2, class_column: str | None = None, **changes: Any) -> Policy:
    return credit_policy("top-down-specialization", k, class_column, **changes)


def walk(asked: Policy, class_place: int | None) -> list[dict[str, float]]:
    """Return the scores of the valid specializations at each step; the best is made."""
    cut = Specializations(encode_table(TABLE, asked).problem(asked), class_place)
    steps = []
    while True:
        scores = {}
        for moves in cut.moves():
            tree, valid = cut.trees[moves.place], cut.valid(moves)
            for node, score in zip(moves.nodes[valid].tolist(), cut.score(moves)[0][valid].tolist(), strict=True):
                scores[run_of(tree, node)] = score
        steps.append(scores)
        if not cut.specialize():
            return steps


EDUCATION, SEX = "education 10th..MSc", "sex F..M"
SECONDARY, UNIVERSITY = "education 10th..9th", "education BSc..MSc"


def test_the_scores_of_each_step_with_a_class_column() -> None:
    steps = walk(policy(2, "credit"), 0)
    # 7 good, 7 bad: entropy 1. By sex M 2:5, F 5:2, each of entropy 0.8631; classes of 7 and 7, so k falls by 7.
    # By education Secondary 0:6, University 7:1 of entropy 0.5436; classes of 6 and 8, so k falls by 8.
    assert steps[0] == pytest.approx({SEX: (1 - 0.8631206) / 8, EDUCATION: (1 - 8 / 14 * 0.5435644) / 9}, abs=1e-6)
    # education was taken; k is 6. Secondary is pure (gain 0). University: BSc 4:1 of entropy 0.7219, MSc 3:0;
    # classes 6, 5, 3, k falls by 3. Sex gains as before; classes 4, 2, 3, 5, k falls by 4.
    gain = 0.5435644 - 5 / 8 * 0.7219281
    assert steps[1] == pytest.approx({SECONDARY: 0, UNIVERSITY: gain / 4, SEX: (1 - 0.8631206) / 5}, abs=1e-6)
    # sex was taken; k is 2 and stays 2
    assert steps[2] == pytest.approx({SECONDARY: 0, UNIVERSITY: gain}, abs=1e-6)
    assert steps[3] == {SECONDARY: 0}  # tells no class apart, but costs nothing either
    assert steps[4] == {}
    assert len(steps) == 5


def test_an_invalid_specialization_is_not_made() -> None:
    # k = 3: after education, sex would make a class of 2 (Secondary, F), and 10th has 2 records
    release = shoal.anonymize(TABLE, policy(3, "credit"))
    assert set(release.table.select("education", "sex").iter_rows()) == {
        ("Secondary", "*"),
        ("BSc", "*"),
        ("MSc", "*"),
    }
    assert release.attained == {"k-anonymity": 3}


def test_without_a_class_column_certainty_counts() -> None:
    steps = walk(policy(3), None)
    # sex: 14 records from 1 to 0, k falls by 7. Education: 14 records from 1 to 2/4, k falls by 8.
    assert steps[0] == pytest.approx({SEX: 14 / 8, EDUCATION: 7 / 9})
    assert steps[1] == {}  # sex was taken; (Secondary, F) has 2 records
    weighted = policy(
        3, quasi_identifiers={**policy().quasi_identifiers, "sex": {"hierarchy": "suppress", "weight": 0.1}}
    )
    assert walk(weighted, None)[0][SEX] == pytest.approx(1.4 / 8)
    assert set(shoal.anonymize(TABLE, weighted).table["sex"]) == {"*"}


def test_records_are_suppressed_where_that_is_worth_it() -> None:
    asked = policy(3, max_suppressed=0.15)  # 2 of 14
    steps = walk(asked, None)
    # after sex: education makes (Secondary, F) of 2 too small. The others gain 12 × 1/2, the two lose 1 each (their
    # sex; education was lost already): 4. The smallest class falls from 7 to 3, 2 records are lost: 4 / (4 + 2 + 1).
    assert steps[1] == pytest.approx({EDUCATION: 4 / 7})
    assert steps[2] == {}  # 10th would lose four more, BSc (F) two
    release = shoal.anonymize(TABLE, asked)
    assert release.audit.suppressed == 2
    assert sorted(release.table.group_by("education", "sex").len().rows()) == [
        ("Secondary", "M", 4),
        ("University", "F", 5),
        ("University", "M", 3),
    ]


def test_suppressing_what_may_be_suppressed_is_no_aim() -> None:
    table = pl.DataFrame({"x": list(range(20)), "y": ["a", "b"] * 10})
    asked = Policy(
        quasi_identifiers={"x": "suppress", "y": "suppress"},
        models=[{"name": "k-anonymity", "k": 2}],
        algorithm="top-down-specialization",
        max_suppressed=1.0,
    )
    release = shoal.anonymize(table, asked)
    assert release.audit.suppressed == 0
    assert set(release.table["y"]) == {"a", "b"}


def test_the_class_column_must_be_sensitive() -> None:
    for name in ("top-down-specialization", "bottom-up"):
        with pytest.raises(PolicyError) as caught:
            shoal.anonymize(TABLE, policy(algorithm={"name": name, "class_column": "credits"}))
        assert str(caught.value) == (
            "algorithm.class_column: must name a sensitive column; got 'credits'. Hint: did you mean 'credit'?"
        )
        with pytest.raises(PolicyError, match="declare it under sensitive"):
            shoal.anonymize(TABLE, policy(algorithm={"name": name, "class_column": "sex"}, sensitive=[], others="drop"))


def test_a_run_is_divided_where_the_classes_part() -> None:
    # the most even place is 29 | 30, the one that tells the classes apart 24 | 25
    table = pl.DataFrame({"age": list(range(20, 40)), "credit": ["bad"] * 5 + ["good"] * 15})
    columns = {"quasi_identifiers": {"age": {}}}
    assert set(shoal.anonymize(table, policy(5, "credit", **columns)).table["age"].str.slice(0, 3)) >= {"[20", "[25"}
    halves = shoal.anonymize(table, policy(10, **columns)).table["age"]
    assert set(halves) == {"[20, 29]", "[30, 39]"}
    assert set(shoal.anonymize(table, policy(8, "credit", **columns)).table["age"]) == {"[20, 27]", "[28, 39]"}


def test_an_outlier_does_not_keep_a_run_whole() -> None:
    # the best place for certainty is before the outlier, which would stand alone: the next best is taken
    table = pl.DataFrame({"income": [1, 2, 3, 4, 5, 1000], "credit": ["good"] * 6})
    release = shoal.anonymize(table, policy(2, quasi_identifiers={"income": {}}))
    assert set(release.table["income"]) == {"[1, 2]", "[3, 4]", "[5, 1000]"}


def test_records_that_a_division_surely_loses_are_counted() -> None:
    asked = policy(3, quasi_identifiers={"income": {}, "sex": "suppress"})
    rows = [(1, "F"), (2, "F"), (2, "M"), (3, "M"), (3, "F"), (9, "F"), (9, "M")]
    table = pl.DataFrame([(*row, "good") for row in rows], schema=["income", "sex", "credit"], orient="row")
    cut = Specializations(encode_table(table, asked).problem(asked), None)
    assert cut.find_least_lost(0, 0, 3).tolist() == [1, 0, 2]
    cut.step(1, 0)  # F 1 2 3 9 and M 2 3 9: with M no division leaves 3 on each side
    assert cut.find_least_lost(0, 0, 3).tolist() == [1, 2 + 2 + 1 + 2, 1 + 2 + 1]


def test_a_division_that_a_model_refuses_is_made_elsewhere() -> None:
    # certainty asks for 3 | 10, but those of 10 are all good
    table = pl.DataFrame({"income": [1, 1, 2, 2, 3, 3, 10, 10], "credit": ["good", "bad"] * 3 + ["good"] * 2})
    models = [{"name": "k-anonymity", "k": 2}, {"name": "distinct-l-diversity", "on": "credit", "l": 2}]
    release = shoal.anonymize(table, policy(quasi_identifiers={"income": {}}, models=models))
    assert set(release.table["income"]) == {"1", "2", "[3, 10]"}


def test_the_cut_starts_at_the_boundaries() -> None:
    columns = {"education": {"hierarchy": "tree", "nodes": NODES, "boundaries": ["University"]}, "sex": "suppress"}
    asked = policy(8, quasi_identifiers=columns)  # 6 and 8 records
    with pytest.raises(Infeasible):
        shoal.anonymize(TABLE, asked)
    release = shoal.anonymize(TABLE, asked.replace(max_suppressed=0.5))
    assert release.audit.suppressed == 6
    assert set(release.table["education"]) == {"University"}
    release = shoal.anonymize(TABLE, asked.replace(models=[{"name": "k-anonymity", "k": 6}]))
    assert set(release.table["education"]) == {"Secondary", "University"}


@pytest.mark.parametrize("hierarchy", ["suppress", None])
def test_a_missing_value_that_matches_anything_is_told_once_it_shows_something(hierarchy: str | None) -> None:
    # alone, x = missing would show * everywhere and look suppressed; beside y it may
    table = pl.DataFrame({"x": ["a"] * 4 + [None] * 4, "y": ["p", "q"] * 4})
    spec = {"x": {"hierarchy": hierarchy, "missing": "wildcard", "weight": 9}, "y": "suppress"}
    asked = Policy(
        quasi_identifiers=spec, models=[{"name": "k-anonymity", "k": 2}], algorithm="top-down-specialization"
    )
    release = shoal.anonymize(table, asked)
    assert sorted(release.table.group_by("x", "y").len().rows()) == [
        ("*", "p", 2),
        ("*", "q", 2),
        ("a", "p", 2),
        ("a", "q", 2),
    ]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(
            st.integers(18, 40),
            st.sampled_from(["9th", "10th", "BSc", "MSc"]),
            st.sampled_from("fm"),
            st.integers(1, 9),
        ),
        min_size=3,
        max_size=30,
    ),
    st.integers(2, 4),
    st.sampled_from([None, "credit"]),
)
def test_nothing_is_left_that_could_be_told(rows: list[Any], k: int, class_column: str | None) -> None:
    """Each label of the final cut, and each place of a run, is replaced in turn: the models break."""
    table = pl.DataFrame(rows, schema=["age", "education", "credit", "hours"], orient="row")
    columns = {
        "age": {"hierarchy": "intervals", "widths": [5, 10]},
        "education": {"hierarchy": "tree", "nodes": NODES},
        "hours": {},
    }
    asked = policy(k, class_column, quasi_identifiers=columns)
    if table.height < k:
        with pytest.raises(Infeasible):
            shoal.anonymize(table, asked)
        return
    release = shoal.anonymize(table, asked)
    assert release.audit.holds
    assert release.audit.suppressed == 0
    problem = encode_table(table, asked).problem(asked)
    cut = Specializations(problem, 0 if class_column else None)
    while cut.specialize():
        pass
    recoding: Any = release.recoding
    for column, run in cut.recoding().runs.items():
        assert (run == recoding.runs[column]).all()
    for index, tree in enumerate(cut.trees):
        for node in np.unique(cut.at[index]).tolist():
            for at in finer(cut, index, node):
                labels = [at if j == index else cut.at[j] for j in range(len(cut.trees))]
                shown = np.stack([label[codes] for label, codes in zip(labels, cut.codes, strict=True)], axis=1)
                _, classes = np.unique(shown, axis=0, return_inverse=True)
                assert np.bincount(classes.ravel(), problem.frequencies.counts).min() < k, tree.column.name


def finer(cut: Specializations, index: int, node: int) -> list[Any]:
    """Return the column's cut with one label replaced by its children, or one run divided at each place."""
    tree = copy.deepcopy(cut.trees[index])
    low, high = int(tree.low[node]), int(tree.high[node])
    found = []
    divisions = range(low, high) if runs_anywhere(tree.column) else [None] if tree.children[node] else []
    for division in divisions:
        if division is not None:
            tree.divide(node, division)
        at = cut.at[index].copy()
        for child in tree.children[node]:
            at[tree.low[child] : tree.high[child] + 1] = child
        found.append(at)
    return found


def test_progress_is_told() -> None:
    told: list[tuple[str, int]] = []
    shoal.anonymize(TABLE, policy(2), progress=lambda what, done, total: told.append((what, done)))
    assert [done for what, done in told if what == "specializing"] == [1, 2, 3, 4]
