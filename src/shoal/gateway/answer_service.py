"""Desk: what is done for one request: the answer that was kept, or a new one, which is kept."""

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
    >>> desk = AnswerService(Gateway(config))
    >>> first = desk.answer("ann", "SELECT sex, race FROM people", number="1")
    >>> desk.release("ann", "1").table.equals(first.table), desk.release("bob", "1")
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
        asked = self.releases.asked(text, owner_column)
        if again:
            record = self.releases.record(client, number)
            found = self.releases.reply(client, number) if record is not None and record.asked == asked else None
            if found is not None:
                return found
        answer = self.gateway.ask(client, text, owner_column=owner_column, request=number)
        try:
            return self.releases.keep(client, asked, answer)
        except OSError as error:  # the answer is in the ledger, and the client may have it
            self.gateway.failed(error)
            return Reply(answer.table, answer.to_dict())

    def release(self, client: str, number: str) -> Reply | None:
        """Return a client's own earlier answer."""
        return self.releases.reply(client, number)

    def explanation(self, client: str, number: str) -> dict[str, Any] | None:
        """Return why a client's own answer was what it was."""
        record = self.releases.record(client, number)
        return None if record is None else record.explanation

    def entered(self, number: str) -> dict[str, Any] | None:
        """Return what the ledger has of an answer, whoever got it, for auditors."""
        entries = self.gateway.ledger.entries(request=number)
        if not entries:
            return None
        decisions = [{**entry["decision"], "client": entry["client"]} for entry in entries]
        return {"request": number, "decisions": decisions, "refusals": {}, "notes": []}

    def offered(self) -> dict[str, Any]:
        """Return the tables and joins that can be asked for now."""
        owners = self.gateway.holders()
        tables = {
            name: {"columns": list(columns), "owners": owners[name]} for name, columns in self.gateway.tables().items()
        }
        joins = {
            join.name: {"left": ".".join(join.left), "right": ".".join(join.right), "owners": owners[join.name]}
            for join in self.gateway.joins()
        }
        return {"tables": tables, "joins": joins}

    def ledger(self, *, after: int, most: int, owner: str | None) -> dict[str, Any]:
        """Return entries of the ledger, without values, and whether the chain is whole."""
        ledger = self.gateway.ledger
        told = [
            {**entry, "table": entry.pop("tabled")} for entry in ledger.entries(after=after, most=most, owner=owner)
        ]
        try:
            whole: dict[str, Any] = {"verified": ledger.verify(), "broken": None}
        except LedgerError as error:
            whole = {"verified": None, "broken": str(error)}
        return {"entries": told, **whole, "head": ledger.head()}

    def health(self) -> dict[str, Any]:
        """Return whether the ledger can be read and the owners can be reached; it is looked at now and then."""
        looked, told = self._health
        if time.monotonic() - looked > _FRESH:
            told = self._looked()
            self._health = time.monotonic(), told
        return told

    def _looked(self) -> dict[str, Any]:
        try:
            self.gateway.ledger.head()
            ledger = True
        except LedgerError:
            ledger = False
        owners = self.gateway.reachable()
        return {"status": "ok" if ledger and all(owners.values()) else "degraded", "ledger": ledger, "owners": owners}
