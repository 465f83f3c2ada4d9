"""What is published of a record is true of it: followed through a sensitive value that is unique."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import AuditFailed, Infeasible
from shoal.hierarchies import Mask, Tree
from shoal.policy import Policy

from .strategies import unexplained

TREE = {"*": {"p": [12, 40, 19], "q": [20, 30, 33], "r": {"s": [25], "t": [14, 22]}}}
UNDER = {"p": {12, 40, 19}, "q": {20, 30, 33}, "r": {25, 14, 22}, "s": {25}, "t": {14, 22}}
SPECS: list[Any] = [
    {"hierarchy": "tree", "nodes": TREE},
    {"hierarchy": "mask", "keep": [1], "side": "suffix"},
    {"hierarchy": "mask", "keep": [1]},
    {"hierarchy": "intervals", "widths": [5, 10]},
    {},
]


def is_true(text: str | None, value: int | None) -> bool:
    if text == "*":
        return True
    if text is None or value is None:
        return (text is None and value is None) or (text is not None and "(missing)" in text)
    if text in UNDER:
        return value in UNDER[text]
    if "*" in text:
        return re.fullmatch(text.replace("*", "."), str(value)) is not None
    if text.startswith("["):
        low, high = (int(part) for part in text[1:-1].split(", "))
        return low <= value <= high
    return str(value) in text.strip("{}").split(", ")


@pytest.mark.slow
@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(
    st.lists(
        st.one_of(st.sampled_from(sorted(UNDER["p"] | UNDER["q"] | UNDER["r"])), st.none()), min_size=4, max_size=20
    ),
    st.sampled_from(SPECS),
    st.sampled_from(["labels", "ranges", "sets"]),
    st.sampled_from(
        [
            "mondrian",
            {"name": "mondrian", "cuts": "relaxed"},
            "single-dimensional",
            "exhaustive",
            "top-down-specialization",
            "bottom-up",
            "similarity-clustering",
        ]
    ),
    st.sampled_from(["own-value", "wildcard"]),
    st.integers(2, 4),
)
def test_every_published_text_is_true(
    values: list[int | None], spec: dict[str, Any], publish: str, algorithm: Any, missing: str, k: int
) -> None:
    assume(any(value is not None for value in values))
    table = pl.DataFrame({"x": pl.Series(values, dtype=pl.Int64), "who": [f"person {i}" for i in range(len(values))]})
    policy = Policy(
        quasi_identifiers={"x": {**spec, "missing": missing}},
        sensitive=["who"],
        models=[{"name": "k-anonymity", "k": k}],
        algorithm=algorithm,
        publish=publish,
        max_suppressed=0.5,
    )
    try:
        with unexplained():
            release = shoal.anonymize(table, policy)
    except Infeasible:
        return
    truth = dict(zip(table["who"], table["x"], strict=True))
    for text, who in release.table.select("x", "who").iter_rows():
        assert is_true(text, truth[who]), (text, truth[who])


def test_numbers_under_a_tree_are_not_published_as_false_ranges() -> None:
    table = pl.DataFrame({"x": [12, 22, 15, 25, 31, 41], "s": list("abcdef")})
    policy = Policy(
        quasi_identifiers={"x": Mask(keep=[1], side="suffix")},
        sensitive=["s"],
        models=[{"name": "k-anonymity", "k": 3}],
        publish="ranges",
    )
    assert not any(text.startswith("[") for text in shoal.anonymize(table, policy).table["x"])


def test_a_false_range_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recoding that publishes neighbours' ranges counts right; only the truth check sees it."""
    from shoal.recodings import forms

    honest = forms.write_ranges

    def lie(levels: Any, low: Any, high: Any) -> list[str | None]:
        false = honest(levels, np.maximum(low - 1, 0), np.maximum(low, 1))
        return [text if code else "40" for text, code in zip(false, low.tolist(), strict=True)]

    monkeypatch.setattr(forms, "write_ranges", lie)
    table = pl.DataFrame({"x": [12, 12, 14, 14, 20, 20, 40, 40], "s": list("abcdefgh")})
    policy = Policy(quasi_identifiers=["x"], sensitive=["s"], models=[{"name": "k-anonymity", "k": 2}])
    with pytest.raises(AuditFailed, match="not true of their records"):
        shoal.anonymize(table, policy)


def test_a_range_that_runs_backwards_means_nothing() -> None:
    table = pl.DataFrame({"x": [12, 40, 20, 30]})
    policy = Policy(quasi_identifiers={"x": Tree(nodes=TREE)}, models=[{"name": "k-anonymity", "k": 2}])
    audit = shoal.audit(pl.DataFrame({"x": ["[40, 12]"] * 4}), policy, original=table)
    assert not audit.holds
    assert "no value, label, range or set" in str(audit.failures()[0])
