"""Fidelity: statistics of the original table against the published one, for those who will use it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
import polars as pl
from pydantic import Field

from shoal.auditing.joint_fidelity import compare_records, compare_shapes
from shoal.auditing.original import OriginalTable
from shoal.auditing.reread import Reread, list_shared_columns, reread_columns
from shoal.auditing.suppression import stars_everywhere
from shoal.auditing.texts import read_texts
from shoal.engines.counted import CountedTable
from shoal.errors import Misfit, nearest
from shoal.policy import Policy
from shoal.registry import Frozen
from shoal.utility.statistics.clusters import find_clusters
from shoal.utility.statistics.columns import ColumnPair, features
from shoal.utility.statistics.correlations import Associations, associations, measure, rank_correlations
from shoal.utility.statistics.distributions import distance
from shoal.utility.statistics.histograms import BinShares, of_categories, of_numbers
from shoal.utility.statistics.learning import compare_learning
from shoal.utility.statistics.queries import answer_workload
from shoal.utility.statistics.samples import Sample, SampleTest, kolmogorov_of, variance_ratio, welch
from shoal.utility.statistics.standing import Standing

LEAST = 5
"""The fewest original records that are counted together, whatever k is."""


class Fidelity(Frozen):
    """Which statistics an audit makes of the original table against the published one.

    They are for the owner, like everything that needs the original. No bin holds fewer than k (or five) original
    records, and no value of a record is told. But what the original has and the release has not is what the suppressed
    records have: whoever holds both could learn of those few. Do not publish them with the release.
    """

    standing: Standing = "midpoint"
    """What stands for a published range: its midpoint, its records spread evenly over it (``uniform``), or the mean of
    the original values that it covers (``class``), as readers have it where class statistics are released."""
    class_column: str | None = None
    """The column to be learned; it must be published as it is. Needs the extra ``ml``."""
    queries: Annotated[int, Field(ge=1, strict=True)] = 200
    """How many random counts are asked."""
    clusters: Annotated[int, Field(ge=2, strict=True)] = 20
    """How many clusters the pooled records are put in; one for ten records at most."""
    sample: Annotated[int, Field(ge=1_000, strict=True)] = 200_000
    """How many records are drawn at random of a table that has more."""

    def compare(
        self, published: CountedTable, original: OriginalTable, rows: pl.Series | None = None
    ) -> dict[str, Any]:
        """Return the statistics as plain data; the published table must have all quasi-identifiers.

        ``rows``: which original record each published one is, where that is known: only then can be told how far each
        was moved.
        """
        policy, table = original.policy, original.table
        records = {"original": table.records, "published": published.records}
        # plain before a sample is drawn: the type of a column depends on all of it
        names = list_shared_columns(published.frame, table.frame, policy)
        held = table.with_frame(pl.DataFrame([original.words.values(name).alias(name) for name in names]))
        raw = held.sample(self.sample, policy.seed)
        frame = published.sample(self.sample, policy.seed)
        drawn = {"original": raw.height, "published": frame.height}
        kept = frame.filter(~_starred(frame, policy))
        told = {**records, "compared": kept.height, **({"sampled": drawn} if drawn != records else {})}
        result: dict[str, Any] = {"for": "the owner", "standing": self.standing, "records": told}
        if not kept.height or not raw.height:
            return {**result, "note": "no record shows anything: there is nothing to compare"}
        found = reread_columns(kept, raw, original, self.standing)
        columns = [reread.column for reread in found.values()]
        known = [found[name].column for name in policy.quasi_identifiers]
        result["columns"] = {name: _column(reread, max(policy.k, LEAST)) for name, reread in found.items()}
        result |= {"joint": _joint(columns, policy.seed), "clusters": self._clusters(columns, raw, kept, policy)}
        result |= {"correlations": _correlations(columns), "queries": self._queries(known, policy)}
        result |= compare_shapes(columns, policy.seed)
        if rows is not None and drawn == records and kept.height == frame.height:
            result["deviations"] = compare_records(columns, rows)
        if self.class_column is not None:
            result["learning"] = self._learning(found, policy)
        finite: dict[str, Any] = _finite(result)
        return finite

    def _clusters(
        self, columns: list[ColumnPair], raw: pl.DataFrame, kept: pl.DataFrame, policy: Policy
    ) -> dict[str, Any]:
        found = find_clusters(
            (lambda rows: features(columns, rows, published=False), raw.height),
            (lambda rows: features(columns, rows, published=True), kept.height),
            clusters=max(min(self.clusters, (raw.height + kept.height) // 10), 2),
            seed=policy.seed,
        )
        return {**asdict(found), "weights": "size"}

    def _queries(self, columns: list[ColumnPair], policy: Policy) -> dict[str, Any] | None:
        if not any(column.covers.size for column in columns):
            return None
        found = answer_workload(columns, queries=self.queries, seed=policy.seed)
        return {
            "count": len(found.errors),
            "median_relative_error": found.median,
            "quartiles": [found.quantile(0.25), found.quantile(0.75)],
            "most_columns": found.most_columns,
            "selected": found.selected,
            "sanity": found.sanity,
        }

    def _learning(self, found: dict[str, Reread], policy: Policy) -> dict[str, Any]:
        name = self.class_column
        if name not in found or name in policy.quasi_identifiers:
            others = [other for other in found if other not in policy.quasi_identifiers]
            what = "the class column must be in both tables, published as it is"
            raise Misfit(what, where="class_column", got=repr(name), hint=nearest(str(name), others))
        held = [reread.column for other, reread in found.items() if other != name]
        result = compare_learning(held, found[name].column, seed=policy.seed)
        return {
            "class_column": name,
            "learner": "logistic regression",
            "accuracy": {"published": result.published, "original": result.original, "majority": result.majority},
            "kept": result.kept,
            "trained": {"published": result.trained[1], "original": result.trained[0]},
            "tested": result.tested,
        }


def _starred(frame: pl.DataFrame, policy: Policy) -> pl.Series:
    """Which records show nothing; if all do, the table as a whole was generalized and nobody was singled out."""
    if not policy.quasi_identifiers:
        return pl.Series(np.zeros(frame.height, bool))
    stars = stars_everywhere(read_texts(frame[name]) for name in policy.quasi_identifiers)
    return stars if not stars.all() else pl.Series(np.zeros(frame.height, bool))


_UNITS = {"date": "days since 1970", "datetime": "microseconds since 1970"}
_DAYS = {"date": 1, "datetime": 86_400_000_000}
"""How long a day is in such units: bins of dates end where years, months or days do."""


def _column(reread: Reread, least: int) -> dict[str, Any]:
    column = reread.column
    told: dict[str, Any] = {"unreadable": reread.unreadable} if reread.unreadable else {}
    told |= {"gone": column.gone} if column.gone else {}
    if column.numbers is None:
        histogram = of_categories(column.counts, column.implied, least=least)
        gap = sum(abs(one - other) for one, other in zip(histogram.before, histogram.after, strict=True)) / 2
        return {"kind": "category", **told, "histogram": _bars(histogram, reread), "total_variation": gap}
    before, after = column.known
    kind = reread.domain.kind
    told = {"kind": "number", **({"unit": _UNITS[kind]} if kind in _UNITS else {}), **told}
    if len(before) < least or len(after) < 2:  # of a few numbers, mean and variance would tell each
        return {**told, "note": "too few numbers to compare"}
    apart, samples = distance(before[:, None], after[:, None]), (Sample.of(before), Sample.of(after))
    histogram = of_numbers(before, after, least=least, unit=_DAYS.get(kind))
    return {
        **told,
        "distance": {"largest": apart.largest, "mean_square": apart.mean_square},
        "mean": {"before": samples[0].mean, "after": samples[1].mean},
        "variance": {"before": samples[0].variance, "after": samples[1].variance},
        "kolmogorov-smirnov": _finding(kolmogorov_of(apart.largest, len(before), len(after))),
        "welch": _finding(welch(*samples)),
        "variance-ratio": _finding(variance_ratio(*samples)),
        "histogram": {"edges": histogram.edges, "before": histogram.before, "after": histogram.after},
        "distribution": dict(zip(("before", "after"), histogram.reached, strict=True)) | {"edges": histogram.edges},
    }


def _bars(histogram: BinShares, reread: Reread) -> dict[str, Any]:
    """A value stands alone, by its name; those that share a bin are not named."""
    labels = [reread.label(bin_[0]) if len(bin_) == 1 else "(others)" for bin_ in histogram.places]
    others = [len(bin_) for bin_ in histogram.places if len(bin_) > 1]
    counted = {"others": sum(others)} if others else {}
    return {"values": labels, "before": histogram.before, "after": histogram.after, **counted}


def _finding(found: SampleTest) -> dict[str, Any]:
    told = {"statistic": found.statistic, "p_value": found.p_value}
    return told | ({} if found.interval is None else {"interval": found.interval})


def _joint(columns: Iterable[ColumnPair], seed: int) -> dict[str, Any] | None:
    """The distance of the distribution functions of all number columns together."""
    held = [(column.name, column.numbers) for column in columns if column.numbers is not None]
    if len(held) < 2:
        return None
    tables = [np.stack([numbers[index] for _, numbers in held], axis=1) for index in (0, 1)]
    whole = [table[~np.isnan(table).any(axis=1)] for table in tables]
    if not all(map(len, whole)):
        return None
    found = distance(whole[0], whole[1], seed=seed)
    return {"columns": [name for name, _ in held], **asdict(found)}


def _correlations(columns: list[ColumnPair]) -> dict[str, Any]:
    measures = [[measure(one, other) for other in columns] for one in columns]
    return {"measures": measures, **_matrices(associations(columns)), "spearman": _matrices(rank_correlations(columns))}


def _matrices(found: Associations) -> dict[str, Any]:
    largest = None
    if found.largest is not None:
        one, other, before, after = found.largest
        largest = {"columns": [one, other], "before": before, "after": after}
    return {"columns": found.columns, "before": found.before, "after": found.after, "largest_change": largest}


def _finite(value: Any) -> Any:
    """Return plain data without what JSON has no word for: a ratio to nothing is ``None``."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
