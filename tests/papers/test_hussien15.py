"""Hussien et al. (2015): Tables 1 and 2; boundaries as 2.3 defines them."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.domains import Domain
from shoal.hierarchies import Levels, Tree
from shoal.policy import Policy

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


COLUMNS = ["name", "race", "birth", "sex", "zip code", "disease"]
TABLE_1 = [
    ["Alice", "Blank", 1965, "M", "02141", "Flu"],
    ["Bob", "Blank", 1965, "M", "02142", "Cancer"],
    ["David", "Blank", 1966, "M", "02135", "Obesity"],
    ["Helen", "Blank", 1966, "M", "02137", "Gastritis"],
    ["Jane", "White", 1968, "F", "02139", "HIV"],
    ["Paul", "White", 1968, "F", "02138", "Cancer"],
]
TABLE_2 = {(race, str(birth), sex, f"{code[:4]}*", disease) for _, race, birth, sex, code, disease in TABLE_1}


@pytest.mark.parametrize("algorithm", ["exhaustive", "optimal", "samarati", "incognito", "datafly", "heuristic"])
def test_table_2_is_the_2_anonymous_form_of_table_1(algorithm: str) -> None:
    policy = Policy(
        identifiers=["name"],
        quasi_identifiers={
            "race": "suppress",
            "birth": "suppress",
            "sex": "suppress",
            "zip code": {"hierarchy": "mask", "keep": [4, 3, 2]},
        },
        sensitive=["disease"],
        models=[{"name": "k-anonymity", "k": 2}],
        algorithm=algorithm,
    )
    release = shoal.anonymize(pl.DataFrame(TABLE_1, schema=COLUMNS, orient="row"), policy)
    assert {tuple(row) for row in release.table.iter_rows()} == TABLE_2
    assert release.attained == {"k-anonymity": 2}
