"""Every engine does the same: what it counts, publishes, writes and reads back is what the one in memory does."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import engines
from shoal.engines import open_engine
from shoal.engines.base import TableEngine
from shoal.engines.counted import CountedTable
from shoal.errors import Misfit
from shoal.pipeline.verify import other_records

from .conftest import ENGINES, Laid, release_of

KEY = b"correct horse battery staple"
RNG = np.random.default_rng(4)
PEOPLE = pl.DataFrame(
    {
        "name": [f"person {n % 60:02d}" for n in range(120)],
        "age": RNG.integers(20, 60, 120),
        "zip": RNG.choice(["53111", "89073", "89075"], 120),
        "illness": RNG.choice(["flu", "cold", "cough", "gout"], 120),
        "own": [2 + n % 60 % 3 for n in range(120)],
        "weight": RNG.choice([1.5, 2.5, 4.0], 120),
    }
)
POLICY = shoal.Policy(
    identifiers=["name", "own", "weight"],
    subject="none",
    quasi_identifiers={"age": {"hierarchy": "intervals", "widths": [5, 10, 20]}, "zip": {}},
    sensitive=["illness"],
    models=[{"name": "k-anonymity", "k": 4}],
    algorithm="mondrian",
    others="drop",
)
FORMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "full-domain": {"algorithm": "optimal", "max_suppressed": 0.1},
    "persons": {"subject": "name", "identifiers": ["own", "weight"]},
    "personal-k": {"identifiers": ["name", "weight"], "models": [{"name": "personal-k", "on": "own"}]},
    "survey": {"identifiers": ["name", "own"], "survey_weight": "weight", "models": [{"name": "k-map", "k": 9}]},
    "ends": {"output": {"form": "generalized", "ends": True}},
    "statistics": {"output": "statistics"},
    "anatomy": {"output": "anatomy", "models": [{"name": "distinct-l-diversity", "on": "illness", "l": 2}], "seed": 9},
}


def rows(table: Any) -> list[tuple[Any, ...]]:
    """Return the records of a published table of any library, sorted."""
    if isinstance(table, CountedTable):
        table = table.expand()
    elif not isinstance(table, pl.DataFrame):
        table = pl.from_arrow(table.toArrow())
    return sorted(table.rows(), key=repr)


def test_no_engine_is_left_out() -> None:
    folders = [module.name for module in pkgutil.iter_modules(engines.__path__) if module.ispkg]
    assert set(folders) == set(ENGINES)
    for name in folders:
        assert callable(importlib.import_module(f"shoal.engines.{name}").claims)


def test_it_keeps_the_protocol(lay: Callable[[pl.DataFrame], Laid]) -> None:
    laid = lay(PEOPLE)
    engine: TableEngine = open_engine(laid.table, POLICY, **laid.options)
    members = [name for name in TableEngine.__dict__ if not name.startswith("_")]
    members += [name for name in TableEngine.__annotations__ if not name.startswith("_")]
    assert [name for name in members if not hasattr(engine, name)] == []
    assert list(engine.columns) == PEOPLE.columns
    assert engine.default_format in engine.formats


def test_it_counts_every_record(lay: Callable[[pl.DataFrame], Laid]) -> None:
    laid = lay(PEOPLE)
    counted = open_engine(laid.table, POLICY, **laid.options).count(["age", "zip", "illness"])
    names = ["age", "zip", "illness"]
    assert sorted(counted.with_frame(counted.frame.select(names)).expand().rows()) == sorted(
        PEOPLE.select(names).rows()
    )


@pytest.mark.parametrize("form", FORMS)
def test_its_release_is_that_of_memory(lay: Callable[[pl.DataFrame], Laid], form: str, tmp_path: Path) -> None:
    policy = POLICY.replace(**FORMS[form])
    here, there = shoal.anonymize(PEOPLE, policy), release_of(lay(PEOPLE), policy)
    assert rows(there.table) == rows(here.table)
    assert there.attained == here.attained
    one, other = here.audit.to_dict(), there.audit.to_dict()
    for key in ("holds", "records", "published", "suppressed", "classes", "models", "utility", "risk", "columns"):
        assert one[key] == other[key], key
    files = there.write(tmp_path / "out", statistics=False)
    assert json.loads(files["audit"].read_text())["holds"] is True
    assert json.loads(files["manifest"].read_text())["data_fingerprint"] == here.manifest["data_fingerprint"]
    assert (here.beside is None) == (there.beside is None)
    if here.beside is not None:
        assert rows(here.beside) == rows(there.beside)


def test_pseudonyms(lay: Callable[[pl.DataFrame], Laid]) -> None:
    policy = POLICY.replace(identifiers={"name": {"pseudonym": True}, "own": {}, "weight": {}})
    table = PEOPLE.unique("name", keep="first", maintain_order=True)
    laid = lay(table)
    assert rows(release_of(laid, policy, key=KEY).table) == rows(shoal.anonymize(table, policy, key=KEY).table)


def test_what_it_wrote_is_what_was_released(lay: Callable[[pl.DataFrame], Laid], tmp_path: Path) -> None:
    release = release_of(lay(PEOPLE), POLICY)
    for kind in release.published.formats:
        path = tmp_path / kind / "release"
        path.parent.mkdir()
        path = path.with_suffix({"excel": ".xlsx"}.get(kind, f".{kind}"))
        release.published.write(path, kind)
        found = release.published.reopen(path, kind)
        assert other_records(found.count(), release.details.table) == [], kind
        assert found.uncounted_faults() == []
        assert b"".join(release.published.raw_bytes(path))
        assert list(found.columns) == list(release.frame.columns)


def test_the_first_records(lay: Callable[[pl.DataFrame], Laid]) -> None:
    laid = lay(PEOPLE)
    engine = open_engine(laid.table, POLICY, **laid.options)
    engine.count(["age", "zip", "illness"])
    assert engine.head(7).select("age", "zip").rows() == PEOPLE.head(7).select("age", "zip").rows()


def test_all_that_is_wrong_with_the_columns_is_told_at_once(lay: Callable[[pl.DataFrame], Laid]) -> None:
    policy = POLICY.replace(quasi_identifiers=["ages", "zip"], sensitive=["ilness"])
    with pytest.raises(Misfit) as caught:
        release_of(lay(PEOPLE), policy)
    told = str(caught.value)
    assert "did you mean 'age'" in told and "did you mean 'illness'" in told


def test_what_cannot_be_counted_is_refused_in_the_same_words(lay: Callable[[pl.DataFrame], Laid]) -> None:
    """Only where each record is drawn by itself counts do not do; memory has the records."""
    policy = POLICY.replace(
        models=[{"name": "differential-privacy", "epsilon": 2.0, "delta": 0.01}],
        sensitive=[],
        identifiers=["name", "own", "weight", "illness"],
        algorithm={"name": "fixed-levels", "levels": {"age": 3, "zip": 0}},
        seed=2**70,
        max_suppressed=1.0,
        suppressed="drop",
    )
    laid = lay(PEOPLE)
    if isinstance(laid.table, pl.DataFrame):
        with pytest.raises(Misfit, match="each record is drawn by itself"):
            shoal.anonymize(CountedTable(PEOPLE, pl.Series([1] * PEOPLE.height)), policy)
    else:
        with pytest.raises(Misfit, match="each record is drawn by itself, and here they were counted"):
            release_of(laid, policy)
