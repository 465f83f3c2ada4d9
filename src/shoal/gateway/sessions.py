"""Sessions: an owner who gave its key to the page once need not give it with every click."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from hmac import compare_digest

from shoal.gateway.bounded_cache import BoundedCache

SECONDS = 30 * 60
"""How long a session lasts."""
_MOST = 1_000
"""Sessions at once; the one that was used longest ago is forgotten first."""


@dataclass(frozen=True)
class OwnerSession:
    """Somebody who gave a key."""

    owner: str
    key: str
    """The key: it may be revoked, or expire, while the session lasts."""
    token: str
    """What the page's own forms send, so that no other page's can."""
    ends: float

    def allows(self, token: str) -> bool:
        """Return whether a form is one of the page's own."""
        return compare_digest(self.token.encode(), token.encode())


class Sessions:
    """Sessions by what the browser keeps of them; they end with the service.

    Examples
    --------
    >>> sessions = Sessions()
    >>> cookie = sessions.begin("north", "north.secret")
    >>> sessions.find(cookie).owner, sessions.find("guess"), sessions.find(cookie).allows("guess")
    ('north', None, False)
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: BoundedCache[str, OwnerSession] = BoundedCache(_MOST)

    def begin(self, owner: str, key: str) -> str:
        """Return what the browser is to keep."""
        cookie = secrets.token_urlsafe(32)
        self._sessions.put(cookie, OwnerSession(owner, key, secrets.token_urlsafe(32), self._clock() + SECONDS))
        return cookie

    def find(self, cookie: str) -> OwnerSession | None:
        """Return the session of a browser."""
        session = self._sessions.get(cookie)
        return session if session is not None and session.ends > self._clock() else None

    def end(self, cookie: str) -> None:
        """Forget a session."""
        self._sessions.forget(cookie)
