"""Differential privacy: the guarantee itself, its numbers, the sample, and what a policy must not do besides."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from tests.factories import policies

import shoal
from shoal import registry as catalog
from shoal.engines.counted import CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.errors import AuditFailed, Infeasible, PolicyError
from shoal.models import DifferentialPrivacy
from shoal.models.statistics.sampling import delta_of, greatest_share, least_alike
from shoal.pipeline import encode
from shoal.pipeline.sampling import draw_sample

SECRET = 0x5EC2E7_5EC2E7_5EC2E7_5EC2E7
"""A seed for tests; a real one is nobody's to read."""
PAIRS = [(2.0, 1e-5), (1.5, 1e-6), (1.0, 1e-5), (1.0, 0.05), (0.5, 1e-3), (0.1, 1e-4), (0.05, 1e-2), (3.0, 1e-3)]


def published(n: int, k: int, beta: float) -> np.ndarray[Any, Any]:
    """The chance of each size of a class that n records could be in; 0 is that it is not published."""
    chances = binom.pmf(np.arange(n + 2), n, beta)
    chances[0] += chances[1:k].sum()
    chances[1:k] = 0.0
    return chances


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
@pytest.mark.parametrize("smaller", [1.0, 0.5])
def test_the_guarantee_itself(epsilon: float, delta: float, smaller: float) -> None:
    """For every number of records that look alike: with one more, no set of releases is much more or less likely.

    The set that differs most holds just the releases whose chance differs by more than exp(ε).
    """
    beta = math.floor(smaller * float(greatest_share(Fraction(repr(epsilon)))) * 1e6) / 1e6
    model = DifferentialPrivacy(epsilon=epsilon, delta=delta, beta=beta)
    worst = 0.0
    for n in range(1, math.ceil(3 * model.k / (1 - (1 - beta) * math.exp(-epsilon))) + 20):
        with_one, without = published(n, model.k, beta), published(n - 1, model.k, beta)
        without = np.append(without, np.zeros(len(with_one) - len(without)))
        for one, other in ((with_one, without), (without, with_one)):
            worst = max(worst, float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum()))
    assert worst <= delta
    assert worst > 0.0


def test_a_threshold_of_half_the_size_would_not_do() -> None:
    model = DifferentialPrivacy(epsilon=1.0, delta=1e-5)
    k, beta, worst = model.k // 2, float(model.sample_share), 0.0
    for n in range(1, 200):
        with_one, without = published(n, k, beta), np.append(published(n - 1, k, beta), 0.0)
        worst = max(worst, float(np.maximum(with_one - math.e * without, 0.0).sum()))
    assert worst > 1e-5


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_k_is_the_least_by_another_computation(epsilon: float, delta: float) -> None:
    beta = float(greatest_share(Fraction(repr(epsilon))))
    gamma = 1 - (1 - beta) * math.exp(-epsilon)

    def plain(k: int) -> float:
        first = max(math.ceil(k / gamma - 1), 1)
        return float(max(binom.sf(math.floor(gamma * n), n, beta) for n in range(first, first + math.ceil(4 / gamma))))

    k = DifferentialPrivacy(epsilon=epsilon, delta=delta).k
    assert plain(k) <= delta < plain(k - 1)
    told = float(delta_of(k, Fraction(repr(epsilon)), greatest_share(Fraction(repr(epsilon)))))
    assert told == pytest.approx(plain(k), rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "k"),
    [(2.0, 1e-5, 113), (1.5, 1e-6, 99), (1.0, 1e-5, 61), (1.0, 1e-4, 47), (0.1, 1e-5, 49), (0.01, 1e-9, 95)],
)
def test_the_numbers_do_not_change(epsilon: float, delta: float, k: int) -> None:
    assert DifferentialPrivacy(epsilon=epsilon, delta=delta).k == k


def test_the_numbers_of_the_docs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "beyond-k.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d.]+) \| 10(⁻\S) \| (\.\d+) \| (\d+) \|$", text, re.M)
    assert len(rows) == 5
    for epsilon, power, share, k in rows:
        model = DifferentialPrivacy(epsilon=float(epsilon), delta=10.0 ** -"⁰¹²³⁴⁵⁶⁷⁸⁹".index(power[1]))
        assert (f"{float(model.sample_share):.3f}"[1:], model.k) == (share, int(k))
    whole = re.findall(r"```yaml\n(.*?)```", text, re.S)[-1]
    assert shoal.Policy.from_yaml(whole).has_secret_seed


def test_shares_are_rounded_down() -> None:
    for epsilon in (0.001, 0.1, 1.0, math.log(2), 5.0):
        share = greatest_share(Fraction(repr(epsilon)))
        assert share.denominator <= 2**53
        assert -math.log1p(-float(share)) <= epsilon * (1 + 1e-12)
    assert greatest_share(Fraction(repr(math.log(2)))) < Fraction(1, 2), "the double is below ln 2"


