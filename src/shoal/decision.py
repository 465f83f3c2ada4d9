"""decide(): encode, search, and make the answer final; a decision, not yet a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.algorithms.base import Progress, silent
from shoal.errors import Infeasible
from shoal.frequencies import Classes
from shoal.policy import Policy
from shoal.recodings.base import Recoding
from shoal.recodings.publication import Publication, publish
from shoal.release import titles
from shoal.tables.encode import Encoded, encode
from shoal.utility.base import Outcome


@dataclass(frozen=True)
class Decision:
    """What a search decided for a table."""

    policy: Policy
    encoded: Encoded
    recoding: Recoding
    publication: Publication

    @property
    def attained(self) -> dict[str, Any]:
        """What each model attains, as the search counts it."""
        classes = self.publication.classes
        return {
            title: model.measure(classes, self.encoded.sensitive)
            for title, model in zip(titles(self.policy), self.policy.models, strict=True)
        }

    @property
    def loss(self) -> float:
        """The loss that the policy names, as the search counts it."""
        return self.policy.loss.measure(self.outcome()).total

    def outcome(self) -> Outcome:
        """Return what became of the table."""
        publication, classes = self.publication, self.publication.classes
        starred = publication.starred if classes.count > 1 else -1
        shown = np.arange(classes.count) != starred
        return Outcome(
            self.encoded.frequencies.records,
            classes.records[shown],
            np.stack([column.penalties[shown] for column in publication.columns], axis=1),
            tuple(self.policy.quasi_identifiers),
            np.array([column.weight for column in self.policy.quasi_identifiers.values()]),
            publication.suppressed,
            publication.suppressed - publication.dropped,
            self.policy.k,
        )


def decide(frame: pl.DataFrame, policy: Policy, progress: Progress = silent) -> Decision:
    """Encode a table, search, and make the recoding final."""
    progress("counting", 0, 0)
    if not frame.height:
        raise Infeasible("the table has no records")
    encoded = encode(frame, policy)
    recoding = policy.algorithm.search(encoded.problem(policy, progress)).extended(encoded.frequencies)
    publication = publish(
        recoding,
        encoded.frequencies,
        encoded.columns,
        policy.models,
        encoded.sensitive,
        star=policy.suppressed == "star",
    )
    if not publication.classes.count:
        raise Infeasible("every record would be suppressed")
    allowed = policy.may_suppress(encoded.frequencies.records)
    if publication.suppressed > allowed:
        raise Infeasible(f"{publication.suppressed} records would be suppressed or show nothing, {allowed} may")
    return Decision(policy, encoded, recoding, publication)


def ceilings(frame: pl.DataFrame, policy: Policy) -> list[Any]:
    """Return what all records together attain of each model: no recoding attains more."""
    if not frame.height:
        return [None for _ in policy.models]
    encoded = encode(frame, policy)
    whole = Classes.of(encoded.frequencies, np.zeros(len(encoded.frequencies.cell_counts), np.int64), 1)
    return [model.measure(whole, encoded.sensitive) for model in policy.models]
