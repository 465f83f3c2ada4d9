"""Random tables and policies for property tests: nulls, duplicates, constants, odd names, few records or none."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any, cast
from unittest import mock

import polars as pl
from hypothesis import strategies as st

from shoal.algorithms.base import Algorithm
from shoal.encoding.domains import STAR
from shoal.engines.counted import CountedTable
from shoal.policy import Policy
from shoal.registry import find, names


@contextmanager
def unexplained() -> Iterator[None]:
    """Leave out what would work where nothing does: random policies often ask for too much, and trying takes long."""
    with mock.patch("shoal.pipeline.anonymize.explain", lambda error, *_: error):
        yield


def count_records(frame: pl.DataFrame, *, halves: bool = False) -> CountedTable:
    """Return a table by its distinct records; or with each of them in parts, in another order."""
    keys = pl.DataFrame([column.alias(str(index)) for index, column in enumerate(frame)])
    counted = keys.group_by(keys.columns, maintain_order=True).agg(pl.len().cast(pl.Int64).alias("times"))
    if halves:
        more = counted.filter(pl.col("times") > 1)
        counted = counted.with_columns(pl.when(pl.col("times") > 1).then(1).otherwise(pl.col("times")).alias("times"))
        counted = pl.concat([more.with_columns(pl.col("times") - 1), counted]).reverse()
    distinct = counted.drop("times")
    distinct.columns = frame.columns
    return CountedTable(distinct, counted["times"])


NAMES = ["age", "zip code", "père", "a,b", 'q"q', "*", "[x, y]", "Δt", " spaced", "index", "name with\ttab"]

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "integer": st.integers(-3, 40),
    "float": st.sampled_from([-1.5, 0.0, 0.1, 0.3, 2.5, 1e6]),
    "text": st.sampled_from(["a", "b", "c", "d,e", "{f}", "(missing)", "ü", "[1, 2]", 'g"h']),
    "boolean": st.booleans(),
    "date": st.sampled_from([date(1994, 12, 31), date(1995, 1, 1), date(1995, 1, 31), date(2004, 2, 29)]),
}

TYPES = {"integer": pl.Int64, "float": pl.Float64, "text": pl.String, "boolean": pl.Boolean, "date": pl.Date}

LOSSES: list[dict[str, Any]] = [
    {"name": "certainty-penalty"},
    {"name": "class-size"},
    {"name": "average-class-size"},
    {"name": "height"},
    {"name": "minimal-distortion"},
    {"name": "distortion-ratio"},
    *({"name": name, "suppressed": how} for name in ("discernibility", "precision") for how in ("counted", "ignored")),
    *({"name": "non-uniform-entropy", "suppressed": how} for how in ("star", "apart", "ignored")),
    *(
        {"name": "granularity", "aggregate": how, "gs_factor": factor}
        for how in ("mean", "geometric-mean", "rank", "max", "sum")
        for factor in (0.0, 0.3, 0.5, 0.8, 1.0)
    ),
]
"""Every loss with every way of counting it."""
SEARCHES = [
    name
    for name in names("algorithms")
    if name != "fixed-levels" and not cast("type[Algorithm]", find("algorithms", name)).needs_models
]
"""Algorithms that find a recoding whatever the models are."""
FALLING_BACK = [name for name in SEARCHES if cast("type[Algorithm]", find("algorithms", name)).falls_back]
"""Those that publish the coarsest classes where they find no finer ones; the others say that they found nothing."""
LEADS: dict[str, dict[str, Any]] = {
    "t-closeness": {"name": "t-closeness", "t": 0.9},
    "beta-likeness": {"name": "beta-likeness", "beta": 50, "enhanced": False},
}
"""Models that lead a search, and ask for little."""


def lead(algorithm: Algorithm, policy: Policy) -> Policy:
    """Return the policy with a model that leads the search, where it needs one and a column is sensitive."""
    if algorithm.is_led_by(policy.models) or not policy.sensitive:
        return policy
    model = {**LEADS[algorithm.needs_models[0]], "on": next(iter(policy.sensitive))}
    return policy.replace(models=[*policy.models, model])


LOCAL = ("mondrian", "similarity-clustering", "spanning-tree")
ADDITIVE: list[Any] = [
    "certainty-penalty",
    "minimal-distortion",
    "distortion-ratio",
    "precision",
    "non-uniform-entropy",
    *({"name": "non-uniform-entropy", "suppressed": how} for how in ("apart", "ignored")),
    *({"name": "granularity", "aggregate": how} for how in ("mean", "sum")),
]
"""Losses that add up over cells: what searches can be asked for that compare class by class."""


OVER_VALUES: list[dict[str, Any]] = [
    *({"name": "distinct-l-diversity", "l": number} for number in (2, 3)),
    *({"name": "entropy-l-diversity", "l": 1.5, "estimator": how} for how in ("shannon", "grassberger")),
    {"name": "recursive-l-diversity", "c": 2.5, "l": 2},
    {"name": "p-sensitive", "p": 2, "k": 3},
    {"name": "alpha-k-anonymity", "alpha": 0.7, "k": 2},
    {"name": "t-closeness", "t": 0.35},
    *({"name": "beta-likeness", "beta": 1.5, "enhanced": how} for how in (False, True)),
    {"name": "delta-disclosure", "delta": 1.5},
]
"""Models over sensitive values."""


@st.composite
def hierarchies(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    choices: list[dict[str, Any]] = [{}, {"hierarchy": "suppress"}, {"hierarchy": "mask", "keep": [1]}]
    if kind in ("integer", "float"):
        choices += [{"hierarchy": "intervals", "widths": [5, 10]}, {"hierarchy": "intervals", "widths": [0.5]}]
    if kind == "date":
        choices += [{"hierarchy": "dates"}, {"hierarchy": "dates", "levels": ["month", "year"]}]
    if kind == "text":
        leaves = ["a", "b", "c", "d,e", "{f}", "*", "(missing)", "ü", "[1, 2]", 'g"h']
        nodes = {"*": {"low": leaves[:3], "high": {"mid": leaves[3:5], "other": leaves[5:8]}, "rest": leaves[8:]}}
        choices += [{"hierarchy": "tree", "nodes": nodes}]
    if kind in ("integer", "float", "date"):
        built = ("conventional", "divisor-based", "cardinality-based", "on-the-fly", "improved-on-the-fly")
        choices += [{"hierarchy": name} for name in (*built, "dynamic-concept", "quantiles", "auto", "ordering")]
        choices += [{"hierarchy": "conventional", "smallest": 7}, {"hierarchy": "cardinality-based", "smallest": 0.7}]
    else:
        choices += [{"hierarchy": name} for name in ("rare", "ordering", "auto")]
    return draw(st.sampled_from(choices))


@st.composite
def tables_and_policies(draw: st.DrawFn) -> tuple[pl.DataFrame, Policy]:
    count = draw(st.integers(0, 24))
    width = draw(st.integers(1, 3))
    names = draw(st.permutations(NAMES))[: width + 3]
    columns: dict[str, pl.Series] = {}
    roles: dict[str, Any] = {}
    for name in names[:width]:
        kind = draw(st.sampled_from(sorted(VALUES)))
        values = st.one_of(VALUES[kind], st.none()) if draw(st.booleans()) else VALUES[kind]
        if draw(st.integers(0, 5)) == 0:
            values = st.just(draw(values))
        drawn = draw(st.lists(values, min_size=count, max_size=count))
        columns[name] = pl.Series(name, drawn, dtype=TYPES[kind])
        missing = draw(st.sampled_from(["own-value", "own-value", "wildcard", "suppress"]))
        roles[name] = {**draw(hierarchies(kind)), "missing": missing, "weight": draw(st.sampled_from([1, 2.5]))}
    sensitive, subject, own = names[width:]
    illness = st.one_of(st.sampled_from(["flu", "cold", "hiv"]), st.none())
    columns[sensitive] = pl.Series(sensitive, draw(st.lists(illness, min_size=count, max_size=count)), dtype=pl.String)
    people = draw(st.lists(st.integers(0, max(count, 1)), min_size=count, max_size=count))
    columns[subject] = pl.Series(subject, people, dtype=pl.Int64)
    asks = draw(st.lists(st.sampled_from([None, 1, 2, 3, 5, 30]), min_size=count + 2, max_size=count + 2))
    columns[own] = pl.Series(own, [asks[person] for person in people], dtype=pl.Int64)
    models: list[dict[str, Any]] = [{"name": "k-anonymity", "k": draw(st.integers(2, 5))}]
    if draw(st.integers(0, 3)) == 0:
        share = draw(st.sampled_from([{}, {}, {"on": sensitive, "confidence": 0.75}]))
        models = [{"name": "scenarios", "any_of": draw(st.integers(1, 2)), "k": draw(st.integers(2, 4)), **share}]
    if draw(st.integers(0, 3)) == 0:
        models.append({"name": "personal-k", "on": own, "default": 1, "most": draw(st.sampled_from([None, 4]))})
    if draw(st.booleans()):
        models.append({"on": sensitive, **draw(st.sampled_from(OVER_VALUES))})
    algorithm = draw(
        st.sampled_from(
            [
                {"name": "mondrian"},
                {"name": "mondrian", "cuts": "relaxed"},
                {"name": "exhaustive"},
                {"name": "single-dimensional"},
                {"name": "similarity-clustering"},
                {"name": "top-down-specialization"},
                {"name": "top-down-specialization", "class_column": sensitive},
                {"name": "bottom-up"},
                {"name": "bottom-up", "class_column": sensitive},
                {"name": "spanning-tree"},
                {"name": "spanning-tree", "removal": "allowable", "joining": "penalty", "block": 4},
            ]
        )
    )
    policy = Policy(
        identifiers=[subject, own],
        subject=subject if draw(st.booleans()) else "none",
        quasi_identifiers=roles,
        sensitive={sensitive: {"missing": draw(st.sampled_from(["own-value", "wildcard", "suppress"]))}},
        models=models,
        algorithm=algorithm,
        loss=draw(st.sampled_from(ADDITIVE if algorithm["name"] in LOCAL else LOSSES)),
        max_suppressed=draw(st.sampled_from([0.0, 0.1, 0.5, 1.0])),
        suppressed=draw(st.sampled_from(["star", "drop"])),
        publish=draw(st.sampled_from(["labels", "ranges", "sets"])),
    )
    return pl.DataFrame(list(columns.values())), policy


def starred_columns(table: pl.DataFrame, policy: Policy) -> list[str]:
    """Return the quasi-identifiers that have a value ``*``: the table is refused for them."""
    texts = (name for name in policy.quasi_identifiers if table[name].dtype in (pl.String, pl.Categorical))
    return [name for name in texts if STAR in table[name].cast(pl.String).to_list()]


@st.composite
def tables_with_a_star(draw: st.DrawFn) -> tuple[pl.DataFrame, Policy]:
    """Tables with a value ``*`` in a quasi-identifier, which nobody could tell from a suppressed one: refused."""
    table, policy = draw(tables_and_policies().filter(lambda case: case[0].height))
    name = draw(st.sampled_from(list(policy.quasi_identifiers)))
    stars = draw(st.lists(st.booleans(), min_size=table.height, max_size=table.height).filter(any))
    texts = draw(st.lists(VALUES["text"] | st.none(), min_size=table.height, max_size=table.height))
    held = [STAR if is_star else text for is_star, text in zip(stars, texts, strict=True)]
    columns = [pl.Series(name, held, dtype=pl.String) if column.name == name else column for column in table]
    role = {**draw(hierarchies("text")), "missing": policy.quasi_identifiers[name].missing}
    roles = {**policy.quasi_identifiers, name: role}
    return pl.DataFrame(columns), policy.replace(quasi_identifiers=roles)


WORDS = [
    "name", "patient_id", "id", "age", "zip code", "PLZ", "sex", "race", "diagnosis", "salary", "notes", "birth date",
    "e-mail", "subject", "fnlwgt", "city", "no", "true", "1995-01-31", "a: b", "#", "*", "- x", "? y", "", " ", "\n",
    'quo"te', "back\\slash", "{}", "[a, b]", "é\u2028\ufeff", "😀", "x" * 1500, "null", "~", "&a", "!tag", "%", "@",
]  # fmt: skip

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
TYPED: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (pl.Int64, st.integers(-(2**62), 2**62)),
    (pl.Int64, st.sampled_from([-9, 0, 1, 2, 20, 35, 999, 19900101, 20001231])),
    (pl.UInt64, st.integers(0, 2**64 - 1)),
    (pl.Float64, st.floats(-1e300, 1e300)),
    (pl.Float32, st.floats(0, 1, width=32)),
    (pl.Boolean, st.booleans()),
    (pl.String, TEXT),
    (pl.String, st.sampled_from(["a", "b", "c", "?", "", "NA", "*", "31.12.1990", "02138", "a@b.de", "1,5"])),
    (pl.Categorical, st.sampled_from(["x", "y", "z"])),
    (pl.Date, st.dates()),
    (pl.Datetime("us"), st.datetimes()),
    (pl.Time, st.times()),
    (pl.Duration("us"), st.timedeltas(dt.timedelta(days=-999), dt.timedelta(days=999))),
    (pl.Decimal(10, 2), st.decimals(-99, 99, places=2)),
    (pl.Null, st.none()),
    (pl.List(pl.Int64), st.lists(st.integers(0, 3), max_size=2)),
]


@st.composite
def any_tables(draw: st.DrawFn, least: int = 0) -> pl.DataFrame:
    """Tables of any columns, for what must cope with all of them."""
    names = draw(st.lists(st.sampled_from(WORDS) | TEXT, min_size=1, max_size=5, unique=True))
    height = draw(st.integers(least, 30))
    columns = []
    for name in names:
        kind, values = draw(st.sampled_from(TYPED))
        pool = draw(st.lists(values | st.none(), min_size=1, max_size=30))
        # short lists of few values make constants and categories, long ones near-unique columns
        columns.append(pl.Series(name, [pool[i % len(pool)] for i in range(height)], dtype=kind))
    return pl.DataFrame(columns)


def publishable(table: pl.DataFrame) -> bool:
    return any(not isinstance(kind, pl.List) for kind in table.dtypes)
