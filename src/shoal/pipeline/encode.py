"""encode(): a table and a policy become columns with levels, and frequencies to search on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.algorithms.base import Problem
from shoal.encoding.domains import STAR, Domain
from shoal.encoding.types import Bools, Ints, Progress, silent
from shoal.engines.columns import codes_of, domain_of, ordered_texts
from shoal.engines.dictionary import TableDictionary
from shoal.errors import Infeasible
from shoal.frequencies.frequencies import Background, Frequencies, SensitiveColumn
from shoal.frequencies.populations import Population, Survey
from shoal.hierarchies.base import Levels
from shoal.kernels.group import group
from shoal.pipeline.population import encode_population, encode_survey, weighs
from shoal.pipeline.requested_k import find_unservable, read_requested_k
from shoal.pipeline.sampling import draw_sample
from shoal.policy import Policy, QuasiIdentifier, Sensitive
from shoal.recodings.base import Column, Form

_SEEDS = 2**63
"""Kernels take seeds below this; secret ones are larger."""


@dataclass(frozen=True)
class Part:
    """What a search must know of the whole table where its records are but a block of it."""

    whole: Frequencies
    """The sensitive values of the whole table."""
    allowed: int
    """How many records of the block may be suppressed."""


@dataclass(frozen=True)
class Encoded:
    """A table as numbers.

    Records that are suppressed whatever a search does are *barred*: no search sees them. They have a missing value
    whose policy is ``suppress``, or cannot comply within the boundaries, or are of persons who ask to be among more
    than there are, or are not in the sample. Their tuples and cells come after all others.
    """

    columns: tuple[Column, ...]
    frequencies: Frequencies
    cell_of_record: Ints
    known: dict[str, SensitiveColumn]
    barred_tuples: int
    forced_cells: int
    forced_suppression: int
    why: str = ""
    """Why records are barred."""
    population: Population | None = None
    survey: Survey | None = None
    starred: bool = False
    """Whether no condition on single classes can bar the suppressed records from being published as ``*``."""
    part: Part | None = None
    """Where these records are a block of a larger table."""

    def may_suppress(self, policy: Policy) -> int:
        """Return how many of the records may be suppressed."""
        return policy.may_suppress(self.frequencies.records) if self.part is None else self.part.allowed

    @cached_property
    def background(self) -> Background:
        """What models know of the table as a whole."""
        people, survey = self.population, self.survey
        everyone = None if people is None else people.size
        if people is None and survey is not None:
            codes = self.frequencies.sensitive[:, survey.place]
            everyone = int(survey.amounts[codes] @ self.frequencies.cell_counts) // survey.unit
        names = tuple(column.name for column in self.columns)
        whole = self.frequencies if self.part is None else self.part.whole
        return Background(whole, self.known, names, self.starred, people, everyone, survey)

    @property
    def searchable(self) -> Frequencies:
        """The frequencies without the barred records."""
        if not self.forced_cells:
            return self.frequencies
        whole = self.frequencies
        cells = len(whole.cell_counts) - self.forced_cells
        return Frequencies(
            whole.tuples[: len(whole.tuples) - self.barred_tuples],
            whole.cell_tuples[:cells],
            whole.cell_counts[:cells],
            whole.sensitive[:cells],
            None if whole.subjects is None else whole.subjects[:cells],
        )

    def suppressing(self, tuples: Bools) -> Encoded:
        """Return the same table with some of the searchable tuples barred too."""
        whole = self.frequencies
        out = np.append(tuples, np.ones(self.barred_tuples, bool))
        order, cell_order = (np.argsort(mask, kind="stable") for mask in (out, out[whole.cell_tuples]))
        frequencies = Frequencies(
            whole.tuples[order],
            np.argsort(order)[whole.cell_tuples[cell_order]],
            whole.cell_counts[cell_order],
            whole.sensitive[cell_order],
            None if whole.subjects is None else whole.subjects[cell_order],
        )
        return replace(
            self,
            frequencies=frequencies,
            cell_of_record=np.argsort(cell_order)[self.cell_of_record],
            barred_tuples=int(out.sum()),
            forced_cells=int(out[whole.cell_tuples].sum()),
            forced_suppression=int(whole.counts[out].sum()),
        )

    def problem(self, policy: Policy, progress: Progress = silent) -> Problem:
        """Return the question that a search answers."""
        if not self.searchable.records:
            raise Infeasible(f"every record must be suppressed {self.why}")
        may = self.may_suppress(policy)
        allowed = may - self.forced_suppression
        if allowed < 0:
            raise Infeasible(f"{self.forced_suppression} records must be suppressed {self.why}, {may} may be")
        return Problem(
            self.searchable,
            self.columns,
            policy.models,
            self.background,
            policy.loss,
            allowed,
            policy.seed % _SEEDS,
            progress,
            self.forced_suppression,
        )


def encode(words: TableDictionary) -> Encoded:
    """Number the values of each column of a table, and count the combinations."""
    table, policy, frame = words.table, words.policy, words.table.frame
    forced_suppression = np.zeros(frame.height, bool)
    columns, codes = [], []
    for name, spec in policy.quasi_identifiers.items():
        column, numbers = encode_column(words, name)
        columns.append(column)
        codes.append(numbers)
        if spec.missing == "suppress":
            forced_suppression |= words.values(name).is_null().to_numpy()
    sensitive, known = [], {}
    for index, (name, role) in enumerate(policy.sensitive.items()):
        values = words.values(name)
        held = codes_of(values, domain := domain_of(values))
        if role.missing == "wildcard":
            held = np.where(held == len(domain), -1, held)
        if role.missing == "suppress":
            forced_suppression |= values.is_null().to_numpy()
        sensitive.append(held)
        counts = table.count_codes(np.where(held < 0, len(domain), held), len(domain) + 1)
        known[name] = _known(index, domain, counts, role)
    subjects, survey = None, None
    if policy.subject is not None:
        people = words.values(policy.subject)
        subjects = codes_of(people, domain_of(people))
    reasons = ["for their missing values"] if forced_suppression.any() else []
    for model in policy.models:
        if model.requested_k is not None:
            requested_k = read_requested_k(frame, model.requested_k)
            numbers, held = np.unique(requested_k, return_inverse=True)
            known[model.requested_k.column] = SensitiveColumn(
                len(sensitive), len(numbers), requested_k=numbers.astype(np.int64)
            )
            sensitive.append(held.astype(np.int64))
            out = find_unservable(requested_k, subjects, table.record_counts)
            reasons += (
                [f"as they ask for more persons than there are (up to {requested_k[out].max()})"] if out.any() else []
            )
            forced_suppression |= out
    for model in policy.models:
        if model.sample_share is not None:
            forced_suppression |= ~draw_sample(codes, model.sample_share, policy.seed)
            reasons.append("as they are not in the sample")
    if weighs(policy):
        survey, held = encode_survey(words, len(sensitive))
        sensitive.append(held)
    only_stars = policy.suppressed == "star" and subjects is None and not any(m.classwise for m in policy.models)
    return replace(
        count_codes(
            tuple(columns),
            codes,
            sensitive,
            known,
            subjects=subjects,
            forced_suppression=forced_suppression,
            record_counts=table.weights,
        ),
        why=" or ".join(reasons),
        population=encode_population(words, columns),
        survey=survey,
        starred=only_stars,
    )


def _known(index: int, domain: Domain, counts: Ints, role: Sensitive) -> SensitiveColumn:
    """Return what models know of a sensitive column: its values, their order, their hierarchy.

    ``counts`` is how many records have each value, and last how many have none.
    """
    blank = role.missing in ("own-value", "error") and bool(counts[-1])
    order = ordered_texts(domain, role)
    ranks = None
    if order is not None and not blank:  # a missing value has no place in an order
        rank_of = {text: rank for rank, text in enumerate(order)}
        ranks = np.array([rank_of[text] for text in domain.texts], np.int64)
    levels = None
    if role.hierarchy is not None:
        built = role.hierarchy.build(replace(domain, counts=counts[:-1]), missing="own-value" if blank else None)
        # however the top is called: it says nothing, and is no level of its own
        below = [n for n, names in enumerate(built.labels) if not n or {*names} - {None, STAR, role.hierarchy.root}]
        levels = built.codes[below][:, np.append(built.position, len(domain))[: len(domain) + blank]]
    return SensitiveColumn(index, len(domain) + blank, ranks, levels)


def encode_column(words: TableDictionary, name: str) -> tuple[Column, npt.NDArray[np.integer]]:
    """Return a quasi-identifier with its levels, and the code of each record, in as few bytes as it takes."""
    spec, domain, levels = words.policy.quasi_identifiers[name], words.domain(name), words.levels(name)
    position = np.append(levels.position, len(domain) if levels.has_missing else 0)
    limits = levels.limits(spec.boundaries) if spec.boundaries else None
    height = levels.height if limits is None else int(limits.max(initial=0))
    form = form_of(spec, words.policy.publish, levels)
    column = Column(name, levels, form, spec.weight, height if spec.hierarchy else 0, limits)
    return column, position.astype(np.min_scalar_type(levels.size))[codes_of(words.values(name), domain)]


def form_of(spec: QuasiIdentifier, publish: Form, levels: Levels) -> Form:
    """Return how local recoding publishes a column: as asked, where the column allows it.

    Ranges need values whose hierarchy order is their natural order: a tree may put 12 and 40 under one label and 20
    under another, and then "[12, 40]" would be no truth about a class.
    """
    asked = spec.publish or publish
    if asked == "labels" and spec.hierarchy is not None:
        return "labels"
    if levels.domain.ordered and levels.natural:
        return "ranges"
    return "labels" if asked == "ranges" and spec.hierarchy is not None else "sets"


def count_codes(
    columns: tuple[Column, ...],
    codes: Sequence[npt.NDArray[np.integer]],
    sensitive: Sequence[Ints],
    known: dict[str, SensitiveColumn],
    *,
    subjects: Ints | None,
    forced_suppression: Bools,
    record_counts: Ints | None,
) -> Encoded:
    """Count the combinations of records whose values are numbered already."""
    sizes = [2, *(column.levels.size for column in columns)]
    tuple_of_record, tuple_rows = group([forced_suppression.astype(np.int8), *codes], sizes)
    extra = [*sensitive, *([] if subjects is None else [subjects])]
    cell_of_record, cell_rows = group(
        [tuple_of_record, *(values + 1 for values in extra)],
        [len(tuple_rows), *(int(values.max(initial=0)) + 2 for values in extra)],
    )
    frequencies = Frequencies(
        np.stack([column[tuple_rows] for column in codes], axis=1).astype(np.int32),
        tuple_of_record[cell_rows],
        np.bincount(cell_of_record, record_counts, minlength=len(cell_rows)).astype(np.int64),
        np.stack([column[cell_rows] for column in sensitive], axis=1).astype(np.int32)
        if sensitive
        else np.zeros((len(cell_rows), 0), np.int32),
        None if subjects is None else subjects[cell_rows],
    )
    return Encoded(
        columns,
        frequencies,
        cell_of_record,
        known,
        int(forced_suppression[tuple_rows].sum()),
        int(forced_suppression[cell_rows].sum()),
        int(forced_suppression.sum() if record_counts is None else record_counts[forced_suppression].sum()),
    )
