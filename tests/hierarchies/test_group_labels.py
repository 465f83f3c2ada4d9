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
from shoal.encoding.labels import read_label, write_set
from shoal.engines.counted import CountedTable
from shoal.gateway.labels import Meanings
from shoal.hierarchies import Ordering, Similarity
from shoal.hierarchies._groups import group_label
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
    reader = Reader(CountedTable(table), "q", policy)
    assert release.table["q"].n_unique() == 2 and release.loss == release.claimed_loss
    for text in release.table["q"].unique():
        held = {value for value in values if reader.covers(text, value)}
        assert {*read_label(text).items} == held and len(held) == 2
        assert not reader.covers(text, None)


def test_plain_names_stay() -> None:
    assert group_label(["never", "seldom"]) == "{never, seldom}"
    assert group_label([str(number) for number in range(9)]) == "{0, … 7 …, 8}"


def test_the_gateway_reads_members_and_knows_what_is_left_out() -> None:
    column = Meanings.published("text", Similarity())
    assert column.of('{"(missing)", "a, b"}').values == {"(missing)", "a, b"}
    assert not column.of('{"(missing)", "a, b"}').missing and column.of("{a, (missing)}").missing
    assert column.of("{a, … 5 …, g}").among(frozenset({"b"}), frozenset()) is None  # b may be among the five
