"""What became of a case, and how the product is called."""

from __future__ import annotations

import csv
import io
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import shoal

from .setting import Case, Setting, build_table


@dataclass(frozen=True)
class Finding:
    """Something the product says or does that the definitions contradict."""

    kind: str
    detail: str
    case: Case
    more: Mapping[str, Any] = field(default_factory=dict)
    """What a reproduction needs besides: a damaged table, a permutation."""

    @property
    def signature(self) -> str:
        """Findings with the same one are told once, with a count."""
        setting = Setting(self.case)
        models = "+".join(sorted({model.get("name", "preset") for model in setting.models if model}))
        return f"{self.kind} | {setting.algorithm} | {models}"


@dataclass
class Result:
    """What became of a case."""

    case: Case
    outcome: str = "released"
    """``released``, ``infeasible``, ``not-found``, ``refused`` (the policy does not fit), or ``finding``."""
    findings: list[Finding] = field(default_factory=list)
    checks: Counter[str] = field(default_factory=Counter)
    """Which checks said something, so that one that never does is seen."""
    ratio: tuple[float, float] | None = None
    """The loss of a release and the least possible one, on tiny tables."""
    seconds: float = 0.0

    def find(self, kind: str, detail: str, **more: Any) -> None:
        """Note a finding."""
        self.findings.append(Finding(kind, detail, self.case, more))


@contextmanager
def policy_of(case: Case) -> Iterator[dict[str, Any]]:
    """Return the policy of a case; its population lies in a file for as long as it is needed."""
    policy = dict(case["policy"])
    if not case.get("population"):
        yield policy
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "population.parquet")
        build_table(case["population"]).write_parquet(path)
        yield {**policy, "population": str(path)}


def hand_over(case: Case, table: pl.DataFrame) -> Any:
    """Give the table as the library that the case names holds it."""
    library = case.get("library", "polars")
    if library == "pandas":
        return table.to_pandas(use_pyarrow_extension_array=True)
    return table.to_arrow() if library == "pyarrow" else table


def take_back(table: Any) -> pl.DataFrame:
    """Return a published table as polars, whatever library it is of."""
    if isinstance(table, pl.DataFrame):
        return table
    if type(table).__module__.startswith("pandas"):
        return pl.from_pandas(table)
    return pl.DataFrame(pl.from_arrow(table))


def rows_of(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the records of a table."""
    return table.rows(named=True)


def says_not_found(error: Exception) -> bool:
    """Whether a refusal says that nothing was found, which claims less than that nothing exists."""
    return "not found" in str(error).lower() or "found no" in str(error).lower()


def shorten(error: object, most: int = 300) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= most else text[:most] + "…"


def as_csv(table: pl.DataFrame) -> list[list[str]]:
    """Return what a CSV of the table says."""
    return list(csv.reader(io.StringIO(table.write_csv())))


def audit_of(setting: Setting, table: Any, policy: Mapping[str, Any], release: Any = None) -> Any:
    """Audit a table against the original as an owner would; an error is returned."""
    known: dict[str, Any] = {}
    if release is not None:
        known = {"subjects": release.subjects, "weights": release.owner.weights}
        if release.owner.requested_k is not None:
            known["requested_k"] = {
                name: release.owner.requested_k[name].to_list() for name in release.owner.requested_k.columns
            }
    try:
        return shoal.audit(table, policy, original=build_table(setting.case["columns"]), **known)
    except Exception as error:
        return error
