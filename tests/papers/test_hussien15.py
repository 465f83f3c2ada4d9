"""Hussien et al. (2015): Tables 1 to 6; boundaries as 2.3 defines them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.encoding.domains import Domain
from shoal.hierarchies import Levels, Tree
from shoal.policy import Policy
from shoal.policy.disclosure_weights import weigh

LOCATION = Tree(nodes={"A.R.E": {"South Egypt": ["Geza"], "Mid Egypt": ["Helwan"], "North Egypt": ["Alex"]}})
REGIONS = ["South Egypt", "Mid Egypt", "North Egypt"]


def levels() -> Levels:
    return LOCATION.build(Domain.of("text", ["Alex", "Geza", "Helwan"]), missing=None)


def boundary_of(levels: Levels, boundaries: list[str]) -> dict[str, str | None]:
    """Return the most general label that each value may reach: MAGVal of Definition 3, from the levels that we keep."""
    limits = levels.limits(boundaries)
    return {text: levels.text(int(limits[code]), code) for code, text in enumerate(levels.domain.texts)}


def test_figure_2_the_boundary_of_each_place() -> None:
    assert boundary_of(levels(), REGIONS) == {"Geza": "South Egypt", "Helwan": "Mid Egypt", "Alex": "North Egypt"}


def test_definition_4_the_set_of_boundaries() -> None:
    assert {*boundary_of(levels(), REGIONS).values()} == set(REGIONS)


def test_without_a_boundary_a_value_may_reach_the_root() -> None:
    assert boundary_of(levels(), ["South Egypt"])["Alex"] == "*"
    assert {*boundary_of(levels(), []).values()} == {"*"}


def test_definition_3_the_first_boundary_on_the_way_counts() -> None:
    assert boundary_of(levels(), ["A.R.E", "South Egypt"]) == {
        "Geza": "South Egypt",
        "Helwan": "A.R.E",
        "Alex": "A.R.E",
    }
    assert boundary_of(levels(), ["Geza", "South Egypt"])["Geza"] == "Geza"


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


# Table 3: another owner's weights, threshold 7
TABLE_3 = Policy(
    identifiers={"ssno": {"weight": 7}},
    quasi_identifiers={
        "name": {"weight": 6},
        "age": {"weight": 4},
        "location": {"weight": 5},
        "gender": {"weight": 2},
    },
    sensitive={"salary": {"weight": 3}},
    models=[{"name": "k-anonymity", "k": 2}],
    threshold=7,
    raw={
        "least": 1
    },  # as in the paper: a sensitive column beside a quasi-identifier comes as it is, up to the threshold
)


@pytest.mark.parametrize(
    ("columns", "weight", "action"),
    [
        (["ssno", "name", "age", "location", "salary", "gender"], 27, "anonymize"),
        (["age", "salary"], 7, "release"),
        (["age", "location"], 9, "anonymize"),
        (["name"], 6, "release"),
        (["name", "gender"], 8, "anonymize"),
        (["ssno"], 7, "anonymize"),  # at the threshold, but it names the person
    ],
)
def test_table_3_requests_are_weighed(columns: list[str], weight: float, action: str) -> None:
    weighed = weigh(TABLE_3, columns)
    assert (weighed.total, weighed.action) == (weight, action)


def test_table_4_weights_and_threshold() -> None:
    policy = shoal.datasets.policy("employees")
    every = ["name", "marital_status", "age", "race", "sex", "salary"]
    weighed = weigh(policy, every)
    assert list(weighed.weights.values()) == [6, 3, 5, 4, 2, 0]  # salary: "Without"
    assert (weighed.threshold, weighed.total, weighed.action) == (6, 20, "anonymize")
    assert weighed.withheld == ("name",)
    heights = {"age": 100, "race": 5, "sex": 2}  # distinct values
    for name, values in heights.items():
        hierarchy = policy.quasi_identifiers[name].hierarchy
        assert hierarchy is not None
        assert len(hierarchy.leaves()) == values


def test_query_1_goes_step_by_step_to_table_6() -> None:
    table, policy = shoal.datasets.load("employees")
    release = shoal.anonymize(table, policy)
    assert [(step.column, step.weight, step.level) for step in release.recoding.rounds] == [
        (None, 0, 0),
        ("sex", 2, 1),
        ("marital_status", 3, 1),
        ("race", 4, 1),
        ("age", 5, 1),
    ]
    attained = [tuple(step.attained.values()) for step in release.recoding.rounds]
    assert attained == [(1, 1), (1, 1), (1, 1), (1, 1), (2, 2)]
    assert [step.failing for step in release.recoding.rounds] == [6, 6, 6, 6, 0]
    assert sorted(release.table.iter_rows()) == sorted(TABLE_6)
    assert release.table.columns == [
        "marital_status",
        "age",
        "race",
        "sex",
        "salary",
    ]  # the name is left out, not starred
    assert release.attained == {"k-anonymity": 2, "distinct-l-diversity": 2}


TABLE_6 = [
    ("Not_married", "30 - 40", "Colored", "Person", "50000+"),
    ("Not_married", "30 - 40", "Colored", "Person", "-50000"),
    ("Married", "40 - 50", "Others", "Person", "50000+"),
    ("Married", "40 - 50", "Others", "Person", "-50000"),
    ("Not_married", "20 - 30", "Others", "Person", "-50000"),
    ("Not_married", "20 - 30", "Others", "Person", "50000+"),
]


def test_the_steps_are_in_the_manifest_and_the_report(tmp_path: Path) -> None:
    release = shoal.anonymize(*shoal.datasets.load("employees"))
    files = release.write(tmp_path)
    manifest = json.loads(files["manifest"].read_text())
    assert manifest["request"] == {
        "weights": {"name": 6, "marital_status": 3, "age": 5, "race": 4, "sex": 2, "salary": 0},
        "total": 20,
        "threshold": 6,
        "withheld": ["name"],
        "action": "anonymize",
    }
    last = manifest["recoding"]["rounds"][-1]
    assert (last["column"], last["attained"]) == ("age", {"k-anonymity": 2, "distinct-l-diversity": 2})
    report = files["report"].read_text()
    assert "The columns weigh 20 together" in report
    assert report.count("k-anonymity 1, distinct-l-diversity 1") == 4
