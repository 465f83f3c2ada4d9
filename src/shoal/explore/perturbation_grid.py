"""compare_perturbations(): one policy with its perturbations at several parameters: what is risked, what is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import yaml

from shoal.auditing.record_pairs import pair_columns
from shoal.encoding.types import Floats, Progress, silent
from shoal.engines.memory.source import open_in_memory
from shoal.errors import Infeasible, Misfit, PolicyError, nearest
from shoal.pipeline.anonymize import anonymize
from shoal.pipeline.release import Release
from shoal.policy import Policy
from shoal.risk.base import Evidence, RecordPairs
from shoal.risk.record_linkage import RecordLinkage

Grid = Mapping[str, Sequence[Any]]
"""``method.parameter`` → its values."""


def parse_grid(texts: Sequence[str]) -> Grid:
    """Return what is varied, from texts.

    Examples
    --------
    >>> parse_grid(["pram.retain=0.6,0.8", "pram.invariant=true"])
    {'pram.retain': [0.6, 0.8], 'pram.invariant': [True]}
    """
    grid: dict[str, Sequence[Any]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or "." not in name or not values.strip():
            hint = "for example rank-swapping.window=0.02,0.05,0.1"
            raise PolicyError("is no method.parameter=values", where="vary", got=repr(text), hint=hint)
        grid[name.strip()] = [yaml.safe_load(value) for value in values.split(",")]
    return grid


def compare_perturbations(
    table: object, policy: Policy, grid: Grid, *, progress: Progress = silent
) -> list[dict[str, Any]]:
    """Return for each combination of parameters what record linkage finds, and how far values moved; none is released.

    Risk is the share of right links of :class:`~shoal.risk.record_linkage.RecordLinkage`, over all columns that show
    other values. The loss is the mean over these columns: of numbers that of |x - x'| / (√2 · s), s the standard
    deviation of the original (IL1s by cells), of all else the share of records that show another value.

    Examples
    --------
    >>> import polars as pl
    >>> policy = Policy(others="drop", perturb=[{"name": "noise", "columns": ["pay"], "share": 0.1}])
    >>> rows = compare_perturbations(pl.DataFrame({"pay": range(200)}), policy, {"noise.share": [1e-6, 0.5]})
    >>> rows[0]["risk"]["distance"] > rows[1]["risk"]["distance"], rows[0]["deviation"] < rows[1]["deviation"]
    (True, True)
    """
    source = open_in_memory(table)
    return [
        {"method": method, "setting": setting, **_try(source, trial, progress)}
        for method, setting, trial in _list_trials(policy, grid)
    ]


def _list_trials(policy: Policy, grid: Grid) -> Iterator[tuple[str, str, Policy]]:
    present = [one.key() for one in policy.perturb]
    for name in grid:
        if name.partition(".")[0] not in present:
            known = ", ".join(present) or "none"
            raise PolicyError("the policy perturbs by no such method", where="vary", got=name, hint=f"it has: {known}")
    if not grid:
        raise PolicyError("nothing is varied", where="vary", hint="for example pram.retain=0.6,0.8")
    for values in product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        entries = [_vary(one, chosen) for one in policy.perturb]
        method = ", ".join(dict.fromkeys(name.partition(".")[0] for name in chosen))
        setting = ", ".join(f"{name.partition('.')[2]} {value}" for name, value in chosen.items())
        yield method, setting, policy.replace(perturb=entries, identifiers=list(policy.identifiers))


def _vary(one: Any, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry with other parameters."""
    fields = type(one).model_fields
    entry = {"name": one.key(), **one.model_dump(exclude_defaults=True)}
    for name, value in chosen.items():
        method, _, parameter = name.partition(".")
        if method == one.key():
            if parameter not in fields:
                raise PolicyError("no such parameter", where="vary", got=name, hint=nearest(parameter, list(fields)))
            entry[parameter] = value
    return entry


def _try(source: object, policy: Policy, progress: Progress) -> dict[str, Any]:
    try:
        release = anonymize(source, policy, progress=progress)
    except (Infeasible, Misfit) as error:
        return {"attained": None, "why": str(error.faults[0])}
    pairs = _pair(release)
    found = RecordLinkage().run(Evidence(np.array([release.audit.published]), pairs=pairs))
    measured = found[0].measured if found else {"distance": 0.0, "probabilistic": 0.0}
    risk = {name: round(float(measured[name]), 4) for name in ("distance", "probabilistic")}
    return {"attained": True, "risk": risk, "deviation": measure_deviation(pairs)}


def _pair(release: Release) -> RecordPairs:
    """Return the perturbed columns, as they were and as they are published."""
    assert release.rows is not None
    original, shown = release.prepared.original.frame, release.values.frame
    before = pl.DataFrame([original[name].gather(release.rows) for name in release.policy.perturbed])
    return pair_columns(before, pl.DataFrame([shown[name] for name in release.policy.perturbed]), release.policy)


def measure_deviation(pairs: RecordPairs) -> float:
    """Return how far values moved, the mean of all columns.

    Examples
    --------
    >>> sex = (np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))
    >>> measure_deviation(RecordPairs({}, {"sex": sex}))
    0.25
    """
    moved = [_move(*both) for both in pairs.numbers.values()]
    moved += [float((one != other).mean()) for one, other in pairs.categories.values()]
    return float(np.mean(moved)) if moved else 0.0


def _move(before: Floats, after: Floats) -> float:
    known = ~(np.isnan(before) | np.isnan(after))
    spread = float(before[known].std(ddof=1)) if known.sum() > 1 else 0.0
    return float(np.abs(before - after)[known].mean() / (np.sqrt(2) * spread)) if spread else 0.0
