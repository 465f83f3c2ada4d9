"""Spending: what answers with noise have cost, of the budget of a client and of a person."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from threading import Lock

from shoal.gateway.stores import Session


@dataclass(frozen=True)
class Budget:
    """What an answer with noise costs, and what all of them together may."""

    epsilon: float
    client: float
    person: float
    sources: frozenset[str]
    """The sources that are about the same persons."""


@dataclass(frozen=True)
class Spending:
    """What answers with noise about the same persons have cost; the same answer again costs nothing more.

    Examples
    --------
    >>> spent = Spending({("q1", "v"): 0.5, ("q2", "v"): 0.1}, frozenset({("q2", "v")})).add(("q1", "v"), 0.5)
    >>> float(spent.by_client), float(spent.by_all)
    (0.6, 0.6)
    """

    answers: Mapping[tuple[str, str], float]
    """The answers of everybody (what was asked, of which version) → epsilon."""
    own: frozenset[tuple[str, str]]
    """Those that one client has."""

    def add(self, answer: tuple[str, str], epsilon: float) -> Spending:
        """Return the same with one answer more of this client's."""
        return Spending({answer: epsilon, **self.answers}, self.own | {answer})

    @property
    def by_client(self) -> Fraction:
        """What the client has spent."""
        return sum((Fraction(repr(self.answers[answer])) for answer in self.own), Fraction(0))

    @property
    def by_all(self) -> Fraction:
        """What everybody has spent."""
        return sum((Fraction(repr(epsilon)) for epsilon in self.answers.values()), Fraction(0))

    def is_within(self, budget: Budget) -> bool:
        """Whether it is no more than may be spent."""
        return self.by_client <= Fraction(repr(budget.client)) and self.by_all <= Fraction(repr(budget.person))


class KnownSpending:
    """What answers with noise have cost, as far as it was read from the ledger; only entries that are new are read."""

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}
        self._entries: dict[str, dict[tuple[str, str, str], float]] = {}
        """Source → client, what was asked, and of which version → epsilon."""
        self._lock = Lock()

    def read(self, db: Session, client: str, sources: Collection[str], *, keep: bool = True) -> Spending:
        """Return what is spent on the persons of some sources, whoever spent it.

        ``keep``: remember it; not in a transaction, whose own entries may never have been.
        """
        answers: dict[tuple[str, str], float] = {}
        own: set[tuple[str, str]] = set()
        for source in sorted(sources):
            for (who, *answer), epsilon in self._read(db, source, keep).items():
                asked, version = answer
                answers[asked, version] = epsilon
                own |= {(asked, version)} if who == client else set()
        return Spending(answers, frozenset(own))

    def _read(self, db: Session, source: str, keep: bool) -> dict[tuple[str, str, str], float]:
        with self._lock:
            known, newest = self._entries.get(source, {}), self._newest.get(source, 0)
        chosen = "SELECT number, client, asked, version, said FROM entries WHERE number > ? AND source = ?"
        rows = db.execute(f"{chosen} ORDER BY number", (newest, source)).fetchall()
        if not rows:
            return known
        known = dict(known)
        for _, who, asked, version, said in rows:
            entry = json.loads(said)
            if entry["action"] == "count" and "epsilon" in entry:
                known[who, asked, version] = entry["epsilon"]
        with self._lock:
            if keep and rows[-1][0] > self._newest.get(source, 0):
                self._entries[source], self._newest[source] = known, rows[-1][0]
        return known
