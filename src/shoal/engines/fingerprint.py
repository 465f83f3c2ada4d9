"""fingerprint(): which data a release came from, without giving the data away."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.engines.columns import codes_of, domain_of, to_plain_or_texts
from shoal.engines.counted import CountedTable

STRETCH = 2**14
"""How much work a guess costs: a power of two."""
_PRIME = np.uint64(0x9E3779B97F4A7C15)


def fingerprint(table: CountedTable, salt: str) -> str:
    """Return a fingerprint of a table that does not depend on the order of its records.

    Each distinct value is hashed, the hashes of a record are mixed, those of all records are added. The sum is
    then stretched with scrypt, so that nobody can try out guesses about a record quickly: a release's manifest
    may lie next to it.

    Examples
    --------
    >>> a = pl.DataFrame({"age": [21, 24], "sex": ["f", "m"]})
    >>> prints = [fingerprint(CountedTable(one), "") for one in (a, a.reverse(), a.with_columns(age=pl.lit(24)))]
    >>> prints[0] == prints[1], prints[0] == prints[2]
    (True, False)
    """
    frame = table.frame
    first = np.zeros(frame.height, np.uint64)
    second = np.full(frame.height, 1, np.uint64)
    for name in frame.columns:
        hashes = _value_hashes(name, to_plain_or_texts(frame[name]))
        first = _mixed(first ^ hashes)
        second = _mixed(second + hashes)
    if table.is_counted:
        with np.errstate(over="ignore"):
            first, second = (sums * table.record_counts.astype(np.uint64) for sums in (first, second))
    added = f"{int(first.sum(dtype=np.uint64))} {int(second.sum(dtype=np.uint64))}"
    sums = f"{table.records} {frame.columns} {added}"
    stretched = hashlib.scrypt(sums.encode(), salt=salt.encode(), n=STRETCH, r=8, p=1, dklen=32)
    return stretched.hex()


def _value_hashes(name: str, column: pl.Series) -> npt.NDArray[np.uint64]:
    domain = domain_of(column)
    digests = [_digest(name, text) for text in domain.texts]
    table = np.array([*digests, _digest(name, None)], np.uint64)
    return table[codes_of(column, domain)]


def _digest(name: str, text: str | None) -> int:
    data = f"{name}\0{text}" if text is not None else name
    return int.from_bytes(hashlib.blake2b(data.encode(), digest_size=8).digest(), "little")


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * _PRIME
        return values ^ (values >> np.uint64(27))
