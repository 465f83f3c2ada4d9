"""A case as the oracle sees it: records, readers of the quasi-identifiers, and what definitions are asked over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import polars as pl

from .definitions import Counting, Judged, Row, Texts, judge
from .meaning import Cover, Reader, to_value

Case = Mapping[str, Any]
DTYPES = {
    "integer": pl.Int64,
    "float": pl.Float64,
    "text": pl.String,
    "boolean": pl.Boolean,
    "date": pl.Date,
    "datetime": pl.Datetime("us"),
    "time": pl.Time,
}
FULL_DOMAIN = {"optimal", "exhaustive", "samarati", "incognito", "datafly", "heuristic", "fixed-levels"}
CUTS = {"single-dimensional", "top-down-specialization", "bottom-up", "weighted-boundaries"}
LOCAL = {
    "shoal",
    "mondrian",
    "k-member",
    "kaca",
    "bottom-up-merging",
    "top-down-greedy",
    "similarity-clustering",
    "spanning-tree",
    "sabre",
    "burel",
    "t-closeness-first",
}
ACROSS = {"average-risk", "sample-uniqueness", "population-uniqueness", "delta-presence", "scenarios"}
"""Models that look at all classes together."""


def build_table(columns: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Make the table that a case describes."""
    series = []
    for column in columns:
        values = [to_value(column["kind"], raw) if raw != "" else "" for raw in column["values"]]
        # named at the end: polars reads "^…$" in a name as a pattern while it makes moments
        series.append(pl.Series("values", values, dtype=DTYPES[column["kind"]]).alias(column["name"]))
    return pl.DataFrame(series)


@dataclass
class Setting:
    """What follows from a case, by the documentation alone."""

    case: Case

    @cached_property
    def policy(self) -> Mapping[str, Any]:
        return self.case["policy"]  # type: ignore[no-any-return]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return tuple(self.policy["quasi_identifiers"])

    @cached_property
    def kinds(self) -> dict[str, str]:
        return {column["name"]: column["kind"] for column in self.case["columns"]}

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The original, record by record."""
        columns = self.case["columns"]
        values = {one["name"]: [to_value(one["kind"], raw) for raw in one["values"]] for one in columns}
        height = len(next(iter(values.values()), ()))
        return [{name: cells[index] for name, cells in values.items()} for index in range(height)]

    @cached_property
    def people(self) -> list[dict[str, Any]]:
        """The population, where there is one."""
        columns = self.case.get("population") or []
        values = {one["name"]: [to_value(one["kind"], raw) for raw in one["values"]] for one in columns}
        height = len(next(iter(values.values()), ()))
        return [{name: cells[index] for name, cells in values.items()} for index in range(height)]

    @cached_property
    def models(self) -> list[Mapping[str, Any]]:
        return [PRESETS.get(model["preset"]) or {} if "preset" in model else model for model in self.policy["models"]]

    @cached_property
    def k(self) -> int:
        return max((model["k"] for model in self.models if "k" in model), default=2)

    @cached_property
    def algorithm(self) -> str:
        named = self.policy.get("algorithm", "shoal")
        return named if isinstance(named, str) else str(named["name"])

    def role(self, name: str) -> dict[str, Any]:
        """Return what the policy says of a quasi-identifier."""
        said = self.policy["quasi_identifiers"][name]
        return {"hierarchy": said} if isinstance(said, str) else dict(said or {})

    @cached_property
    def readers(self) -> list[Reader]:
        found = []
        for name in self.columns:
            values = [record[name] for record in [*self.records, *self.people]]
            if self.role(name).get("missing") == "suppress":  # who lacks a value is suppressed: it is no value
                values = [value for value in values if value is not None]
            own = [record[name] for record in self.records]
            found.append(Reader(name, self.kinds[name], values, self.role(name), own, self.k))
        return found

    @cached_property
    def sensitive(self) -> dict[str, dict[str, Any]]:
        said = self.policy.get("sensitive", ())
        return {name: {} for name in said} if not isinstance(said, Mapping) else {n: dict(r) for n, r in said.items()}

    @cached_property
    def aside(self) -> set[str]:
        """Columns that the owner keeps: identifiers, subject, asks."""
        named = set(self.policy.get("identifiers", ()))
        asks = {model["on"] for model in self.models if model.get("name") == "personal-k"}
        return named | asks | ({self.policy["subject"]} if self.policy.get("subject") else set())

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """Columns that are published as they are."""
        others = self.policy.get("others") == "keep"
        return tuple(
            name
            for name in self.kinds
            if name not in self.columns and name not in self.aside and (name in self.sensitive or others)
        )

    @cached_property
    def may_suppress(self) -> int:
        return int(Fraction(str(self.policy.get("max_suppressed", 0))) * len(self.records))

    @cached_property
    def forced(self) -> frozenset[int]:
        """Records that must be suppressed for a missing value."""
        strict = [name for name in self.columns if self.role(name).get("missing") == "suppress"]
        strict += [name for name, role in self.sensitive.items() if role.get("missing") == "suppress"]
        return frozenset(
            index for index, record in enumerate(self.records) if any(record[name] is None for name in strict)
        )

    @cached_property
    def hidden(self) -> frozenset[int]:
        """Records that are suppressed where all others show ``*``: for a missing value, or held back by a boundary."""
        held = [(reader, self.ceiling(reader)) for reader in self.readers]
        above = {
            index
            for index, record in enumerate(self.records)
            if any(record[reader.name] in ceiling for reader, ceiling in held)
        }
        return self.forced | above

    def ceiling(self, reader: Reader) -> dict[Any, Cover]:
        """Return, for values that a boundary holds back, the most that may be shown of them."""
        return _ceilings(reader, tuple(self.role(reader.name).get("boundaries", ())))

    def persons(self, shows: Texts) -> int:
        """Count the population that a class could be."""
        covers = [cover_of(reader, shown) for reader, shown in zip(self.readers, shows, strict=True)]
        return sum(
            all(person[reader.name] in cover for reader, cover in zip(self.readers, covers, strict=True))
            for person in self.people
        )

    @cached_property
    def _orders(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The order and the paths of sensitive values, where they have some."""
        ranks, paths = {}, {}
        for name, role in self.sensitive.items():
            reader = Reader(name, self.kinds[name], [record[name] for record in self.records], role)
            ranked = _ranks(reader, role)
            if ranked is not None:
                ranks[name] = ranked
            if reader.levels is not None and role.get("hierarchy") == "tree":
                # the root is the top, whatever it is called: no level of its own below another top
                named = len(role["nodes"]) == 1 and "*" not in role["nodes"]
                below = reader.levels[: -2 if named else -1]
                paths[name] = {value: tuple(level[value] for level in below) for value in reader.domain}
        return ranks, paths

    def count(self, rows: list[Row], *, strict: bool = False) -> Counting:
        """Put published records beside what definitions need of the original."""
        ranks, paths = self._orders
        vague = any(row.shows[index] in reader.vague for index, reader in enumerate(self.readers) for row in rows)
        return Counting(
            columns=self.columns,
            rows=rows,
            whole=self.records,
            modes={name: role.get("missing", "own-value") for name, role in self.sensitive.items()},
            subject=self.policy.get("subject"),
            weight=self.policy.get("survey_weight"),
            ranks=ranks,
            paths=paths,
            persons=self.persons if self.people and not vague else None,
            population=len(self.people),
            strict=strict,
        )

    def judge_all(
        self, rows: list[Row], models: Sequence[Mapping[str, Any]] | None = None, *, strict: bool = False
    ) -> list[Judged]:
        """Judge every model of the policy over published records."""
        counting = self.count(rows, strict=strict)
        return [judge(model, counting) for model in (self.models if models is None else models) if model]


