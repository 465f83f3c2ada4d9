"""losses(): what a published table lost, by every metric that it can be measured with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.auditing.census import Counted
from shoal.auditing.minorities import minorities
from shoal.auditing.reading import Meanings, Reader, meanings_of
from shoal.engines.counted import Times
from shoal.errors import Fault
from shoal.policy import Policy
from shoal.registry import find, names
from shoal.utility.base import Measured, Metric, Outcome
from shoal.utility.kl_divergence import divergence


def _diverged(meaning: Meanings, suppressed: int) -> float:
    return divergence(meaning.original, meaning.implied + suppressed / max(meaning.distinct, 1))


def losses(
    frame: pl.DataFrame,
    counted: Counted,
    policy: Policy,
    left_out: int,
    readers: Mapping[str, Reader],
    times: Times = None,
) -> tuple[dict[str, Measured], dict[str, dict[str, Any]], list[Fault]]:
    """Return the losses by name, what became of each column, and what is wrong with its texts."""
    keys = list(policy.quasi_identifiers)
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
        next(iter(readers.values())).total,
        tuple(keys),
        np.array([policy.quasi_identifiers[name].weight for name in keys]),
        counted.starred + left_out,
        classes.height,
        int((sizes * sizes).sum()),
        np.array([sizes @ meaning.penalties for meaning in meanings]),
        np.array([sizes @ (meaning.penalties == 0.0) for meaning in meanings], np.float64),
        np.array([sizes @ meaning.climbs for meaning in meanings]),
        np.array([sizes @ np.log2(np.maximum(meaning.stands_for, 1)) for meaning in meanings]),
        np.array([meaning.log_value_counts for meaning in meanings]),
        np.array([meaning.distinct for meaning in meanings], np.float64),
        np.array([meaning.height for meaning in meanings], np.float64),
        counted.starred,
        policy.k,
        values=np.array([sizes @ meaning.values for meaning in meanings]),
        divergence=np.array([_diverged(meaning, counted.starred + left_out) for meaning in meanings]),
        texts=np.array([shown[name] for name in keys], np.float64),
        minorities=minorities(frame, counted, policy, times),
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
