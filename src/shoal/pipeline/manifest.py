"""describe_release(): what a release was made from, with what, and how."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from shoal.engines.base import TableEngine
from shoal.engines.columns import population_frame
from shoal.engines.counted import CountedTable
from shoal.engines.dictionary import TableDictionary
from shoal.engines.fingerprint import fingerprint
from shoal.policy import Policy
from shoal.policy.abridge import reference_large
from shoal.policy.disclosure_weights import weigh
from shoal.policy.published_columns import needed_columns
from shoal.recodings.base import RecodingSummary

_LIBRARIES = ("shoal", "numpy", "numba", "polars", "pydantic")


def describe_release(words: TableDictionary, recoding: RecodingSummary, engine: TableEngine) -> dict[str, Any]:
    """Return the manifest: policy, its hash, the data's fingerprint, versions, seed and recoding.

    Large hierarchies are in it by the number and the hash of their values; the policy's hash is that of the whole.

    Where the policy has a threshold, also what a request for the whole table weighs. It holds no value of the original
    table; the fingerprint is slow to guess against. A seed that must be secret is not told.
    """
    policy = words.policy
    weighed = {} if policy.threshold is None else {"request": weigh(policy, words.table.frame.columns).to_dict()}
    return {
        "policy": reference_large(policy.effective()),
        "policy_hash": policy.hash,
        "data_fingerprint": fingerprint(_needed(words), policy.hash),
        "records": words.table.records,
        **_population(policy),
        "seed": "secret" if policy.has_secret_seed else policy.seed,
        **weighed,
        "recoding": recoding.to_dict(),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in _LIBRARIES}},
        **engine.describe(),
    }


def _needed(words: TableDictionary) -> CountedTable:
    """Return the columns that a release is made of: no engine has to read the others, and all tell the same."""
    frame = words.table.frame
    return words.table.with_frame(
        frame.select(frame.get_column(name) for name in needed_columns(frame.columns, words.policy))
    )


def _population(policy: Policy) -> dict[str, Any]:
    if policy.population is None:
        return {}
    people = population_frame(policy.population)
    return {"population": {"records": people.height, "fingerprint": fingerprint(CountedTable(people), policy.hash)}}


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
