"""Checks that every entry of the catalog passes; for us, and for packages that bring entries of their own.

Each raises ``AssertionError`` with a sentence that says what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

import numpy as np

from shoal.algorithms.base import Algorithm
from shoal.encoding.domains import STAR, Domain
from shoal.engines.dictionary import TableDictionary
from shoal.engines.memory.source import open_in_memory
from shoal.engines.treatments import treat
from shoal.errors import Infeasible
from shoal.frequencies.frequencies import Background, Classes, Frequencies, SensitiveColumn
from shoal.frequencies.populations import Population
from shoal.hierarchies.base import Hierarchy
from shoal.models.base import Census, PrivacyModel, ValueCounts
from shoal.pipeline.anonymize import anonymize
from shoal.pipeline.audit import audit
from shoal.pipeline.encode import Encoded, encode
from shoal.pipeline.solve import Solution, solve
from shoal.policy import Policy
from shoal.registry import Entry, class_name, find
from shoal.utility.base import Metric, Outcome
from shoal.utility.certainty_penalty import CertaintyPenalty


def check_entry(entry: type[Entry]) -> None:
    """Check what all entries share: a name from the file, a docstring with an example, documented parameters."""
    module = entry.__module__.rsplit(".", 1)[-1]
    assert entry.__name__ == class_name(module), f"{entry.__name__} must be {class_name(module)}, after its file"
    text = entry.__doc__ or ""
    assert entry.summary().endswith("."), f"{entry.__name__}: the docstring's first sentence must end with a dot"
    assert ">>>" in text, f"{entry.__name__}: the docstring needs an example that is run"
    for name, field in entry.model_fields.items():
        assert field.description, f"{entry.__name__}.{name} needs a docstring"


def check_hierarchy(hierarchy: Hierarchy, domain: Domain) -> None:
    """Check that levels start with the values, end with ``*``, coarsen, and never cost less higher up."""
    levels = hierarchy.build(domain, missing=None)
    assert set(levels.labels[0]) == set(domain.texts), "level 0 must be the values as they are"
    assert levels.labels[-1] == (STAR,), "the top level must be *"
    assert sorted(levels.position.tolist()) == list(range(len(domain))), "codes must be a permutation of the values"
    for level in range(1, levels.height + 1):
        if levels.nested:
            pairs = set(zip(levels.codes[level - 1].tolist(), levels.codes[level].tolist(), strict=True))
            assert len(pairs) == len(set(levels.codes[level - 1].tolist())), f"level {level} does not coarsen"
        runs = 1 + int((np.diff(levels.codes[level]) != 0).sum())
        assert runs == len(set(levels.codes[level].tolist())), f"labels of level {level} do not cover neighbours"
        if levels.nested:  # only a label that holds the one below must cost as much
            rises = levels.penalties[level] >= levels.penalties[level - 1] - 1e-12
            assert rises.all(), f"a label of level {level} costs less than one below it"
    assert ((levels.penalties >= 0) & (levels.penalties <= 1)).all(), "penalties must lie between 0 and 1"


def check_model(
    model: PrivacyModel,
    values: Sequence[Sequence[int]],
    *,
    wild: Sequence[int] | None = None,
    rest: Sequence[int] | None = None,
) -> None:
    """Check a model on classes given as value counts: search and audit agree, and its claims are true.

    ``values[c][v]`` is how many records of class ``c`` have the sensitive value ``v``, and ``wild[c]`` how many a
    missing one that may be any. ``rest[v]`` are records of the table that are in no class; one count more is that of
    missing values. Values are in order, and two neighbours each share a label. Twice as many persons of the population
    match a class as it has records, and one more for each class before it; as many match none as there are records in
    no class.
    """
    counts = [[*row, blank] for row, blank in zip(values, wild or [0] * len(values), strict=True)]
    others = [*(rest or ()), *[0] * (len(values[0]) + 1 - len(rest or ()))]
    persons = [2 * sum(row) + number for number, row in enumerate(counts)]
    background = background_of([*counts, others], model.sensitive_columns, sum(persons) + sum(others))
    classes = classes_of(counts, persons)
    holds, attained = model.holds(classes, background), model.measure(classes, background)
    census = census_of(counts, others, model.sensitive_columns, persons)
    # what classes show is not told, so each stands for itself, whatever columns are known
    known = dict.fromkeys(model.scenarios(("a", "b")), census)
    census = replace(census, columns=("a", "b"), known=known)
    again = model.recount(census)
    assert again == attained, f"search and audit must attain the same, not {attained} and {again}"
    assert model.meets(attained) == bool(holds.all()), f"meets({attained}) and holds() must agree"
    assert model.meets(model.asked), "what is asked must be good enough"
    weaker = model.relaxed(attained)
    assert weaker is None or weaker.holds(classes, background).all(), f"{weaker} must hold"
    united = classes_of([[sum(column) for column in zip(*counts, strict=True)]], [sum(persons)])
    if model.monotone and holds.all():
        assert model.holds(united, background).all(), "a union of complying classes must comply"
    if model.absorbing and holds.any():
        assert model.holds(united, background).all(), "whatever joins a complying class, it must comply"
    if model.by_class is model:
        for number, row in enumerate(counts):
            alone = model.holds(classes_of([row], persons[number : number + 1]), background)[0]
            assert alone == holds[number], "a class must comply whatever the others are, if nobody knows what they show"
        return
    staying = [number for number in range(len(counts)) if holds[number]]
    left = classes_of([counts[number] for number in staying], [persons[number] for number in staying])
    assert model.meets(model.measure(left, background)), "the classes that stay must comply together"
    single = model.by_class
    if single is not None and single.holds(classes, background).all():
        assert holds.all(), f"{single} must be enough"


def classes_of(counts: Sequence[Sequence[int]], persons: Sequence[int] | None = None) -> Classes:
    """Return classes with so many records of each value; the last count of each is that of wild ones.

    ``persons`` are those of the population who match each class.
    """
    cells = [
        (number, -1 if value == len(row) - 1 else value, count)
        for number, row in enumerate(counts)
        for value, count in enumerate(row)
        if count
    ]
    members, codes, records = np.array(cells, np.int64).reshape(-1, 3).T
    tuples = np.arange(len(counts), dtype=np.int32)[:, None]
    frequencies = Frequencies(tuples, members, records, codes[:, None].astype(np.int32))
    classes = Classes.of(frequencies, members, len(counts))
    return classes if persons is None else replace(classes, matches=lambda: np.array(persons, np.int64))


def background_of(counts: Sequence[Sequence[int]], names: Sequence[str], everyone: int = 0) -> Background:
    """Return what is known of a table with these classes: values in order, two neighbours under one label.

    Where they are what persons ask for, the first asks for 1, the next for 2, and so on. ``everyone`` is the size of
    the population.
    """
    size = len(counts[0]) - 1
    levels = np.stack([np.arange(size), np.arange(size) // 2]).astype(np.int32)
    known = SensitiveColumn(0, size, np.arange(size), levels, np.arange(1, size + 1))
    people = Population(np.zeros((1, 1), np.int32), np.array([everyone], np.int64))
    whole = classes_of(counts).frequencies
    return Background(whole, dict.fromkeys(names, known), population=people, everyone=everyone)


def census_of(
    counts: Sequence[Sequence[int]], rest: Sequence[int], names: tuple[str, ...], persons: Sequence[int] = ()
) -> Census:
    """Return what an audit counts of classes; ``rest`` are the records of the table that are in none.

    ``persons`` are those of the population who match each class; as many as there are in ``rest`` match none.
    """
    cells = [(number, value, n) for number, row in enumerate(counts) for value, n in enumerate(row[:-1]) if n]
    classes, values, records = np.array(cells, np.int64).reshape(-1, 3).T
    totals = [sum(column) for column in zip(*counts, rest, strict=True)]
    counted = ValueCounts(
        classes=classes,
        values=values,
        counts=records,
        blank=np.array([row[-1] for row in counts], np.int64),
        table={value: count for value, count in enumerate(totals[:-1]) if count},
        table_blank=totals[-1],
        table_persons=sum(totals),
        ranked=True,
        paths=tuple((str(value), f"pair {value // 2}") for value in range(len(totals) - 1)),
    )
    distinct = np.array([max(sum(n > 0 for n in row[:-1]), row[-1] > 0) for row in counts], np.int64)
    sizes = np.array([sum(row) for row in counts], np.int64)
    requested_k = [[value + 1 for value, n in enumerate(row[:-1]) if n or row[-1]] for row in counts]
    most = np.array([max(row, default=1) for row in requested_k], np.int64)
    return Census(
        sizes=sizes,
        values=dict.fromkeys(names, distinct),
        value_counts={names: counted},
        requested_k=dict.fromkeys(names, most),
        persons=np.array(persons, np.int64),
        population=sum(persons) + sum(rest),
        records=sum(totals),
        uncovered=sum(rest),
    )


class OutcomeOptions(TypedDict, total=False):
    """What else may be said of an outcome."""

    weights: Sequence[float] | None
    suppressed: int
    starred: int
    k: int
    minorities: Mapping[str, int] | None


def outcome_of(
    records: int,
    sizes: Sequence[int],
    penalties: Sequence[Sequence[float]],
    columns: Sequence[str],
    **options: Unpack[OutcomeOptions],
) -> Outcome:
    """Return the outcome of classes of these sizes that lose this much in each column.

    Each column is taken for a number whose ``p``-th part is left open by a penalty of ``p``: what else metrics look
    at follows from that.
    """
    weights, minorities = options.get("weights"), options.get("minorities")
    kept, lost = np.array(sizes, np.int64), np.array(penalties, np.float64).reshape(len(sizes), len(columns))
    return Outcome(
        records=records,
        columns=tuple(columns),
        weights=np.ones(len(columns)) if weights is None else np.array(weights, np.float64),
        suppressed=options.get("suppressed", 0),
        classes=len(kept),
        squares=int((kept * kept).sum()),
        penalty=kept @ lost,
        exact=(kept @ (lost == 0.0)).astype(np.float64),
        generalization_height=kept @ lost,
        log_cover_size=(kept @ np.log2(np.maximum(lost * records, 1.0))).astype(np.float64),
        log_value_counts=np.zeros(len(columns)),
        distinct=np.full(len(columns), 10.0),
        heights=np.ones(len(columns)),
        starred=options.get("starred", 0),
        k=options.get("k", 1),
        values=np.asarray(kept @ np.maximum(lost * 10.0, 1.0), np.float64),
        divergence=np.zeros(len(columns)),
        minorities={"class": 0} if minorities is None else minorities,
    )


def check_metric(metric: Metric, outcome: Outcome) -> None:
    """Check that a metric stays in its range and that suppressing a class never looks better than keeping it."""
    measured = metric.measure(outcome)
    low, high = metric.range
    assert low <= measured.total <= high, f"{measured.total} is not between {low} and {high}"
    assert set(measured.columns) <= {*outcome.columns, *outcome.minorities}, "columns must be those of the outcome"


def check_algorithm(algorithm: Algorithm, table: object, policy: Policy) -> bool:
    """Check that a search keeps its promises on a table; return whether there was a release.

    The release is audited, made again from the records in reverse, and compared with what the search claims.
    """
    loss = policy.loss if algorithm.goes_by(policy.loss) else CertaintyPenalty()
    policy = policy.replace(algorithm=algorithm, loss=loss)
    source = open_in_memory(table)
    before = source.frame.clone()
    try:
        release = anonymize(source.frame, policy)
    except Infeasible:
        return False
    assert source.frame.equals(before), "the input was changed"
    assert audit(release.table, policy, original=source.frame, owner=release.owner).holds, "the audit must hold"
    backwards: Any = anonymize(source.frame.reverse(), policy).table
    assert release.table.equals(backwards), "the same problem must give the same release, in any order of the records"
    solution = solve_table(source, policy)
    outcome = solution.outcome()
    claimed = solution.loss
    assert _near(claimed, release.loss), f"the search claims a loss of {claimed}, the audit {release.loss}"
    for name, counted in release.audit.utility.items():
        metric = policy.loss if name == policy.loss.key() else find("utility", name)()
        assert isinstance(metric, Metric)
        if metric.known(outcome):
            claim = metric.measure(outcome)
            assert _near(claim.total, counted.total), f"{name}: the search claims {claim}, the audit counts {counted}"
            for column, value in claim.columns.items():
                again = counted.columns[column]
                assert _near(value, again), f"{name} of {column}: the search claims {value}, the audit counts {again}"
    return True


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other), 1.0)


def encode_table(table: object, policy: Policy) -> Encoded:
    """Return any table as a search sees it, for tests of searches."""
    return encode(TableDictionary(treat(open_in_memory(table).table, policy), policy))


def solve_table(table: object, policy: Policy) -> Solution:
    """Return what a search finds for any table."""
    return solve(TableDictionary(treat(open_in_memory(table).table, policy), policy))
