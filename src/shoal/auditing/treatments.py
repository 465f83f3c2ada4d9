"""Treatments: what is published of a treated column tells no more than the treatment leaves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import polars as pl

from shoal.encoding.labels import read_label
from shoal.errors import Fault
from shoal.policy import Policy

_SPARSE = "036 059 063 102 202 203 204 205 369 556 692 753 772 790 821 823 830 831 878 879 884 890 893"
"""ZIP codes of three digits that are not told; written here again, since an audit takes nothing from what it audits."""
_DIGITS = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"(?<![0-9.])-?[0-9]+(?:\.[0-9]+)?")
_DAY = re.compile(r"[0-9]{5,}|[0-9][-./:][0-9]")


def treatment_faults(frame: pl.DataFrame, policy: Policy) -> Iterator[Fault]:
    """Yield a fault for each column that has a treatment and shows more; read from the texts alone."""
    for name, column in policy.quasi_identifiers.items():
        if column.treatment is None or name not in frame.columns:
            continue
        texts = frame[name].cast(pl.String).drop_nulls().unique().to_list()
        wrong = sum(not _KEEPS[column.treatment](text) for text in texts)
        if wrong:
            yield Fault(
                f"published values that the treatment {column.treatment} does not leave", name, f"{wrong} texts"
            )


def _keeps_zip3(text: str) -> bool:
    runs = _DIGITS.findall(text)
    return all(len(run) <= 3 and run not in _SPARSE.split() for run in runs)


def _keeps_ages(text: str) -> bool:
    """A single age is 90 at most; a range that starts at 90 or later is the group of all who are older."""
    shown = read_label(text, "float")
    if shown.form == "range":
        return shown.least <= 90
    return all(float(number) <= 90 for number in _NUMBER.findall(text))


def _keeps_years(text: str) -> bool:
    return not _DAY.search(text)


_KEEPS: dict[str, Callable[[str], bool]] = {"zip3": _keeps_zip3, "age-90": _keeps_ages, "year": _keeps_years}
