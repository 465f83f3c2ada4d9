"""Statistics of original against published: against scipy, and against what Hussien et al. (2015) print."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shoal import registry as catalog
from shoal.utility.statistics import Sample, kolmogorov_smirnov, numbers, variance_ratio, welch

VALUES = st.lists(st.integers(-20, 20), min_size=3, max_size=40).filter(lambda values: len(set(values)) > 1)


@settings(max_examples=80, deadline=None)
@given(VALUES, VALUES)
def test_the_same_as_scipy(first: list[int], second: list[int]) -> None:
    one, other = np.array(first, float), np.array(second, float)
    assert kolmogorov_smirnov(one, other).statistic == pytest.approx(
        stats.ks_2samp(one, other, method="asymp").statistic
    )
    found, expected = welch(Sample.of(one), Sample.of(other)), stats.ttest_ind(one, other, equal_var=False)
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.freedom == pytest.approx((expected.df,))
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.95)))
    ratio = variance_ratio(Sample.of(one), Sample.of(other))
    assert ratio.statistic == pytest.approx(one.var(ddof=1) / other.var(ddof=1))
    above = stats.f.sf(ratio.statistic, len(one) - 1, len(other) - 1)
    assert ratio.p_value == pytest.approx(2 * min(above, 1 - above), abs=1e-9)


def test_the_p_value_is_the_limiting_one() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=4000), rng.normal(0.05, 1, size=4000)
    found = kolmogorov_smirnov(one, other)
    assert found.p_value == pytest.approx(
        stats.ks_2samp(one, other, method="asymp").pvalue, rel=0.05
    )  # scipy corrects for the size


# Hussien et al. (2015), 3.3.3: 463 records, original against proposed
def test_the_papers_test_of_distributions() -> None:
    ranks = np.arange(463.0)
    found = kolmogorov_smirnov(ranks, ranks + 48)
    assert round(found.statistic, 4) == 0.1037  # 48 of 463 records
    assert round(found.p_value, 4) == 0.0138


VARIANCE = 451.5676
"""Of the original ages: what all printed figures agree on."""


def test_the_papers_test_of_means() -> None:
    found = welch(Sample(463, 34.27646, VARIANCE), Sample(463, 34.76242, VARIANCE / 1.001665))
    assert round(found.statistic, 4) == -0.3481
    assert found.freedom[0] == pytest.approx(923.999, abs=1e-3)
    assert found.p_value == pytest.approx(0.7278, abs=1e-4)
    assert found.interval == pytest.approx((-3.225762, 2.253839), abs=1e-3)


def test_the_papers_test_of_variances() -> None:
    found = variance_ratio(Sample(463, 0.0, 1.001665), Sample(463, 0.0, 1.0))
    assert found.freedom == (462, 462)
    assert round(found.p_value, 4) == 0.9857
    assert found.interval == pytest.approx((0.834491, 1.202329), abs=1e-6)


def test_the_papers_old_model_is_361_zeros_and_102_hundreds() -> None:
    """3.3.4: D = .7667, mean 22.03, ratio .2623, t = 5.6528 on 688.778 degrees of freedom all follow from that."""
    old = np.repeat([0.0, 100.0], [361, 102])
    sample = Sample.of(old)
    assert round(sample.mean, 3) == 22.030  # printed without its first two digits, as 0.2203024
    assert round(VARIANCE / sample.variance, 4) == 0.2623
    ages = np.append(np.zeros(6), np.linspace(1, 90, 457))  # six infants: D = 361/463 - 6/463
    assert round(kolmogorov_smirnov(ages, old).statistic, 4) == 0.7667
    found = welch(Sample(463, 34.2764579, VARIANCE), sample)
    assert round(found.statistic, 3) == 5.653
    assert found.freedom[0] == pytest.approx(688.778, abs=0.05)
    assert f"{found.p_value:.2e}" == "2.31e-08"
    assert found.interval == pytest.approx((7.992702, 16.499738), abs=1e-3)


def test_constant_columns() -> None:
    flat, other, varied = Sample(9, 3.0, 0.0), Sample(9, 4.0, 0.0), Sample(9, 3.0, 2.0)
    assert (welch(flat, flat).p_value, welch(flat, other).p_value) == (1.0, 0.0)
    assert variance_ratio(varied, flat).p_value == 0.0
    assert variance_ratio(flat, flat).p_value == 1.0
    assert variance_ratio(flat, varied).p_value == 0.0
    with pytest.raises(ValueError, match="at least two numbers"):
        Sample.of(np.array([1.0]))


def test_what_stands_for_a_text() -> None:
    texts = ["7", "-1.5", "[20, 29]", "[20.0, 25.0)", "30 - 40", "*", None, "Married", "{1, 2}"]
    found, unknown = numbers(texts, (0, 100))
    assert found.tolist() == [7, -1.5, 24.5, 22.5, 35, 50]
    assert unknown == 2
    assert numbers([], (0, 1))[0].tolist() == []


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 99), min_size=1, max_size=60))
def test_a_uniform_spread_keeps_the_mean_of_the_midpoints(ages: list[int]) -> None:
    texts = [f"[{age // 10 * 10}, {age // 10 * 10 + 9}]" for age in ages]
    middle, spread = (numbers(texts, (0, 99), standing=how)[0] for how in ("midpoint", "uniform"))  # type: ignore[arg-type]
    assert spread.mean() == pytest.approx(middle.mean())
    assert spread.var() >= middle.var() - 1e-9
    assert (np.abs(spread - middle) <= 5).all()


def test_they_are_no_entries_of_the_catalog() -> None:
    assert "statistics" not in catalog.names("utility")
    with pytest.raises(catalog.PolicyError, match="no such entry"):
        catalog.find("utility", "statistics")
