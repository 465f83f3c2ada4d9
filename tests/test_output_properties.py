"""Whatever the table: each output form holds when its files are read back, in any order of the records."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import Infeasible, Misfit
from shoal.policy import Policy

from .strategies import tables_and_policies, unexplained

COMMON = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)
FORMS: list[dict[str, Any]] = [{"form": "generalized", "ends": True}, {"form": "statistics", "ends": True}]


def holds_in_files(table: pl.DataFrame, policy: Policy, kind: str) -> None:
    try:
        with unexplained():
            release = shoal.anonymize(table, policy)
    except (Infeasible, Misfit):
        return
    again = shoal.anonymize(table.reverse(), policy)
    assert release.frame.equals(again.frame)
    assert all(part.equals(again.details.companions[name]) for name, part in release.details.companions.items())
    with tempfile.TemporaryDirectory() as folder:
        files = release.write(Path(folder), format=kind)
        audit = shoal.audit(files["release"], policy, original=table)
        assert audit.holds, audit.failures()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form["form"])
@COMMON
@given(case=tables_and_policies(), kind=st.sampled_from(["csv", "parquet", "feather", "jsonl"]))
def test_tables_of_classes(form: dict[str, Any], case: tuple[pl.DataFrame, Policy], kind: str) -> None:
    table, policy = case
    # what the searches do is tested elsewhere; here, what becomes of their classes
    simple = {"models": [{"name": "k-anonymity", "k": 2}], "algorithm": "mondrian", "loss": "certainty-penalty"}
    holds_in_files(table, policy.replace(subject=None, output=form, **simple), kind)


@COMMON
@given(case=tables_and_policies(), l=st.integers(2, 3), kind=st.sampled_from(["csv", "parquet", "feather", "jsonl"]))
def test_anatomies(case: tuple[pl.DataFrame, Policy], l: int, kind: str) -> None:  # noqa: E741 - the promise's own letter
    table, policy = case
    on = next(iter(policy.sensitive))
    asked = Policy(
        quasi_identifiers=list(policy.quasi_identifiers),
        sensitive=[on],
        others="drop",
        models=[{"name": "distinct-l-diversity", "on": on, "l": l}],
        output="anatomy",
        seed=2**70,
    )
    holds_in_files(table, asked, kind)
