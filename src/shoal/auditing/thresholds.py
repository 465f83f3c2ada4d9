"""thresholds(): which published class sizes a table reaches."""

from __future__ import annotations

from typing import Any

from shoal.policy.presets import PRESETS


def thresholds(k: int | None) -> list[dict[str, Any]]:
    """Return each published rule that asks for a class size, and whether a table with this k meets it.

    Sizes are compared as whole numbers; a rule that speaks of a risk of 0.09 means one in eleven.

    Examples
    --------
    >>> [(rule["name"], rule["asked"]) for rule in thresholds(5) if rule["met"]]
    [('ihsn-3', 3), ('ihsn-5', 5), ('arx-default', 5)]
    """
    return [
        {
            "name": preset.name,
            "asked": model.class_size,
            "attained": k,
            "met": None if k is None else model.meets(k),
            "source": preset.source,
        }
        for preset in PRESETS.values()
        for model in preset.models
        if model.only_asks == "records"
    ]
