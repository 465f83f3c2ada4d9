"""AnswerService: what is done for one request: the answer that was kept, or a new one, which is kept."""

from __future__ import annotations

import time
from typing import Any

from shoal.errors import LedgerError
from shoal.gateway.formats import Reply
from shoal.gateway.mediator import Gateway
from shoal.gateway.releases import Releases

_FRESH = 2.0
"""Seconds for which it need not be looked again whether owners can be reached."""


class AnswerService:
    """Answers requests, and gives earlier answers again.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from shoal import datasets
    >>> from shoal.gateway.config import GatewayConfig
    >>> folder = Path(tempfile.mkdtemp())
    >>> datasets.employees().write_csv(folder / "people.csv")
    >>> north = {"database": {"files": {"people": str(folder / "people.csv")}},
    ...          "tables": {"people": {"policy": datasets.policy("employees")}}}
    >>> config = GatewayConfig(owners={"north": north}, clients={"ann": {}}, ledger=str(folder / "ledger.sqlite"))
    >>> service = AnswerService(Gateway(config))
    >>> first = service.answer("ann", "SELECT sex, race FROM people", number="1")
    >>> service.fetch("ann", "1").table.equals(first.table), service.fetch("bob", "1")
    (True, None)
    """

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.releases = Releases(gateway.config.releases, gateway.ledger)
        self._health: tuple[float, dict[str, Any]] = (-_FRESH, {})

    def answer(self, client: str, text: str, *, owner_column: bool = False, number: str, again: bool = True) -> Reply:
        """Return the answer to a request; one that was answered under this number is answered as before.

        Parameters
        ----------
        number
            The request's number.
        again
            Whether the number may have been used before.
        """
        request_hash = self.releases.hash_request(text, owner_column)
        if again:
            record = self.releases.read_record(client, number)
            same = record is not None and record.asked == request_hash
            kept = self.releases.read_reply(client, number) if same else None
            if kept is not None:
                return kept
        answer = self.gateway.ask(client, text, owner_column=owner_column, request=number)
        try:
            return self.releases.keep(client, request_hash, answer)
        except OSError as error:  # the answer is in the ledger, and the client may have it
            self.gateway.on_error(error)
            return Reply(answer.table, answer.to_dict())

    def fetch(self, client: str, number: str) -> Reply | None:
        """Return a client's own earlier answer."""
        return self.releases.read_reply(client, number)

    def explain(self, client: str, number: str) -> dict[str, Any] | None:
        """Return why a client's own answer was what it was."""
        record = self.releases.read_record(client, number)
        return None if record is None else record.explanation

    def explain_entry(self, number: str) -> dict[str, Any] | None:
        """Return what the ledger has of an answer, whoever got it, for auditors."""
        entries = self.gateway.ledger.entries(request=number)
        if not entries:
            return None
        decisions = [{**entry["decision"], "client": entry["client"]} for entry in entries]
        return {"request": number, "decisions": decisions, "refusals": {}, "notes": []}

    def list_tables(self) -> dict[str, Any]:
        """Return the tables and joins that can be asked for now."""
        owners = self.gateway.list_owners()
        tables = {
            name: {"columns": list(columns), "owners": owners[name]} for name, columns in self.gateway.tables().items()
        }
        joins = {
            join.name: {"left": ".".join(join.left), "right": ".".join(join.right), "owners": owners[join.name]}
            for join in self.gateway.joins()
        }
        return {"tables": tables, "joins": joins}

    def read_ledger(self, *, after: int, most: int, owner: str | None) -> dict[str, Any]:
        """Return entries of the ledger, without values, and whether the chain is whole."""
        ledger = self.gateway.ledger
        entries = [
            {**entry, "table": entry.pop("tabled")} for entry in ledger.entries(after=after, most=most, owner=owner)
        ]
        try:
            chain: dict[str, Any] = {"verified": ledger.verify(), "broken": None}
        except LedgerError as error:
            chain = {"verified": None, "broken": str(error)}
        return {"entries": entries, **chain, "head": ledger.head()}

    def check_health(self) -> dict[str, Any]:
        """Return whether the ledger can be read and the owners can be reached; it is looked at now and then."""
        checked, health = self._health
        if time.monotonic() - checked > _FRESH:
            health = self._check_health()
            self._health = time.monotonic(), health
        return health

    def _check_health(self) -> dict[str, Any]:
        try:
            self.gateway.ledger.head()
            ledger = True
        except LedgerError:
            ledger = False
        owners = self.gateway.check_owners()
        return {"status": "ok" if ledger and all(owners.values()) else "degraded", "ledger": ledger, "owners": owners}
