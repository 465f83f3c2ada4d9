"""gather_evidence(): tables in, all that attackers look at out, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np
import polars as pl

from shoal.auditing.attacks import AttackPlan
from shoal.auditing.census import CountedClasses
from shoal.auditing.coverage import ReadColumn, read_coverage
from shoal.auditing.original import OriginalTable
from shoal.auditing.owner import OwnerView
from shoal.auditing.record_pairs import beside_the_owner
from shoal.auditing.texts import find_indices, read_columns
from shoal.auditing.value_counts import SensitiveValues
from shoal.encoding.types import Floats, Ints, Progress
from shoal.engines.columns import to_plain
from shoal.engines.counted import CountedTable
from shoal.errors import Fault, Misfit, nearest
from shoal.models.base import PrivacyModel
from shoal.policy import Policy
from shoal.risk._matching import find_matches
from shoal.risk.base import Attribute, Diversity, Evidence, KnownPersons, OtherTable, PublishedClasses


@dataclass(frozen=True)
class AttackTables:
    """What was given for attacks, beside the release."""

    original: OriginalTable | None = None
    external: pl.DataFrame | None = None
    earlier: tuple[pl.DataFrame, ...] = ()
    owner: OwnerView = field(default_factory=OwnerView, repr=False)

    @classmethod
    def of(cls, plan: AttackPlan, original: OriginalTable | None, policy: Policy, owner: OwnerView) -> AttackTables:
        """Return what attacks look at, or raise where a table is none that the release can be compared with."""
        tables = cls(original, plan.external, plan.earlier, owner)
        tables.check(policy)
        return tables

    @property
    def raw(self) -> pl.DataFrame | None:
        """The records of the original."""
        return None if self.original is None else self.original.frame

    def check(self, policy: Policy) -> None:
        """Raise where a table is none that the release can be compared with."""
        columns, faults = list(policy.quasi_identifiers), []
        if self.external is not None and not set(columns) & set(self.external.columns):
            hint = nearest(columns[0], self.external.columns)
            got = ", ".join(self.external.columns)
            faults.append(Fault("has none of the quasi-identifiers", "external", got, hint))
        for number, table in enumerate(self.earlier):
            missing = [name for name in columns if name not in table.columns]
            if missing:
                hint = nearest(missing[0], table.columns)
                faults.append(Fault("lacks quasi-identifiers", f"earlier[{number}]", ", ".join(missing), hint))
        if faults:
            raise Misfit(faults)


def evidence_at_hand(counted: CountedClasses, policy: Policy) -> Evidence:
    """Return what every audit has counted: the classes, how many values they have, whom of a population they match."""
    distinct = counted.census.values or None
    return Evidence(
        counted.census.sizes,
        max(policy.k, 2),
        distinct,
        tuple(policy.quasi_identifiers),
        population=counted.census.persons,
    )


def gather_evidence(
    frame: pl.DataFrame, tables: AttackTables, policy: Policy, counted: CountedClasses, progress: Progress
) -> tuple[Evidence, str]:
    """Return all that can be known from the tables; and why texts could not be read, where they are too many."""
    base, columns = evidence_at_hand(counted, policy), tuple(policy.quasi_identifiers)
    keys = [f"q{index}" for index in range(len(columns))]
    before = [pl.DataFrame(read_columns(table, columns)) for table in tables.earlier]
    texts = [
        list(dict.fromkeys(value for table in (counted.classes, *before) for value in table[key].unique().to_list()))
        for key in keys
    ]
    release = _published(
        pl.DataFrame(read_columns(frame, columns)), counted.classes.select(keys), texts, counted.census.sizes
    )
    progress("reading what published texts stand for", 0, 0)
    read, unread = _read(texts, tables, policy)
    known = replace(
        base,
        release=release,
        persons=None if policy.subject is None else _persons(tables.owner.subjects, frame.height),
        sensitive=_attributes(frame, tables.raw, policy) or None,
        earlier=tuple(_earlier(frame, *pair, texts, policy) for pair in zip(tables.earlier, before, strict=True))
        or None,
        asked=_asked(policy),
        **beside_the_owner(frame, tables.raw, policy, tables.owner, release),
        seed=policy.seed,
        progress=progress,
    )
    return (_with_meanings(known, frame, tables, policy, read) if read else known), unread


def _with_meanings(
    known: Evidence, frame: pl.DataFrame, tables: AttackTables, policy: Policy, read: Sequence[ReadColumn]
) -> Evidence:
    """Add whom texts may stand for: the persons of the original and of the external table."""
    assert known.release is not None
    meaning = tuple(one.meaning for one in read)
    original, values, population = None, None, known.population
    if tables.raw is not None:
        values = np.stack([one.codes(tables.raw[name]) for one, name in zip(read, known.columns, strict=True)], axis=1)
        original = _beside(frame, tables.raw, policy, values=values)
    external = None if tables.external is None else _people(tables.external, known.columns, read)
    if population is None and external is not None:
        population = np.zeros(len(known.sizes), np.int64)
        for index, found in find_matches(known.release, meaning, external.tuples):
            population[index] = external.counts[found].sum()
    return replace(
        known,
        meaning=meaning,
        external=external,
        population=population,
        original=original,
        people=external if values is None else _distinct(values),
    )


def _persons(subjects: pl.Series | None, records: int) -> Ints | None:
    """Return the person of each record; those of another table are told as a fault and not used."""
    if subjects is None or len(subjects) != records:
        return None
    return subjects.alias("people").rank("dense").cast(pl.Int64).to_numpy()


def _published(
    shown: pl.DataFrame, classes: pl.DataFrame, texts: Sequence[list[str | None]], sizes: Ints
) -> PublishedClasses:
    """Return a release in numbers; classes are numbered in their order."""
    numbered = classes.with_row_index("class")
    joined = shown.join(numbered, on=shown.columns, how="left", nulls_equal=True, maintain_order="left")
    codes = [find_indices(classes[key], known) for key, known in zip(classes.columns, texts, strict=True)]
    return PublishedClasses(joined["class"].cast(pl.Int64).to_numpy(), np.stack(codes, axis=1), sizes)


def _read(texts: Sequence[list[str | None]], tables: AttackTables, policy: Policy) -> tuple[list[ReadColumn], str]:
    """Return what the texts of each column stand for; nothing, and why, where they cannot be read."""
    if tables.raw is None and tables.external is None:
        return [], ""
    read = []
    for name, shown in zip(policy.quasi_identifiers, texts, strict=True):
        one = read_coverage(shown, tables.original, tables.external, name, policy)
        if one is None:
            return [], f"{name} has too many different texts and values to compare each with each"
        if one.unread and tables.raw is None:
            return [], f"what {one.unread} texts of {name} stand for cannot be told without the original"
        read.append(one)
    return read, ""


def _people(table: pl.DataFrame, columns: Sequence[str], read: Sequence[ReadColumn]) -> KnownPersons:
    """Return the persons of an external table; a quasi-identifier that it lacks is not known."""
    nothing = np.full(table.height, -1, np.int64)
    codes = [
        one.codes(table[name], unknown=-1) if name in table.columns else nothing
        for one, name in zip(read, columns, strict=True)
    ]
    return _distinct(np.stack(codes, axis=1))


def _distinct(values: Ints) -> KnownPersons:
    table = pl.DataFrame(values, schema=[str(index) for index in range(values.shape[1])], orient="row")
    counted = table.group_by(table.columns).agg(pl.len().alias("count")).sort(table.columns)
    return KnownPersons(counted.select(table.columns).to_numpy(), counted["count"].cast(pl.Int64).to_numpy())


def _attributes(frame: pl.DataFrame, raw: pl.DataFrame | None, policy: Policy) -> dict[str, Attribute]:
    found = {}
    for name, role in policy.sensitive.items():
        if name not in frame.columns:
            continue
        original = CountedTable(raw) if raw is not None and name in raw.columns else None
        values = SensitiveValues.of(CountedTable(frame), original, name, role)
        numbers = [_valued(table[name], values) for table in (frame, frame if raw is None else raw)]
        known = numbers[1][numbers[1] >= 0]
        table = np.bincount(known, minlength=len(values.texts)).astype(np.int64)
        found[name] = Attribute(numbers[0], table, _levels(values), _as_numbers(values))
    return found


def _valued(column: pl.Series, values: SensitiveValues) -> Ints:
    """Return the value of each record; -1 may be any."""
    codes = values.numbers(column).to_numpy().copy()
    if values.missing in ("wildcard", "suppress"):
        codes[to_plain(column).is_null().to_numpy()] = -1
    return codes


def _levels(values: SensitiveValues) -> Ints | None:
    if values.paths is None:
        return None
    rows = list(zip(*values.paths, strict=True))
    return np.array([np.unique(row, return_inverse=True)[1] for row in rows], np.int64).reshape(len(rows), -1)


def _as_numbers(values: SensitiveValues) -> Floats | None:
    numbers = pl.Series(values.texts, dtype=pl.String).cast(pl.Float64, strict=False)
    return None if numbers.null_count() or not len(numbers) else numbers.to_numpy()


def _earlier(
    frame: pl.DataFrame, table: pl.DataFrame, shown: pl.DataFrame, texts: Sequence[list[str | None]], policy: Policy
) -> OtherTable:
    counted = shown.group_by(shown.columns).agg(pl.len().alias("records")).sort(shown.columns, nulls_last=False)
    sizes = counted["records"].cast(pl.Int64).to_numpy()
    return _beside(frame, table, policy, _published(shown, counted.select(shown.columns), texts, sizes))


def _beside(
    frame: pl.DataFrame,
    table: pl.DataFrame,
    policy: Policy,
    release: PublishedClasses | None = None,
    values: Ints | None = None,
) -> OtherTable:
    """Return another table beside the release, with what both publish as it is."""
    names = [name for name in frame.columns if name in table.columns and name not in policy.quasi_identifiers]
    alone = {name: _together(frame, table, [name]) for name in names if name in policy.sensitive}
    return OtherTable(_together(frame, table, names) if names else None, alone, release, values)


def _together(frame: pl.DataFrame, table: pl.DataFrame, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Return the number of what each record of both tables shows in some columns, in their order."""
    codes = np.zeros(frame.height + table.height, np.int64)
    for name in names:
        mine, theirs = to_plain(frame[name]), to_plain(table[name])
        if mine.dtype != theirs.dtype:
            mine, theirs = mine.cast(pl.String), theirs.cast(pl.String)
        ranks = pl.concat([mine, theirs]).alias("values").rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
        codes = codes * (int(ranks.max(initial=0)) + 1) + ranks
        codes = codes if len(names) == 1 else np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return codes[: frame.height], codes[frame.height :]


def _asked(policy: Policy) -> dict[str, Diversity]:
    """Return what is asked of the values of a class; nothing of columns that the search did not look at."""
    if policy.algorithm.data_independent:
        return {}
    asked: dict[str, Diversity] = {}
    for model in policy.models:
        for name in model.sensitive_columns:
            if name not in model.hidden_columns:
                one, old = _diversity(model), asked.get(name, Diversity())
                asked[name] = Diversity(min(old.share, one.share), max(old.distinct, one.distinct))
    return asked


def _diversity(model: PrivacyModel) -> Diversity:
    """Return what a model asks of one column; of several that are taken as one it asks nothing of each."""
    if len(model.sensitive_columns) > 1:
        return Diversity()
    distinct = getattr(model, "l", None) or getattr(model, "p", None) or 1
    share = getattr(model, "alpha", None) or getattr(model, "confidence", None) or 1.0
    return Diversity(share, ceil(distinct))
