"""What the benchmarks know of the product by name."""

from __future__ import annotations

import pytest
from benchmarks.stopwatch import COUNTED, STAGES, find, watch

from shoal import anonymize, datasets


@pytest.mark.parametrize("where", [*STAGES, *COUNTED])
def test_every_watched_function_is_there(where: str) -> None:
    owner, name = find(where)
    assert callable(getattr(owner, name))


def test_stages_are_timed_and_everything_is_put_back() -> None:
    table, policy = datasets.load("patients")
    with watch(type(policy.algorithm)) as measured:
        anonymize(table, policy)
    assert {"checking", "encoding", "search", "auditing"} <= set(measured.seconds)
    assert measured.calls["column_domain"]
    calls = dict(measured.calls)
    anonymize(table, policy)
    assert measured.calls == calls
