"""measure_losses(): what a published table lost, by every metric that it can be measured with."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.auditing.census import Counted
from shoal.auditing.meanings import Meanings, meanings_of
from shoal.auditing.minorities import count_minorities
from shoal.auditing.original import OriginalTable
from shoal.engines.counted import CountedTable
from shoal.errors import Fault
from shoal.policy import Policy
from shoal.registry import find, names
from shoal.utility.base import Measured, Metric, Outcome
from shoal.utility.kl_divergence import divergence


def _diverged(meaning: Meanings, suppressed: int) -> float:
    return divergence(meaning.original, meaning.implied + suppressed / max(meaning.distinct, 1))


def measure_losses(
    published: CountedTable, original: OriginalTable, counted: Counted, policy: Policy
) -> tuple[dict[str, Measured], dict[str, dict[str, Any]], list[Fault]]:
    """Return the losses by name, what became of each column, and what is wrong with its texts."""
    keys, readers = list(policy.quasi_identifiers), original.readers
    suppressed = counted.starred + max(original.table.records - published.records, 0)
    classes = counted.classes.filter(~counted.is_starred)
    faults: list[Fault] = []
    sizes = classes["records"].to_numpy().astype(np.int64)
    meanings: list[Meanings] = []
    shown: dict[str, int] = {}
    for index, name in enumerate(keys):
        meaning, unread = meanings_of(classes[f"q{index}"], sizes, readers[name])
        meanings.append(meaning)
        faults += unread
        shown[name] = counted.classes[f"q{index}"].n_unique()
    outcome = Outcome(
        records=next(iter(readers.values())).total,
        columns=tuple(keys),
        weights=np.array([policy.quasi_identifiers[name].weight for name in keys]),
        suppressed=suppressed,
        classes=classes.height,
        squares=int((sizes * sizes).sum()),
        penalty=np.array([sizes @ meaning.penalties for meaning in meanings]),
        exact=np.array([sizes @ (meaning.penalties == 0.0) for meaning in meanings], np.float64),
        generalization_height=np.array([sizes @ meaning.climbs for meaning in meanings]),
        log_cover_size=np.array([sizes @ np.log2(np.maximum(meaning.stands_for, 1)) for meaning in meanings]),
        log_value_counts=np.array([meaning.log_value_counts for meaning in meanings]),
        distinct=np.array([meaning.distinct for meaning in meanings], np.float64),
        heights=np.array([meaning.height for meaning in meanings], np.float64),
        starred=counted.starred,
        k=policy.k,
        values=np.array([sizes @ meaning.values for meaning in meanings]),
        divergence=np.array([_diverged(meaning, suppressed) for meaning in meanings]),
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
