"""manifest_of(): what a release was made from, with what, and how."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from shoal.engines.columns import population_frame
from shoal.engines.fingerprint import fingerprint
from shoal.engines.memory.source import Source
from shoal.policy import Policy
from shoal.policy.disclosure_weights import weigh
from shoal.recodings.base import RecodingSummary

_LIBRARIES = ("shoal", "numpy", "numba", "polars", "pydantic")


def manifest_of(source: Source, policy: Policy, recoding: RecodingSummary) -> dict[str, Any]:
    """Return the manifest: policy, its hash, the data's fingerprint, versions, seed and recoding.

    Where the policy has a threshold, also what a request for the whole table weighs. It holds no value of the original
    table; the fingerprint is slow to guess against. A seed that must be secret is not told.
    """
    weighed = {} if policy.threshold is None else {"request": weigh(policy, source.frame.columns).to_dict()}
    return {
        "policy": policy.effective(),
        "policy_hash": policy.hash,
        "data_fingerprint": fingerprint(source.frame, policy.hash, source.times),
        "records": source.records,
        **_population(policy),
        "seed": "secret" if policy.has_secret_seed else policy.seed,
        **weighed,
        "recoding": recoding.to_dict(),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in _LIBRARIES}},
    }


def _population(policy: Policy) -> dict[str, Any]:
    if policy.population is None:
        return {}
    people = population_frame(policy.population)
    return {"population": {"records": people.height, "fingerprint": fingerprint(people, policy.hash)}}


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
