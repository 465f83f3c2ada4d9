"""Service: everything that HTTP requests share: who asks, how much, how often; what goes wrong as a problem."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from shoal.errors import Fault, LedgerError, Refused, ShoalError, Unavailable
from shoal.gateway.config import GatewayConfig
from shoal.gateway.http_schemas import HttpProblem
from shoal.gateway.keys import Keyring
from shoal.gateway.limits import DeadlineExceeded, QueueFull, WorkerPool
from shoal.gateway.logs import Log
from shoal.gateway.metrics import Metrics
from shoal.gateway.request_guard import RequestTrace
from shoal.gateway.revocations import Revocations
from shoal.gateway.sessions import Sessions
from shoal.gateway.shared_rates import open_rates
from shoal.gateway.stores import open_store
from shoal.gateway.unread import UnreadBytes
from shoal.gateway.worker_process import FailedInside
from shoal.gateway.workers import TookTooLong, Workers

_Result = TypeVar("_Result")
_STATUSES: dict[type[ShoalError], int] = {Refused: 403, Unavailable: 503, LedgerError: 503, TookTooLong: 504}
_MADE_FOR_CLIENTS = (Refused, Unavailable, TookTooLong)
"""Errors whose text shows no data, no path and no address."""
_INSIDE = "something went wrong inside"
_CHECKERS = 2
"""Keys that are checked at once: each check takes memory and tens of milliseconds."""


class Service:
    """Everything that requests share."""

    def __init__(self, config: GatewayConfig, workers: Workers, log: Log) -> None:
        server = config.server
        self.workers, self.log, self.clients = workers, log, config.clients
        self.owners, self.sessions = frozenset(config.owners), Sessions()
        self.revocations = Revocations(config.locate("revoked"))
        self.keys = Keyring(self.clients, is_revoked=self.revocations.holds)
        shared = open_store(config.ledger, ())
        self.rates, self.attempts = (open_rates(shared, kind) for kind in ("client", "address"))
        self.key_checkers = WorkerPool(_CHECKERS, server.waiting, server.seconds)
        self.rate_counter = WorkerPool(_CHECKERS, server.waiting, server.seconds)
        self.unread = UnreadBytes(server.unread)
        self.metrics = Metrics(lambda: self.workers.open_requests)
        self._max_attempts = server.attempts

    async def authenticate(self, key: str, address: str) -> str:
        """Return whose key it is; unknown, wrong and expired keys are answered alike."""
        name = None
        if key:
            name = self.keys.find_known(key) or await self._translate(
                self.key_checkers.run(lambda: self._check_key(key, address))
            )
        if name is None:
            self.metrics.count_refused_key()
            raise HttpProblem(401, "Unauthorized", Fault("no key, or none that is good", where="key"))
        return name

    def _check_key(self, key: str, address: str) -> str | None:
        """Check a key that was not seen before; an address that tries many wrong ones has to wait.

        Wrong ones are counted for each client that they claim to be of: many may ask from the address of one proxy, and
        none of them has to wait for what others try.
        """
        name = self.keys.find_known(key)  # it may have been checked while this waited
        if name is not None or self.keys.is_known_bad(key):
            return name
        bucket = f"{address} {self.keys.find_claimed(key)}"
        wait = self.attempts.take(bucket, self._max_attempts)
        if wait:
            raise HttpProblem(429, "TooOften", Fault("too many keys that are not good", where="key"), wait=wait)
        name = self.keys.check(key)
        if name is not None:
            self.attempts.give_back(bucket, self._max_attempts)
        return name

    async def count_request(self, name: str) -> None:
        """Count a client's request; raise where it is too early for another one."""
        rate = self.clients[name].rate
        if self.rates.is_near:
            wait = self.rates.take(name, rate)
        else:
            wait = await self._translate(self.rate_counter.run(lambda: self.rates.take(name, rate)))
        if wait:
            raise HttpProblem(429, "TooOften", Fault("too many requests", where="rate"), wait=wait)

    def list_clients(self) -> list[str]:
        """Return who may ask."""
        return [name for name, client in self.clients.items() if "client" in client.roles]

    def describe_key(self, name: str) -> dict[str, str]:
        """Return whether a client's key is good, and until when."""
        stored, expires = self.clients[name].key, self.clients[name].expires
        until = "" if expires is None else expires.isoformat()
        revoked = None if stored is None else self.revocations.find(stored)
        if revoked is not None:
            return {"state": f"revoked by {revoked['by']} on {revoked['at'][:10]}", "expires": until}
        if stored is None:
            return {"state": "has none", "expires": until}
        return {"state": "expired" if self.keys.is_over(name) else "good", "expires": until}

    def list_revocable(self) -> list[str]:
        """Return the clients whose key an owner may revoke: those who do nothing but ask."""
        return [name for name in self.list_clients() if self.describe_key(name)["state"] == "good"]

    async def revoke(self, name: str, *, by: str) -> None:
        """Revoke a client's key."""
        stored = self.clients[name].key
        assert stored is not None
        await asyncio.to_thread(self.revocations.add, stored, client=name, by=by)
        self.log.write("revoked", client=name, by=by)
        await self.call("enter_revocation", name, by, client=by)

    async def call(self, method: str, *values: Any, client: str = "", number: str | None = None) -> Any:
        """Have some work done; what goes wrong becomes a problem."""
        return await self._translate(self.workers.call(method, *values, client=client), number)

    async def _translate(self, work: Awaitable[_Result], number: str | None = None) -> _Result:
        try:
            return await work
        except FailedInside:  # the log says how
            raise HttpProblem(500, "Broken", Fault(_INSIDE, where="request")) from None
        except QueueFull:
            raise HttpProblem(503, "Busy", Fault("too many requests are waiting"), request=number, wait=1) from None
        except DeadlineExceeded:
            hint = "ask again under the same number" if number else ""
            raise HttpProblem(504, "TooLong", Fault("it takes too long", hint=hint), request=number, wait=1) from None
        except ShoalError as error:
            status = next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 500)
            if not isinstance(error, _MADE_FOR_CLIENTS):
                self.log.write_error(error)
            raise HttpProblem(status, type(error).__name__, *_choose_faults(error), request=number) from None

    async def close(self) -> None:
        """Wait for what was begun."""
        await self.workers.close()
        for pool in (self.key_checkers, self.rate_counter):
            await pool.close()


