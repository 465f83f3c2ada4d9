"""What is read of all texts at once is what is read of each alone."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.auditing.reading import Reader
from shoal.engines.counted import CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.policy import Policy
from shoal.utility.statistics.covers import CoveredValues

TREE = {"any": {"ab": ["a", "b"], "cd": ["c", "d"]}}
COLUMNS = {
    "age": pl.Series([20, 24, 25, 30, 41, None]),
    "size": pl.Series([1.5, 2.0, 7.25, 9.0, 9.5, None]),
    "job": pl.Series(["a", "b", "c", "d", "d", None]),
}
ROLES = {
    "age": {"hierarchy": "intervals", "widths": [5, 10]},
    "size": {},
    "job": {"hierarchy": "tree", "nodes": TREE, "boundaries": ["ab"]},
}
TEXTS = {
    "age": ["*", None, "20", "[20, 25)", "[20, 24]", "[24, 20]", "[20, 20]", "[20, 99]", "{20, 30}", "{20, (missing)}"],
    "size": ["*", None, "1.5", "[1.5, 9.0]", "[2.0, 7.25]", "[1.5, 3.0]", "{1.5, 9.5}", "small"],
    "job": ["*", None, "a", "ab", "cd", "{a, d}", "{b, c}", "{a, (missing)}", "[a, b]", "else"],
}


def reader_of(name: str, missing: str = "own-value", *, promised: bool = True) -> Reader:
    models = [{"name": "k-anonymity", "k": 2}] if promised else []
    roles = {name: {**ROLES[name], "missing": missing}}
    policy = Policy(quasi_identifiers=roles, models=models, max_suppressed=1.0)
    return Reader(TableDictionary(CountedTable(pl.DataFrame({name: COLUMNS[name]})), policy), name)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(COLUMNS)),
    missing=st.sampled_from(["own-value", "wildcard", "suppress"]),
    data=st.data(),
)
def test_texts_read_together_say_what_each_says_alone(name: str, missing: str, data: st.DataObject) -> None:
    reader = reader_of(name, missing)
    texts = data.draw(st.lists(st.sampled_from(TEXTS[name]), unique=True, max_size=8))
    reader.read(data.draw(st.lists(st.sampled_from(TEXTS[name]), max_size=3)))  # some of them were read before
    readings = reader.read(texts)
    for number, text in enumerate(texts):
        penalty, (values, is_missing) = reader.penalty(text), reader.values_of(text)
        assert readings.is_read[number] == (penalty is not None)
        if penalty is not None:
            assert readings.penalties[number] == penalty
            assert readings.climbs[number] == reader.climb(text)
        assert np.arange(len(reader.domain))[readings.values[number]].tolist() == sorted(values)
        assert readings.missing[number] == is_missing


@pytest.mark.parametrize("name", sorted(COLUMNS))
def test_a_record_may_show_what_covers_its_value_and_is_not_above_its_boundary(name: str) -> None:
    reader, texts = reader_of(name), TEXTS[name]
    values: list[str | None] = [*reader.domain.texts, None]
    pairs = [(text, code) for text in range(len(texts)) for code in range(len(values))]
    allowed = reader.allows(texts, *np.array(pairs, np.int64).T)
    covers = reader.allowed_codes(texts)
    for (text, code), allows in zip(pairs, allowed.tolist(), strict=True):
        bound = reader.bounds.get(code, range(len(reader.domain)))
        beyond = not set(reader.values_of(texts[text])[0]) <= set(bound)
        assert allows == (reader.covers(texts[text], values[code]) and not (code in reader.bounds and beyond))
        if reader.penalty(texts[text]) is not None:
            assert (code in np.arange(covers.size)[covers[text]]) == allows


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sets(st.integers(0, 5)), max_size=6), st.data())
def test_covers_of_some_texts_and_with_a_last_value(sets: list[set[int]], data: st.DataObject) -> None:
    covers = CoveredValues.of(sets, 6)
    taken = data.draw(st.lists(st.integers(0, max(len(sets) - 1, 0)), max_size=6)) if sets else []
    last = np.array(data.draw(st.lists(st.booleans(), min_size=len(sets), max_size=len(sets))), bool)
    part = covers.take(np.array(taken, np.int64))
    assert [set(np.arange(6)[part[place]].tolist()) for place in range(len(taken))] == [sets[one] for one in taken]
    more = covers.with_last(last)
    expected = [held | ({6} if also else set()) for held, also in zip(sets, last.tolist(), strict=True)]
    assert [set(np.arange(7)[more[place]].tolist()) for place in range(len(sets))] == expected
    both = covers.append(part)
    assert both.sizes.tolist() == [*map(len, sets), *(len(sets[one]) for one in taken)]
    wide = covers.widen(last)
    assert wide.sizes.tolist() == [6 if also else len(held) for held, also in zip(sets, last.tolist(), strict=True)]
