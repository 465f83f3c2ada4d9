"""Every loss on a table small enough to count by hand, at each level, in each form."""

from __future__ import annotations

from math import log2
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms.lattice.lattice import Lattice
from shoal.explore.compare import compare
from shoal.explore.lattice import lattice
from shoal.policy import Policy
from shoal.registry import find, names
from shoal.testing import encode_table, outcome_of
from shoal.utility import Granularity, Height, Metric, NonUniformEntropy, Precision

# a a a b c d; |D| = 4. With k = 2, level 0 keeps the three a and suppresses three records,
# level 1 keeps north (4) and south (2), level 2 shows * only.
TABLE = pl.DataFrame({"place": ["a", "a", "a", "b", "c", "d"]})
NODES = {"*": {"north": ["a", "b"], "south": ["c", "d"]}}
SAME = 3 * log2(3)  # log2 of the records with the same value: three a; the others are alone


def policy(loss: dict[str, Any] | str, share: float = 0.5, **column: Any) -> Policy:
    return Policy(
        quasi_identifiers={"place": {"hierarchy": "tree", "nodes": NODES, **column}},
        models=[{"name": "k-anonymity", "k": 2}],
        algorithm="exhaustive",
        loss=loss,
        max_suppressed=share,
    )


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("non-uniform-entropy", {}, [3 * log2(6), 4 * 2 + 2 * 1 - SAME, 6 * log2(6) - SAME]),
        ("non-uniform-entropy", {"suppressed": "apart"}, [3 * log2(3), 10 - SAME, 6 * log2(6) - SAME]),
        ("non-uniform-entropy", {"suppressed": "ignored"}, [0, 10 - SAME, 6 * log2(6) - SAME]),
        ("precision", {}, [3 / 6, 1 / 2, 1]),
        ("precision", {"suppressed": "ignored"}, [0, 1 / 2, 1]),
        ("height", {}, [0, 1, 2]),
        ("average-class-size", {}, [6 / 2, 6 / 2, 6]),  # the suppressed records are a class
        ("discernibility", {}, [9 + 3 * 6, 16 + 4, 36]),
        ("discernibility", {"suppressed": "ignored"}, [9 + 1 + 1 + 1, 16 + 4, 36]),
        # shares 3/4 + 3 and 6/2, less 6/4, over 6 - 6/4
        ("granularity", {}, [(3.75 - 1.5) / 4.5, (3 - 1.5) / 4.5, 1]),
        # a suppressed record costs 1/4 + 1/2 of the other 3/4
        ("granularity", {"gs_factor": 0.25}, [(0.75 + 3 * 0.625 - 1.5) / 4.5, 1 / 3, 1]),
        ("granularity", {"gs_factor": 0.0}, [0, 1 / 3, 1]),
        # kept records cost half of their share, so the least is 6/8
        ("granularity", {"gs_factor": 0.75}, [(0.375 + 3 - 0.75) / 5.25, (1.5 - 0.75) / 5.25, (3 - 0.75) / 5.25]),
        ("granularity", {"gs_factor": 1.0}, [3 / 6, 0, 0]),
    ],
)
def test_each_level(name: str, parameters: dict[str, Any], expected: list[float]) -> None:
    loss = {"name": name, **parameters}
    asked = policy(loss)
    looked = Lattice(encode_table(TABLE, asked).problem(asked)).look(np.array([[0], [1], [2]], np.int16))
    assert np.asarray(asked.loss.totals(looked.outcome)) == pytest.approx(expected, abs=1e-12)
    told = {node["levels"]["place"]: node["losses"][name] for node in lattice(TABLE, asked)}
    assert [told[level] for level in range(3)] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("mean", (2 * 1 / 3 + 1) / 3),
        ("geometric-mean", ((4 / 3) ** 2 * 2) ** (1 / 3) - 1),
        ("max", 1 / 2),
        ("rank", 1 / 2),
        ("sum", 1 / 3 + 1 / 2),
    ],
)
def test_granularity_puts_columns_together_by_weight(aggregate: Any, expected: float) -> None:
    # of ten values: age loses (4 × 0.4 - 0.4) / (4 - 0.4) = 1/3 and counts twice, sex loses all
    outcome = outcome_of(4, [4], [[0.4, 1.0]], ("age", "sex"), weights=[2.0, 1.0])
    measured = Granularity(aggregate=aggregate).measure(outcome)
    assert measured.total == pytest.approx(expected)
    assert measured.columns == pytest.approx({"age": 1 / 3, "sex": 1.0})