def cover_of(reader: Reader, shown: Any) -> Cover:
    """Return what a text covers, or what brute force shows in its place."""
    if isinstance(shown, frozenset):
        return shown
    if isinstance(shown, tuple) and shown[0] == "values":
        return shown[1]  # type: ignore[no-any-return]
    if isinstance(shown, tuple):
        return frozenset(value for value in reader.known if shown[1] <= value <= shown[2])
    return reader.cover(shown)


def _ranks(reader: Reader, role: Mapping[str, Any]) -> dict[Any, int] | None:
    order = role.get("order")
    if role.get("hierarchy") == "ordering" and order:
        numbers = {text: index for index, text in enumerate(order)}
        return {value: numbers[reader.text_of(value)] for value in reader.known if reader.text_of(value) in numbers}
    if reader.kind in ("integer", "float", "date", "datetime"):
        return {value: index for index, value in enumerate(reader.known)}
    return None


def _ceilings(reader: Reader, boundaries: tuple[str, ...]) -> dict[Any, Cover]:
    """A value stops at the first boundary on its way up; boundaries are drawn for trees and ``suppress`` only."""
    held: dict[Any, Cover] = {}
    for value in reader.known:
        if reader.text_of(value) in boundaries:
            held[value] = frozenset([value])
            continue
        under = [frozenset(reader.labels[label]) for label in boundaries if value in reader.labels.get(label, ())]
        if under:
            held[value] = min(under, key=len)
    return held


PRESETS: dict[str, Mapping[str, Any] | None] = {
    "ema-0070": {"name": "k-anonymity", "k": 11},
    "ihsn-3": {"name": "k-anonymity", "k": 3},
    "ihsn-5": {"name": "k-anonymity", "k": 5},
    "cms": {"name": "k-anonymity", "k": 11},
    "hipaa-safe-harbor": None,
}
"""What published rules ask for, by docs/weights.md."""
