"""measure_losses(): what a published table lost, by every metric that it can be measured with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.auditing.census import CountedClasses
from shoal.auditing.original import OriginalTable
from shoal.auditing.reading import Reader
from shoal.auditing.readings import Readings
from shoal.auditing.texts import number_texts, read_texts
from shoal.auditing.value_counts import count_pairs
from shoal.encoding.domains import STAR
from shoal.encoding.types import Floats, Ints
from shoal.engines.counted import CountedTable
from shoal.errors import Fault, examples
from shoal.policy import Policy
from shoal.registry import find, names
from shoal.utility.base import Measured, Metric, Outcome
from shoal.utility.kl_divergence import divergence


@dataclass(frozen=True, kw_only=True)
class ColumnLoss:
    """What the published texts of a column say, one entry per class."""

    penalties: Floats
    """The share of the domain that the text leaves open."""
    climbs: Floats
    """The lowest level of the hierarchy that is as wide as the text, as a share of its height."""
    stands_for: Floats
    """Records of the original whose value the text could stand for."""
    log_value_counts: float
    """log2 of the original records with the same value, summed over the original."""
    distinct: int
    """Values of the domain."""
    height: int
    """The number of the hierarchy's top level."""
    values: Floats
    """Values of the domain that the text could stand for."""
    original: Floats
    """Records of the original with each value; the missing one is the last, where it is a value."""
    implied: Floats
    """The same for the classes' records, those of a text spread evenly over the values that it could stand for."""


def measure_column(texts: pl.Series, sizes: Ints, reader: Reader) -> tuple[ColumnLoss, list[Fault]]:
    """Return what the text of each class says, classes having these sizes, and what is wrong with the texts."""
    distinct, indices = number_texts(texts)
    readings = reader.read(distinct)
    # what nobody can read tells nothing
    silent = reader.shows_nothing(distinct, readings)
    covers = readings.covers(blank=reader.blank, open_=silent)
    original = np.append(reader.records, [reader.missing] * reader.blank).astype(np.float64)
    records = np.bincount(indices, sizes, minlength=len(distinct)).astype(np.float64)
    return ColumnLoss(
        penalties=np.where(readings.is_read, readings.penalties, 1.0)[indices],
        climbs=np.where(silent, reader.climb(STAR), readings.climbs)[indices],
        stands_for=covers.sums(original)[indices],
        log_value_counts=reader.log_value_counts,
        distinct=reader.size,
        height=reader.height,
        values=np.maximum(covers.sizes, 1).astype(np.float64)[indices],
        original=original,
        implied=covers.spread(records),
    ), _text_faults(distinct, readings, reader)


def _text_faults(texts: Sequence[str | None], readings: Readings, reader: Reader) -> list[Fault]:
    unread = sorted(str(texts[index]) for index in np.flatnonzero(~readings.is_read).tolist())
    beyond = sorted(text for text in texts if text is not None and reader.is_beyond(text)) if reader.bounds else []
    faults = []
    if unread:
        what = "published values that are no value, label, range or set of the column"
        # where nothing is promised a text that we cannot read breaks nothing: k and the like were counted from texts
        hint = (
            "they count as if they showed nothing; give the hierarchy that they are labels of" if reader.foreign else ""
        )
        faults.append(Fault(what, reader.name, examples(unread), hint, kind="note" if reader.foreign else "fault"))
    if beyond:
        faults.append(Fault("published above a boundary", where=reader.name, got=examples(beyond)))
    return faults


def count_minorities(published: CountedTable, counted: CountedClasses, policy: Policy) -> dict[str, int]:
    """Return for each published sensitive column the kept records in the minority of their class."""
    kept = ~counted.is_starred.to_numpy()
    records = counted.classes["records"].cast(pl.Int64).to_numpy()
    found = {}
    for name in policy.sensitive:
        if name in published.frame.columns:
            values = pl.Series(number_texts(read_texts(published.frame[name]))[1])
            held, most = count_pairs(values, counted.of_each, published), np.zeros(len(records), np.int64)
            np.maximum.at(most, held["class"].to_numpy(), held["count"].to_numpy())
            found[name] = int((records - most)[kept].sum())
    return found


def _diverge(loss: ColumnLoss, suppressed: int) -> float:
    return divergence(loss.original, loss.implied + suppressed / max(loss.distinct, 1))


def measure_losses(
    published: CountedTable, original: OriginalTable, counted: CountedClasses, policy: Policy
) -> tuple[dict[str, Measured], dict[str, dict[str, Any]], list[Fault]]:
    """Return the losses by name, what became of each column, and what is wrong with its texts."""
    keys, readers = list(policy.quasi_identifiers), original.readers
    suppressed = counted.starred + max(original.table.records - published.records, 0)
    classes = counted.classes.filter(~counted.is_starred)
    faults: list[Fault] = []
    sizes = classes["records"].to_numpy().astype(np.int64)
    losses: list[ColumnLoss] = []
    shown: dict[str, int] = {}
    for index, name in enumerate(keys):
        loss, unread = measure_column(classes[f"q{index}"], sizes, readers[name])
        losses.append(loss)
        faults += unread
        shown[name] = counted.classes[f"q{index}"].n_unique()
    outcome = Outcome(
        records=next(iter(readers.values())).total,
        columns=tuple(keys),
        weights=np.array([policy.quasi_identifiers[name].weight for name in keys]),
        suppressed=suppressed,
        classes=classes.height,
        squares=int((sizes * sizes).sum()),
        penalty=np.array([sizes @ loss.penalties for loss in losses]),
        exact=np.array([sizes @ (loss.penalties == 0.0) for loss in losses], np.float64),
        generalization_height=np.array([sizes @ loss.climbs for loss in losses]),
        log_cover_size=np.array([sizes @ np.log2(np.maximum(loss.stands_for, 1)) for loss in losses]),
        log_value_counts=np.array([loss.log_value_counts for loss in losses]),
        distinct=np.array([loss.distinct for loss in losses], np.float64),
        heights=np.array([loss.height for loss in losses], np.float64),
        starred=counted.starred,
        k=policy.k,
        values=np.array([sizes @ loss.values for loss in losses]),
        divergence=np.array([_diverge(loss, suppressed) for loss in losses]),
        texts=np.array([shown[name] for name in keys], np.float64),
        minorities=count_minorities(published, counted, policy),
    )
    measured: dict[str, Measured] = {}
    for name in names("utility"):
        metric = policy.loss if name == policy.loss.key() else find("utility", name)()
        assert isinstance(metric, Metric)
        if metric.known(outcome):
            measured[name] = metric.measure(outcome)
    lost = measured["certainty-penalty"].columns
    columns = {
        name: {"before": readers[name].occurring, "after": shown[name], "certainty-penalty": lost[name]}
        for name in keys
    }
    return measured, columns, faults
