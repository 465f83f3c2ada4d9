"""The gateway: clients ask in SQL, owners decide by policy.

The way a request goes: ``language → ledger (what has this client?) → decisions → evaluation → verification → ledger →
mediator``.

=====================  ===================================================================
``request``            what a client asks for, as plain data
``language``           SQL text → Request, by an allow-list
``sources``            owners' tables: DuckDB, PostgreSQL, files
``config``             ``gateway.yaml``
``labels``             what a published text can stand for, and whether it certainly matches
``owned_tables``       one owner's table: read once per version, anonymized once per version
``queryable_release``  a release of a table, or of some of its columns, that can be asked
``decisions``          as it is, anonymized first, or refused; with its reasons
``evaluation``         a request, evaluated on a table
``cells``              small cells of an aggregate are left out, and what would give them back
``verification``       an answer, compared with the audited table before it leaves
``answer_source``      a table that answers: evaluated, verified, kept
``ledger``             who got what: append-only, hash-chained
``stores``             where the ledger lies: SQLite, PostgreSQL
``group_commit``       entries of several threads, written in one go
``union``              the answers of several owners under each other
``mediator``           one request to all owners that hold the table; the union of their answers
=====================  ===================================================================

And over HTTP: ``request_guard → routes → service (keys, limits) → answer_service → mediator``.

=====================  ===================================================================
``server``             the service behind a port
``header_timeout``     the protocol that hangs up on slow heads of requests
``app``                the ASGI application
``request_guard``      what every HTTP request passes: size, time, log
``routes``             the endpoints
``service``            what requests share: who asks, how often, problems
``http_schemas``       what goes in and out, as OpenAPI describes it
``keys``               whose key is this
``limits``             how often, how much at once, how long
``answer_service``     one request: the answer that was kept, or a new one
``releases``           answers that can be fetched again
``formats``            JSON, CSV, Arrow, Parquet
``logs``               lines of JSON without values
``metrics``            counts and times
``client``             ask a gateway
=====================  ===================================================================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.gateway.client import GatewayClient
    from shoal.gateway.config import GatewayConfig
    from shoal.gateway.ledger import Ledger
    from shoal.gateway.mediator import Answer, Gateway

_MODULES = {
    "Answer": "mediator",
    "Gateway": "mediator",
    "GatewayClient": "client",
    "GatewayConfig": "config",
    "Ledger": "ledger",
}

__all__ = ["Answer", "Gateway", "GatewayClient", "GatewayConfig", "Ledger"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"shoal.gateway.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'shoal.gateway' has no attribute {name!r}")
