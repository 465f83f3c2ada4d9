"""Statistics of several columns: against other ways to count, and what sdcMicro 5.8.1 prints for MDAV."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from benchmarks.results import SHARED
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.auditing import Fidelity
from shoal.utility.statistics.deviations import measure_deviations
from shoal.utility.statistics.eigenvalues import compare_eigenvalues
from shoal.utility.statistics.propensity import measure_propensity
from shoal.utility.statistics.regressions import compare_regressions

SDC = SHARED / "sdc"
Floats = npt.NDArray[np.float64]


def read_numbers(name: str) -> Floats:
    if not (SDC / f"{name}.csv").exists():
        pytest.skip("the reference tables are not here")
    table = pl.read_csv(SDC / f"{name}.csv")
    kept = [column for column in table.columns if table[column].dtype.is_numeric() and column not in ("YEAR", "MONTH")]
    return table.select(kept).to_numpy().astype(np.float64)


def microaggregate(table: Floats, k: int) -> Floats:
    """MDAV (Domingo-Ferrer and Torra 2005), as slow and plain as it is written."""
    scaled = (table - table.mean(axis=0)) / table.std(axis=0, ddof=1)
    left, classes = np.arange(len(table)), []

    def nearest(point: Floats) -> None:
        nonlocal left
        order = np.argsort(((scaled[left] - point) ** 2).sum(axis=1), kind="stable")
        classes.append(left[order[:k]])
        left = np.sort(left[order[k:]])

    def farthest(point: Floats) -> Floats:
        return np.asarray(scaled[left[np.argmax(((scaled[left] - point) ** 2).sum(axis=1))]])

    while len(left) >= 3 * k:
        one = farthest(scaled[left].mean(axis=0))
        other = farthest(one)
        nearest(one)
        nearest(other)
    if len(left) >= 2 * k:
        nearest(farthest(scaled[left].mean(axis=0)))
    published = table.copy()
    for members in [*classes, left]:
        published[members] = table[members].mean(axis=0)
    return published


@pytest.mark.parametrize(
    ("name", "share", "il1s", "eigen", "within"),
    [
        ("Tarragona", 16.9326, 1092.0965, 4.232294, 0.045564),
        ("CASCrefmicrodata", 5.6922, 1607.9399, None, 0.0),
        ("EIA", 0.4829, 752.4370, 1.743658, 0.655425),
    ],
)
def test_the_figures_of_mdav(name: str, share: float, il1s: float, eigen: float | None, within: float) -> None:
    from shoal.risk import IntervalDisclosure
    from shoal.risk.base import Evidence, RecordPairs

    before = read_numbers(name)
    after = microaggregate(before, 3)
    found = measure_deviations(before, after)
    assert found is not None
    assert (round(100 * found.sse_share, 4), round(found.il1s_sum, 4)) == (share, il1s)
    assert found.il1s_mean == pytest.approx(found.il1s_sum / before.size)
    change = compare_eigenvalues(before, after)
    assert change is not None
    if eigen is None:  # sdcMicro divides by what rounding left of a zero
        assert (change.zero, 0 < change.relative < 13) == (1, True)
    else:
        assert (change.zero, round(change.relative, 6)) == (0, eigen)
    columns = {str(index): (before[:, index], after[:, index]) for index in range(before.shape[1])}
    told = IntervalDisclosure().run(Evidence(np.array([len(before)]), pairs=RecordPairs(columns)))[0].measured
    assert round(told["within"], 6) == within


tables = st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).normal(size=(40, 3)))


@settings(max_examples=25, deadline=None)
@given(tables, tables)
def test_eigenvalues_of_numpys_correlations(before: Floats, after: Floats) -> None:
    mine, theirs = (np.sort(np.linalg.eigvalsh(np.corrcoef(table.T)))[::-1] for table in (before, after))
    found = compare_eigenvalues(before, after)
    assert found is not None
    assert found.relative == pytest.approx((np.abs(mine - theirs) / mine).sum())
    assert (found.absolute, found.zero) == (pytest.approx(np.abs(mine - theirs).sum() / 3), 0)


def test_columns_that_say_each_other_have_defined_eigenvalues() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 2)) * [1.0, 1e6]
    before = np.column_stack([table, table[:, 0] * 3 + table[:, 1] / 7])
    found = compare_eigenvalues(before, before + rng.normal(size=before.shape))
    assert found is not None
    assert found.zero == 1
    assert np.isfinite(found.relative)
    gone = compare_eigenvalues(before[:, :2], np.column_stack([before[:, 0], np.zeros(60)]))
    assert gone is not None
    assert np.isfinite(gone.relative)


def test_regressions_against_statistics_by_hand() -> None:
    """One column on one other: slope, its error and R² follow from sums."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=50)
    before = np.column_stack([x, 2 * x + rng.normal(size=50)])
    after = before + rng.normal(size=before.shape) / 2

    def slope(table: Floats) -> tuple[float, float, float]:
        centred = (table - before.mean(axis=0)) / before.std(axis=0)
        centred = centred - centred.mean(axis=0)
        a, b = centred[:, 1], centred[:, 0]
        found = (a @ b) / (b @ b)
        rest = ((a - found * b) ** 2).sum()
        return found, np.sqrt(rest / 48 / (b @ b)), 1 - rest / (a @ a)

    (one, error, explained), (two, other, kept) = slope(before), slope(after)
    reach = 1.959963984540054
    shared = min(one + reach * error, two + reach * other) - max(one - reach * error, two - reach * other)
    found = compare_regressions(("x", "y"), before, after)[1]
    assert found.explained == pytest.approx((explained, kept))
    assert found.overlap == pytest.approx((shared / (2 * reach * error) + shared / (2 * reach * other)) / 2)


def test_propensity_against_another_solver() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(4)
    one, other = rng.normal(size=(300, 3)), rng.normal(0.3, 1.2, size=(200, 3))
    found = measure_propensity(one.astype(np.float32), other.astype(np.float32))
    pooled, which = np.concatenate([one, other]), np.repeat([0, 1], [300, 200])
    scores = linear.LogisticRegression(C=1e9, max_iter=1000).fit(pooled, which).predict_proba(pooled)[:, 1]
    assert found is not None
    assert found.pmse == pytest.approx(((scores - 0.4) ** 2).mean(), rel=1e-3)
    assert found.expected == pytest.approx(3 * 0.6 * 0.4 / 500)


def test_a_second_sample_has_about_the_expected_pmse() -> None:
    ratios = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        found = measure_propensity(rng.normal(size=(400, 4)).astype("f4"), rng.normal(size=(400, 4)).astype("f4"))
        assert found is not None
        ratios.append(found.ratio)
    assert 0.7 < np.mean(ratios) < 1.3


def test_the_audit_tells_them() -> None:
    rng = np.random.default_rng(0)
    original = pl.DataFrame({"pay": rng.normal(50, 9, 60).round(1), "rent": rng.normal(20, 4, 60).round(1)})
    published = original.with_columns(pay=original["pay"] + 1)
    policy = {"quasi_identifiers": ["rent"], "others": "keep"}
    rows = list(range(60))
    told = shoal.audit(published, policy, original=original, statistics=Fidelity(), rows=rows).statistics
    deviation = float(original["pay"].std())  # type: ignore[arg-type]
    assert told["deviations"]["il1s_sum"] == pytest.approx(60 / deviation / 2**0.5)
    assert told["eigenvalues"]["relative"] == pytest.approx(0, abs=1e-9)
    assert {one["column"] for one in told["regressions"]} == {"pay", "rent"}
    assert "deviations" not in shoal.audit(published, policy, original=original, statistics=Fidelity()).statistics
