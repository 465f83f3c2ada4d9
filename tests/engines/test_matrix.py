"""docs/architecture.md says which check runs on which engine, and how: each cell of its table is what the code does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.auditing import checks
from shoal.pipeline import verify

from .conftest import ENGINES

DOCS = Path(__file__).parents[2] / "docs" / "architecture.md"
RNG = np.random.default_rng(5)
TABLE = pl.DataFrame(
    {
        "age": RNG.integers(20, 60, 160),
        "city": RNG.choice(["Bonn", "Kiel", "Ulm"], 160),
        "illness": RNG.choice(["cold", "cough", "fever", "gout"], 160),
        "note": RNG.choice(["called back", "moved house", "new"], 160),
    }
)
POLICY = shoal.Policy(
    quasi_identifiers=["age", "city"],
    sensitive=["illness"],
    models=[{"name": "k-anonymity", "k": 4}],
    algorithm="mondrian",
    others="drop",
)
COLUMNS = {
    "memory": ("memory", {}),
    "files": ("files", {}),
    "files in blocks": ("files", {"memory": "1GB", "fits": 20, "block": 60}),
    "Spark": ("spark", {}),
    "Spark in blocks": ("spark", {"fits": 20, "block": 60}),
}
NO_CLAIMS = "no search claims anything of the whole table"
CANNOT = "columns that are published as they are were not counted, and may show such values: note"


@dataclass
class Seen:
    """What was done for a release: the functions that looked, and what the audit beside it says."""

    calls: list[str] = field(default_factory=list)
    read_back_is_counted: bool = False
    audit: dict[str, Any] = field(default_factory=dict)
    rides_along: bool = False

    def outcome(self, name: str) -> str:
        """Return what came out of a check, or why it did not run."""
        found = next(check for check in self.audit["hygiene"] if check["check"] == name)
        return str(found.get("why") or found["outcome"])


@contextmanager
def spy(seen: Seen) -> Iterator[None]:
    """Note which of the functions that look at records are called."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (checks, "record_faults"),
            (verify, "pair_faults"),
            (verify, "check_order"),
        ):
            patch.setattr(module, name, _noting(seen, name, getattr(module, name)))
        honest = verify.other_records

        def other_records(found: Any, released: Any, where: str = "table") -> Any:
            if where == "file":
                seen.read_back_is_counted = found.is_counted
            return honest(found, released, where)

        patch.setattr(verify, "other_records", other_records)
        yield


def _noting(seen: Seen, name: str, honest: Callable[..., Any]) -> Callable[..., Any]:
    def call(*given: Any, **more: Any) -> Any:
        seen.calls.append(name)
        return honest(*given, **more)

    return call


@pytest.fixture(scope="module")
def look(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Seen]:
    """Return how to release the table on an engine, and what was seen of it."""

    @cache
    def look(column: str, others: str) -> Seen:
        engine, limits = COLUMNS[column]
        folder, seen = tmp_path_factory.mktemp("matrix"), Seen()
        laid = ENGINES[engine](TABLE, folder, request)
        with spy(seen):
            release = shoal.anonymize(laid.table, POLICY.replace(others=others), **{**laid.options, **limits})
            files = release.write(folder / "out", statistics=False)
        seen.audit = json.loads(files["audit"].read_text())
        seen.rides_along = bool(release.published.uncounted)
        return seen

    return look


def promises(dropped: Seen, kept: Seen) -> str:
    models = [*dropped.audit["models"], *kept.audit["models"]]
    return "runs" if all(model["holds"] and model["attained"] >= 4 for model in models) else "cannot"


def table_checks(dropped: Seen, kept: Seen) -> str:
    names = ("columns", "treatments", "values", "labels", "records")
    return "runs" if {seen.outcome(name) for name in names for seen in (dropped, kept)} == {"passed"} else "cannot"


def truth(dropped: Seen, kept: Seen) -> str:
    assert dropped.outcome("truth") == kept.outcome("truth") == "passed"
    if "pair_faults" in dropped.calls:
        assert "record_faults" not in dropped.calls + kept.calls and "pair_faults" in kept.calls
        return "by pairs of value and text: the records are nowhere together"
    return "record by record" if "record_faults" in dropped.calls and "record_faults" in kept.calls else "cannot"


