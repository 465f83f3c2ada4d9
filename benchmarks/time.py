"""Ten monthly releases of a hospital: what is held back, what is lost beside a single release, what attacks find."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import shoal
from benchmarks.hospital import Hospital
from benchmarks.results import Result

NAME = "time"
_PATIENTS, _FEWER, _MONTHS = 50_000, 10_000, 10
_OVER_TIME = ("complementary-release", "temporal", "composition")
_ROLES: dict[str, Any] = {
    "subject": "patient",
    "quasi_identifiers": {"age": {}, "sex": {"hierarchy": "suppress"}, "zip": {}, "days": {}},
    "sensitive": ["illness"],
    "models": [{"name": "k-anonymity", "k": 5}, {"name": "distinct-l-diversity", "on": "illness", "l": 3}],
    "max_suppressed": 0.01,
}
_SERIES = {**_ROLES, "series": {"way": "m-invariance", "m": 3}}


def run() -> Iterator[Result]:
    """Yield the figures of a series of many, and the attacks on one of fewer."""
    began, releases, last = time.process_time(), list[shoal.Release](), None
    for table in Hospital(_PATIENTS).months(_MONTHS):
        releases.append(shoal.anonymize(table, _SERIES, after=last))
        last, newest = releases[-1], table
    seconds = (time.process_time() - began) / _MONTHS
    yield Result(NAME, "a release of 50,000, m-invariance", seconds, target=10.0)
    held = max(release.suppressed for release in releases)
    yield Result(NAME, "held back or *, at most", 100 * held, "%", target=1.0)
    losses = [release.loss for release in releases]
    same = shoal.anonymize(newest, _SERIES)
    note = "beside a single release of the same table and the same promise"
    yield Result(NAME, "loss of the tenth release", losses[-1] / same.loss, "x", target=1.3, note=note)
    yield Result(NAME, "mean loss of ten", sum(losses) / _MONTHS / same.loss, "x", target=1.3)
    alone = shoal.anonymize(newest, _ROLES)
    note = f"loss {losses[-1]:.4f}; {alone.loss:.4f} where nobody compares releases"
    yield Result(NAME, "the same beside k and l alone", losses[-1] / alone.loss, "x", note=note)
    yield Result(NAME, "attacks over ten months that find somebody", _attack(), "", target=0.5)


def _attack() -> float:
    """Return how many attacks on the last release with all earlier ones find somebody."""
    last, tables = None, []
    for table in Hospital(_FEWER).months(_MONTHS):
        last = shoal.anonymize(table, _SERIES, after=last)
        tables.append(last.table)
    assert last is not None
    attacked = shoal.audit(
        tables[-1], _SERIES, original=table, earlier=tables[:-1], attacks=_OVER_TIME, owner=last.owner
    )
    return float(len(attacked.attacks.leaks))
