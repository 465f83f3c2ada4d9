"""encode(): a table and a policy become columns with levels, and frequencies to search on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.algorithms.base import Problem
from shoal.encoding.domains import STAR, Domain
from shoal.encoding.types import Bools, Ints, Progress, silent
from shoal.engines.columns import codes_of, column_domain, domain_of, ordered_texts, plain
from shoal.engines.counted import Times, counted
from shoal.errors import Infeasible
from shoal.frequencies.frequencies import Background, Frequencies, SensitiveColumn
from shoal.frequencies.populations import Population, Survey
from shoal.hierarchies.base import Levels
from shoal.hierarchies.suppress import Suppress
from shoal.kernels.group import group
from shoal.models.differential_privacy import DifferentialPrivacy
from shoal.models.personal_k import PersonalK
from shoal.pipeline.population import encode_population, encode_survey, weighs
from shoal.pipeline.requested_k import read_requested_k, too_much
from shoal.pipeline.sampling import drawn
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


def encode(frame: pl.DataFrame, policy: Policy, times: Times = None) -> Encoded:
    """Number the values of each column, and count the combinations; ``times`` is how often each record occurs."""
    forced_suppression = np.zeros(frame.height, bool)
    columns, codes = [], []
    for name, spec in policy.quasi_identifiers.items():
        column, numbers = encode_column(frame, name, policy, times)
        columns.append(column)
        codes.append(numbers)
        if spec.missing == "suppress":
            forced_suppression |= plain(frame[name]).is_null().to_numpy()
    sensitive, known = [], {}
    for index, (name, role) in enumerate(policy.sensitive.items()):
        values = plain(frame[name])
        held = codes_of(values, domain := domain_of(values))
        if role.missing == "wildcard":
            held = np.where(held == len(domain), -1, held)
        if role.missing == "suppress":
            forced_suppression |= values.is_null().to_numpy()
        sensitive.append(held)
        known[name] = _known(index, domain, held, role, times)
    subjects, survey = None, None
    if policy.subject is not None:
        people = plain(frame[policy.subject])
        subjects = codes_of(people, domain_of(people))
    reasons = ["for their missing values"] if forced_suppression.any() else []
    for model in policy.models:
        if isinstance(model, PersonalK):
            requested_k = read_requested_k(frame, model)
            numbers, held = np.unique(requested_k, return_inverse=True)
            known[model.on] = SensitiveColumn(len(sensitive), len(numbers), requested_k=numbers.astype(np.int64))
            sensitive.append(held.astype(np.int64))
            out = too_much(requested_k, subjects)
            reasons += (
                [f"as they ask for more persons than there are (up to {requested_k[out].max()})"] if out.any() else []
            )
            forced_suppression |= out
    for model in policy.models:
        if isinstance(model, DifferentialPrivacy):
            forced_suppression |= ~drawn(codes, model.share, policy.seed)
            reasons.append("as they are not in the sample")
    if weighs(policy):
        survey, held = encode_survey(frame, policy, len(sensitive))
        sensitive.append(held)
    only_stars = policy.suppressed == "star" and subjects is None and not any(m.classwise for m in policy.models)
    return replace(
        counted_codes(tuple(columns), codes, sensitive, known, subjects, forced_suppression, times),
        why=" or ".join(reasons),
        population=encode_population(frame, policy, columns),
        survey=survey,
        starred=only_stars,
    )


def _known(index: int, domain: Domain, held: Ints, role: Sensitive, times: Times) -> SensitiveColumn:
    """Return what models know of a sensitive column: its values, their order, their hierarchy."""
    blank = role.missing in ("own-value", "error") and bool((held == len(domain)).any())
    order = ordered_texts(domain, role)
    ranks = None
    if order is not None and not blank:  # a missing value has no place in an order
        rank_of = {text: rank for rank, text in enumerate(order)}
        ranks = np.array([rank_of[text] for text in domain.texts], np.int64)
    levels = None
    if role.hierarchy is not None:
        counts = counted(np.where(held < 0, len(domain), held), times, len(domain))[: len(domain)]
        built = role.hierarchy.build(replace(domain, counts=counts), missing="own-value" if blank else None)
        # however the top is called: it says nothing, and is no level of its own
        below = [n for n, names in enumerate(built.labels) if not n or {*names} - {None, STAR, role.hierarchy.root}]
        levels = built.codes[below][:, np.append(built.position, len(domain))[: len(domain) + blank]]
    return SensitiveColumn(index, len(domain) + blank, ranks, levels)


def encode_column(
    frame: pl.DataFrame, name: str, policy: Policy, times: Times = None
) -> tuple[Column, npt.NDArray[np.integer]]:
    """Return a quasi-identifier with its levels, and the code of each record, in as few bytes as it takes."""
    spec, values = policy.quasi_identifiers[name], plain(frame[name])
    domain = column_domain(frame, name, policy, times)
    blank = spec.missing if spec.missing in ("own-value", "wildcard") and values.null_count() else None
    levels = (spec.hierarchy or Suppress()).build(domain, missing=blank)
    position = np.append(levels.position, len(domain) if blank else 0)
    limits = levels.limits(spec.boundaries) if spec.boundaries else None
    height = levels.height if limits is None else int(limits.max(initial=0))
    form = form_of(spec, policy.publish, levels)
    column = Column(name, levels, form, spec.weight, height if spec.hierarchy else 0, limits)
    return column, position.astype(np.min_scalar_type(levels.size))[codes_of(values, domain)]


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


def counted_codes(
    columns: tuple[Column, ...],
    codes: Sequence[npt.NDArray[np.integer]],
    sensitive: Sequence[Ints],
    known: dict[str, SensitiveColumn],
    subjects: Ints | None,
    forced_suppression: Bools,
    times: Times,
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
        counted(cell_of_record, times, len(cell_rows)),
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
        int(forced_suppression.sum() if times is None else times.to_numpy()[forced_suppression].sum()),
    )