@settings(max_examples=30, deadline=None)
@given(st.floats(0.05, 3.0), st.floats(1e-8, 0.2), st.floats(1.1, 5.0))
def test_a_smaller_delta_never_asks_for_less(epsilon: float, delta: float, times: float) -> None:
    e, share = Fraction(repr(epsilon)), greatest_share(Fraction(repr(epsilon)))
    assert least_alike(e, Fraction(repr(delta / times)), share) >= least_alike(e, Fraction(repr(delta)), share)


class TestTheSample:
    """Every record is drawn with the same chance, for itself, and by a seed alone."""

    def test_as_often_as_it_should(self) -> None:
        ones = [draw_sample([np.zeros(10_000, np.int64)], Fraction(3, 10), SECRET + n).sum() for n in range(20)]
        assert abs(np.mean(ones) - 3000) < 4 * math.sqrt(10_000 * 0.21 / 20)
        assert 20 < np.std(ones) < 90  # as of draws for themselves: 46

    def test_neighbours_are_drawn_for_themselves(self) -> None:
        chosen = draw_sample([np.arange(100_000)], Fraction(1, 2), SECRET)
        both = (chosen[1:] & chosen[:-1]).mean()
        assert abs(both - 0.25) < 0.01

    def test_the_order_of_the_records_does_not_matter(self) -> None:
        random = np.random.default_rng(0)
        values, more = random.integers(0, 5, 500), random.integers(0, 3, 500)
        turned = random.permutation(500)
        pairs = list(zip(values.tolist(), more.tolist(), strict=True))
        first = draw_sample([values, more], Fraction(1, 2), SECRET)
        second = draw_sample([values[turned], more[turned]], Fraction(1, 2), SECRET)
        assert sorted(pair for pair, one in zip(pairs, first, strict=True) if one) == sorted(
            pairs[n] for n, one in zip(turned, second, strict=True) if one
        )

    def test_another_seed_draws_others(self) -> None:
        one, other = (draw_sample([np.arange(1000)], Fraction(1, 2), SECRET + n) for n in range(2))
        assert 400 < (one != other).sum() < 600


policy = policies(
    quasi_identifiers={"age": {"hierarchy": "intervals", "widths": [20]}, "sex": "suppress"},
    others="drop",
    models=[{"name": "differential-privacy", "epsilon": 1.0, "delta": 1e-4}],
    algorithm={"name": "fixed-levels", "levels": {"age": 1}},
    suppressed="drop",
    max_suppressed=1.0,
    seed=SECRET,
)


@pytest.fixture
def adult() -> pl.DataFrame:
    return shoal.datasets.adult(complete=True, part="test").head(3000)


def test_a_release(adult: pl.DataFrame, tmp_path: Path) -> None:
    made = shoal.anonymize(adult, policy())
    k = policy().models[0].k  # type: ignore[attr-defined]
    sizes = made.table.group_by("age", "sex").len()["len"]
    assert sizes.min() >= k == 47
    assert made.attained["differential-privacy"] == (1.0, 1e-4, sizes.min())
    share = made.table.height / adult.height
    assert 0.55 < share < 0.64, "about a share of .632, less what is suppressed"
    assert made.audit.starred == 0
    files = made.write(tmp_path)
    for name in ("manifest", "report", "audit", "release"):
        assert str(SECRET) not in files[name].read_text(encoding="utf-8"), name
    assert json.loads(files["manifest"].read_text())["seed"] == "secret"
    backwards = shoal.anonymize(adult.reverse(), policy())
    assert made.table.equals(backwards.table)
    other = shoal.anonymize(adult, policy(seed=SECRET + 1))
    assert not made.table.equals(other.table)


def test_the_release_is_the_sample_cut_at_k(adult: pl.DataFrame) -> None:
    """Against a plain way: draw, label, count, cut."""
    made = shoal.anonymize(adult, policy())
    words = TableDictionary(CountedTable(adult), policy())
    encoded = encode.encode(words)
    codes = [encode.encode_column(words, name)[1] for name in ("age", "sex")]
    model = policy().models[0]
    assert isinstance(model, DifferentialPrivacy)
    sample = adult.filter(pl.Series(draw_sample(codes, model.sample_share, SECRET)))
    low = pl.col("age") // 20 * 20
    labels = sample.select(pl.format("[{}, {}]", low, low + 19).alias("age"), "sex")
    kept = labels.with_columns(n=pl.len().over("age", "sex"))
    expected = kept.filter(pl.col("n") >= model.k).drop("n").sort("age", "sex")
    assert expected.equals(made.table.sort("age", "sex"))
    assert encoded.forced_suppression == adult.height - sample.height


def test_a_warning_about_the_secret(adult: pl.DataFrame) -> None:
    (warning,) = policy().check(adult)
    assert warning.kind == "warning"
    assert "must stay secret" in str(warning)


@pytest.mark.parametrize("name", [name for name in catalog.names("algorithms") if name != "fixed-levels"])
def test_searches_that_follow_the_data_are_refused(name: str) -> None:
    with pytest.raises(PolicyError, match="its levels follow the data; got " + name):
        policy(algorithm={"name": name})


