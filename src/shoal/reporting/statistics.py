"""describe_statistics(): an audit's statistics of original against published, as texts and drawings of the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from shoal.reporting.formatting import DAY_UNITS, format_count, format_date, format_list, format_number, format_share
from shoal.reporting.svg.distributions import draw_distribution
from shoal.reporting.svg.heatmap import draw_heatmap

_STANDING = {
    "midpoint": "its midpoint stands for it",
    "uniform": "its records are spread evenly over it",
    "class": "the mean of the original values that it covers stands for it",
}

Statistics = Mapping[str, Any]


def describe_statistics(statistics: Statistics | None) -> dict[str, Any] | None:
    """Return what the page shows of them; ``None`` where they were not made."""
    if statistics is None:
        return None
    correlations = statistics.get("correlations")
    return {
        "note": statistics.get("note", ""),
        "standing": f"Where a range is published, {_STANDING[statistics['standing']]}.{_sample(statistics)}",
        "columns": [_column(name, statistics) for name, statistics in statistics.get("columns", {}).items()],
        "heatmap": draw_heatmap(correlations) if correlations else "",
        "correlations": _correlations(correlations),
        "facts": list(_facts(statistics)),
    }


def _sample(statistics: Statistics) -> str:
    """Say on how many records the statistics were made, if not on all."""
    records = statistics["records"]
    if "sampled" not in records:
        return ""
    parts = [
        f"{format_count(records['sampled'][which])} of {format_count(records[which])}"
        for which in ("original", "published")
    ]
    return f" Made on {parts[0]} original and {parts[1]} published records, drawn at random."


def _column(name: str, statistics: Statistics) -> dict[str, Any]:
    if statistics.get("gone") == 1.0:
        return {"name": name, "words": "Gone: no record shows anything of it.", "chart": "", "tests": []}
    return {
        "name": name,
        "words": _describe_column(statistics) + _describe_gone(statistics),
        "chart": draw_distribution(name, statistics),
        "tests": list(_list_tests(statistics)),
    }


def _describe_gone(statistics: Statistics) -> str:
    """Say in how many records the column shows nothing: what is drawn of those is an even spread over all values."""
    if not statistics.get("gone"):
        return ""
    return f" In {format_share(statistics['gone'])} of the records it is gone; those count as spread over all values."


def _correlations(statistics: Statistics | None) -> str:
    """Say which two columns go together most differently than before."""
    largest = None if statistics is None else statistics.get("largest_change")
    if not largest:
        return ""
    return f"Changed most: {format_list(largest['columns'])}, {_format_change(largest)}."


def _facts(statistics: Statistics) -> Iterator[tuple[str, str, str]]:
    queries, joint = statistics.get("queries"), statistics.get("joint")
    if queries:
        meaning = (
            f"median relative error of {queries['count']} random counts over up to {queries['most_columns']} columns, "
            f"each asked for about {format_share(queries['selected'])} of the records"
        )
        yield "Counts", format_number(queries["median_relative_error"]), meaning
    if joint:
        yield (
            "Together",
            format_number(joint["largest"]),
            f"largest distance of the distributions of {format_list(joint['columns'])}",
        )
    if statistics.get("clusters"):
        meaning = "0 where each cluster of pooled records holds as many original as published ones, 0.25 at worst"
        yield "Clusters", format_number(statistics["clusters"]["utility"]), meaning
    learning = statistics.get("learning")
    if learning:
        accuracy = learning["accuracy"]
        meaning = (
            f"of unseen original records have their {learning['class_column']} learned from the published table; "
            f"{format_share(accuracy['original'])} from the original, "
            f"{format_share(accuracy['majority'])} by the most frequent value"
        )
        yield "Learning", format_share(accuracy["published"]), meaning


def _describe_column(statistics: Statistics) -> str:
    """Say in a line how far a column is from what it was."""
    if "note" in statistics:
        return str(statistics["note"])
    if statistics["kind"] == "category":
        return f"Shares moved: {format_share(statistics['total_variation'])}."
    return (
        f"{_describe_moments(statistics)}; "
        f"largest distance of the distributions {format_number(statistics['distance']['largest'])}."
    )


def _describe_moments(statistics: Statistics) -> str:
    """Return mean and variance before and after; of dates the mean as a date, and the deviation in days."""
    unit = DAY_UNITS.get(statistics.get("unit", ""))
    if unit is None:
        return f"Mean {_format_change(statistics['mean'])}; variance {_format_change(statistics['variance'])}"
    mean = (format_date(statistics["mean"][when], statistics["unit"]) for when in ("before", "after"))
    deviation = (f"{statistics['variance'][when] ** 0.5 / unit:,.1f}" for when in ("before", "after"))
    return f"Mean {' → '.join(mean)}; standard deviation {' → '.join(deviation)} days"


def _format_change(statistics: Statistics) -> str:
    return f"{format_number(statistics['before'])} → {format_number(statistics['after'])}"


def _list_tests(statistics: Statistics) -> Iterator[tuple[str, str, str]]:
    for name in ("kolmogorov-smirnov", "welch", "variance-ratio"):
        test = statistics.get(name)
        if test:
            yield name, format_number(test["statistic"]), _p_value(test["p_value"])


def _p_value(value: float | None) -> str:
    if value is None:
        return format_number(None)
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"
