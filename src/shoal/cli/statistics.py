"""Statistics on the command line: what was asked for, and what was found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from shoal.auditing import Fidelity


def asked(statistics: bool, standing: str | None, class_column: str | None, *, original: object) -> Fidelity | bool:
    """Return the statistics that the options ask for."""
    given = {"standing": standing, "class_column": class_column}
    given = {name: value for name, value in given.items() if value is not None}
    if not statistics:
        for name in given:
            raise typer.BadParameter("is for --statistics", param_hint=f"--{name.replace('_', '-')}")
        return False
    if original is None:
        raise typer.BadParameter("needs --original", param_hint="--statistics")
    if standing is not None and standing not in _STANDS:
        raise typer.BadParameter(f"one of {', '.join(_STANDS)}; got {standing!r}", param_hint="--standing")
    from shoal.auditing import Fidelity

    return Fidelity(**given)


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield what a person wants to know of the statistics; all of them are in the JSON."""
    yield f"original against published (a range stands for its {_STANDS[found['standing']]}); for the owner only:"
    if "sampled" in found["records"]:
        drawn = (f"{found['records']['sampled'][which]:,} {which}" for which in ("original", "published"))
        yield f"  made on {' and '.join(drawn)} records, drawn at random"
    if "note" in found:
        yield f"  {found['note']}"
        return
    for name, told in found["columns"].items():
        yield f"  {name}: {_column(told)}"
    yield f"  clusters: U_cluster {found['clusters']['utility']:.2g} over {found['clusters']['clusters']} clusters"
    largest = found["correlations"]["largest_change"]
    if largest is not None:
        yield (
            f"  largest change of an association: {' and '.join(largest['columns'])}, "
            f"{largest['before']:.2f} before, {largest['after']:.2f} after"
        )
    if found["queries"] is not None:
        error = found["queries"]["median_relative_error"]
        yield f"  random counts: median relative error {error:.1%} of {found['queries']['count']} queries"
    if "learning" in found:
        scores = found["learning"]["accuracy"]
        yield (
            f"  {found['learning']['class_column']} learned from the release: {scores['published']:.1%} right; "
            f"from the original {scores['original']:.1%}, by the majority {scores['majority']:.1%}"
        )


_STANDS = {"midpoint": "midpoint", "uniform": "records, spread evenly", "class": "mean"}


def _column(told: dict[str, Any]) -> str:
    if "note" in told:
        return str(told["note"])
    if told["kind"] == "category":
        return f"shares differ by {told['total_variation']:.1%}"
    largest = f"distributions differ by {told['distance']['largest']:.1%}"
    if "unit" in told:  # a date as a number tells nobody anything
        return largest
    mean = told["mean"]
    return f"{largest}; mean {mean['before']:.4g} before, {mean['after']:.4g} after"
