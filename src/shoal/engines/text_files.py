"""Text files, as they are or compressed, read forwards; without their last line where that is one of totals."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from shoal.errors import import_extra

COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
"""Endings after that of a CSV file."""


def open_text(source: Path | bytes, encoding: str, newline: str | None, *, totals: bool = False) -> TextFile:
    """Open a text; with ``totals`` its last line is never there."""
    raw: Any = source.open("rb") if isinstance(source, Path) else io.BytesIO(source)
    return (_WithoutLastLine if totals else TextFile)(raw, _decompress(raw, source), encoding, newline)


def read_first_bytes(source: Path | bytes, size: int) -> bytes:
    """Return the first bytes of a text."""
    with source.open("rb") if isinstance(source, Path) else io.BytesIO(source) as raw:
        return cast("bytes", _decompress(raw, source).read(size))


def _decompress(raw: IO[bytes], source: Path | bytes) -> Any:
    kind = COMPRESSED.get(source.suffix.lower()) if isinstance(source, Path) else None
    if kind is None:
        return raw
    if kind == "gzip":
        return gzip.GzipFile(fileobj=raw)
    pyarrow = import_extra("pyarrow", "arrow", "reading files compressed by zstd")
    return io.BufferedReader(_Readable(pyarrow.CompressedInputStream(raw, "zstd")))


class _Readable(io.RawIOBase):
    """A stream of pyarrow as Python reads one."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class TextFile(io.TextIOWrapper):
    """A text file that tells how many bytes of the file on the disk are read."""

    def __init__(self, raw: IO[bytes], buffer: Any, encoding: str, newline: str | None) -> None:
        super().__init__(buffer, encoding=encoding, newline=newline)
        self._raw = raw

    @property
    def position(self) -> int:
        """How many bytes are read; a text file does not tell while its lines are iterated."""
        return self._raw.tell()

    def close(self) -> None:
        """Close it, and the file that it decompresses."""
        super().close()
        self._raw.close()


class _WithoutLastLine(TextFile):
    """The same, but for the last line that is not empty."""

    _held = ""

    def read(self, size: int | None = -1) -> str:
        while True:
            more = super().read(size)
            text, self._held = self._held + more, ""
            cut = text.rstrip("\r\n").rfind("\n") + 1
            if not more:
                return ""
            self._held = text[cut:]
            if cut:
                return text[:cut]

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        line, end, rest = self._held.partition("\n")
        while not (end and rest.strip("\r\n")):
            more = super().readline()
            if not more:
                return ""
            self._held += more
            line, end, rest = self._held.partition("\n")
        self._held = rest
        return line + end

    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        return iter(self.readline, "")
