"""The gateway: clients ask in SQL, owners decide by policy.

The way a request goes: ``language → ledger (what has this client?) → decisions → evaluation → verification → ledger →
mediator``; and over HTTP: ``server → app → request_guard → routes → service (keys, limits) → workers``, and in each of
their processes ``worker → answer_service → mediator``. What answers is an ``answer_source``: a table of an owner
(``sources``, ``owned_tables``) as it is, or a ``queryable_release`` of it. ``labels`` says what a published text can
stand for; ``standing`` keeps what was published as it was. ``owner_routes`` is the page on which owners look at all of
this.
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
