"""Frames: Python values over a pipe between the service and its own processes; nobody else can write there."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any, BinaryIO

_HEAD = 8
"""Bytes that say how long a frame is."""


def write_frame(value: Any) -> bytes:
    """Return a value as a frame.

    Examples
    --------
    >>> list(FrameReader().feed(write_frame({"age": 42}) + write_frame(None)))
    [{'age': 42}, None]
    """
    content = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    return len(content).to_bytes(_HEAD, "big") + content


def read_frame(source: BinaryIO) -> Any:
    """Return the next value that a pipe holds; raise ``EOFError`` at its end."""
    head = source.read(_HEAD)
    content = source.read(int.from_bytes(head, "big"))
    if len(head) < _HEAD or len(content) < int.from_bytes(head, "big"):
        raise EOFError
    return pickle.loads(content)


class FrameReader:
    """Puts values together from the pieces in which they arrive."""

    def __init__(self) -> None:
        self._pieces = bytearray()

    def feed(self, piece: bytes) -> Iterator[Any]:
        """Take a piece, and yield the values that are whole with it."""
        self._pieces += piece
        while len(self._pieces) >= _HEAD:
            end = _HEAD + int.from_bytes(self._pieces[:_HEAD], "big")
            if len(self._pieces) < end:
                return
            with memoryview(self._pieces) as whole:
                value = pickle.loads(whole[_HEAD:end])
            del self._pieces[:end]
            yield value
