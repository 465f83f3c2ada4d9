"""The same again: another order, other names, every record twice."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import polars as pl

import shoal

from .cases import rename
from .results import Result, as_csv, policy_of, says_not_found, shorten, take_back
from .setting import Setting, build_table


def check_same_again(
    result: Result, setting: Setting, policy: Mapping[str, Any], release: Any, table: pl.DataFrame
) -> None:
    """The order of records changes nothing, and twice the records keep what was kept."""
    case = setting.case
    draw = Random(f"order {case.get('seed')}")
    order = list(range(len(setting.records)))
    draw.shuffle(order)
    moved = [{**one, "values": [one["values"][index] for index in order]} for one in case["columns"]]
    try:
        other = shoal.anonymize(build_table(moved), policy)
    except shoal.ShoalError as error:
        result.find("order", f"refused in another order: {type(error).__name__} {shorten(error)}", order=order)
        return
    except Exception as error:
        result.find("crash", f"in another order: {type(error).__name__}: {shorten(error)}", order=order)
        return
    if as_csv(take_back(other.table)) != as_csv(table):
        result.find("order", "another order of the records gives another release", order=order)
    else:
        result.checks["order"] += 1
    check_renamed(result, setting, table)
    check_doubled(result, setting, policy, release)


def check_renamed(result: Result, setting: Setting, table: pl.DataFrame) -> None:
    """What columns are called changes nothing but the header."""
    if setting.case.get("seed", 0) % 3:
        return  # a third of the cases is enough
    other = rename(setting.case)
    try:
        with policy_of(other) as policy:
            renamed = take_back(shoal.anonymize(build_table(other["columns"]), policy).table)
    except Exception as error:
        result.find("renamed", f"{type(error).__name__}: {shorten(error)}")
        return
    if as_csv(renamed)[1:] != as_csv(table)[1:]:
        result.find("renamed", "other names of the columns give another release")
    result.checks["renamed"] += 1


def check_doubled(result: Result, setting: Setting, policy: Mapping[str, Any], release: Any) -> None:
    """Every record twice: classes are twice as large and shares the same, so a release is there too."""
    estimates = any(model.get("estimator") for model in setting.models)
    built = any(reader.levels is None for reader in setting.readers)  # these follow the counts
    if setting.policy.get("subject") or setting.people or built or estimates or setting.policy.get("survey_weight"):
        return
    twice = [{**one, "values": [*one["values"], *one["values"]]} for one in setting.case["columns"]]
    try:
        # twice the same record is about two persons
        other = shoal.anonymize(build_table(twice), {**policy, "subject": "none"})
    except shoal.Infeasible as error:
        if not says_not_found(error):
            result.find("doubled", f"infeasible with every record twice: {shorten(error)}", doubled=True)
        return
    except shoal.ShoalError as error:
        result.find("doubled", f"{type(error).__name__}: {shorten(error)}", doubled=True)
        return
    except Exception as error:
        result.find("crash", f"doubled: {type(error).__name__}: {shorten(error)}", doubled=True)
        return
    result.checks["doubled"] += 1
    if setting.algorithm in ("optimal", "exhaustive") and "loss" not in setting.policy:
        before, after = (one.audit.utility["certainty-penalty"].total for one in (release, other))
        if after > before + 1e-9:
            result.find("doubled", f"twice the records lose more: {before} to {after}", doubled=True)
