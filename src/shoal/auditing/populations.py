"""match_population(): whom of the population each published class could stand for, read from its texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import floor

import numpy as np
import polars as pl

from shoal.auditing.original import OriginalTable
from shoal.auditing.reading import Reader
from shoal.auditing.suppression import stars_everywhere
from shoal.auditing.texts import find_indices
from shoal.encoding.types import Bools, Ints
from shoal.engines.columns import population_column, population_frame, to_plain
from shoal.engines.counted import CountedTable
from shoal.errors import Fault, ShoalError
from shoal.policy import Policy


@dataclass(frozen=True)
class Matched:
    """Whom of the population the classes could stand for; nothing where nobody asks."""

    persons: Ints | None = None
    """How many persons match each class."""
    population: int | None = None
    uncovered: int = 0
    """How many match no class but the starred one."""


def match_population(
    published: CountedTable,
    original: OriginalTable | None,
    policy: Policy,
    classes: pl.DataFrame,
    weights: pl.Series | None,
) -> tuple[Matched, Fault | None]:
    """Count the persons who match each class, or whom the weights of its records add up to.

    ``weights`` are the weights of published records where only the owner has them.
    """
    if not any("population" in model.needs for model in policy.models):
        return Matched(), None
    if policy.population is not None:
        try:
            return _match_persons(original, policy, classes), None
        except ShoalError as error:
            return Matched(), error.faults[0]
    return _add_weights(published, None if original is None else original.table, policy, classes, weights)


def _add_weights(
    published: CountedTable,
    raw: CountedTable | None,
    policy: Policy,
    classes: pl.DataFrame,
    weights: pl.Series | None,
) -> tuple[Matched, Fault | None]:
    name, frame = policy.survey_weight, published.frame
    own = weights if weights is not None else frame[name] if name in frame.columns else None
    if own is None:
        hint = "publish them, or give those of the published records (weights=)"
        return Matched(), Fault(
            "persons cannot be counted: the weights of the survey are not published", hint=hint, kind="undecided"
        )
    whole, table = own, published
    if raw is not None and name is not None and name in raw.frame.columns:
        whole, table = raw.frame[name], raw
    keys = classes.columns[: len(policy.quasi_identifiers)]
    index = {row: number for number, row in enumerate(classes.select(keys).iter_rows())}
    shown = [to_plain(frame[column]).cast(pl.String).to_list() for column in policy.quasi_identifiers]
    totals = [Decimal(0)] * len(classes)
    for row, weight in zip(zip(*shown, strict=True), _decimals(own, published.record_counts), strict=True):
        totals[index[row]] += weight
    population = floor(sum(_decimals(whole, table.record_counts), Decimal(0)))
    return Matched(np.array([floor(total) for total in totals], np.int64), population), None


def _decimals(column: pl.Series, counts: Ints) -> list[Decimal]:
    """Return the weights as they are written, to a millionth, rounded down, each as often as its record occurs."""
    texts = to_plain(column).cast(pl.String).to_list()
    one = [floor(Decimal(text) * 10**6) / Decimal(10**6) if text is not None else Decimal(0) for text in texts]
    return [weight * count for weight, count in zip(one, counts.tolist(), strict=True)]


def _match_persons(original: OriginalTable | None, policy: Policy, classes: pl.DataFrame) -> Matched:
    assert policy.population is not None
    people = population_frame(policy.population)
    # texts are read against values, not against other texts
    source = OriginalTable.of(CountedTable(people), policy) if original is None else original
    keys = classes.columns[: len(policy.quasi_identifiers)]
    values, columns, known = [], list(source.readers.values()), np.ones(people.height, bool)
    for name, reader in source.readers.items():
        held = population_column(policy.population, name, source.words.values(name).dtype)
        if not reader.blank:
            known &= held.is_not_null().to_numpy()
        values.append(held.cast(pl.String))
    table = pl.DataFrame([column.alias(str(index)) for index, column in enumerate(values)]).filter(pl.Series(known))
    counted = table.group_by(table.columns, maintain_order=True).agg(pl.len().alias("persons"))
    covers = [
        _covers(reader, classes[key], counted[str(n)])
        for n, (reader, key) in enumerate(zip(columns, keys, strict=True))
    ]
    persons = counted["persons"].cast(pl.Int64).to_numpy()
    starred = stars_everywhere(classes[key] for key in keys).to_numpy()
    matching = _Matching(persons, starred & (len(classes) > 1))
    matching.descend(covers, np.arange(len(classes)), np.arange(len(persons)))
    return Matched(matching.found, int(persons.sum()), int(persons[~matching.reached].sum()))


def _covers(reader: Reader, texts: pl.Series, values: pl.Series) -> tuple[Ints, Bools, Ints]:
    """Return the number of each class's text, ``[text, value]``: whether it covers a value, and each tuple's value."""
    shown, held = texts.unique(maintain_order=True).to_list(), values.unique(maintain_order=True).to_list()
    covers = np.zeros((len(shown), len(held)), bool)
    for row, text in enumerate(shown):
        inside, missing = reader.values_of(text)
        indices = set(inside)
        covers[row] = [missing if value is None else reader.place.get(value, -1) in indices for value in held]
    return find_indices(texts, shown), covers, find_indices(values, held)


class _Matching:
    """Finds the persons who match each class, column by column.

    ``found`` is how many match each class, ``reached`` who match one that is not starred.
    """

    def __init__(self, persons: Ints, starred: Bools) -> None:
        self.persons, self.starred = persons, starred
        self.found, self.reached = np.zeros(len(starred), np.int64), np.zeros(len(persons), bool)

    def descend(self, covers: Sequence[tuple[Ints, Bools, Ints]], classes: Ints, tuples: Ints) -> None:
        """Sort classes by their text in the first column and keep the tuples that it covers, then by the next."""
        if not covers:
            self.found[classes] = self.persons[tuples].sum()
            if not self.starred[classes].all():
                self.reached[tuples] = True
            return
        texts, covered, values = covers[0]
        for text in np.unique(texts[classes]).tolist():
            inside = tuples[covered[text][values[tuples]]]
            self.descend(covers[1:], classes[texts[classes] == text], inside)
