"""The attacks of the benchmark can find somebody: where the gateway is made to leak they do, else they do not."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from types import ModuleType
from typing import Any

import pytest
from benchmarks.attacks import linking, raw_records, same_table, victims

from shoal.gateway import decisions
from shoal.gateway.known_records import KnownRecords

Leak = Any


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A part of the victims: enough to be found."""
    table = victims.people().head(400)
    for attack in (linking, raw_records, same_table):
        monkeypatch.setattr(attack, "people", lambda: table)
    yield


def show_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    real = victims.promise
    monkeypatch.setattr(raw_records, "promise", lambda **said: real(raw={"least": 1}, **said))


def find_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KnownRecords, "find_double", lambda *_: None)
    real = victims.promise
    monkeypatch.setattr(same_table, "promise", lambda **said: real(**said) | {"identifiers": [], "others": "drop"})


def link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "find_links", lambda *_, **__: frozenset())


LEAKS: dict[str, tuple[ModuleType, Leak]] = {
    "raw answers of everybody": (raw_records, show_everybody),
    "copies that are not found": (same_table, find_no_copy),
    "links that are not found": (linking, link),
}


@pytest.mark.parametrize("name", LEAKS)
def test_an_attack_finds_somebody_where_there_is_a_leak(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    attack, leak = LEAKS[name]
    assert sum(found.persons for found in attack.run(Random(0))) == 0
    leak(monkeypatch)
    assert sum(found.persons for found in attack.run(Random(0))) > 0
