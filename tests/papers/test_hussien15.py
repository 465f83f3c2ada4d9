"""Boundaries as Hussien et al. (2015), 2.3 define them."""

from __future__ import annotations

from shoal.domains import Domain
from shoal.hierarchies import Levels, Tree

LOCATION = Tree(nodes={"A.R.E": {"South Egypt": ["Geza"], "Mid Egypt": ["Helwan"], "North Egypt": ["Alex"]}})
REGIONS = ["South Egypt", "Mid Egypt", "North Egypt"]


def levels() -> Levels:
    return LOCATION.build(Domain.of("text", ["Alex", "Geza", "Helwan"]), missing=None)


def test_figure_2_the_boundary_of_each_place() -> None:
    assert levels().boundary_of(REGIONS) == {"Geza": "South Egypt", "Helwan": "Mid Egypt", "Alex": "North Egypt"}


def test_definition_4_the_set_of_boundaries() -> None:
    assert levels().boundary_set(REGIONS) == set(REGIONS)


def test_without_a_boundary_a_value_may_reach_the_root() -> None:
    assert levels().boundary_of(["South Egypt"])["Alex"] == "*"
    assert levels().boundary_set([]) == {"*"}


def test_definition_3_the_first_boundary_on_the_way_counts() -> None:
    assert levels().boundary_of(["A.R.E", "South Egypt"]) == {
        "Geza": "South Egypt",
        "Helwan": "A.R.E",
        "Alex": "A.R.E",
    }
    assert levels().boundary_of(["Geza", "South Egypt"])["Geza"] == "Geza"
