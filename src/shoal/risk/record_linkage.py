"""Record linkage: the attacker knows original values, and looks for the published record most like them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from shoal.encoding.types import Bools, Floats, Ints
from shoal.risk.base import Evidence, Finding, RecordPairs, SmallGroupRisk, share

_BLOCK, _ROUNDS, _MOST_COLUMNS = 1 << 22, 100, 16


class RecordLinkage(SmallGroupRisk):
    """The attacker knows a person's original values and looks for the published record that is most like them.

    It is tried with a sample of the records, in the columns that are not published as they were. By *distance*: the
    nearest record, numbers measured in their original standard deviations, categories the same or not (Domingo-Ferrer
    and Torra). *Probabilistic*: the record whose agreeing columns speak loudest for it, by weights
    log(m / u) of Fellegi and Sunter, where m is how often a column agrees for a person's own record, estimated by
    expectation and maximization, and u how often for any; two numbers agree within ``near`` standard deviations.

    ``distance`` and ``probabilistic`` are the shares of right links, one of t equally good records counting 1 / t;
    ``by_chance`` is the share of blind ones. A leak is more than one right link in k.

    Cost: the drawn records times all.

    References
    ----------
    Domingo-Ferrer, J. and Torra, V. (2001). A quantitative comparison of disclosure control methods for microdata. In:
    Confidentiality, disclosure and data access. North-Holland.
    Fellegi, I. P. and Sunter, A. B. (1969). A theory for record linkage. Journal of the American Statistical
    Association 64(328).
    Jaro, M. A. (1989). Advances in record-linkage methodology. Journal of the American Statistical Association 84(406).

    Examples
    --------
    Two of four numbers are nearer to their own than to any other:

    >>> before, after = np.array([1.0, 2.0, 3.0, 9.0]), np.array([1.0, 3.0, 2.0, 9.0])
    >>> evidence = Evidence(np.array([4]), pairs=RecordPairs({"pay": (before, after)}))
    >>> RecordLinkage().run(evidence)[0].measured["distance"]
    0.5
    """

    needs: ClassVar[tuple[str, ...]] = ("pairs",)
    means: ClassVar[str] = "Whoever knows what a person's record held finds the changed record."

    sample: Annotated[int, Field(ge=1, strict=True)] = 1_000
    """How many records are looked for; drawn at random where there are more."""
    near: Annotated[float, Field(ge=0.0)] = 0.05
    """How many standard deviations of the original apart two numbers agree."""

    def run(self, evidence: Evidence) -> list[Finding]:
        """Link a sample of the original records with all published ones."""
        assert evidence.pairs is not None
        pairs, records = evidence.pairs, _count_records(evidence.pairs)
        if records < 2:
            return []
        chance = np.random.default_rng(evidence.seed)
        drawn = np.sort(chance.choice(records, min(self.sample, records), replace=False)).astype(np.int64)
        evidence.progress("linking changed records", 0, 2)
        by_distance = _link_by_distance(pairs, drawn, records)
        evidence.progress("linking changed records", 1, 2)
        by_weight = _link_by_weight(pairs, drawn, records, self.near)
        measured: dict[str, Any] = {
            "records": len(drawn),
            "columns": len(pairs.numbers) + len(pairs.categories),
            "distance": by_distance,
            "probabilistic": by_weight,
            "by_chance": share(1, records),
        }
        # in whole numbers of the sample: one in k exactly is what was promised
        right = max(by_distance, by_weight) * self.enough(evidence)
        return [Finding(right > 1.0 + 1e-9, measured)]


def _count_records(pairs: RecordPairs) -> int:
    held = [*pairs.numbers.values(), *pairs.categories.values()]
    return len(held[0][0]) if held else 0


def _scaled(pairs: RecordPairs) -> list[tuple[Floats, Floats]]:
    """Return the numbers in standard deviations of the original; a missing one lies at the mean."""
    scaled = []
    for before, after in pairs.numbers.values():
        known = before[~np.isnan(before)]
        scale = (float(known.std()) if len(known) else 0.0) or 1.0
        centre = float(known.mean()) if len(known) else 0.0
        scaled.append((np.nan_to_num((before - centre) / scale), np.nan_to_num((after - centre) / scale)))
    return scaled


def _blocks(drawn: Ints, records: int) -> list[Ints]:
    """Return the drawn records in blocks of which each fits the memory, beside all."""
    return np.array_split(drawn, max(len(drawn) * records // _BLOCK, 1))


def _link_by_distance(pairs: RecordPairs, drawn: Ints, records: int) -> float:
    """Return the share of right links where each record is linked with the nearest."""
    numbers, right = _scaled(pairs), 0.0
    for block in _blocks(drawn, records):
        apart = np.zeros((len(block), records))
        for before, after in numbers:
            apart += (before[block, None] - after[None, :]) ** 2
        for one, other in pairs.categories.values():
            apart += one[block, None] != other[None, :]
        right += _count_right(-apart, block)
    return right / len(drawn)


def _count_right(likeness: Floats, block: Ints) -> float:
    """Return how many records are linked with their own, if each is with the likeliest; of equals one at random."""
    best = likeness.max(axis=1)
    near = likeness >= (best - 1e-12 * np.maximum(np.abs(best), 1.0))[:, None]
    own = near[np.arange(len(block)), block]
    return float((own / near.sum(axis=1)).sum())


def _link_by_weight(pairs: RecordPairs, drawn: Ints, records: int, near: float) -> float:
    """Return the share of right links where each record is linked with the one of the greatest weight."""
    numbers, categories = _scaled(pairs)[:_MOST_COLUMNS], list(pairs.categories.values())
    categories = categories[: _MOST_COLUMNS - len(numbers)]
    columns = len(numbers) + len(categories)

    def agree(block: Ints) -> Ints:
        """Return which columns of each pair agree, as bits."""
        bits = np.zeros((len(block), records), np.int64)
        held: list[Bools] = [np.abs(one[block, None] - other[None, :]) <= near for one, other in numbers]
        held += [one[block, None] == other[None, :] for one, other in categories]
        for index, same in enumerate(held):
            bits |= same.astype(np.int64) << index
        return bits

    counts = np.zeros(1 << columns)
    for block in _blocks(drawn, records):
        counts += np.bincount(agree(block).ravel(), minlength=1 << columns)
    weights = _weigh_patterns(counts, columns, 1.0 / records)
    return sum(_count_right(weights[agree(block)], block) for block in _blocks(drawn, records)) / len(drawn)


def _weigh_patterns(counts: Floats, columns: int, matching: float) -> Floats:
    """Return the weight of each pattern of agreeing columns, by expectation and maximization (Jaro).

    ``matching`` is the share of pairs that are one person's: one of each record's.
    """
    patterns = np.flatnonzero(counts)
    agree = (patterns[:, None] >> np.arange(columns)) & 1 == 1
    held, total = counts[patterns], float(counts.sum())
    own, other = np.full(columns, 0.9), np.clip(held @ agree / total, 1e-6, 1 - 1e-6)
    for _ in range(_ROUNDS):
        weights = _log_ratio(agree, own, other)
        sure = 1.0 / (1.0 + np.exp(-weights) * (1.0 - matching) / matching)
        share_of_own = held * sure
        before = own
        own = np.clip(share_of_own @ agree / max(float(share_of_own.sum()), 1e-300), 1e-6, 1 - 1e-6)
        rest = held - share_of_own
        other = np.clip(rest @ agree / max(float(rest.sum()), 1e-300), 1e-6, 1 - 1e-6)
        if float(np.abs(own - before).max()) < 1e-9:
            break
    found = np.zeros(len(counts))
    found[patterns] = _log_ratio(agree, own, other)
    return found


def _log_ratio(agree: Bools, own: Floats, other: Floats) -> Floats:
    """Return log(m / u) of the columns that agree and log((1 - m) / (1 - u)) of those that do not, added up."""
    gains, losses = np.log(own / other), np.log((1.0 - own) / (1.0 - other))
    return np.asarray(np.where(agree, gains, losses).sum(axis=1))
