"""Pseudonyms: texts that are no name, that nobody can compute without the key, and that link no two records."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator

import polars as pl

from shoal.auditing.texts import read_texts
from shoal.engines.columns import to_plain
from shoal.errors import Fault, TableError
from shoal.policy import Policy


def pseudonym_faults(frame: pl.DataFrame, raw: pl.DataFrame | None, policy: Policy) -> Iterator[Fault]:
    """Yield what is wrong with the columns of pseudonyms; the key is not needed for it."""
    for name, shown in policy.pseudonyms.items():
        if shown not in frame.columns:
            yield Fault("pseudonyms that the policy asks for are missing", where=shown)
            continue
        texts, digits = read_texts(frame[shown]).drop_nulls(), policy.identifiers[name].digits
        wrong = len(texts) - int(texts.str.contains(f"^[0-9a-f]{{{digits}}}$").sum())
        if wrong:
            yield Fault(f"pseudonyms that are not {digits} hexadecimal digits", shown, f"{wrong} records")
        if texts.n_unique() < len(texts):
            got = f"{texts.n_unique()} pseudonyms in {len(texts)} records"
            yield Fault("pseudonyms link records of one person", shown, got)
        if raw is not None and name in raw.columns:
            known = {*texts.to_list()} & set(_computable(raw, name, digits))
            if known:
                yield Fault("pseudonyms that can be computed without a key", shown, f"{len(known)} of them")


def _computable(raw: pl.DataFrame, name: str, digits: int) -> Iterator[str]:
    """Yield what anybody could make of a name: itself, and its plain digests."""
    try:
        values = to_plain(raw[name]).cast(pl.String).drop_nulls().unique().to_list()
    except TableError:  # never published in any way
        return
    for text in values:
        data = text.encode()
        yield text
        yield from (hashlib.new(how, data).hexdigest()[:digits] for how in ("md5", "sha1", "sha256", "sha512"))
        yield hmac.digest(b"", data, "sha256").hex()[:digits]