AGE = {"hierarchy": "intervals", "widths": [20]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sensitive": ["income"]}, "sensitive: differential-privacy would not hold: these would be published as they"),
        ({"others": "keep"}, "others: differential-privacy would not hold"),
        ({"subject": "name"}, "it protects records, not persons with several"),
        ({"suppressed": "star"}, "how many are suppressed would be published"),
        ({"max_suppressed": 0.5}, "how many may be suppressed is up to chance; got 0.5"),
        ({"seed": 0}, "the seed can be guessed, and with it the sample; got 0. Hint: draw a secret one"),
        ({"quasi_identifiers": {"age": {"hierarchy": "quantiles"}}}, "the hierarchy is made from the data"),
        ({"quasi_identifiers": {"age": {"hierarchy": "auto"}}}, "the hierarchy is made from the data"),
        ({"quasi_identifiers": {"age": {"hierarchy": "ordering"}}}, "the hierarchy is made from the data"),
        ({"quasi_identifiers": {"age": {**AGE, "missing": "wildcard"}}}, "missing value would be in several classes"),
        (
            {"models": [*policy().models, {"name": "personal-k", "on": "own"}]},
            "other models must not read further columns",
        ),
        ({"models": [*policy().models, *policy().models]}, "a sample is drawn once"),
    ],
    ids=str,
)
def test_what_would_break_the_promise_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy(**changes)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0, "delta": 0.1}, "epsilon: must be at least"),
        ({"epsilon": 1, "delta": 0}, "delta: must be at least"),
        ({"epsilon": 1, "delta": 1}, "delta: must be less than"),
        ({"epsilon": math.inf, "delta": 0.1}, "epsilon"),
        ({"epsilon": 9, "delta": 0.1}, "epsilon: must be at most"),
        ({"epsilon": 1, "delta": 0.1, "beta": 0.7}, "beta must be at most 1 - exp(-epsilon), here 0.63212"),
    ],
    ids=str,
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        DifferentialPrivacy(**parameters)
    assert message in str(caught.value)


def test_too_few_records() -> None:
    with pytest.raises(Infeasible):
        shoal.anonymize(pl.DataFrame({"age": [20] * 30, "sex": ["f"] * 30}), policy())


def test_a_k_that_is_too_small_is_caught(adult: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.models.differential_privacy.least_alike", lambda epsilon, delta, beta: 20)
    with pytest.raises(AuditFailed, match="differential-privacy does not hold"):
        shoal.anonymize(adult, policy())


def test_a_class_that_is_too_small_is_caught(adult: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DifferentialPrivacy, "holds", lambda self, classes, background: np.ones(classes.count, bool))
    with pytest.raises(AuditFailed, match="differential-privacy does not hold"):
        shoal.anonymize(adult, policy())


class TestFixedLevels:
    """Levels as they are given; what does not comply is suppressed."""

    def test_levels(self, adult: pl.DataFrame) -> None:
        given = policy(
            models=[{"name": "k-anonymity", "k": 20}],
            algorithm={"name": "fixed-levels", "levels": {"age": 1, "sex": 1}},
            seed=0,
        )
        made = shoal.anonymize(adult, given)
        assert made.table["sex"].unique().to_list() == ["*"]
        assert made.recoding.levels == {"age": 1, "sex": 1}  # type: ignore[attr-defined]

    @pytest.mark.parametrize(
        ("levels", "message"),
        [
            ({"aeg": 1}, "algorithm.levels.aeg: no such quasi-identifier. Hint: did you mean 'age'?"),
            ({"age": 3}, "algorithm.levels.age: above the highest level; got 3 of 2"),
            ({"age": -1}, "must be at least 0"),
        ],
    )
    def test_levels_that_are_none(self, adult: pl.DataFrame, levels: dict[str, int], message: str) -> None:
        with pytest.raises(PolicyError) as caught:
            shoal.anonymize(adult, policy(algorithm={"name": "fixed-levels", "levels": levels}))
        assert message in str(caught.value)

    def test_too_many_suppressed(self, adult: pl.DataFrame) -> None:
        given = policy(models=[{"name": "k-anonymity", "k": 50}], max_suppressed=0.0, seed=0)
        with pytest.raises(Infeasible, match="at these levels 2066 records are in classes that break a model, 0 may"):
            shoal.anonymize(adult, given.replace(algorithm={"name": "fixed-levels"}))


def test_levels_that_keep_nobody_are_not_left_for_stars() -> None:
    """What is published must not follow from the data: where no class complies at the fixed levels, nothing is."""
    table = pl.DataFrame({"age": [20 + i % 40 for i in range(60)], "sex": ["f", "m"] * 30})
    asked = shoal.Policy(
        quasi_identifiers={"age": {"hierarchy": "intervals", "widths": [10, 20]}, "sex": "suppress"},
        suppressed="drop",
        max_suppressed=1,
        models=[{"name": "differential-privacy", "epsilon": 1, "delta": 0.01}],
        algorithm={"name": "fixed-levels", "levels": {"age": 1, "sex": 1}},
        seed=27150823132766633665406768432628902,
    )
    with pytest.raises(shoal.Infeasible):
        shoal.anonymize(table, asked)
