"""The bytes of a file are searched block by block as they are at once."""

from __future__ import annotations

import polars as pl
import pytest

from shoal.auditing.hygiene import blocks_faults, bytes_faults

RAW = pl.DataFrame({"job": ["lion tamer", "clerk"], "city": ["Springfield", "Shelbyville"]})
SHOWN = pl.DataFrame({"job": ["*", "*"], "city": ["Springfield", "Shelbyville"]})


@pytest.mark.parametrize("size", [1, 3, 7, 11, 1000])
@pytest.mark.parametrize(
    ("data", "leaks"),
    [
        (b"job,city\n*,Springfield\n*,Shelbyville\n", False),
        (b"job,city\n*,Springfield\n*,Shelbyville\nlion tamer", True),
        (b"clerk\njob,city\n*,Springfield\n", True),
        (b"job,city\n*,Springfield\nlion tame", False),
        (b"", False),
    ],
)
def test_a_value_over_two_blocks_is_found(data: bytes, leaks: bool, size: int) -> None:
    blocks = (data[start : start + size] for start in range(0, len(data), size))
    found = blocks_faults(blocks, "csv", SHOWN, RAW)
    assert bool(found) is leaks
    assert found == bytes_faults(data, "csv", SHOWN, RAW)
