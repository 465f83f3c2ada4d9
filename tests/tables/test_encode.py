"""encode_table() and what follows from it: missing values by each policy, and counts of persons."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
import pytest
from tests.strategies import FALLING_BACK

import shoal
from shoal.errors import Infeasible, Misfit
from shoal.policy import Policy
from shoal.testing import encode_table

K2 = [{"name": "k-anonymity", "k": 2}]


def policy(missing: str = "own-value", **more: Any) -> Policy:
    spec = {"hierarchy": "suppress", "missing": missing}
    return Policy(**{"quasi_identifiers": {"job": spec}, "models": K2, **more})


def classes(release: shoal.Release) -> dict[Any, int]:
    return dict(Counter(tuple(row) for row in release.table.rows()))


# ----------------------------------------------------------------------------------------------- missing values

JOBS = pl.DataFrame({"job": ["clerk"] * 3 + ["smith"] * 3 + [None] * 2})


def test_tuples_cells_and_counts() -> None:
    table = pl.DataFrame({"job": ["a", "b", "a", "a"], "ill": ["x", "x", "y", "x"]})
    encoded = encode_table(table, policy(sensitive=["ill"]))
    frequencies = encoded.frequencies
    assert (len(frequencies.tuples), sorted(frequencies.cell_counts.tolist())) == (2, [1, 1, 2])
    assert encoded.cell_of_record[0] == encoded.cell_of_record[3] != encoded.cell_of_record[2]


def test_a_missing_value_is_a_value_of_its_own() -> None:
    assert classes(shoal.anonymize(JOBS, policy())) == {("clerk",): 3, ("smith",): 3, (None,): 2}


def test_one_missing_value_is_a_class_of_one() -> None:
    table = JOBS.head(7)
    shown = classes(shoal.anonymize(table, policy(algorithm="mondrian")))
    assert shown == {("clerk",): 3, ("{smith, (missing)}",): 4}
    # only one of three smiths, or of three clerks, must stand beside it
    shown = classes(shoal.anonymize(table, policy()))
    smith = {("clerk",): 3, ("smith",): 2, ("{smith, (missing)}",): 2}
    assert shown in (smith, {("clerk",): 2, ("smith",): 3, ("{clerk, (missing)}",): 2})
    assert shoal.audit(table, policy()).models[0].attained == 1


def test_a_wildcard_is_a_star_and_counts_with_nothing_more_specific() -> None:
    shown = classes(shoal.anonymize(JOBS, policy("wildcard", max_suppressed=0.25)))
    assert shown == {("clerk",): 3, ("smith",): 3, ("*",): 2}
    # one wildcard does not fill up a class of clerks: it is counted with other stars only
    lone = pl.DataFrame({"job": ["clerk"] * 3 + ["smith", None]})
    assert ("smith",) not in classes(shoal.anonymize(lone, policy("wildcard", max_suppressed=0.4)))


def test_wildcards_do_not_make_more_specific_records_comply() -> None:
    table = pl.DataFrame({"job": ["clerk", None, None, None], "sex": ["f", "f", "f", "f"]})
    both = {"job": {"hierarchy": "suppress", "missing": "wildcard"}, "sex": {"hierarchy": "suppress"}}
    shown = classes(shoal.anonymize(table, Policy(quasi_identifiers=both, models=K2)))
    assert shown == {("*", "f"): 4}


def test_suppress_bars_the_record() -> None:
    release = shoal.anonymize(JOBS, policy("suppress", max_suppressed=0.25))
    assert classes(release) == {("clerk",): 3, ("smith",): 3, ("*",): 2}
    assert release.audit.suppressed == 2
    dropped = shoal.anonymize(JOBS, policy("suppress", max_suppressed=0.25, suppressed="drop"))
    assert classes(dropped) == {("clerk",): 3, ("smith",): 3}
    assert encode_table(JOBS, policy("suppress")).forced_suppression == 2


def test_suppress_needs_room() -> None:
    with pytest.raises(Infeasible, match="2 records must be suppressed for their missing values, 1 may be"):
        shoal.anonymize(JOBS, policy("suppress", max_suppressed=0.2))


def test_error_names_the_column_and_counts() -> None:
    with pytest.raises(
        Misfit, match=r"quasi_identifiers\.job: missing values, which the policy forbids; got 2 records"
    ):
        shoal.anonymize(JOBS, policy("error"))
    assert classes(shoal.anonymize(JOBS.drop_nulls(), policy("error"))) == {("clerk",): 3, ("smith",): 3}


@pytest.mark.parametrize("blank", ["", None])
def test_empty_texts_are_missing(blank: str | None) -> None:
    table = pl.DataFrame({"job": ["clerk", "clerk", blank, None]})
    assert classes(shoal.anonymize(table, policy())) == {("clerk",): 2, (None,): 2}


def test_nan_is_missing() -> None:
    table = pl.DataFrame({"job": [1.5, 1.5, float("nan"), None]})
    assert classes(shoal.anonymize(table, policy())) == {("1.5",): 2, (None,): 2}


@pytest.mark.parametrize(("missing", "attained"), [("own-value", 2), ("wildcard", 1)])
def test_missing_sensitive_values(missing: str, attained: int) -> None:
    table = pl.DataFrame({"job": ["clerk"] * 4, "ill": ["flu", "flu", None, None]})
    models = [{"name": "distinct-l-diversity", "on": "ill", "l": 2}]
    asked = policy(sensitive={"ill": {"missing": missing}}, models=models)
    assert shoal.audit(table, asked).models[0].attained == attained
    if attained < 2:
        with pytest.raises(Infeasible):
            shoal.anonymize(table, asked)
    else:
        assert shoal.anonymize(table, asked).attained == {"distinct-l-diversity": 2}


def test_missing_sensitive_values_may_suppress_or_be_errors() -> None:
    table = pl.DataFrame({"job": ["clerk"] * 4, "ill": ["flu", "cold", "flu", None]})
    release = shoal.anonymize(table, policy(sensitive={"ill": {"missing": "suppress"}}, max_suppressed=0.25))
    assert sorted(release.table["ill"].to_list()) == ["cold", "flu", "flu"]
    with pytest.raises(Misfit, match=r"sensitive\.ill: missing values, which the policy forbids; got 1 records"):
        shoal.anonymize(table, policy(sensitive={"ill": {"missing": "error"}}))


# ------------------------------------------------------------------------------------------------------ persons

VISITS = pl.DataFrame({"person": ["Ann"] * 5 + ["Bob", "Cyd", "Dan"], "job": ["clerk"] * 5 + ["smith"] * 2 + ["clerk"]})


@pytest.mark.parametrize("algorithm", FALLING_BACK)
def test_many_records_of_one_person_are_one_person(algorithm: str) -> None:
    alone = VISITS.head(7)
    by_records = shoal.anonymize(alone, policy(identifiers=["person"], subject="none", algorithm={"name": algorithm}))
    by_persons = shoal.anonymize(alone, policy(subject="person", algorithm={"name": algorithm}))
    assert classes(by_persons) == {("*",): 7}
    assert by_persons.attained == {"k-anonymity": 3}
    joined = shoal.anonymize(VISITS, policy(subject="person", algorithm={"name": algorithm}))
    if (
        algorithm == "similarity-clustering"
    ):  # makes classes of exactly k, one after the other: who is left joins others
        assert classes(by_records) == {("clerk",): 2, ("{clerk, smith}",): 5}
        assert (classes(joined), joined.attained) == ({("{clerk, smith}",): 8}, {"k-anonymity": 4})
        return
    assert classes(by_records) == {("clerk",): 5, ("smith",): 2}
    assert classes(joined) == {("clerk",): 6, ("smith",): 2}
    assert joined.attained == {"k-anonymity": 2}


def test_nobody_complies_alone() -> None:
    with pytest.raises(Infeasible, match="asks for 2, the whole table attains 1"):
        shoal.anonymize(VISITS.head(5), policy(subject="person"))


def test_the_subject_is_never_published() -> None:
    release = shoal.anonymize(VISITS, policy(subject="person", others="keep"))
    assert release.table.columns == ["job"]
    assert release.subjects is not None
    assert sorted(release.subjects.to_list()) == sorted(VISITS["person"].to_list())


@pytest.mark.parametrize(
    "blanks",
    [[None, None], ["", None], ["", ""]],
)
def test_records_of_nobody_are_refused(blanks: list[str | None]) -> None:
    """They may be about Ann, and then a class of three has two persons."""
    table = pl.DataFrame({"person": [*blanks, "Ann", "Bob"], "job": ["clerk"] * 2 + ["smith"] * 2})
    with pytest.raises(shoal.Misfit, match=r"unknown persons.*2 without person"):
        shoal.anonymize(table, policy(subject="person"))


def test_persons_numbered_by_floats_with_nan() -> None:
    table = pl.DataFrame({"person": [float("nan"), None, 1.0, 2.0], "job": ["clerk"] * 2 + ["smith"] * 2})
    with pytest.raises(shoal.Misfit, match="2 without person"):
        shoal.anonymize(table, policy(subject="person"))
