"""kept(): an audit's statistics of original against published, as texts and drawings of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shoal.reporting import distributions
from shoal.reporting.heatmap import heatmap
from shoal.reporting.words import count, listed, number, share

_STANDING = {
    "midpoint": "its midpoint stands for it",
    "uniform": "its records are spread evenly over it",
    "class": "the mean of the original values that it covers stands for it",
}

RecodingSummary = Mapping[str, Any]


def kept(statistics: RecodingSummary | None) -> dict[str, Any] | None:
    """Return what the page shows of them; ``None`` where they were not made."""
    if statistics is None:
        return None
    correlations = statistics.get("correlations")
    return {
        "note": statistics.get("note", ""),
        "standing": f"Where a range is published, {_STANDING[statistics['standing']]}.{_sample(statistics)}",
        "columns": [_column(name, told) for name, told in statistics.get("columns", {}).items()],
        "heatmap": heatmap(correlations) if correlations else "",
        "correlations": _correlations(correlations),
        "facts": list(_facts(statistics)),
    }


def _sample(statistics: RecodingSummary) -> str:
    """Say on how many records the statistics were made, if not on all."""
    records = statistics["records"]
    if "sampled" not in records:
        return ""
    parts = [f"{count(records['sampled'][which])} of {count(records[which])}" for which in ("original", "published")]
    return f" Made on {parts[0]} original and {parts[1]} published records, drawn at random."


def _column(name: str, told: RecodingSummary) -> dict[str, Any]:
    return {
        "name": name,
        "words": distributions.words(told),
        "chart": distributions.drawn(name, told),
        "tests": list(distributions.tests(told)),
    }


def _correlations(told: RecodingSummary | None) -> str:
    """Say which two columns go together most differently than before."""
    largest = None if told is None else told.get("largest_change")
    if not largest:
        return ""
    return f"Changed most: {listed(largest['columns'])}, {number(largest['before'])} → {number(largest['after'])}."


def _facts(statistics: RecodingSummary) -> Iterator[tuple[str, str, str]]:
    queries, joint = statistics.get("queries"), statistics.get("joint")
    if queries:
        said = (
            f"median relative error of {queries['count']} random counts over up to {queries['most_columns']} columns, "
            f"each asked for about {share(queries['selected'])} of the records"
        )
        yield "Counts", number(queries["median_relative_error"]), said
    if joint:
        yield (
            "Together",
            number(joint["largest"]),
            f"largest distance of the distributions of {listed(joint['columns'])}",
        )
    if statistics.get("clusters"):
        said = "0 where each cluster of pooled records holds as many original as published ones, 0.25 at worst"
        yield "Clusters", number(statistics["clusters"]["utility"]), said
    learning = statistics.get("learning")
    if learning:
        accuracy = learning["accuracy"]
        said = (
            f"of unseen original records have their {learning['class_column']} learned from the published table; "
            f"{share(accuracy['original'])} from the original, {share(accuracy['majority'])} by the most frequent value"
        )
        yield "Learning", share(accuracy["published"]), said
