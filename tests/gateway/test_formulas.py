"""Texts that a spreadsheet would take for formulas: an answer is what the owner's policy lets a release be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from shoal.errors import Refused
from shoal.gateway.formats import Reply, write_reply
from shoal.gateway.mediator import Gateway
from tests.gateway.conftest import Memory

Opened = Callable[..., Gateway]
POLICY: dict[str, Any] = {
    "identifiers": ["id"],
    "quasi_identifiers": ["age", "job"],
    "sensitive": ["ill"],
    "models": [{"name": "k-anonymity", "k": 5}],
}
RAW = {"threshold": 2}
COUNTS = {"answers": {"counts": "rounded", "base": 5}}
ASKED = "SELECT job, count(*) AS n FROM people GROUP BY job"


def people() -> pl.DataFrame:
    records = range(60)
    return pl.DataFrame(
        {
            "id": records,
            "age": [20 + number % 2 for number in records],
            "job": ["=cmd|' /C calc'!A0" if number % 2 else "nurse" for number in records],
            "ill": ["flu", "+cold", "gout"] * 20,
        }
    )


@pytest.mark.parametrize("more", [{}, RAW, COUNTS], ids=["anonymized", "as it is", "counts"])
def test_formulas_get_an_apostrophe_where_the_policy_says_so(opened: Opened, more: dict[str, Any]) -> None:
    gateway = opened(Memory(people=people()), {**POLICY, **more, "hygiene": {"formulas": "prefix"}})
    answer = gateway.ask("ann", ASKED)
    assert set(answer.table["job"]) == {"'=cmd|' /C calc'!A0", "nurse"}
    assert b"\n'=cmd" in write_reply(Reply(answer.table, answer.to_dict()), "csv")
    named = gateway.ask("ann", ASKED.replace("GROUP", "WHERE job = '=cmd|'' /C calc''!A0' GROUP"))
    assert named.table["job"].to_list() == ["'=cmd|' /C calc'!A0"]  # a condition is on the value


@pytest.mark.parametrize("more", [{}, RAW, COUNTS], ids=["anonymized", "as it is", "counts"])
def test_nothing_is_answered_where_the_policy_refuses_them(opened: Opened, more: dict[str, Any]) -> None:
    gateway = opened(Memory(people=people()), {**POLICY, **more, "hygiene": {"formulas": "refuse"}})
    for text in (ASKED, "SELECT count(*) AS n FROM people WHERE age = 20"):
        with pytest.raises(Refused, match="does not fit"):
            gateway.ask("ann", text)
