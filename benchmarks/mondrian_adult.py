"""Mondrian on Adult: 30,162 records, eight quasi-identifiers, k = 10; the peer is anjana (greedy, full-domain)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import shoal
from benchmarks import data, peers
from benchmarks.results import Result, timed
from shoal.auditing import Audit
from shoal.testing import encode_table

NAME = "mondrian_adult"
_SUPPRESSIONS = (0, 5)


def run() -> Iterator[Result]:
    """Yield the times of the search and of the whole, then what each loses."""
    table, policy = data.complete_adult(), data.eight_column_policy()
    release = shoal.anonymize(table, policy)  # warms up
    encoded = encode_table(table, policy)
    search, _ = timed(lambda: policy.algorithm.search(encoded.problem(policy)), 9)
    whole, _ = timed(lambda: shoal.anonymize(table, policy), 7)
    answer = peers.anjana()
    theirs: dict[str, Any] = answer or {}
    peer = f"anjana {answer['version']}" if answer else ""
    yield Result(NAME, "search only, k=10", search.wall, target=0.5, cpu=search.cpu)
    yield Result(
        NAME,
        "anonymize() with audit, k=10",
        whole.wall,
        target=0.5,
        peer=peer,
        theirs=theirs.get("wall"),
        cpu=whole.cpu,
        their_cpu=theirs.get("cpu"),
    )
    lost = _lost(release.audit)
    for share in _SUPPRESSIONS:
        yield _loss(f"loss, peer may suppress {share} %", lost, share)
    for share in _SUPPRESSIONS:
        optimal = policy.replace(algorithm="exhaustive", max_suppressed=share / 100)
        lost = _lost(shoal.anonymize(table, optimal).audit)
        yield _loss(f"loss, ours full-domain too, both {share} %", lost, share)


def _loss(figure: str, ours: float, suppression: int) -> Result:
    """Compare certainty penalties; our audit reads the peer's table, a record that it dropped counts 1 per cell."""
    answer = peers.anjana(suppression)
    if answer is None or answer.published is None:
        return Result(NAME, figure, ours, "")
    policy = data.eight_column_policy()
    published = answer.published.select(*data.EIGHT, "income")
    audit = shoal.audit(published, policy, original=data.complete_adult())
    note = f"the peer is full-domain; it attains k={audit.models[0].attained}, {audit.suppressed:,} suppressed"
    peer = f"anjana {answer['version']}"
    return Result(NAME, figure, ours, "", peer=peer, theirs=_lost(audit), note=note)


def _lost(audit: Audit) -> float:
    return audit.utility["certainty-penalty"].total
