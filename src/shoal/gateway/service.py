"""Service: everything that HTTP requests share: who asks, how much, how often; what goes wrong as a problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, TypeVar

from starlette.datastructures import Headers
from starlette.requests import Request

from shoal.errors import Fault, LedgerError, Refused, ShoalError, Unavailable
from shoal.gateway.answer_service import AnswerService
from shoal.gateway.config import ClientConfig
from shoal.gateway.keys import Keyring
from shoal.gateway.limits import DeadlineExceeded, QueueFull, RateLimiter, WorkerPool
from shoal.gateway.logs import Log
from shoal.gateway.mediator import Gateway
from shoal.gateway.metrics import Metrics
from shoal.gateway.request_guard import RequestTrace

_Result = TypeVar("_Result")
_STATUSES: dict[type[ShoalError], int] = {Refused: 403, Unavailable: 503, LedgerError: 503}
_CHECKERS = 2
"""Keys that are checked at once: each check takes memory and tens of milliseconds."""


class HttpProblem(Exception):
    """There is no answer: a status, and why."""

    def __init__(self, status: int, error: str, *faults: Fault, request: str | None = None, wait: float = 0) -> None:
        self.status = status
        self.content: dict[str, Any] = {"error": error, "faults": [fault.to_dict() for fault in faults]}
        if request:
            self.content["request"] = request
        self.headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        if wait:
            self.headers["Retry-After"] = str(ceil(wait))


class Service:
    """Everything that requests share."""

    def __init__(self, gateway: Gateway, log: Log) -> None:
        config = gateway.config.server
        self.answers, self.log = AnswerService(gateway), log
        self.clients: Mapping[str, ClientConfig] = gateway.config.clients
        self.keys, self.rates, self.attempts = Keyring(self.clients), RateLimiter(), RateLimiter()
        self.workers = WorkerPool(config.workers, config.waiting, config.seconds)
        self.key_checkers = WorkerPool(_CHECKERS, config.waiting, config.seconds)
        self.health_checker = WorkerPool(1, config.waiting, config.seconds)
        """Anybody may ask for the owners' health, and must not take a worker from clients."""
        self.metrics = Metrics(lambda: self.workers.open_requests)
        self._max_attempts = config.attempts
        gateway.on_error = log.write_error

    async def authenticate(self, key: str, address: str) -> str:
        """Return whose key it is; unknown, wrong and expired keys are answered alike."""
        name = None
        if key:
            name = self.keys.find_known(key) or await self.run(
                lambda: self._check_key(key, address), workers=self.key_checkers
            )
        if name is None:
            self.metrics.count_refused_key()
            raise HttpProblem(401, "Unauthorized", Fault("no key, or none that is good", where="key"))
        return name

    def _check_key(self, key: str, address: str) -> str | None:
        """Check a key that was not seen before; an address that tries many wrong ones has to wait."""
        name = self.keys.find_known(key)  # it may have been checked while this waited
        if name is not None:
            return name
        wait = self.attempts.take(address, self._max_attempts)
        if wait:
            raise HttpProblem(429, "TooOften", Fault("too many keys that are not good", where="key"), wait=wait)
        name = self.keys.check(key)
        if name is not None:
            self.attempts.give_back(address, self._max_attempts)
        return name

    async def run(
        self, work: Callable[[], _Result], *, workers: WorkerPool | None = None, number: str | None = None
    ) -> _Result:
        """Do some work in a thread; what goes wrong becomes a problem."""
        try:
            return await (workers or self.workers).run(work)
        except QueueFull:
            raise HttpProblem(503, "Busy", Fault("too many requests are waiting"), request=number, wait=1) from None
        except DeadlineExceeded:
            hint = "ask again under the same number" if number else ""
            raise HttpProblem(504, "TooLong", Fault("it takes too long", hint=hint), request=number, wait=1) from None
        except ShoalError as error:
            status = next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 500)
            if status == 500:
                self.log.write_error(error)
            raise HttpProblem(status, type(error).__name__, *error.faults, request=number) from None

    async def close(self) -> None:
        """Wait for what was begun."""
        for workers in (self.workers, self.key_checkers, self.health_checker):
            await workers.close()


class Caller:
    """Who asks, and what the service knows."""

    def __init__(self, service: Service, name: str, trace: RequestTrace) -> None:
        self.service, self.name, self.trace = service, name, trace
        self.client = service.clients[name]

    def require_role(self, *roles: str) -> None:
        """Refuse whoever has none of these roles."""
        if not set(roles) & set(self.client.roles):
            raise HttpProblem(403, "Refused", Fault("this key has another role", where="key", hint=" or ".join(roles)))


async def identify_caller(request: Request) -> Caller:
    """Return who sent a request; raise if nobody is known, or it is too early for another one."""
    service: Service = request.app.state.service
    name = await service.authenticate(_read_key(request.headers), request.client.host if request.client else "")
    trace: RequestTrace = request.scope["trace"]
    trace.client = name
    wait = service.rates.take(name, service.clients[name].rate)
    if wait:
        raise HttpProblem(429, "TooOften", Fault("too many requests", where="rate"), wait=wait)
    return Caller(service, name, trace)


def _read_key(headers: Headers) -> str:
    """Return the key that came with a request; HTTP hands its bytes over as if they were Latin."""
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    key = bearer.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
    return key.encode("latin-1", "replace").decode("utf-8", "replace")
