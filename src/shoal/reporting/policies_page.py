"""render_policies_page(): policies side by side, for the people who choose one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.reporting.formatting import NOTHING, format_count, format_list, format_number
from shoal.reporting.html import fill_template, write_page

_Told = Sequence[Mapping[str, Any]]


def render_policies_page(found: Mapping[str, Any]) -> str:
    """Return what :func:`shoal.explore.policies.compare_policies` found as one self-contained HTML page."""
    released = [one for one in found["policies"] if one["released"]]
    measures = found["measures"] if released else {}
    data = {
        "records": format_count(found["records"]),
        "policies": [_promises(one) for one in found["policies"]],
        "released": [one["name"] for one in released],
        "measures": [
            {**_row(name, [one["measures"] for one in released]), "says": measures[name]} for name in measures
        ],
        "seconds": [format_number(one["seconds"]) for one in released],
        "columns": _rows("columns", released),
        "distances": _rows("distances", released),
    }
    return fill_template("policies.html.j2", data)


def write_policies_page(found: Mapping[str, Any], path: Path) -> None:
    """Write the page; it appears whole or not at all."""
    write_page(path, render_policies_page(found), "comparison")


def _promises(one: Mapping[str, Any]) -> dict[str, Any]:
    models = [
        {
            "name": model["name"],
            "on": f" on {format_list(model['on'])}" if model.get("on") else "",
            "asked": format_number(model["asked"]),
            "attained": format_number(model.get("attained")),
        }
        for model in one["models"]
    ]
    return {"name": one["name"], "models": models, "perturbed": one.get("perturbed", []), "why": one.get("why", "")}


def _rows(field: str, released: _Told) -> list[dict[str, Any]]:
    names = dict.fromkeys(name for one in released for name in one[field])
    return [_row(name, [one[field] for one in released]) for name in names]


def _row(name: str, figures: _Told) -> dict[str, Any]:
    values = [figure.get(name) for figure in figures]
    least = min((value for value in values if value is not None), default=0.0)
    cells = [
        {
            "text": NOTHING if value is None else format_number(float(value)),
            "share": 0 if value is None else round(100 * min(max(value, 0.0), 1.0)),
            "is_best": value is not None and value <= least + 1e-12 and len({*values}) > 1,
        }
        for value in values
    ]
    return {"name": name, "cells": cells}
