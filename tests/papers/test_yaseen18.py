"""The worked examples of Yaseen et al. (2018), number for number."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.encoding.domains import Domain
from shoal.hierarchies import CardinalityBased, Conventional, DivisorBased, Hierarchy

HOURS = Domain.of("integer", list(range(1, 101)))

# Table 4, from the finest level up
NODES = {Conventional: [8, 4, 2, 1], DivisorBased: [10, 5, 4, 2, 1], CardinalityBased: [10, 5, 3, 2, 1]}
DISTORTION = {
    Conventional: [[0.5], [1.0], [2.0], [4.0]],
    CardinalityBased: [[0.45], [0.96], [0.96, 1.97], [1.97, 2.98], [5.0]],
}


@pytest.mark.parametrize("builder", NODES)
def test_number_of_nodes_of_each_level(builder: type[Hierarchy]) -> None:
    levels = builder(smallest=10).build(HOURS, missing=None)
    assert [len(labels) for labels in levels.labels[1:]] == NODES[builder]


@pytest.mark.parametrize("builder", DISTORTION)
def test_distortion_of_each_node(builder: type[Hierarchy]) -> None:
    hierarchy = builder(smallest=10)
    levels = hierarchy.build(HOURS, missing=None)
    found = [sorted({round(float(d), 2) for d in row}) for row in hierarchy.distortions(levels)[1:]]
    assert found == DISTORTION[builder]


def test_divisor_based_distortion_follows_the_rule_and_not_the_table() -> None:
    hierarchy = DivisorBased(smallest=10)
    levels = hierarchy.build(HOURS, missing=None)
    found = hierarchy.distortions(levels)[1:].max(axis=1)
    widths = np.array([9, 19, 24, 49, 99])  # of the intervals 10, 20, 25, 50, 100
    assert found == pytest.approx(5 * widths / 99)
    assert found.round(3).tolist() != [0.1, 0.125, 0.625, 2.5, 5.0]  # the printed ones


def test_the_intervals_of_the_text() -> None:
    conventional = Conventional(smallest=10).build(HOURS, missing=None)
    assert conventional.labels[3] == ("[1, 50]", "[51, 100]")
    assert conventional.labels[2] == ("[1, 25]", "[26, 50]", "[51, 75]", "[76, 100]")
    divisors = DivisorBased(smallest=10).build(HOURS, missing=None)
    assert divisors.labels[4] == ("[1, 50]", "[51, 100]")
    assert divisors.labels[3] == ("[1, 25]", "[26, 50]", "[51, 75]", "[76, 100]")
    assert divisors.labels[2][:2] == ("[1, 20]", "[21, 40]")
    assert divisors.labels[1][-1] == "[91, 100]"


def test_a_prime_range_is_widened_by_one() -> None:
    levels = DivisorBased(smallest=2).build(Domain.of("integer", list(range(1, 98))), missing=None)
    assert [len(labels) for labels in levels.labels[1:]] == [49, 14, 7, 2, 1]  # the divisors 2, 7, 14, 49 of 98


def test_intervals_below_the_least_value_are_skipped() -> None:
    levels = DivisorBased(smallest=10).build(Domain.of("integer", [41, 60, 99, 100]), missing=None)
    assert levels.labels[1][0] == "[41, 50]"


def test_the_odd_node_that_stays_evens_the_records_out() -> None:
    # five leaves of 10 values; the third holds most records, so it stays alone
    counts = np.ones(50, np.int64)
    counts[20:30] = 10
    domain = Domain("integer", np.arange(1, 51), tuple(map(str, range(1, 51))), counts=counts)
    levels = CardinalityBased(smallest=10).build(domain, missing=None)
    assert levels.labels[2] == ("[1, 20]", "[21, 30]", "[31, 50]")


def test_the_non_nested_levels_are_searched_right() -> None:
    """The lattice rolls up from the values where labels of a level lie in two labels of the next."""
    import polars as pl

    from shoal.explore.lattice import lattice

    random = np.random.default_rng(0)
    table = pl.DataFrame({"hours": random.integers(1, 101, 300), "sex": random.choice(["f", "m"], 300)})
    table = pl.concat([table, pl.DataFrame({"hours": [1, 100], "sex": ["f", "m"]})])
    policy = shoal.Policy(
        quasi_identifiers={"hours": {"hierarchy": "divisor-based", "smallest": 10}, "sex": "suppress"},
        models=[{"name": "k-anonymity", "k": 2}],
    )
    for node in lattice(table, policy):
        width = {0: 1, 1: 10, 2: 20, 3: 25, 4: 50, 5: 100}[node["levels"]["hours"]]
        keys = [(pl.col("hours") - 1) // width]
        keys += [pl.col("sex")] if node["levels"]["sex"] == 0 else []
        assert node["k"] == table.group_by(keys).len()["len"].min()


def test_distortion_ratio_of_a_table() -> None:
    """Definition 9: the distortion of the generalized table over that of the fully generalized one."""
    import polars as pl

    from shoal.explore.lattice import lattice

    table = pl.DataFrame({"hours": list(range(1, 101)), "sex": ["f", "m"] * 50})
    policy = shoal.Policy(
        quasi_identifiers={"hours": {"hierarchy": "conventional", "smallest": 10}, "sex": "suppress"},
        models=[{"name": "k-anonymity", "k": 2}],
    )
    ratios = {tuple(node["levels"].values()): node["distortion"] for node in lattice(table, policy)}
    assert ratios[(0, 0)] == 0.0
    assert ratios[(4, 1)] == 1.0
    assert ratios[(2, 0)] == pytest.approx(1.0 / (4 + 1))  # distortion 1 of the heights 4 and 1
    assert ratios[(1, 1)] == pytest.approx((0.5 + 1) / 5)