def test_ranks_go_from_the_largest_column_down() -> None:
    outcome = outcome_of(4, [4], [[0.4, 1.0, 0.7]], ("age", "sex", "zip"), weights=[2.0, 0.5, 1.0])
    # 1/3, 1/4 of 1, and half of (2.8 - 0.4) / 3.6 = 2/3
    assert Granularity(aggregate="rank").ranks(outcome).tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 4])


def test_a_column_of_one_value_has_nothing_to_lose() -> None:
    asked = policy("granularity", 1.0)
    table = pl.DataFrame({"place": ["a", "a"]})
    looked = Lattice(encode_table(table, asked).problem(asked)).look(np.array([[0], [2]], np.int16))
    assert np.asarray(asked.loss.totals(looked.outcome)).tolist() == [0.0, 0.0]


def test_a_table_without_records_loses_nothing() -> None:
    asked = policy("certainty-penalty")
    empty = TABLE.head(0)
    assert shoal.audit(empty, asked, original=empty).utility["granularity"].total == 0.0


def test_weights_of_sums_are_relative_to_the_largest() -> None:
    outcome = outcome_of(4, [4], [[0.5, 1.0]], ("age", "sex"), weights=[3.0, 6.0])
    assert NonUniformEntropy().measure(outcome).total == 4 * 1 / 2 + 4 * 2  # log2 2 and log2 4, each four times
    assert Height().measure(outcome).total == 0.5 / 2 + 1.0
    assert Precision().measure(outcome).total == pytest.approx((3 * 0.5 + 6 * 1.0) / 9)


@pytest.mark.parametrize(
    ("loss", "expected", "level"),
    [
        ({"name": "non-uniform-entropy", "suppressed": "apart"}, SAME, 0),  # 4.75 at level 0, 5.25 at level 1
        ({"name": "non-uniform-entropy", "suppressed": "star"}, 10 - SAME, 1),  # 7.75 at level 0
        ({"name": "discernibility", "suppressed": "ignored"}, 12, 0),
        ({"name": "precision", "suppressed": "ignored"}, 0, 0),
        ({"name": "granularity", "gs_factor": 0.25}, 0.25, 0),
    ],
)
def test_a_release_tells_the_loss_that_was_searched(
    loss: dict[str, Any], expected: float, level: int, tmp_path: Any
) -> None:
    release: Any = shoal.anonymize(TABLE, policy(loss))
    assert release.recoding.levels == {"place": level}
    assert release.loss == pytest.approx(expected)
    assert (loss["name"] in release.audit.utility) == (level == 1)  # at level 0 no table tells it
    assert f"loss {expected:.4f}" in repr(release)
    assert release.write(tmp_path / "out")["report"].exists()
    rows = compare(TABLE, policy(loss), [2])
    assert all(row["attained"] is None or row["attained"] >= 2 for row in rows)


def test_other_recodings_tell_the_form_that_an_audit_counts() -> None:
    asked = policy({"name": "non-uniform-entropy", "suppressed": "apart"}, 1.0, missing="suppress")
    table = pl.DataFrame({"place": ["a", "a", "b", "b", None]})
    release = shoal.anonymize(table, asked.replace(algorithm="mondrian"))
    assert release.audit.suppressed == 1
    assert release.loss == pytest.approx(log2(5))  # one of five records could be anyone


def test_records_that_no_search_sees_are_counted_as_the_audit_counts_them() -> None:
    table = pl.DataFrame({"place": ["a", "a", "a", "b", "c", "d", None]})
    release: Any = shoal.anonymize(table, policy("discernibility", 0.6, missing="suppress"))
    assert release.recoding.levels == {"place": 1}
    assert release.loss == release.recoding.proof.loss == 16 + 4 + 7  # 9 + 4 × 7 at level 0


@pytest.mark.parametrize("name", names("utility"))
def test_what_an_audit_cannot_count_has_a_form_that_it_can(name: str) -> None:
    outcome = outcome_of(4, [3], [[0.5]], ("age",), suppressed=1)
    default = cast("Metric", find("utility", name)())
    assert default.known(outcome)
    assert default.auditable() == default


@pytest.mark.parametrize(
    ("loss", "form"),
    [
        (NonUniformEntropy(suppressed="apart"), NonUniformEntropy()),
        (Precision(suppressed="ignored"), Precision()),
        (Granularity(aggregate="rank", gs_factor=0.1), Granularity(aggregate="rank")),
        (Granularity(gs_factor=0.9), Granularity(gs_factor=0.9)),
    ],
)
def test_the_auditable_form_keeps_all_else(loss: Metric, form: Metric) -> None:
    assert loss.auditable() == form
    assert loss.known(outcome_of(4, [3], [[0.5]], ("age",), suppressed=1)) == (loss == form)
    assert loss.known(outcome_of(3, [3], [[0.5]], ("age",)))
