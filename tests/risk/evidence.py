"""Small releases as attackers see them, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.risk.base import Attribute, Evidence, KnownPersons, PublishedClasses, TextMeaning

Rows = Sequence[Sequence[Any]]


def published(rows: Rows) -> PublishedClasses:
    """A release whose records show these numbers in each column."""
    shown, classes, sizes = np.unique(np.array(rows, np.int64), axis=0, return_inverse=True, return_counts=True)
    return PublishedClasses(classes.ravel().astype(np.int64), shown, sizes.astype(np.int64))


def evidence(rows: Rows, values: Sequence[int] = (), *, least: int = 2, **more: Any) -> Evidence:
    """The evidence of such a release, whose records have these sensitive values."""
    release = published(rows)
    codes = np.array(values, np.int64)
    known = codes[codes >= 0]
    about = {"illness": Attribute(codes, np.bincount(known, minlength=1).astype(np.int64))} if len(codes) else None
    columns = tuple("abcdefgh"[: release.shown.shape[1]])
    given = {"columns": columns, "release": release, "sensitive": about, **more}
    return Evidence(release.sizes, least, **given)


def as_they_are(count: int) -> TextMeaning:
    """Texts that are values: each covers itself."""
    covers = np.append(np.eye(count, dtype=bool), np.zeros((count, 2), bool), axis=1)
    return TextMeaning(covers, np.full(covers.shape, -1, np.int64))


def covering(*texts: Sequence[int], count: int, parts: Sequence[Sequence[int]] = ()) -> TextMeaning:
    """Texts that cover some of so many values each."""
    covers = np.zeros((len(texts), count + 2), bool)
    split = np.full(covers.shape, -1, np.int64)
    for row, values in enumerate(texts):
        covers[row, list(values)] = True
        for number, value in enumerate(parts[row] if parts else ()):
            split[row, value] = number
    return TextMeaning(covers, split)


def people(*tuples: Sequence[int]) -> KnownPersons:
    """Persons of whom these values are known."""
    distinct, counts = np.unique(np.array(tuples, np.int64), axis=0, return_counts=True)
    return KnownPersons(distinct, counts.astype(np.int64))
