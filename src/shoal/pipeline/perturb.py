"""perturb_columns(): the perturbations of a policy, applied to the records that are published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
import polars as pl

from shoal.encoding.types import Ints
from shoal.engines.base import Room, unlimited
from shoal.engines.columns import kind_of, to_plain
from shoal.engines.counted import COUNTS, CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.errors import Fault, Misfit, TableError, examples, nearest
from shoal.perturbations.base import ColumnValues, Microdata, Perturbation
from shoal.policy import Policy
from shoal.policy.published_columns import published_columns

_SECRET = 2**64
"""A seed below this could be guessed."""


@dataclass(frozen=True)
class NoRecoding:
    """What stands in the place of a recoding where there are no quasi-identifiers."""

    proof: None = None
    rounds: tuple[()] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return {"recoding": "none"}


@dataclass(frozen=True, kw_only=True)
class PerturbedParts:
    """What becomes of the perturbed columns of some records: one that occurs often may become several."""

    parts: Ints
    """The number of the record that each part is of."""
    counts: Ints
    """How often each part occurs."""
    columns: Mapping[str, pl.Series]
    """What each part shows of the perturbed columns."""
    bounds: tuple[float | None, ...] = ()
    """For each perturbation what it proved that no release under its promise stays below."""


def perturb_columns(
    named: CountedTable, records: CountedTable, policy: Policy, room: Room = unlimited
) -> PerturbedParts:
    """Return the perturbed columns of some records of a treated table.

    Records are put in the order of all that the perturbations look at, equal ones in that of what is published beside
    it; each stands there as often as it occurs. All that is random follows from the seed and from the values that are
    looked at. So neither the order of the table changes anything, nor whether its records were counted.

    Parameters
    ----------
    named
        The treated table.
    records
        The ``row`` of the table that each published record is, what is published of it beside what is perturbed, and
        how often it occurs.
    policy
        Says what is perturbed.
    room
        Raises where so many distinct records as there are afterwards do not fit.

    Raises
    ------
    Misfit
        Too few of the records are published, or what they hold cannot be perturbed.
    """
    own = np.arange(records.frame.height)
    if not policy.perturb:
        return PerturbedParts(parts=own, counts=records.record_counts, columns={})
    rows = records.frame["row"]
    columns = {name: to_plain(named.frame[name]).gather(rows) for name in columns_looked_at(policy)}
    order = _order_by_values([*columns.values(), *records.frame.drop("row")])
    order = np.repeat(order, records.record_counts[order])
    values = {name: to_values(column).take(order) for name, column in columns.items()}
    shown, bounds = _perturb_values(values, policy)
    series = {name: to_series(column) for name, column in shown.items()}
    if not records.is_counted:
        back = np.argsort(order)
        columns = {name: column.gather(pl.Series(back)) for name, column in series.items()}
        return PerturbedParts(parts=own, counts=records.record_counts, columns=columns, bounds=bounds)
    counted = _count_parts(order, series)
    room(counted.frame.height, named.frame.width)
    found = dict(zip(series, counted.frame.iter_columns(), strict=False))
    parts = counted.frame["part"].to_numpy()
    return PerturbedParts(parts=parts, counts=counted.record_counts, columns=found, bounds=bounds)


def _perturb_values(
    values: Mapping[str, ColumnValues], policy: Policy
) -> tuple[dict[str, ColumnValues], tuple[float | None, ...]]:
    weights = values[policy.survey_weight].numbers if policy.survey_weight is not None else None
    digest = _hash_values(values)
    changed: dict[str, ColumnValues] = {}
    bounds: list[float | None] = []
    for number, one in enumerate(policy.perturb):
        data = Microdata(
            columns={name: values[name] for name in (*one.columns, *one.reads)},
            weights=weights,
            rng=_start_random(policy, one, digest),
        )
        if faults := [_place(fault, number, one) for fault in _fit(one, data)]:
            raise Misfit(faults)
        perturbed = one.perturb(data)
        changed |= {name: perturbed.columns[name] for name in one.columns}
        bounds.append(perturbed.bound)
    return changed, tuple(bounds)


def _count_parts(records: Ints, columns: Mapping[str, pl.Series]) -> CountedTable:
    """Return how often each record shows what; the record is the last column, ``part``."""
    named = [column.alias(str(index)) for index, column in enumerate(columns.values())]
    table = pl.DataFrame([*named, pl.Series("part", records)])
    counted = table.group_by(table.columns, maintain_order=True).len(COUNTS)
    return CountedTable(counted.drop(COUNTS), counted[COUNTS].cast(pl.Int64))


def perturbation_faults(words: TableDictionary) -> Iterator[Fault]:
    """Yield what of a treated table stands in the way of its perturbations, whose seed can be guessed, and what nobody
    counts.
    """
    policy, frame = words.policy, words.table.frame
    yield from _uncounted(policy, frame.columns)
    unread = False
    for number, one in enumerate(policy.perturb):
        for name in (*one.columns, *one.reads):
            if name not in frame.columns:
                where = f"perturb[{number}].{name}"
                yield Fault("no such column in the table", where, hint=nearest(name, frame.columns))
                unread = True
    if unread or not policy.perturb or not frame.height:
        return
    weight = policy.survey_weight
    try:
        rows = np.repeat(np.arange(frame.height), words.table.record_counts)
        looked_at = [name for name in columns_looked_at(policy) if name in frame.columns]
        columns = {name: to_values(words.values(name)).take(rows) for name in looked_at}
    except TableError as error:
        yield from (replace(fault, where=f"perturb, {fault.where}") for fault in error.faults)
        return
    weights = columns[weight].numbers if weight in columns else None
    for number, one in enumerate(policy.perturb):
        data = Microdata(columns={name: columns[name] for name in (*one.columns, *one.reads)}, weights=weights)
        yield from (_place(fault, number, one) for fault in _fit(one, data))
    if any(one.is_random for one in policy.perturb) and policy.seed < _SECRET:
        hint = "draw a secret one: python -c 'import secrets; print(secrets.randbits(128))'"
        what = "can be guessed; who also knows all other records could then draw the numbers again"
        yield Fault(what, "seed", str(policy.seed), hint, "warning")


def _uncounted(policy: Policy, names: Sequence[str]) -> Iterator[Fault]:
    """Yield the columns without a role that are published as they are where no class of records is counted."""
    if not policy.perturb or policy.quasi_identifiers:
        return
    declared = {*policy.perturbed, *policy.sensitive, *policy.pseudonyms.values()}
    raw = [name for name in published_columns(names, policy) if name not in declared]
    if raw:
        what = "published as they are, and nobody counts how many records share what they show"
        hint = "make those that somebody may know quasi-identifiers, with models; or say others: drop"
        yield Fault(what, "others", examples(raw), hint, "warning")


def _fit(one: Perturbation, data: Microdata) -> Iterator[Fault]:
    if data.records < one.least_records:
        what, hint = "needs more records than there are", f"ask for at most {data.records:,}"
        yield Fault(what, "k" if "k" in type(one).model_fields else "", f"{one.least_records} of {data.records}", hint)
        return
    yield from one.faults(data)


def _place(fault: Fault, number: int, one: Perturbation) -> Fault:
    where = f"perturb[{number}].{fault.where}" if fault.where else f"perturb[{number}] ({one.key()})"
    return replace(fault, where=where)


def columns_looked_at(policy: Policy) -> list[str]:
    """Return the columns that perturbations look at, each once."""
    weight = () if policy.survey_weight is None else (policy.survey_weight,)
    return list(dict.fromkeys([*(name for one in policy.perturb for name in (*one.columns, *one.reads)), *weight]))


def to_values(column: pl.Series) -> ColumnValues:
    """Return a plain column as arrays.

    Examples
    --------
    >>> to_values(pl.Series(["b", None, "a"])).codes
    array([ 1, -1,  0])
    """
    kind, missing = kind_of(column), column.is_null().to_numpy()
    if kind in ("text", "boolean"):
        texts = column.cast(pl.String)
        categories = texts.drop_nulls().unique().sort()
        codes = texts.cast(pl.Enum(categories)).to_physical().cast(pl.Int64).fill_null(0)
        return ColumnValues(kind, codes.to_numpy(), missing, tuple(categories.to_list()))
    return ColumnValues(kind, column.to_physical().fill_null(0).to_numpy(), missing)


_TYPES: Mapping[str, type[pl.DataType] | pl.DataType] = {
    "integer": pl.Int64,
    "float": pl.Float64,
    "date": pl.Date,
    "datetime": pl.Datetime("us"),
}


def to_series(column: ColumnValues) -> pl.Series:
    """Return a plain column of arrays: numbers stay numbers, and dates dates."""
    present = pl.Series(~column.missing)
    if column.kind in ("text", "boolean"):
        texts = pl.Series(list(column.categories), dtype=pl.String)
        places = pl.Series(column.values.astype(np.int64)).set(~present, None)
        shown = texts.gather(places) if len(texts) else pl.Series([None] * len(column), dtype=pl.String)
        return shown == "true" if column.kind == "boolean" else shown
    kind = _TYPES[column.kind]
    values = pl.Series(column.values)
    if kind in (pl.Date,):
        values = values.cast(pl.Int32)
    # no negative zero: it is written otherwise than zero
    plain = values.cast(kind) if column.kind != "float" else values.cast(pl.Float64).set(values == 0.0, 0.0)
    return plain.set(~present, None) if column.missing.any() else plain


def _order_by_values(columns: Sequence[pl.Series]) -> Ints:
    """Return the order of records by what they hold; equal ones stay in theirs."""
    keys = [str(index) for index in range(len(columns))]
    table = pl.DataFrame([column.alias(key) for key, column in zip(keys, columns, strict=True)])
    return table.with_row_index("row").sort([*keys, "row"], nulls_last=False)["row"].cast(pl.Int64).to_numpy()


def _hash_values(columns: Mapping[str, ColumnValues]) -> bytes:
    digest = sha256()
    for name, column in columns.items():
        values = np.where(column.missing, 0, column.values)
        for part in (name, column.kind, "\0".join(column.categories)):
            digest.update(part.encode() + b"\0")
        digest.update(np.ascontiguousarray(values).tobytes() + np.packbits(column.missing).tobytes())
    return digest.digest()


def _start_random(policy: Policy, one: Perturbation, digest: bytes) -> np.random.Generator:
    """Return random numbers that follow from the seed, the perturbation and the values that it is about."""
    about = "\0".join([str(policy.seed), one.key(), *one.columns]).encode()
    return np.random.default_rng(int.from_bytes(sha256(about + digest).digest(), "big"))
