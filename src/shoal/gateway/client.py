"""GatewayClient: ask a gateway over HTTP."""

from __future__ import annotations

import secrets
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from shoal.errors import Fault, Refused, ShoalError, TableError, Unavailable, import_extra
from shoal.gateway.formats import Format, Reply, read_reply

if TYPE_CHECKING:
    import httpx
    import polars as pl


class Unauthorized(Refused):
    """The gateway does not know the key."""

    title = "The key is not good"


class TooOften(Unavailable):
    """Too many requests; ``wait`` says for how many seconds."""

    title = "Too many requests"

    def __init__(self, faults: Fault | str | list[Fault], wait: float = 1) -> None:
        super().__init__(faults)
        self.wait = wait

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (list(self.faults), self.wait))


@dataclass(frozen=True)
class ClientAnswer:
    """What a gateway answered."""

    table: pl.DataFrame
    explanation: dict[str, Any] = field(repr=False)
    """``decisions``, ``refusals``, ``notes``."""

    @property
    def request(self) -> str:
        """The number under which the answer can be fetched again."""
        return str(self.explanation["request"])

    @property
    def actions(self) -> dict[str, str]:
        """Owner → ``release`` or ``anonymize``."""
        return {decision["owner"]: decision["action"] for decision in self.explanation["decisions"]}


class GatewayClient:
    """Asks a gateway.

    Parameters
    ----------
    url
        Where the gateway is, for example ``https://gateway.example:8765``.
    key
        The client's key.
    timeout
        Seconds to wait for an answer.
    verify
        Whom to trust for TLS: ``True`` for the usual ones, or the path of a certificate.

    Raises
    ------
    Refused
        A request is refused; the faults tell why. :class:`Unauthorized` if it is the key.
    Unavailable
        The gateway or the owners cannot answer now. :class:`TooOften` if it is too early to ask again.

    Examples
    --------
    >>> with GatewayClient("http://127.0.0.1:8765", "demo-client") as client:  # doctest: +SKIP
    ...     client.query("SELECT sex, count(*) FROM people GROUP BY sex").table
    """

    def __init__(self, url: str, key: str, *, timeout: float = 60, verify: bool | str = True) -> None:
        self._httpx = httpx = import_extra("httpx", "gateway", "asking a gateway")
        headers = {b"Authorization": f"Bearer {key}".encode()}
        trusted = verify if isinstance(verify, bool) else _load_certificate(verify)
        try:
            self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout, verify=trusted)
        except httpx.InvalidURL:
            raise Unavailable("the address is not one", where="url") from None

    def tables(self) -> dict[str, Any]:
        """Return the tables and joins that can be asked for, with their columns and owners."""
        return dict(self._send("GET", "/tables").json())

    def query(self, sql: str, *, owner_column: bool = False, request: str | None = None) -> ClientAnswer:
        """Return the answer to a request.

        Parameters
        ----------
        sql
            One SELECT.
        owner_column
            Whether the answer names the owner of each record.
        request
            A number for the request; asking again under it gives the same answer.
        """
        return _to_answer(read_reply(self.fetch(sql, "arrow", owner_column=owner_column, request=request)))

    def fetch(
        self, sql: str, format: Format = "json", *, owner_column: bool = False, request: str | None = None
    ) -> bytes:
        """Return the answer to a request as the gateway writes it."""
        body = {"sql": sql, "owner_column": owner_column, "format": format}
        return self._send("POST", "/query", json={**body, "request": request or secrets.token_hex(16)}).content

    def release(self, number: str) -> ClientAnswer:
        """Return an earlier answer again."""
        return _to_answer(read_reply(self._send("GET", f"/releases/{number}", params={"format": "arrow"}).content))

    def ledger(self, *, after: int = 0, most: int = 1_000) -> dict[str, Any]:
        """Return entries of the ledger, for auditors and owners."""
        return dict(self._send("GET", "/ledger", params={"after": after, "most": most}).json())

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            response: httpx.Response = self._http.request(method, path, **options)
        except self._httpx.TimeoutException:
            raise Unavailable("the gateway did not answer in time", where="url") from None
        except (self._httpx.HTTPError, self._httpx.InvalidURL, self._httpx.CookieConflict) as error:
            raise Unavailable("the gateway cannot be reached", where="url", got=type(error).__name__) from None
        if response.is_success:
            return response
        raise _to_error(response)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


def _load_certificate(certificate: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=certificate)
    except OSError:  # an SSLError is one
        raise Unavailable("the certificate cannot be read", where=Path(certificate).name) from None


def _to_answer(reply: Reply) -> ClientAnswer:
    if "request" not in reply.explanation:
        raise TableError("the answer lacks its explanation", where="gateway", hint="is this a gateway?")
    return ClientAnswer(reply.table, reply.explanation)


def _to_error(response: httpx.Response) -> ShoalError:
    try:
        faults = [Fault(**fault) for fault in response.json()["faults"]]
    except (ValueError, KeyError, TypeError):
        faults = [Fault("the gateway answered otherwise than expected", where="url", got=str(response.status_code))]
    if response.status_code == 429:
        return TooOften(faults, float(response.headers.get("Retry-After", 1)))
    kinds: dict[int, type[ShoalError]] = {401: Unauthorized, 403: Refused, 404: Refused, 422: Refused, 413: Refused}
    return kinds.get(response.status_code, Unavailable)(faults)
