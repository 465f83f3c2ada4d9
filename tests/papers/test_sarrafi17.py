"""The worked examples of Sarrafi (2017), number for number."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal import notation
from shoal.algorithms import Datafly, Incognito
from shoal.algorithms._lattice import Lattice
from shoal.policy import Policy
from shoal.tables.encode import encode

PAPER: dict[str, Any] = notation.load((Path(__file__).parent / "sarrafi17.yaml").read_text())


def records(frame: pl.DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(str(cell) for cell in row) for row in frame.iter_rows())


def expanded(counts: list[list[Any]]) -> pl.DataFrame:
    rows = [row[:2] for row in counts for _ in range(row[2])]
    return pl.DataFrame(rows, schema=PAPER["two-attributes"]["columns"], orient="row")


def table(name: str) -> pl.DataFrame:
    return pl.DataFrame(PAPER[name]["records"], schema=PAPER[name]["columns"], orient="row")


TWO = expanded(PAPER["two-attributes"]["counts"])
NODES = {"*": {"(X, Y)": ["X", "Y"], "Z": ["Z"]}}
FIVE = Policy(
    quasi_identifiers={"att1": "suppress", "att2": {"hierarchy": "tree", "nodes": NODES}},
    models=[{"name": "k-anonymity", "k": 5}],
    algorithm="exhaustive",
)


def test_table_2_2_has_104_records_and_is_not_5_anonymous() -> None:
    assert TWO.height == 104
    audit = shoal.audit(TWO, FIVE)
    assert (audit.models[0].attained, audit.holds) == (1, False)


def test_table_2_3_global_recoding_is_found_by_the_exhaustive_search() -> None:
    release = shoal.anonymize(TWO, FIVE)
    assert records(release.table) == records(expanded(PAPER["global"]))
    assert release.recoding.to_dict()["levels"] == {"att1": 0, "att2": 1}


@pytest.mark.parametrize("recoding", ["global", "multidimensional", "local"])
def test_tables_2_3_to_2_5_are_5_anonymous(recoding: str) -> None:
    audit = shoal.audit(expanded(PAPER[recoding]), FIVE, original=TWO)
    assert audit.holds
    assert audit.models[0].attained == 5


def test_tables_2_3_to_2_5_lose_less_and_less() -> None:
    losses = [
        shoal.audit(expanded(PAPER[name]), FIVE, original=TWO).utility["certainty-penalty"].total
        for name in ("global", "multidimensional", "local")
    ]
    # of two columns with 104 records: 99, 23 and 10 records show two of three values
    assert losses == pytest.approx([99 * 2 / 3 / 208, 23 * 2 / 3 / 208, 10 * 2 / 3 / 208])


def test_mondrian_loses_no_more_than_the_multidimensional_table_2_4() -> None:
    policy = FIVE.replace(quasi_identifiers=["att1", "att2"], algorithm="mondrian")
    printed = shoal.audit(expanded(PAPER["multidimensional"]), policy, original=TWO)
    assert shoal.anonymize(TWO, policy).loss < printed.utility["certainty-penalty"].total


PATIENTS = Policy(
    quasi_identifiers={"zip code": {}, "age": {}, "gender": "suppress"},
    sensitive=["disease"],
    models=[{"name": "k-anonymity", "k": 2}],
)


@pytest.mark.parametrize(
    ("figure", "algorithm"), [("single-dimensional", "single-dimensional"), ("multidimensional", "mondrian")]
)
def test_figure_2_9_both_results(figure: str, algorithm: str) -> None:
    release = shoal.anonymize(table("mondrian"), PATIENTS.replace(algorithm=algorithm))
    assert records(release.table) == Counter(tuple(row) for row in PAPER["mondrian"][figure])


def test_table_2_13_certainty_penalty_of_each_tuple() -> None:
    original = table("certainty")
    published = pl.DataFrame(
        PAPER["certainty"]["published"], schema=PAPER["certainty"]["columns"], orient="row", strict=False
    )
    policy = Policy(
        quasi_identifiers={"age": {"domain": [10, 100]}, "gender": {}, "zip code": {}},
        sensitive=["disease"],
        models=[{"name": "k-anonymity", "k": 3}],
        max_suppressed=0.25,
    )
    audit = shoal.audit(published, policy, original=original)
    assert audit.holds
    assert audit.left_out == 1
    loss = audit.utility["certainty-penalty"]
    assert loss.total * 3 * 4 == pytest.approx(sum(PAPER["certainty"]["per tuple"]), abs=5e-3)
    assert loss.columns == pytest.approx(
        {"age": (3 * 15 / 90 + 1) / 4, "gender": (3 * 1 + 1) / 4, "zip code": (0 + 1) / 4}
    )
    utility = 1 - loss.total  # eq. 2-5
    assert 0 <= utility <= 1


def test_table_1_1_the_patients_2_anonymous() -> None:
    original, policy = shoal.datasets.load("patients")
    release = shoal.anonymize(original, policy)
    assert records(release.table) == Counter(tuple(row) for row in PAPER["patients"])


def test_figure_1_2_the_voter_list_finds_paul_before_and_not_after() -> None:
    patients, policy = shoal.datasets.load("patients")
    paul = shoal.datasets.voters().filter(pl.col("name") == "Paul")
    keys = ["age", "sex", "zip code"]
    assert paul.join(patients, on=keys)["disease"].to_list() == ["Gastritis"]
    release = shoal.anonymize(patients, policy).table
    candidates = release.filter((pl.col("sex") == "Male") & (pl.col("zip code") == "22***"))
    assert sorted(candidates["disease"]) == ["Gastritis", "HIV"]  # 1/2, no longer 1


@pytest.mark.parametrize("algorithm", ["datafly", "exhaustive", "optimal", "samarati", "incognito"])
def test_table_2_9_the_hospital_at_year_of_birth(algorithm: str) -> None:
    original, policy = shoal.datasets.load("hospital")
    release = shoal.anonymize(original, policy.replace(algorithm=algorithm, suppressed="drop"))
    assert records(release.table) == Counter(tuple(row) for row in PAPER["datafly"])
    assert release.audit.left_out == 2  # T7 and T8


def lattice_of(frame: pl.DataFrame, policy: Policy) -> Lattice:
    return Lattice(encode(frame, policy).problem(policy))


def test_tables_2_7_and_2_8_the_rounds_of_datafly() -> None:
    original, policy = shoal.datasets.load("hospital")
    rounds = list(Datafly().rounds(lattice_of(original, policy)))
    # the hierarchy of Figure 2-4 has the month between the day and the year; the month joins no records
    assert [listed.levels.tolist() for listed in rounds] == [[0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 0, 0]]
    for listed, printed in zip([rounds[0], rounds[2]], PAPER["datafly-rounds"].values(), strict=True):
        assert list(listed.distinct) == printed["distinct"]
        assert sorted(listed.counts.tolist()) == printed["frequencies"]
        assert listed.out == printed["left over"]


BIRTH, GENDER, ZIP = 0, 1, 2
INCOGNITO = Policy(
    quasi_identifiers={
        "date of birth": "suppress",
        "gender": {"hierarchy": "tree", "nodes": {"Person": ["Female", "Male"]}},
        "zip code": {"hierarchy": "mask", "keep": [4, 3]},
    },
    sensitive=["disease"],
    models=[{"name": "k-anonymity", "k": 2}],
    algorithm="incognito",
)


def patients() -> Lattice:
    """Without the ``*`` above Person and above 537**, which Figure 2-5 does not have."""
    problem = encode(table("incognito"), INCOGNITO).problem(INCOGNITO)
    columns = [replace(c, max_level=height) for c, height in zip(problem.columns, (1, 1, 2), strict=True)]
    return Lattice(replace(problem, columns=tuple(columns)))


def test_figure_2_6_the_survivors_of_each_iteration() -> None:
    one, two, three = Incognito().iterations(patients())
    # every column alone is 2-anonymous as it is
    assert one == {(BIRTH,): {(0,), (1,)}, (GENDER,): {(0,), (1,)}, (ZIP,): {(0,), (1,), (2,)}}
    # Figure 2-6 (b); the other two pairs by hand from Table 2-10
    assert two[BIRTH, GENDER] == {(0, 1), (1, 0), (1, 1)}
    assert two[BIRTH, ZIP] == {(0, 2), (1, 0), (1, 1), (1, 2)}
    assert two[GENDER, ZIP] == {(0, 2), (1, 0), (1, 1), (1, 2)}
    # Figure 2-6 (c)
    assert three == {(BIRTH, GENDER, ZIP): {(0, 1, 2), (1, 0, 2), (1, 1, 0), (1, 1, 1), (1, 1, 2)}}


def test_the_minimal_nodes_of_incognito_and_the_lowest_of_them() -> None:
    minimal = [tuple(node) for node in Incognito().minimal(patients()).tolist()]
    assert set(minimal) == {(0, 1, 2), (1, 0, 2), (1, 1, 0)}
    assert min(minimal, key=sum) == (1, 1, 0)  # the node that the thesis takes


def test_table_2_11_is_published_by_samarati_who_takes_the_lowest_node() -> None:
    release = shoal.anonymize(table("incognito"), INCOGNITO.replace(algorithm="samarati"))
    printed = pl.DataFrame(PAPER["incognito"]["published"], schema=PAPER["incognito"]["columns"], orient="row")
    assert records(release.table) == records(printed)
