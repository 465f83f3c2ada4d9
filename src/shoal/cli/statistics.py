"""Statistics on the command line: what was asked for, and what was found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from shoal.auditing import Fidelity


def choose_statistics(
    statistics: bool, standing: str | None, class_column: str | None, *, original: object
) -> Fidelity | bool:
    """Return the statistics that the options ask for."""
    options = {"standing": standing, "class_column": class_column}
    options = {name: value for name, value in options.items() if value is not None}
    if not statistics:
        for name in options:
            raise typer.BadParameter("is for --statistics", param_hint=f"--{name.replace('_', '-')}")
        return False
    if original is None:
        raise typer.BadParameter("needs --original", param_hint="--statistics")
    if standing is not None and standing not in _STANDS:
        raise typer.BadParameter(f"one of {', '.join(_STANDS)}; got {standing!r}", param_hint="--standing")
    from shoal.auditing import Fidelity

    return Fidelity(**options)


def format_statistics(statistics: dict[str, Any]) -> Iterator[str]:
    """Yield what a person wants to know of the statistics; all of them are in the JSON."""
    yield f"original against published (a range stands for its {_STANDS[statistics['standing']]}); for the owner only:"
    if "sampled" in statistics["records"]:
        drawn = (f"{statistics['records']['sampled'][which]:,} {which}" for which in ("original", "published"))
        yield f"  made on {' and '.join(drawn)} records, drawn at random"
    if "note" in statistics:
        yield f"  {statistics['note']}"
        return
    for name, column in statistics["columns"].items():
        yield f"  {name}: {_format_column(column)}"
    clusters = statistics["clusters"]
    yield f"  clusters: U_cluster {clusters['utility']:.2g} over {clusters['clusters']} clusters"
    largest = statistics["correlations"]["largest_change"]
    if largest is not None:
        yield (
            f"  largest change of an association: {' and '.join(largest['columns'])}, "
            f"{largest['before']:.2f} before, {largest['after']:.2f} after"
        )
    if statistics["queries"] is not None:
        error = statistics["queries"]["median_relative_error"]
        yield f"  random counts: median relative error {error:.1%} of {statistics['queries']['count']} queries"
    if "learning" in statistics:
        scores = statistics["learning"]["accuracy"]
        yield (
            f"  {statistics['learning']['class_column']} learned from the release: {scores['published']:.1%} right; "
            f"from the original {scores['original']:.1%}, by the majority {scores['majority']:.1%}"
        )


_STANDS = {"midpoint": "midpoint", "uniform": "records, spread evenly", "class": "mean"}


def _format_column(column: dict[str, Any]) -> str:
    if "note" in column:
        return str(column["note"])
    if column["kind"] == "category":
        return f"shares differ by {column['total_variation']:.1%}"
    largest = f"distributions differ by {column['distance']['largest']:.1%}"
    if "unit" in column:  # a date as a number tells nobody anything
        return largest
    mean = column["mean"]
    return f"{largest}; mean {mean['before']:.4g} before, {mean['after']:.4g} after"
