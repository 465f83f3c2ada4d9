"""Weights of a draft, for those who ask: by what columns tell about a target, or by how identifying they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from shoal.engines.treatments import treat_columns
from shoal.errors import TableError, nearest
from shoal.profiling.identifying import HEAVIEST, measure_identifying
from shoal.profiling.informative import measure_information

_IDENTIFYING = (
    f"Weights, 1 to {HEAVIEST}: how identifying the column was measured to be, by the pairs of records that it tells "
    "apart and its distinct values, alone and with up to two others (Motwani and Xu 2007). A heavy column keeps its "
    "detail: a loss in it counts more, and weighted-boundaries generalizes it last. Raise what readers need most."
)


@dataclass(frozen=True, kw_only=True)
class Weights:
    """How much the quasi-identifiers of a draft weigh, and why; nothing where nobody asked."""

    of: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    explanation: str = ""
    identifying: bool = False


def weigh_columns(
    frame: pl.DataFrame,
    specs: Mapping[str, Mapping[str, Any]],
    target: str | None,
    weigh: str | None,
) -> Weights:
    """Return the weights that were asked for, of quasi-identifiers as they are treated."""
    if target is not None and target not in frame.columns:
        raise TableError("no such column", where="target", got=repr(target), hint=nearest(target, frame.columns))
    if weigh not in (None, "identifying"):
        raise TableError("columns are weighed by how identifying they are", where="weigh", got=repr(weigh))
    if len(specs) < 2 or (target is None and weigh is None):
        return Weights()
    treatments = {name: spec["treatment"] for name, spec in specs.items() if "treatment" in spec}
    left = treat_columns(frame, treatments)
    if target is None:
        found = measure_identifying(left, list(specs))
        of = {name: one.weight for name, one in found.items()}
        reasons = {name: str(one) for name, one in found.items()}
        return Weights(of=of, reasons=reasons, explanation=_IDENTIFYING, identifying=True)
    told = measure_information(left, [name for name in specs if name != target], target)
    explanation = (
        f"Weights, 1 to {HEAVIEST}: how much the column tells about {target}, by mutual information. A heavy column "
        "keeps its detail: a loss in it counts more."
    )
    return Weights(of=told, explanation=explanation)
