"""Rows of figures as files, for spreadsheets and for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import WriteError
from shoal.reporting.html import write_page


def make_folder(folder: Path) -> None:
    """Make a folder where there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError("cannot make the folder", where=str(folder), got=error.strerror or str(error)) from None


def write_rows(rows: Sequence[Mapping[str, Any]], folder: Path, name: str) -> None:
    """Write rows as CSV and as JSON into a folder."""
    text = io.StringIO()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    make_folder(folder)
    write_page(folder / f"{name}.csv", text.getvalue(), "rows")
    write_page(folder / f"{name}.json", json.dumps(list(rows), indent=2, ensure_ascii=False) + "\n", "rows")
