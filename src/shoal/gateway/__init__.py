"""The gateway: clients ask in SQL, owners decide by policy.

The way a request goes: ``language → ledger (what has this client?) → deciding → answering → ledger → mediator``.

==============  ==========================================================================
``request``     what a client asks for, as plain data
``language``    SQL text → Request, by an allow-list
``sources``     owners' tables: DuckDB, PostgreSQL, files
``config``      ``gateway.yaml``
``meaning``     what a published text can stand for, and whether it certainly matches
``holdings``    one owner's table: read once per version, anonymized once per version
``deciding``    as it is, anonymized first, or refused; with its reasons
``answering``   a request, evaluated on a table
``cells``       small cells of an aggregate are left out, and what would give them back
``ledger``      who got what: append-only, hash-chained
``together``    entries of several threads, written in one go
``uniting``     the answers of several owners under each other
``mediator``    one request to all owners that hold the table; the union of their answers
==============  ==========================================================================

And the HTTP door: ``door → service → (keys, limits) → desk → mediator``.

==============  ==========================================================================
``serving``     the service behind a port
``door``        what every HTTP request passes: size, time, log
``service``     the endpoints
``replies``     what goes in and out, as OpenAPI tells it
``keys``        whose key is this
``limits``      how often, how much at once, how long
``desk``        one request: the answer that was kept, or a new one
``releases``    answers that can be fetched again
``formats``     JSON, CSV, Arrow, Parquet
``logs``        lines of JSON without values
``metrics``     counts and times
``client``      ask a gateway
==============  ==========================================================================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.gateway.client import GatewayClient
    from shoal.gateway.config import GatewayConfig
    from shoal.gateway.ledger import Ledger
    from shoal.gateway.mediator import Answer, Gateway

_WHERE = {
    "Answer": "mediator",
    "Gateway": "mediator",
    "GatewayClient": "client",
    "GatewayConfig": "config",
    "Ledger": "ledger",
}

__all__ = ["Answer", "Gateway", "GatewayClient", "GatewayConfig", "Ledger"]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"shoal.gateway.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'shoal.gateway' has no attribute {name!r}")
