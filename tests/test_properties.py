"""Whatever the table: a release satisfies its policy, or the search says that it cannot."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.engines.limits import find_uncountable
from shoal.errors import Infeasible, Misfit
from shoal.policy import Policy
from shoal.testing import solve_table

from .strategies import count_records, tables_and_policies, tables_with_a_star, unexplained

pytestmark = pytest.mark.slow

COMMON = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)


def release_of(table: Any, policy: Policy) -> shoal.Release | None:
    try:
        with unexplained():
            return shoal.anonymize(table, policy)
    except Infeasible:
        return None


def _columns(frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    return pl.DataFrame([frame[name] for name in names])  # select() would read "*" as a pattern


def classes_of(frame: pl.DataFrame, policy: Policy) -> dict[tuple[Any, ...], list[Any]]:
    """Classes counted in plain Python: a third count beside the search's and the audit's."""
    keys, sensitive = list(policy.quasi_identifiers), next(iter(policy.sensitive))
    classes: dict[tuple[Any, ...], list[Any]] = {}
    for record in frame.iter_rows(named=True):
        classes.setdefault(tuple(record[key] for key in keys), []).append(record[sensitive])
    return classes


@COMMON
@given(tables_and_policies())
def test_a_release_satisfies_its_policy(case: tuple[pl.DataFrame, Policy]) -> None:
    table, policy = case
    release = release_of(table, policy)
    if release is None:
        return
    classes = classes_of(release.table, policy)
    k = policy.models[0].asked
    role = next(iter(policy.sensitive.values()))
    for values in classes.values():
        assert len(values) >= k
        if len(policy.models) > 1 and policy.models[1].least_values > 1:
            known = set(values) - ({None} if role.missing == "wildcard" else set())
            assert len(known) >= policy.models[1].least_values
    starred = sum(len(v) for key, v in classes.items() if set(key) == {"*"}) if len(classes) > 1 else 0
    left_out = table.height - release.table.height
    assert starred + left_out == release.audit.suppressed <= policy.max_suppressed * table.height


@COMMON
@given(tables_and_policies())
def test_search_and_audit_count_the_same_loss(case: tuple[pl.DataFrame, Policy]) -> None:
    table, policy = case
    release = release_of(table, policy)
    if release is None:
        return
    solution = solve_table(table, policy)
    for name, measured in release.audit.utility.items():
        metric: Any = policy.loss if name == policy.loss.key() else shoal.registry.find("utility", name)()
        if metric.known(solution.outcome()):  # some are told by audits only
            assert metric.measure(solution.outcome()).total == pytest.approx(measured.total), name


@COMMON
@given(tables_and_policies(), st.randoms(use_true_random=False))
def test_the_order_of_records_and_columns_changes_nothing(case: tuple[pl.DataFrame, Policy], random: Any) -> None:
    table, policy = case
    release = release_of(table, policy)
    order = list(range(table.height))
    random.shuffle(order)
    names = list(table.columns)
    random.shuffle(names)
    again = release_of(_columns(table[order], names), policy)
    assert (release is None) == (again is None)
    if release is not None and again is not None:
        assert release.table.columns == [name for name in table.columns if name in release.table.columns]
        assert release.table.equals(_columns(again.table, release.table.columns))
        assert release.manifest["policy_hash"] == again.manifest["policy_hash"]


@COMMON
@given(tables_and_policies())
def test_the_sensitive_values_of_published_records_are_the_original_ones(case: tuple[pl.DataFrame, Policy]) -> None:
    table, policy = case
    release = release_of(table, policy)
    if release is not None:
        name = next(iter(policy.sensitive))
        before, after = Counter(table[name].to_list()), Counter(release.table[name].to_list())
        assert after - before == Counter()
        if release.audit.left_out == 0:
            assert after == before


@settings(COMMON, max_examples=60)
@given(tables_and_policies(), st.sampled_from(["csv", "parquet", "feather", "jsonl", "excel"]))
def test_written_bytes_pass_the_audit_in_every_format(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[pl.DataFrame, Policy], kind: str
) -> None:
    table, policy = case
    release = release_of(table, policy)
    if release is None:
        return
    folder: Path = tmp_path_factory.mktemp("out")
    files = release.write(folder, format=kind)
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in files.values())


@settings(COMMON, max_examples=80)
@given(tables_with_a_star(), st.booleans())
def test_a_value_that_is_written_as_suppressed_ones_are_is_refused_before_any_search(
    case: tuple[pl.DataFrame, Policy], is_counted: bool
) -> None:
    table, policy = case
    given = count_records(table) if is_counted and not find_uncountable(policy) else table
    with (
        mock.patch("shoal.pipeline.anonymize.solve", side_effect=AssertionError("searched")),
        pytest.raises(Misfit) as caught,
    ):
        shoal.anonymize(given, policy)
    (told,) = [fault for fault in caught.value.faults if "written as suppressed ones are" in fault.what]
    assert told.where.removeprefix("quasi_identifiers.") in policy.quasi_identifiers
    assert told.got == "'*'" and told.hint == "replace it, or make it missing"


@COMMON
@given(tables_and_policies())
def test_the_yaml_of_a_policy_loses_nothing(case: tuple[pl.DataFrame, Policy]) -> None:
    _, policy = case
    again = Policy.from_yaml(policy.to_yaml())
    assert again == policy
    assert again.hash == policy.hash
