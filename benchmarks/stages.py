"""Stages: the wall seconds that each stage of ``shoal.anonymize`` takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from shoal.pipeline import anonymize as pipeline
from shoal.pipeline import manifest
from shoal.pipeline import solve as decision
from shoal.policy import Policy

_WATCHED = (
    (pipeline, "check"),
    (decision, "encode"),
    (decision, "publish"),
    (pipeline, "apply"),
    (pipeline, "audit"),
    (manifest, "fingerprint"),
)


@contextmanager
def watched(policy: Policy) -> Iterator[dict[str, float]]:
    """Yield a mapping that fills with the seconds of each stage of the calls made inside the block."""
    seconds: dict[str, float] = {}
    search = type(policy.algorithm)
    indices = [*_WATCHED, (search, "search")]
    patches = [patch.object(index, name, _clocked(index, name, seconds)) for index, name in indices]
    for each in patches:
        each.start()
    try:
        yield seconds
    finally:
        for each in patches:
            each.stop()


def _clocked(index: Any, name: str, seconds: dict[str, float]) -> Callable[..., Any]:
    work = getattr(index, name)

    def clocked(*arguments: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return work(*arguments, **options)
        finally:
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start

    return clocked


def told(seconds: dict[str, float], whole: float) -> str:
    """Return the stages as text, longest first."""
    rest = whole - sum(seconds.values())
    parts = sorted({**seconds, "other": rest}.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {value:.2f} s" for name, value in parts)