def order(dropped: Seen, kept: Seen) -> str:
    assert dropped.outcome("order") == kept.outcome("order") == "passed"
    return "on the first records" if "check_order" in dropped.calls and "check_order" in kept.calls else "runs"


def claims(dropped: Seen, kept: Seen) -> str:
    assert dropped.outcome("claims") == kept.outcome("claims")
    return "runs" if kept.outcome("claims") == "passed" else kept.outcome("claims")


def held(dropped: Seen, kept: Seen) -> str:
    assert dropped.outcome("held") == kept.outcome("held") == "passed" and not dropped.rides_along
    return "runs, columns that ride along record by record" if kept.rides_along else "runs"


def written(dropped: Seen, kept: Seen) -> str:
    assert dropped.outcome("written") == kept.outcome("written") == "passed"
    return "each record as often" if dropped.read_back_is_counted and kept.read_back_is_counted else "cell by cell"


def raw_bytes(dropped: Seen, kept: Seen) -> str:
    assert dropped.outcome("bytes") == "passed"
    if kept.outcome("bytes") == "passed":
        return "runs"
    assert kept.outcome("bytes") == CANNOT and kept.rides_along
    return "runs; cannot where columns ride along, which may hold the same texts"


ROWS: dict[str, Callable[[Seen, Seen], str]] = {
    "every promise, counted again": promises,
    "columns, treatments, values, labels, records": table_checks,
    "truth": truth,
    "order": order,
    "claims: what the search says of its answer is what was audited": claims,
    "held: what the engine holds, and the caller gets, is what was audited": held,
    "written: what was written is what was audited": written,
    "bytes": raw_bytes,
}


def read_matrix() -> dict[str, dict[str, str]]:
    """Return the table of the docs: check → engine → what it says."""
    section = DOCS.read_text(encoding="utf-8").partition("## Checks and engines")[2].partition("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    (_, *engines), _, *rows = [[cell.strip() for cell in line] for line in lines]
    said = {check: dict(zip(engines, cells, strict=True)) for check, *cells in rows}
    for cells in said.values():
        cells.update(
            {engine: cells[cell.removeprefix("as ")] for engine, cell in cells.items() if cell.startswith("as ")}
        )
    return said


def test_every_check_and_every_engine_is_in_the_table() -> None:
    said = read_matrix()
    assert list(said) == list(ROWS)
    assert {engine for cells in said.values() for engine in cells} == set(COLUMNS)
    assert {engine for engine, _ in COLUMNS.values()} == set(ENGINES)
    questions = (*checks.BEFORE_COUNTING, *checks.AFTER_COUNTING, *checks.WHILE_RELEASING)
    asked = {question.name for question in questions}
    # the others are about some policies only: output forms, levels that were fixed before, releases over time
    assert (
        asked - {"form", "levels", "series"}
        == {name for row in ROWS for name in row.partition(":")[0].split(", ")} & asked
    )


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("check", ROWS)
def test_each_cell_is_what_the_code_does(check: str, column: str, look: Callable[[str, str], Seen]) -> None:
    assert ROWS[check](look(column, "drop"), look(column, "keep")) == read_matrix()[check][column]


@pytest.mark.parametrize("column", COLUMNS)
def test_nothing_else_is_left_out(column: str, look: Callable[[str, str], Seen]) -> None:
    """What could not be checked stands in the audit with its reason, and is in the table."""
    dropped, kept = (look(column, others).audit["hygiene"] for others in ("drop", "keep"))
    left_out = [(check["check"], check["why"]) for check in kept if check["outcome"] == "not run"]
    unclaimed = [("claims", NO_CLAIMS)] if column.endswith("in blocks") else []
    assert left_out == ([("bytes", CANNOT)] if column.startswith("Spark") else []) + unclaimed
    assert [check["check"] for check in dropped if check["outcome"] != "passed"] == [name for name, _ in unclaimed]
