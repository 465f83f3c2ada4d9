"""AnswerService: what is done for one request: the answer that was kept, or a new one, which is kept."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from shoal.errors import LedgerError
from shoal.gateway.formats import Format, Reply, write_reply
from shoal.gateway.mediator import Gateway
from shoal.gateway.owner_notes import enter_note
from shoal.gateway.owner_overview import OwnerOverview
from shoal.gateway.releases import Releases

_FRESH = 2.0
"""Seconds for which it need not be looked again whether owners can be reached."""


@dataclass(frozen=True)
class WrittenAnswer:
    """An answer in the form in which it leaves, and what the log says of it."""

    content: bytes
    tables: list[str]
    columns: list[str]
    actions: list[str]
    """One for each owner that answered."""

    @classmethod
    def of(cls, reply: Reply, format: Format) -> WrittenAnswer:
        """Write an answer."""
        decisions = reply.explanation["decisions"]
        return cls(
            write_reply(reply, format),
            tables=sorted({decision["table"] for decision in decisions}),
            columns=sorted({name for decision in decisions for name in decision["weights"]}),
            actions=[decision["action"] for decision in decisions],
        )


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
        self._overviews: dict[str, OwnerOverview] = {}
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

    def write_answer(
        self, client: str, text: str, owner_column: bool, number: str, again: bool, format: Format
    ) -> WrittenAnswer:
        """Return the answer to a request in the form in which it leaves."""
        reply = self.answer(client, text, owner_column=owner_column, number=number, again=again)
        return WrittenAnswer.of(reply, format)

    def fetch(self, client: str, number: str) -> Reply | None:
        """Return a client's own earlier answer."""
        return self.releases.read_reply(client, number)

    def write_release(self, client: str, number: str, format: Format) -> bytes | None:
        """Return a client's own earlier answer in the form in which it leaves."""
        reply = self.fetch(client, number)
        return None if reply is None else write_reply(reply, format)

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

    def read_ledger(self, after: int, most: int, owner: str | None) -> dict[str, Any]:
        """Return entries of the ledger, without values, and whether the chain is whole."""
        ledger = self.gateway.ledger
        entries = [
            {**entry, "table": entry.pop("tabled")} for entry in ledger.entries(after=after, most=most, owner=owner)
        ]
        return {"entries": entries, **self.verify_ledger(), "head": ledger.head()}

    def verify_ledger(self) -> dict[str, Any]:
        """Return how many entries the chain has, or where it is broken."""
        try:
            return {"verified": self.gateway.ledger.verify(), "broken": None}
        except LedgerError as error:
            return {"verified": None, "broken": str(error)}

    def enter_revocation(self, client: str, owner: str) -> None:
        """Enter in the ledger that an owner revoked a client's key."""
        enter_note(self.gateway.ledger, "revoke", client=client, owner=owner, said={"client": client})

    def read_overview(self, owner: str) -> dict[str, Any]:
        """Return who got what of an owner's tables, and what is left of each client's allowance."""
        if owner not in self._overviews:
            self._overviews[owner] = OwnerOverview(self.gateway, owner)
        return self._overviews[owner].read()

    def check_health(self) -> dict[str, Any]:
        """Return whether an entry could be written and the owners can be reached; it is looked at now and then."""
        checked, health = self._health
        if time.monotonic() - checked > _FRESH:
            health = self._check_health()
            self._health = time.monotonic(), health
        return health

    def forget_health(self) -> None:
        """Look anew when it is asked for next."""
        self._health = (-_FRESH, {})

    def _check_health(self) -> dict[str, Any]:
        try:
            self.gateway.ledger.probe()
            ledger = True
        except LedgerError as error:
            self.gateway.on_error(error)
            ledger = False
        owners = self.gateway.check_owners()
        return {"status": "ok" if ledger and all(owners.values()) else "degraded", "ledger": ledger, "owners": owners}
