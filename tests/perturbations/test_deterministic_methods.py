"""Rounding, top and bottom coding: what they publish, what is left of missing values, and the errors of bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import Misfit, PolicyError
from shoal.perturbations.rounding import round_to
from shoal.policy import Policy
from tests.perturbations.tables import people


def release(one: dict[str, Any], table: pl.DataFrame) -> Any:
    return shoal.anonymize(table, Policy(others="drop", perturb=[one]))


@given(st.lists(st.floats(-1e9, 1e9), min_size=1), st.sampled_from([0.01, 0.1, 0.25, 1.0, 5.0, 1000.0]))
def test_a_number_goes_to_the_nearest_multiple(numbers: list[float], base: float) -> None:
    held = np.array(numbers)
    shown = round_to(held, base)
    assert (np.abs(shown - held) <= base / 2 + 1e-9 * np.abs(held) + 1e-12).all()
    assert np.allclose(shown / base, np.rint(shown / base), rtol=1e-12, atol=1e-7)
    assert round_to(shown, base).tolist() == shown.tolist()


@pytest.mark.parametrize("base", [0.1, 0.25, 7, 500])
def test_rounding_holds_and_survives_a_file(base: float, tmp_path: Any) -> None:
    table = people().with_columns(tax=pl.when(pl.col("hours") > 40).then(None).otherwise("tax"))
    one = {"name": "rounding", "columns": ["income", "tax", "hours"], "base": base}
    made = release(one, table)
    made.write(tmp_path / "out")
    held = table[made.rows.to_numpy()] if isinstance(made.rows, pl.Series) else table[made.rows]
    assert made.audit.holds and made.table["tax"].null_count() == table["tax"].null_count()
    assert made.table["hours"].dtype == (pl.Int64 if float(base).is_integer() else pl.Float64)
    assert (made.table["income"] - held["income"]).abs().max() <= base / 2 + 1e-6
    assert shoal.audit(made.table, made.policy).holds
    assert not shoal.audit(made.table.with_columns(pl.col("income") + base / 3), made.policy).holds


def test_coding_changes_nothing_between_the_bounds() -> None:
    table = people().with_columns(tax=pl.when(pl.col("hours") > 40).then(None).otherwise("tax"))
    made = release({"name": "top-bottom-coding", "columns": ["hours", "tax"], "bottom": 3, "top": 40}, table)
    assert made.table["hours"].dtype == pl.Int64 and made.table["tax"].null_count() == table["tax"].null_count()
    assert made.table["hours"].sort().equals(table["hours"].clip(3, 40).sort())
    assert shoal.audit(made.table, made.policy).holds
    assert not shoal.audit(made.table.with_columns(pl.col("hours") - 1), made.policy).holds
    one_sided = release({"name": "top-bottom-coding", "columns": ["income"], "top": 5000}, table)
    assert one_sided.table["income"].max() == 5000 and one_sided.table["income"].min() == table["income"].min()


def test_nothing_is_drawn() -> None:
    table = people()
    for one in ({"name": "rounding", "base": 10}, {"name": "top-bottom-coding", "top": 5000}):
        chosen = [Policy(others="drop", perturb=[{**one, "columns": ["income"]}], seed=seed) for seed in (1, 2)]
        assert shoal.anonymize(table, chosen[0]).table.equals(shoal.anonymize(table, chosen[1]).table)
        assert not any("seed" in str(fault) for fault in chosen[0].check(table))


@pytest.mark.parametrize(
    ("one", "message"),
    [
        ({"name": "rounding", "columns": ["job"], "base": 5}, "needs a column of numbers"),
        ({"name": "rounding", "columns": ["day"], "base": 5}, "needs a column of numbers"),
        ({"name": "rounding", "columns": ["income"], "base": 1e-300}, "too large for this base"),
        ({"name": "top-bottom-coding", "columns": ["job"], "top": 5}, "needs a column of numbers"),
        ({"name": "top-bottom-coding", "columns": ["income"], "top": -5}, "leave one value"),
    ],
    ids=str,
)
def test_bad_input_is_told(one: dict[str, Any], message: str) -> None:
    with pytest.raises(Misfit, match=message):
        release(one, people())


@pytest.mark.parametrize(
    ("one", "message"),
    [
        ({"name": "rounding", "columns": ["a"], "base": 0}, "must be more than 0"),
        ({"name": "rounding", "columns": ["a"], "base": float("nan")}, "base"),
        ({"name": "top-bottom-coding", "columns": ["a"]}, "says nothing"),
        ({"name": "top-bottom-coding", "columns": ["a"], "bottom": 5, "top": 5}, "must be less than top"),
    ],
    ids=str,
)
def test_contradictions_are_told(one: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Policy(others="drop", perturb=[one])
