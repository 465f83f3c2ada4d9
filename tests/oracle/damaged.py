"""A damaged release must not pass, unless it happens to be another true and compliant one."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import polars as pl

import shoal

from .damage import DAMAGES
from .definitions import Row
from .results import Result, audit_of, shorten, take_back
from .rows import count_suppressed, is_true, plain_cell, unreadable
from .setting import Setting


def check_damage(
    result: Result, setting: Setting, policy: Mapping[str, Any], release: Any, rows: list[dict[str, Any]]
) -> None:
    """A damaged release must not pass, unless it happens to be another true and compliant one."""
    asked = any(model.get("name") == "personal-k" for model in setting.models)
    if not rows or setting.policy.get("subject") or asked or release.owner.weights is not None:
        return  # whose record a damaged one is, nobody can say
    draw = Random(f"damage {setting.case.get('seed')}")
    kind = take_back(release.table)
    for name in draw.sample(sorted(DAMAGES), 3):
        damaged = DAMAGES[name](draw, setting, [dict(row) for row in rows])
        if damaged is None:
            continue
        judge_damage(result, setting, policy, kind, name, damaged)


def judge_damage(
    result: Result,
    setting: Setting,
    policy: Mapping[str, Any],
    kind: pl.DataFrame,
    name: str,
    damaged: list[dict[str, Any]],
) -> None:
    """Compare the audit of a damaged table with what matching and definitions say of it."""
    table = pl.DataFrame(damaged, schema=kind.schema, orient="row")
    table = table.sort(pl.all(), nulls_last=False) if not set(table.columns) & {"*"} else table
    audit = audit_of(setting, table, policy)
    if isinstance(audit, shoal.ShoalError):
        result.checks["damage: error"] += 1
        return
    if isinstance(audit, Exception):
        result.find("crash", f"audit of a damaged table: {type(audit).__name__}: {shorten(audit)}", damaged=damaged)
        return
    rows = [
        Row(
            tuple(None if row[one] == "" else row[one] for one in setting.columns),
            {one: plain_cell(setting, one, row[one]) for one in setting.kept},
        )
        for row in damaged
    ]
    wrong = what_is_wrong(setting, rows)
    if audit.holds and wrong:
        result.find(
            f"damage missed: {wrong[0].split(':')[0]}", f"after {name} the audit holds; {wrong}", damaged=damaged
        )
    else:
        result.checks["damage"] += 1


def what_is_wrong(setting: Setting, rows: list[Row]) -> list[str]:
    """Say what the definitions have against a published table."""
    wrong = []
    starred, left_out = count_suppressed(setting, rows)
    if starred + max(0, left_out) > setting.may_suppress:
        wrong.append(f"suppressed: {starred + left_out} of {setting.may_suppress}")
    if left_out < 0:
        wrong.append("records: more than the original has")
    for model, judged in zip(
        [one for one in setting.models if one], setting.judge_all(rows, strict=True), strict=False
    ):
        if judged.holds is False:
            wrong.append(f"model {model['name']}: {judged.attained}")
    if not unreadable(setting, rows) and is_true(setting, rows, strict=False) is False:
        wrong.append("truth: no assignment of original records")
    return wrong
