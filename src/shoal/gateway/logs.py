"""Log: one line of JSON for each request; who, what kind, how long. No SQL, no literal, no value of the data."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from threading import Lock
from typing import Any, TextIO

from shoal.errors import LedgerError


class Log:
    """Writes lines of JSON.

    Examples
    --------
    >>> Log(sys.stdout).write("started", port=8765)  # doctest: +ELLIPSIS
    {"time": "...", "event": "started", "port": 8765}
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream, self._lock = stream or sys.stdout, Lock()

    def write(self, event: str, **fields: Any) -> None:
        """Write one line; fields without a value are left out."""
        present = {name: value for name, value in fields.items() if value not in (None, (), [], "")}
        line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **present})
        self.write_line(line + "\n")

    def write_line(self, line: str) -> None:
        """Write a line that is one already."""
        with self._lock:
            self._stream.write(line)
            self._stream.flush()

    def write_error(self, error: BaseException, **fields: Any) -> None:
        """Write that something went wrong inside: its kind and where, not its text, which may hold data."""
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else None
        said = str(error) if isinstance(error, LedgerError) else None  # names of files and kinds of errors, no value
        self.write("failed", error=type(error).__name__, where=where, said=said, **fields)


class LogHandler(logging.Handler):
    """Sends what libraries log to a :class:`Log`: their own words, without the values that go with them."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; its arguments and its traceback are left out."""
        error = record.exc_info[1] if record.exc_info else None
        kind = type(error).__name__ if error is not None else None
        text = str(record.msg).splitlines()[0] if not record.exc_info and record.msg else None
        self._log.write("library", logger=record.name, level=record.levelname, said=text, error=kind)
