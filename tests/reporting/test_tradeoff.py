"""The page of a comparison tells every figure, why something is missing, and what no local recoding goes below."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import shoal
from shoal.explore.compare import compare
from shoal.reporting.tradeoff_page import (
    BOUND,
    draw_tradeoff,
    greatest_bounds,
    render_tradeoff_page,
    write_tradeoff_page,
)


def rows() -> list[dict[str, Any]]:
    table, policy = shoal.datasets.load("patients")
    return compare(table, policy, [2, 3, 40], ["mondrian", "shoal"])


def test_every_row_is_on_the_page(tmp_path: Path) -> None:
    found = rows()
    write_tradeoff_page(found, tmp_path / "compare.html")
    text = (tmp_path / "compare.html").read_text(encoding="utf-8")
    assert text == render_tradeoff_page(found)
    assert text.count('<td class="name">') == len(found) == 6
    assert text.count('class="best"') >= 2
    assert str(found[-1]["infeasible"])[:30] in text  # k = 40 of a handful of patients


def test_the_bound_is_the_most_that_any_search_proves_and_no_search_goes_below() -> None:
    found = rows()
    bounds = greatest_bounds([*found, {"k": 2, "bound": 0.0001}])
    known = [row for row in found if row.get("bound") is not None]
    assert known
    assert all(row["bound"] <= bounds[row["k"]] <= row["certainty-penalty"] + 1e-9 for row in known)
    assert BOUND in draw_tradeoff(found)


def test_without_any_release_the_page_says_so() -> None:
    assert "No algorithm found a release" in render_tradeoff_page([{"algorithm": "mondrian", "k": 9, "attained": None}])
