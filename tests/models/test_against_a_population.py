"""k-map, δ-presence and the models of risk on random tables that are a part of a population."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import tables_and_policies

from shoal import registry as catalog
from shoal import testing
from shoal.algorithms.base import Algorithm
from shoal.errors import Misfit
from shoal.policy import Policy

MODELS: list[dict[str, Any]] = [
    *({"name": "k-map", "k": k} for k in (2, 5, 12)),
    *({"name": "delta-presence", "delta_min": low, "delta_max": high} for low in (0, 0.1) for high in (0.4, 0.6)),
    *({"name": "average-risk", "threshold": share} for share in (0.2, 0.45)),
    *({"name": "sample-uniqueness", "threshold": share} for share in (0, 0.1)),
    *({"name": "population-uniqueness", "threshold": share} for share in (0.0, 0.05)),
]
SEARCHES = ("exhaustive", "optimal", "mondrian", "shoal", "bottom-up", "single-dimensional", "k-member")
"""One search of each kind of recoding, and of each way to build classes."""
ALGORITHMS = [pytest.param(catalog.find("algorithms", name)(), id=name) for name in SEARCHES]


@st.composite
def parts_of_populations(draw: st.DrawFn) -> tuple[pl.DataFrame, Policy, pl.DataFrame]:
    """Draw a table, a policy and a population: everyone in the table, and others with values of their own."""
    table, policy = draw(tables_and_policies())
    chosen = draw(st.lists(st.sampled_from(MODELS), min_size=1, max_size=2, unique_by=str))
    first = [] if draw(st.booleans()) else [policy.models[0]]
    names = list(policy.quasi_identifiers)
    drawn = {name: st.lists(st.sampled_from([*table[name], None]), min_size=9, max_size=9) for name in names}
    others = [pl.Series(name, draw(values), table[name].dtype) for name, values in drawn.items()]
    strangers = [column + 3 if column.dtype == pl.Int64 else column for column in others]
    people = pl.concat([pl.DataFrame([table[name] for name in names]), pl.DataFrame(others), pl.DataFrame(strangers)])
    return table, policy.replace(models=[*first, *chosen], population="?"), people


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(parts_of_populations())
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_search_and_audit_match_the_same_persons(
    algorithm: Algorithm, case: tuple[pl.DataFrame, Policy, pl.DataFrame]
) -> None:
    table, policy, people = case
    with TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        people.write_parquet(path)
        policy = policy.replace(population=str(path))
        try:
            testing.check_algorithm(algorithm, table, policy)
        except Misfit as error:
            told = str(error)
            refused = any(model.by_class is None for model in policy.models) and not algorithm.looks_across
            assert refused and "looks at whole tables" in told, told
