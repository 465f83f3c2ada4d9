"""Groups of ordering and similarity are called by their members, so that a reader can tell these apart."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.auditing.reading import Reader
from shoal.encoding.domains import Domain
from shoal.encoding.label_writing import write_set
from shoal.encoding.labels import read_label
from shoal.engines.counted import CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.gateway.labels import LabelReader
from shoal.hierarchies import Ordering, Similarity
from shoal.hierarchies.base import Hierarchy
from shoal.policy import Policy

TEXTS = st.text(st.sampled_from(list('ab,{}" \\…()\n')), min_size=1, max_size=4) | st.sampled_from(
    ["(missing)", "… 5 …", "a, b", "b, c", "a", "b", "c", "NA"]
)
VALUES = st.lists(TEXTS, min_size=2, max_size=14, unique=True)


def similarity(values: list[str]) -> Domain:
    return Domain(
        "text",
        np.array(values, object),
        tuple(values),
        profiles=lambda: np.random.default_rng(0).dirichlet([1, 1], len(values)),
    )


@given(VALUES)
def test_a_set_is_read_as_it_was_written(values: list[str]) -> None:
    read = read_label(write_set([*values, None]))
    assert (read.form, read.items) == ("set", (*values, None))


@settings(deadline=None)
@pytest.mark.parametrize("hierarchy", [Ordering(sizes=[2, 4, 8]), Similarity()])
@given(values=VALUES)
def test_every_group_has_its_own_name_and_tells_its_members(hierarchy: Hierarchy, values: list[str]) -> None:
    groups: dict[str, list[str]] = {}
    for step in hierarchy.steps(similarity(values)):
        for number, name in enumerate(step.names):
            members = [text for text, own in zip(values, step.numbers.tolist(), strict=True) if own == number]
            assert groups.setdefault(name, members) == members  # of all levels
            if len(members) > 1:
                read = read_label(name)
                assert read.form == ("set" if len(members) <= 4 else "shortened")
                assert read.items == (tuple(members) if len(members) <= 4 else (members[0], members[-1]))


@pytest.mark.parametrize("values", [["(missing)", "NA", "x", "y"], ["a, b", "c", "a", "b, c"], ['"', "{a", "a}", "\\"]])
@pytest.mark.parametrize("hierarchy", ["ordering", "similarity"])
def test_the_audit_reads_what_was_published(values: list[str], hierarchy: str) -> None:
    table = pl.DataFrame({"q": values * 2, "other": [1, 1, 2, 2] * 2, "empty": [None, "x"] * 4})
    role = {"hierarchy": hierarchy, **({"order": values, "sizes": [2]} if hierarchy == "ordering" else {})}
    policy = Policy(
        quasi_identifiers={"q": role, "other": "suppress"},
        others="drop",
        models=[{"name": "k-anonymity", "k": 4}],
        algorithm="optimal",
    )
    release = shoal.anonymize(table, policy)
    reader = Reader(TableDictionary(CountedTable(table), policy), "q")
    assert release.table["q"].n_unique() == 2 and release.loss == release.claimed_loss
    for text in release.table["q"].unique():
        held = {value for value in values if reader.covers(text, value)}
        assert {*read_label(text).items} == held and len(held) == 2
        assert not reader.covers(text, None)


def test_plain_names_stay() -> None:
    names = ["never", "seldom", "always"]
    groups = Ordering(order=names, sizes=[2]).build(Domain.of("text", names), missing=None).labels[1]
    assert set(groups) == {"{never, seldom}", "always"}
    digits = [str(number) for number in range(10)]
    assert set(Ordering(order=digits, sizes=[9]).build(Domain.of("text", digits), missing=None).labels[1]) == {
        "{0, … 7 …, 8}",
        "9",
    }


def test_the_gateway_reads_members_and_knows_what_is_left_out() -> None:
    column = LabelReader.published("text", Similarity())
    assert column.of('{"(missing)", "a, b"}').values == {"(missing)", "a, b"}
    assert not column.of('{"(missing)", "a, b"}').missing and column.of("{a, (missing)}").missing
    assert column.of("{a, … 5 …, g}").among(frozenset({"b"}), frozenset()) is None  # b may be among the five
