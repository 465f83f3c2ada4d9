"""Entries of a ledger that are no answers: what an owner said or did, in the same chain."""

from __future__ import annotations

import secrets
from typing import Any

from shoal.gateway.ledger import Action, Ledger, LedgerEntry

NO_TABLE = ""
"""The table of such an entry: no history of a client has it."""


def enter_note(ledger: Ledger, action: Action, *, client: str = "", owner: str = "", said: dict[str, Any]) -> None:
    """Enter what an owner did; it is on the disk when this returns.

    Parameters
    ----------
    client
        Whom it is about.
    owner
        Who did it.
    said
        What was said with it.
    """
    number = f"{action}-{secrets.token_hex(8)}"
    entry = LedgerEntry(
        request=number,
        request_hash=ledger.seal(number),
        client=client,
        owner=owner,
        source=NO_TABLE,
        table=NO_TABLE,
        version="",
        action=action,
        weights={},
        digest=ledger.digest(repr(sorted(said.items())).encode()),
        decision=said,
    )
    while not ledger.append(entry, ledger.read_history(client).within([NO_TABLE]).newest):
        pass  # somebody else entered one meanwhile