def _choose_faults(error: ShoalError) -> tuple[Fault, ...]:
    """Return what a client is told: of errors that speak to the operator (of files, hosts, values) nothing more than
    that there was one."""
    if isinstance(error, _MADE_FOR_CLIENTS):
        return error.faults
    where_it_broke = "the ledger or a kept answer cannot be used" if isinstance(error, LedgerError) else _INSIDE
    return (Fault(where_it_broke, where="request"),)


class Caller:
    """Who asks, and what the service knows."""

    def __init__(self, service: Service, name: str, trace: RequestTrace) -> None:
        self.service, self.name, self.trace = service, name, trace
        self.client = service.clients[name]

    async def call(self, method: str, *values: Any) -> Any:
        """Have some work done for this caller."""
        return await self.service.call(method, *values, client=self.name, number=self.trace.request)

    def require_room(self) -> None:
        """Refuse whoever does not read the answers that were given."""
        if self.service.unread.is_full(self.name):
            what, hint = "answers that were given are not read yet", "read them first"
            raise HttpProblem(429, "TooMuch", Fault(what, where="answers", hint=hint), wait=1)

    def require_role(self, *roles: str) -> None:
        """Refuse whoever has none of these roles."""
        if not set(roles) & set(self.client.roles):
            raise HttpProblem(403, "Refused", Fault("this key has another role", where="key", hint=" or ".join(roles)))


_BEARER = HTTPBearer(scheme_name="Bearer", description="A client's key.", auto_error=False)
_HEADER = APIKeyHeader(
    name="X-API-Key", scheme_name="Header", description="The same in another header.", auto_error=False
)


async def identify_caller(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)],
    header: Annotated[str | None, Depends(_HEADER)],
) -> Caller:
    """Return who sent a request; raise if nobody is known, or it is too early for another one."""
    service: Service = request.app.state.service
    text = (header or "") if bearer is None else bearer.credentials
    key = text.strip().encode("latin-1", "replace").decode("utf-8", "replace")  # HTTP hands bytes over as if Latin
    name = await service.authenticate(key, request.client.host if request.client else "")
    trace: RequestTrace = request.scope["trace"]
    trace.client = name
    await service.count_request(name)
    return Caller(service, name, trace)
