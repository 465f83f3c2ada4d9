"""The decimals of sdcMicro and µ-ARGUS on the tables of the field; skipped where these are absent."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from benchmarks.microaggregation import read_table
from benchmarks.results import SHARED

import shoal
from shoal.perturbations.optimal_univariate import cut_line
from shoal.policy import Policy

pytestmark = pytest.mark.skipif(not (SHARED / "sdc").exists(), reason="the tables of the field are not here")


@pytest.mark.parametrize(
    ("table", "k", "percent"),
    [
        ("Tarragona", 3, 16.9326),
        ("Tarragona", 5, 22.4619),
        ("Tarragona", 10, 33.1929),
        ("Census", 3, 5.6922),
        ("Census", 5, 9.0884),
        ("Census", 10, 14.1559),
        ("EIA", 3, 0.4829),
        ("EIA", 5, 1.6667),
        ("EIA", 10, 3.8397),
    ],
)
def test_mdav_has_the_decimals_of_sdcmicro(table: str, k: int, percent: float) -> None:
    frame = read_table(table)
    policy = Policy(others="drop", perturb=[{"name": "mdav", "columns": frame.columns, "k": k}])
    audit = shoal.anonymize(frame, policy).audit.perturbations[0]
    assert round(100 * audit.measured["share"], 4) == percent


@pytest.mark.parametrize(
    ("table", "column", "errors"),
    [
        ("Tarragona", "FIXED.ASSETS", [4604709131689.4, 7062642101608.92, 12213081092343.1]),
        ("Tarragona", "CURRENT.ASSETS", [860621159032.83, 1477645663248.82, 8188348078282.35]),
        ("Tarragona", "TREASURY", [8484325868.917, 28581412506.06, 105355094847.39]),
        ("Census", "AFNLWGT", [14464579257, 19644630708.70, 30128636172.04]),
        ("Census", "AGI", [5442165.3, 17492778.18, 73331576.65]),
        ("Census", "EMCONTRB", [159166.27, 319655.47, 1205532.43]),
    ],
)
def test_the_best_classes_of_one_column(table: str, column: str, errors: list[float]) -> None:
    values = read_table(table)[column].cast(pl.Float64).to_numpy()
    for k, expected in zip((3, 5, 10), errors, strict=True):
        classes = cut_line(values, np.ones(len(values)), k)
        means = np.bincount(classes, values) / np.bincount(classes)
        assert ((values - means[classes]) ** 2).sum() == pytest.approx(expected, rel=1e-9, abs=0.006)
