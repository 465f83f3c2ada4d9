"""OwnerOverview: who got what of an owner's tables, and what is left of each client's allowance."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from threading import Lock
from typing import Any

from shoal.gateway.mediator import Gateway
from shoal.gateway.owned_tables import OwnedTable

NEWEST = 50
"""Answers that are shown."""
_AT_ONCE = 10_000
"""Entries that are read at once."""


class OwnerOverview:
    """What an owner may know of its tables: clients, names of columns, weights, times; no value.

    The ledger is read once; then only what is new in it.
    """

    def __init__(self, gateway: Gateway, owner: str) -> None:
        self._gateway, self._owner = gateway, owner
        self._read_to = 0
        self._newest: deque[dict[str, Any]] = deque(maxlen=NEWEST)
        self._raw: dict[tuple[str, str], dict[str, float]] = {}
        """Client and source → the columns that the client has as they are, with their weights."""
        self._answers: Counter[tuple[str, str]] = Counter()
        self._last: dict[tuple[str, str], str] = {}
        self._lock = Lock()

    def read(self) -> dict[str, Any]:
        """Return the allowances of each client and table, and the newest answers, newest first."""
        with self._lock:
            while entries := self._gateway.ledger.entries(after=self._read_to, most=_AT_ONCE, owner=self._owner):
                for entry in entries:
                    self._add(entry)
                self._read_to = entries[-1]["number"]
            return {"allowances": list(self._list_allowances()), "answers": list(self._newest)[::-1]}

    def _add(self, entry: dict[str, Any]) -> None:
        key, names = (entry["client"], entry["tabled"]), entry["weights"]
        if not names:
            return
        self._answers[key] += 1
        self._last[key] = entry["at"]
        columns = sorted(name.rpartition(".")[2] for name in names)
        shown = {name: entry[name] for name in ("at", "client", "action", "request")}
        self._newest.append({**shown, "table": entry["tabled"], "columns": columns})
        for name, weight in names.items() if entry["action"] == "release" else ():
            source, _, column = name.rpartition(".")
            self._raw.setdefault((entry["client"], source), {})[column] = weight

    def _list_allowances(self) -> Iterator[dict[str, Any]]:
        tables = self._gateway.list_tables_of(self._owner)
        for client, said in self._gateway.config.clients.items():
            for table in tables if "client" in said.roles else ():
                yield self._measure_allowance(client, table)

    def _measure_allowance(self, client: str, table: OwnedTable) -> dict[str, Any]:
        """Return what a client has of a table as it is, and what is left; columns of tables about the same persons are
        weighed together."""
        had = {
            column: weight
            for source in sorted(table.related_sources)
            for column, weight in self._raw.get((client, source), {}).items()
        }
        total, threshold = sum(had.values()), table.policy.threshold
        return {
            "client": client,
            "table": table.name,
            "had": sorted(had),
            "total": total,
            "threshold": threshold,
            "left": None if threshold is None else max(0.0, threshold - total),
            "answers": self._answers[client, table.name],
            "last": self._last.get((client, table.name), ""),
        }
