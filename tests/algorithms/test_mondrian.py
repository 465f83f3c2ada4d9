"""Mondrian: cuts where they are allowed, and only there."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.policy import Policy


def policy(columns: object, k: int = 2, **more: object) -> Policy:
    asked = {"quasi_identifiers": columns, "models": [{"name": "k-anonymity", "k": k}], "algorithm": "mondrian"}
    return Policy(**{**asked, **more})


def test_labels_are_cut_between_children_of_the_ancestor() -> None:
    nodes = {"*": {"left": ["a", "b", "c"], "right": ["d", "e"]}}
    table = pl.DataFrame({"place": ["a"] * 2 + ["b"] * 2 + ["c"] * 3 + ["d", "e"]})
    release = shoal.anonymize(table, policy({"place": {"hierarchy": "tree", "nodes": nodes}}))
    # the most even cut would be b | c; between children of the root it is c | d
    assert set(release.table["place"]) == {"a", "b", "c", "right"}


def test_a_class_that_would_show_nothing_shows_its_values() -> None:
    table = pl.DataFrame({"place": ["a", "a", "b", "c"]})
    release = shoal.anonymize(table, policy({"place": "suppress"}))
    assert sorted(release.table["place"]) == ["a", "a", "{b, c}", "{b, c}"]
    assert release.audit.suppressed == 0


@pytest.mark.parametrize("cuts", ["strict", "relaxed"])
def test_more_columns_than_a_word_has_bits(cuts: str) -> None:
    random = np.random.default_rng(0)
    columns = {f"c{i}": random.integers(0, 3, 120) if i > 63 else [1] * 120 for i in range(70)}
    table = pl.DataFrame({**columns, "illness": ["a"] * 115 + ["b"] * 5})
    asked = Policy(
        quasi_identifiers=[*columns],
        sensitive=["illness"],
        models=[{"name": "k-anonymity", "k": 2}, {"name": "distinct-l-diversity", "on": "illness", "l": 2}],
        algorithm={"name": "mondrian", "cuts": cuts},
    )
    assert shoal.anonymize(table, asked).audit.holds


def test_relaxed_cuts_share_equal_values() -> None:
    table = pl.DataFrame({"age": [30] * 7 + [31]})
    assert shoal.anonymize(table, policy(["age"], k=4)).audit.classes == 1
    relaxed = policy(["age"], k=4, algorithm={"name": "mondrian", "cuts": "relaxed"})
    release = shoal.anonymize(table, relaxed)
    assert sorted(release.table["age"]) == ["30"] * 4 + ["[30, 31]"] * 4


def test_relaxed_classes_are_never_twice_too_large() -> None:
    table = shoal.datasets.adult(part="test").select("age", "education-num").head(2000)
    relaxed = policy(["age", "education-num"], k=10, algorithm={"name": "mondrian", "cuts": "relaxed"})
    from shoal.testing import solve_table

    solution = solve_table(table, relaxed)
    sizes = np.bincount(solution.recoding.members, solution.recoding.weights)  # type: ignore[attr-defined]
    wide = [c for c in range(len(sizes)) if sizes[c] >= 20]
    tuples = solution.encoded.frequencies.cell_tuples[solution.recoding.cells]  # type: ignore[attr-defined]
    for number in wide:  # only equal records stay together
        assert len(set(tuples[solution.recoding.members == number])) == 1  # type: ignore[attr-defined]


def test_weights_decide_which_column_is_cut() -> None:
    table = pl.DataFrame({"a": [1, 2, 1, 2], "b": [1, 1, 2, 2]})
    kept = {}
    for name in ("a", "b"):
        asked = policy({"a": {"weight": 9 if name == "a" else 1}, "b": {"weight": 9 if name == "b" else 1}})
        kept[name] = shoal.anonymize(table, asked).audit.columns[name]["certainty-penalty"]
    assert kept == {"a": 0.0, "b": 0.0}


def test_a_continuous_column_with_no_repeated_value() -> None:
    random = np.random.default_rng(1)
    table = pl.DataFrame({"income": random.lognormal(10, 1, 3000), "weight": random.normal(70, 15, 3000)})
    release = shoal.anonymize(table, policy(["income", "weight"], k=5))
    assert release.attained == {"k-anonymity": 5}
    assert release.audit.sizes.max() < 10


def test_progress_is_told() -> None:
    told: list[str] = []
    table = shoal.datasets.hospital()
    shoal.anonymize(
        table,
        policy({"race": "suppress"}, others="drop"),
        progress=lambda what, done, total: told.append(what),
    )
    assert {"counting", "cutting", "auditing"} <= set(told)
