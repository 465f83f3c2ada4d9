"""What all local entries promise: no order of columns counts, lookalikes comply, and the default is never behind."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from tests.algorithms.test_promises import COLUMNS, ask, table_of

import shoal
from shoal.algorithms.base import Algorithm
from shoal.errors import ShoalError
from shoal.policy import Policy
from shoal.registry import find, names
from shoal.testing import solve_table

ENTRIES = [cast("type[Algorithm]", find("algorithms", name)) for name in names("algorithms")]
LOCAL = [form for entry in ENTRIES if entry.starts_search for form in entry.list_forms()]
MODELS: list[dict[str, Any]] = [
    {"name": "distinct-l-diversity", "on": "illness", "l": 3},
    {"name": "entropy-l-diversity", "on": "illness", "l": 2.5},
    {"name": "recursive-l-diversity", "on": "illness", "l": 2, "c": 2.0},
    {"name": "t-closeness", "on": "illness", "t": 0.35},
    {"name": "beta-likeness", "on": "illness", "beta": 2},
    {"name": "delta-disclosure", "on": "illness", "delta": 1.5},
]


def with_illness(records: int, seed: int) -> pl.DataFrame:
    illness = np.random.default_rng(seed).choice(list("rstuv"), records, p=[0.4, 0.25, 0.2, 0.1, 0.05])
    return table_of(records, seed).with_columns(illness=pl.Series(illness))


def lose(table: pl.DataFrame, asked: Policy) -> float:
    try:
        return solve_table(table, asked).loss
    except ShoalError:  # nothing found, or the entry is not led by the models
        return np.inf


@pytest.mark.parametrize("number", range(-2, len(MODELS)))
def test_the_default_is_never_behind_another_entry(number: int) -> None:
    """At equal policy, whatever models there are and whether records may be suppressed."""
    random = np.random.default_rng(number + 2)
    columns = ("age", "place", "zip", "year")[int(random.integers(2)) :]
    quasi = {name: COLUMNS[name] | ({"hierarchy": "suppress"} if name == "age" else {}) for name in columns}
    share, effort = [0.0, 0.07, 0.3][number % 3], [0.0, 0.1][number % 2]
    models = [
        {"name": "k-anonymity", "k": int(random.integers(2, 5))},
        *(MODELS[number : number + 1] if number >= 0 else []),
    ]
    table = with_illness(int(random.integers(20, 60)), number + 2)
    asked = Policy(quasi_identifiers=quasi, sensitive=["illness"], models=models, others="drop", max_suppressed=share)
    own = lose(table, asked.replace(algorithm={"name": "shoal", "effort": effort}))
    others = {repr(form): lose(table, asked.replace(algorithm=form)) for form in LOCAL if form.is_led_by(asked.models)}
    assert len(others) >= 9
    assert np.isfinite(min(others.values()))
    assert {name: loss for name, loss in others.items() if loss < own - 1e-9} == {}


@pytest.mark.parametrize("form", [form for form in LOCAL if not form.needs_hierarchies], ids=str)
def test_the_order_of_columns_does_not_count(form: Algorithm) -> None:
    """Entries that look at records in their order see the columns in the order of their names."""
    model = next((one for one in MODELS if one["name"] in form.needs_models), MODELS[0])
    found = []
    for columns in (("age", "place", "zip"), ("zip", "age", "place")):
        quasi = {name: COLUMNS[name] for name in columns}
        models = [{"name": "k-anonymity", "k": 3}, model]
        asked = Policy(quasi_identifiers=quasi, sensitive=["illness"], models=models, others="drop", algorithm=form)
        solution = solve_table(with_illness(70, 3), asked)
        found.append((solution.loss, sorted(solution.publication.classes.records.tolist())))
    assert found[0][1] == found[1][1]
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-12)


@pytest.mark.parametrize("form", [form for form in LOCAL if not form.needs_models], ids=str)
def test_classes_that_look_alike_comply_as_one(form: Algorithm) -> None:
    """Grassberger's estimate: two records with two values have more of it than four with two."""
    table = pl.DataFrame({"age": [30] * 4 + [50] * 3 + [60] * 3, "illness": [*"xyxy", *"abcdef"]})
    models = [
        {"name": "k-anonymity", "k": 2},
        {"name": "entropy-l-diversity", "on": "illness", "l": 3.0, "estimator": "grassberger"},
    ]
    asked = Policy(
        quasi_identifiers={"age": {"hierarchy": "suppress"}}, sensitive=["illness"], models=models, algorithm=form
    )
    assert shoal.anonymize(table, asked).audit.holds


def test_a_label_that_is_called_like_a_value_makes_no_two_classes_one() -> None:
    tree = {"hierarchy": "tree", "nodes": {"*": {"a": ["a", "b"], "c": ["c", "d"]}}}
    table = pl.DataFrame({"place": [*"aaaabbccdd"], "age": [1, 1, 1, 1, 2, 2, 3, 3, 4, 4]})
    asked = Policy(quasi_identifiers={"place": tree}, models=[{"name": "k-anonymity", "k": 3}], others="drop")
    solution = solve_table(table, asked)
    assert len(np.unique(cast(Any, solution.recoding).members)) == solution.publication.classes.count


@pytest.mark.parametrize("name", ["shoal", "mondrian", "k-member", "kaca", "top-down-greedy", "spanning-tree"])
def test_whole_numbers_far_from_zero_are_parted_like_others(name: str) -> None:
    near = [10 * one + one % 3 for one in range(14)]
    widths = []
    for start in (0, 2**62):
        table = pl.DataFrame({"age": [start + one for one in near]})
        own = cast(Any, solve_table(table, ask(("age",), 3, {"name": name})).recoding).members
        parts = [np.array(near)[own == number] for number in range(own.max() + 1)]
        widths.append(sum(len(part) * np.ptp(part) for part in parts))
    assert widths[0] == widths[1] < 14 * 131


def test_a_column_of_missing_values_only_is_published() -> None:
    table = pl.DataFrame({"age": pl.Series([None] * 14, dtype=pl.Int64), "place": [*"aabbcc"] * 2 + [*"dd"]})
    assert shoal.anonymize(table, ask(("age", "place"), 3, {"name": "shoal", "effort": 0})).audit.holds
