"""Rows of figures as files, for spreadsheets and for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.engines.memory.write import write_bytes
from shoal.errors import WriteError


def write_rows(rows: Sequence[Mapping[str, Any]], folder: Path, name: str) -> None:
    """Write rows as CSV and as JSON into a folder."""
    text = io.StringIO()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError("cannot make the folder", where=str(folder), got=error.strerror or str(error)) from None
    _write(folder / f"{name}.csv", text.getvalue())
    _write(folder / f"{name}.json", json.dumps(list(rows), indent=2, ensure_ascii=False) + "\n")


def _write(path: Path, text: str) -> None:
    try:
        write_bytes(path, text.encode("utf-8"))
    except OSError as error:
        path.unlink(missing_ok=True)
        raise WriteError("cannot write", where=str(path), got=error.strerror or str(error)) from None
