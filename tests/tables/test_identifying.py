"""measure_identifying(): both ratios counted pair by pair, and the weights that follow."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.explore.suggest import suggest
from shoal.policy import Policy
from shoal.profiling.identifying import HEAVIEST, measure_identifying


def ratios(rows: list[tuple[Any, ...]]) -> tuple[float, float]:
    pairs = list(combinations(rows, 2))
    return len(set(rows)) / len(rows), sum(one != other for one, other in pairs) / len(pairs)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from(["a", "b", "c", None])] * 3), min_size=2, max_size=12))
def test_what_a_column_adds_is_counted_pair_by_pair(rows: list[tuple[str | None, ...]]) -> None:
    table = pl.DataFrame(rows, schema=dict.fromkeys("xyz", pl.String), orient="row")
    found = measure_identifying(table, table.columns)
    gains = []
    for index, name in enumerate("xyz"):
        others = [other for other in range(3) if other != index]
        by_size = []
        for size in (0, 1, 2):
            added = []
            for rest in combinations(others, size):
                without = ratios([tuple(row[i] for i in rest) for row in rows]) if rest else (1 / len(rows), 0.0)
                together = ratios([tuple(row[i] for i in (*rest, index)) for row in rows])
                added.append((together[0] - without[0] + together[1] - without[1]) / 2)
            by_size.append(sum(added) / len(added))
        gains.append(sum(by_size) / 3)
        alone = ratios([(row[index],) for row in rows])
        assert (found[name].distinction, found[name].separation) == pytest.approx(alone)
        assert found[name].gain == pytest.approx(gains[-1])
    heaviest = max(found.values(), key=lambda column: column.gain)
    assert heaviest.weight == (HEAVIEST if max(gains) > 0 else 1)
    assert all(1 <= column.weight <= HEAVIEST for column in found.values())
    assert sorted(found, key=lambda name: found[name].gain)[0] in [
        name for name, column in found.items() if column.weight == min(c.weight for c in found.values())
    ]


def test_constants_and_tables_without_records_weigh_little() -> None:
    table = pl.DataFrame({"a": ["x", "x"], "b": ["y", "y"]})
    assert [column.weight for column in measure_identifying(table, ["a", "b"]).values()] == [1, 1]
    assert [column.separation for column in measure_identifying(table.head(0), ["a", "b"]).values()] == [0.0, 0.0]


def test_many_columns_are_measured_in_pairs() -> None:
    table = pl.DataFrame({f"c{i}": [j % (i + 2) for j in range(50)] for i in range(20)})
    weights = [column.weight for column in measure_identifying(table, table.columns).values()]
    assert weights[-1] == HEAVIEST
    assert weights[0] < HEAVIEST


def test_the_draft_proposes_the_weights_and_says_so() -> None:
    table = shoal.datasets.adult().select("age", "sex", "race", "income")
    draft = suggest(table, weigh="identifying")
    weights = {name: column.weight for name, column in Policy.from_yaml(draft).quasi_identifiers.items()}
    assert weights == {name: found.weight for name, found in measure_identifying(table, ["age", "sex", "race"]).items()}
    assert weights["age"] > weights["sex"] >= weights["race"]
    text = " ".join(draft.replace("#", " ").split())
    assert "how identifying the column was measured to be" in text
    assert "Motwani and Xu 2007" in text
    assert "tells 98 % of pairs apart: weight 5" in text
    assert Policy.from_yaml(draft).threshold is None  # proposed, but not switched on
    assert "# threshold: 6" in draft


def test_a_single_quasi_identifier_needs_no_weight() -> None:
    assert "weight" not in suggest(pl.DataFrame({"age": [21, 24, 36, 47] * 5}), k=2)
