"""Statistics of original against published: against scipy, scikit-learn and plain counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shoal.errors import MissingExtra
from shoal.utility.statistics import kolmogorov_smirnov
from shoal.utility.statistics.clusters import cluster_utility, find_clusters
from shoal.utility.statistics.columns import FREQUENT, ColumnPair, features
from shoal.utility.statistics.correlations import associations, cramer, rank_correlations
from shoal.utility.statistics.covers import CoveredValues
from shoal.utility.statistics.distributions import distance
from shoal.utility.statistics.histograms import of_categories, of_numbers
from shoal.utility.statistics.learning import compare_learning
from shoal.utility.statistics.queries import answer_workload

NUMBERS = st.lists(st.integers(-9, 9), min_size=2, max_size=30)
RNG = np.random.default_rng(7)


def as_it_is(name: str, values: Any, size: int, **more: Any) -> ColumnPair:
    return ColumnPair(
        name, np.asarray(values), np.asarray(values), CoveredValues.of([{index} for index in range(size)], size), **more
    )


def number(name: str, before: Any, after: Any) -> ColumnPair:
    """A column of numbers; statistics of numbers look at nothing else."""
    codes, texts = (np.zeros(len(held), np.int64) for held in (before, after))
    held = np.asarray(before, np.float64), np.asarray(after, np.float64)
    return ColumnPair(name, codes, texts, CoveredValues.of([{0}], 1), True, held)


@st.composite
def texts_over_values(draw: st.DrawFn) -> tuple[int, list[set[int]], list[float]]:
    size = draw(st.integers(1, 8))
    texts = draw(st.lists(st.sets(st.integers(0, size - 1)), min_size=1, max_size=6))
    return size, texts, draw(st.lists(st.floats(0, 100), min_size=len(texts), max_size=len(texts)))


@settings(max_examples=150, deadline=None)
@given(texts_over_values())
def test_covers_against_plain_sums(case: tuple[int, list[set[int]], list[float]]) -> None:
    size, texts, records = case
    covers, amounts = CoveredValues.of(texts, size), np.arange(1.0, size + 1)
    assert covers.sizes.tolist() == [len(text) for text in texts]
    assert covers.sums(amounts) == pytest.approx([sum(amounts[index] for index in text) for text in texts])
    spread = [0.0] * size
    for text, held in zip(texts, records, strict=True):
        for index in text:
            spread[index] += held / len(text)
    assert covers.spread(np.array(records)) == pytest.approx(spread, abs=1e-6)


def test_a_range_of_a_million_values_takes_no_room() -> None:
    covers = CoveredValues.of([range(1_000_000)], 1_000_000)
    assert len(covers.places) == 0
    assert covers.sizes.tolist() == [1_000_000]


@settings(max_examples=80, deadline=None)
@given(NUMBERS, NUMBERS)
def test_one_dimension_is_the_statistic_of_kolmogorov_and_smirnov(first: list[int], second: list[int]) -> None:
    one, other = np.array(first, float), np.array(second, float)
    found = distance(one[:, None], other[:, None])
    assert found.largest == pytest.approx(stats.ks_2samp(one, other, method="asymp").statistic)
    assert found.largest == kolmogorov_smirnov(one, other).statistic
    assert found.points == len(first) + len(second)
    pooled = [*first, *second]
    gaps = [np.mean(one <= point) - np.mean(other <= point) for point in pooled]
    assert found.mean_square == pytest.approx(np.mean(np.square(gaps)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=25), st.data())
def test_several_dimensions_against_plain_counting(rows: list[tuple[int, ...]], data: st.DataObject) -> None:
    split = data.draw(st.integers(1, len(rows) - 1))
    one, other = rows[:split], rows[split:]

    def share(table: list[tuple[int, ...]], point: tuple[int, ...]) -> float:
        return sum(all(a <= b for a, b in zip(row, point, strict=True)) for row in table) / len(table)

    gaps = [share(one, point) - share(other, point) for point in rows]
    found = distance(np.array(one, float), np.array(other, float), points=None)
    assert found.largest == pytest.approx(max(map(abs, gaps)))
    assert found.mean_square == pytest.approx(np.mean(np.square(gaps)))


def test_drawn_points_see_no_more_than_all() -> None:
    one, other = RNG.normal(size=(800, 2)), RNG.normal(0.3, 1, size=(700, 2))
    some, every = distance(one, other, points=100), distance(one, other, points=None)
    assert 0 < some.largest <= every.largest
    assert (some.points, every.points) == (100, 1500)
    assert some == distance(one, other, points=100)
    assert some != distance(one, other, points=100, seed=1)


def test_a_distribution_needs_records() -> None:
    with pytest.raises(ValueError, match="needs records"):
        distance(np.zeros((0, 1)), np.zeros((2, 1)))


# Hussien et al. (2015), Figures 9 to 11: the proposed histogram is like the original one, the old one is not
def test_histograms_of_the_papers_kind() -> None:
    ages = RNG.integers(0, 91, 463).astype(float)
    proposed = of_numbers(ages, ages // 10 * 10 + 5, least=5)
    old = of_numbers(ages, np.where(ages < 50, 0.0, 100.0), least=5)
    assert proposed.edges == old.edges
    far = [sum(abs(a - b) for a, b in zip(*found.reached, strict=True)) for found in (proposed, old)]
    assert far[0] < far[1] / 4


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6) | st.integers(-20, 20).map(float), min_size=1, max_size=60), st.integers(1, 12))
def test_no_bin_of_numbers_holds_fewer_than_asked(values: list[float], least: int) -> None:
    held = np.array(values)
    found = of_numbers(held, held, least=least)
    counts = np.array(found.before) * len(values)
    assert found.before == found.after
    assert sum(found.before) == pytest.approx(1)
    assert len(found.before) == len(found.edges) + 1 <= 33
    assert list(found.edges) == sorted(set(found.edges))
    if found.edges:
        assert counts.min() >= least - 1e-6
    for edge, share in zip(found.edges, found.reached[0], strict=True):
        assert share == pytest.approx(np.mean(held < edge))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=45), st.integers(1, 6))
def test_no_bin_of_categories_holds_fewer_than_asked(counts: list[int], least: int) -> None:
    held = np.array(counts, float)
    found = of_categories(held, held[::-1].copy(), least=least)
    assert sorted(index for bin_ in found.places for index in bin_) == list(range(len(counts)))
    for bin_, share in zip(found.places, found.before, strict=True):
        total = held[list(bin_)].sum()
        assert share == pytest.approx(total / max(held.sum(), 1))
        assert total >= least or total == 0 or len(found.places) == 1


def test_a_constant_column_has_one_bin() -> None:
    found = of_numbers(np.full(9, 3.0), np.full(5, 3.0), least=2)
    assert (found.edges, found.before, found.after) == ((), (1.0,), (1.0,))


def test_cluster_utility_by_hand() -> None:
    # Woo et al. (2009): weights of clusters are given; here their sizes, or all the same
    assert cluster_utility([3, 1], [1, 3]).utility == pytest.approx(1 / 16)
    unequal = cluster_utility([6, 0], [2, 4])  # c = 1/2; 8/12 (6/8 - 1/2)² + 4/12 (0 - 1/2)²
    assert unequal.utility == pytest.approx(8 / 12 / 16 + 4 / 12 / 4)
    assert cluster_utility([6, 0], [2, 4], weights="equal").utility == pytest.approx((1 / 16 + 1 / 4) / 2)
    assert cluster_utility([2, 4, 0], [1, 2, 0]) == cluster_utility([2, 4], [1, 2])
    assert cluster_utility([2, 4], [1, 2]).utility == pytest.approx(0)
    with pytest.raises(ValueError, match="need records"):
        cluster_utility([0], [0])


def test_clusters_tell_a_table_from_another_and_not_from_itself() -> None:
    points = RNG.normal(size=(3000, 3)).astype(np.float32)
    moved = points + np.float32(2.0)
    same = find_clusters((lambda rows: points[rows], 3000), (lambda rows: points[::-1][rows], 3000))
    other = find_clusters((lambda rows: points[rows], 3000), (lambda rows: moved[rows], 3000))
    assert same.utility == pytest.approx(0, abs=1e-12)
    assert other.utility > 0.05
    assert other == find_clusters((lambda rows: points[rows], 3000), (lambda rows: moved[rows], 3000))
    flat = np.zeros((40, 2), np.float32)
    assert find_clusters((lambda rows: flat[rows], 40), (lambda rows: flat[rows], 40)).clusters == 1


def test_centres_are_about_as_good_as_those_of_scikit_learn() -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    from shoal.utility.statistics.clusters import assign_to_centres, place_centres

    points = np.concatenate([RNG.normal(index, 0.3, size=(200, 2)) for index in range(0, 12, 3)]).astype(np.float32)
    centres = place_centres(points, 4, np.random.default_rng(0))
    spread = float(((points - centres[assign_to_centres(points, centres)]) ** 2).sum())
    theirs = cluster.KMeans(4, n_init=5, random_state=0).fit(points).inertia_
    assert spread <= theirs * 1.01


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=4, max_size=60))
def test_cramer_as_scipy_has_it(pairs: list[tuple[int, int]]) -> None:
    one, other = (np.array(column) for column in zip(*pairs, strict=True))
    found = associations([as_it_is("a", one, 4), as_it_is("b", other, 3)])
    table = stats.contingency.crosstab(one, other).count
    expected = stats.contingency.association(table, "cramer") if min(table.shape) > 1 else None
    assert found.before[1][0] == found.before[0][1] == pytest.approx(expected)
    assert found.after == found.before  # published as it is
    assert cramer(table.astype(float)) == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=3, max_size=40))
def test_pearson_and_spearman_as_scipy_has_them(pairs: list[tuple[int, int]]) -> None:
    one, other = (np.array(column, float) for column in zip(*pairs, strict=True))
    gap = np.append(one, np.nan), np.append(other, 3.0)  # a pair with a missing number does not count
    columns = [number("a", one, gap[0]), number("b", other, gap[1])]
    for found, theirs in ((associations(columns), stats.pearsonr), (rank_correlations(columns), stats.spearmanr)):
        varied = np.ptp(one) > 0 and np.ptp(other) > 0
        expected = theirs(one, other).statistic if varied else None
        assert found.before[0][1] == pytest.approx(expected)
        assert found.after[0][1] == pytest.approx(expected)
        assert (found.largest is None) == (not varied)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), min_size=4, max_size=40))
def test_the_correlation_ratio_is_that_of_the_analysis_of_variance(pairs: list[tuple[int, int]]) -> None:
    kinds, values = np.array([k for k, _ in pairs]), np.array([v for _, v in pairs], float)
    found = associations([as_it_is("kind", kinds, 4), number("value", values, values)]).before[0][1]
    groups = [values[kinds == kind] for kind in set(kinds.tolist())]
    if len(groups) < 2 or np.ptp(values) == 0:
        assert found is None
        return
    between = sum(len(group) * (group.mean() - values.mean()) ** 2 for group in groups)
    assert found == pytest.approx(np.sqrt(between / ((values - values.mean()) ** 2).sum()), abs=1e-7)


def test_a_label_of_all_values_keeps_no_association() -> None:
    codes = np.array([0, 0, 1, 1] * 5)
    whole = ColumnPair("b", codes, np.zeros(20, np.int64), CoveredValues.of([{0, 1}], 2))
    found = associations([as_it_is("a", codes, 2), whole, number("c", codes, codes)])
    assert (found.before[0][1], found.after[0][1]) == pytest.approx((1, 0))
    assert (found.before[1][2], found.after[1][2]) == pytest.approx((1, 0), abs=1e-7)
    assert found.after[0][2] == pytest.approx(1)
    assert [found.before[n][n] for n in range(3)] == [1, 1, 1]


def test_rare_categories_are_one() -> None:
    codes = np.repeat(np.arange(50), np.arange(50, 0, -1))
    column = as_it_is("many", codes, 50)
    assert column.shares.shape == (50, FREQUENT + 1)
    assert column.shares.sum(axis=1) == pytest.approx(np.ones(50))
    assert features([column], np.array([0, len(codes) - 1]), published=False)[:, [0, FREQUENT]].tolist() == [
        [1, 0],
        [0, 1],
    ]


def test_a_workload_against_plain_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every query is asked of both tables again, record by record."""
    from shoal.utility.statistics import queries

    asked: list[Any] = []
    drawn = queries.draw_condition

    def noted(column: ColumnPair, part: float, rng: np.random.Generator) -> Any:
        chosen = drawn(column, part, rng)
        asked.append((column, chosen))
        return chosen

    monkeypatch.setattr(queries, "draw_condition", noted)
    ages, sexes = RNG.integers(0, 40, 300), RNG.integers(0, 2, 300)
    decades = CoveredValues.of([range(low, low + 10) for low in range(0, 40, 10)], 40)
    age = ColumnPair("age", ages, ages[:250] // 10, decades, ordered=True)
    sex = ColumnPair("sex", sexes, sexes[:250], CoveredValues.of([{0}, {1}], 2))
    for seed in range(20):
        asked.clear()
        found = answer_workload([age, sex], queries=1, seed=seed)
        truth = sum(all(chosen[column.values[row]] for column, chosen in asked) for row in range(300))
        answer = 0.0
        for row in range(250):
            part = 1.0
            for column, chosen in asked:
                text = column.texts[row]
                held = range(10 * text, 10 * text + 10) if column is age else [text]
                part *= sum(bool(chosen[value]) for value in held) / len(held)
            answer += part
        assert found.errors[0] == pytest.approx(abs(answer - truth) / max(truth, 0.3))
        for column, chosen in asked:
            indices = np.flatnonzero(chosen)
            assert len(indices) >= 1
            assert column is sex or indices[-1] - indices[0] + 1 == len(indices)  # a range has no gaps


def test_a_workload_is_drawn_by_its_seed_and_missing_values_are_in_no_answer() -> None:
    codes = np.array([0, 1, 2, -1] * 30)
    column = ColumnPair("a", codes, np.array([0, 1, 2] * 30), CoveredValues.of([{0}, {1}, {2}], 3))
    first = answer_workload([column], queries=50)
    assert first.median == 0  # 30 of each value, before and after
    other = ColumnPair("b", codes, np.zeros(90, np.int64), CoveredValues.of([range(3)], 3), ordered=True)
    runs = [answer_workload([column, other], queries=50, seed=seed).errors.tolist() for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    with pytest.raises(ValueError, match="needs a column"):
        answer_workload([])


def test_learning_from_a_release() -> None:
    pytest.importorskip("sklearn")
    kind = RNG.integers(0, 3, 4000)
    target = (kind == 2).astype(np.int64)
    good = compare_learning([as_it_is("kind", kind, 3)], as_it_is("class", target, 2))
    assert (good.published, good.original, good.kept) == (1.0, 1.0, 1.0)
    assert good.majority == pytest.approx(2 / 3, abs=0.03)
    nothing = ColumnPair("kind", kind, np.zeros(4000, np.int64), CoveredValues.of([range(3)], 3))
    bad = compare_learning([nothing], as_it_is("class", target, 2))
    assert (bad.published, bad.original) == (bad.majority, 1.0)
    assert bad.kept == 0
    assert bad.tested == 1200
    constant = compare_learning([as_it_is("kind", kind, 3)], as_it_is("class", np.zeros(4000, np.int64), 1))
    assert (constant.published, constant.original, constant.kept) == (1.0, 1.0, None)


def test_learning_without_scikit_learn_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.linear_model", None)
    column = as_it_is("a", np.array([0, 1] * 20), 2)
    with pytest.raises(MissingExtra, match=r"learning from a release needs scikit-learn.*shoal\[ml\]"):
        compare_learning([column], column)
