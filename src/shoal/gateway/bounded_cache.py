"""BoundedCache: remembers values up to a size; what was not used for longest goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class BoundedCache(Generic[_Key, _Value]):
    """A mapping that forgets; several threads may use it.

    Parameters
    ----------
    most
        The most values, or the most that their sizes add up to.
    size_of
        The size of a value with its key; a value that takes an eighth of the room is not remembered.

    Examples
    --------
    >>> cache = BoundedCache(2)
    >>> cache.put("a", 1), cache.put("b", 2), cache.get("a"), cache.put("c", 3)
    (None, None, 1, None)
    >>> cache.get("a"), cache.get("b"), cache.size
    (1, None, 2)
    """

    def __init__(self, most: int, size_of: Callable[[_Key, _Value], int] | None = None) -> None:
        self._most, self._size_of = most, size_of
        self._values: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()
        self._lock = Lock()
        self.size = 0

    def get(self, key: _Key) -> _Value | None:
        """Return what is remembered under a key."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: _Key, value: _Value) -> None:
        """Remember a value."""
        size = 1 if self._size_of is None else self._size_of(key, value)
        if self._size_of is not None and size > self._most // 8:
            return
        with self._lock:
            self._forget(key)
            self._values[key] = value, size
            self.size += size
            while self.size > self._most:
                self._forget(next(iter(self._values)))

    def forget(self, key: _Key) -> None:
        """Forget a value, if it is remembered."""
        with self._lock:
            self._forget(key)

    def _forget(self, key: _Key) -> None:
        self.size -= self._values.pop(key, (None, 0))[1]
