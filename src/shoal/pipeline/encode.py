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
from shoal.engines.columns import codes_of, order_texts
from shoal.engines.dictionary import TableDictionary
from shoal.errors import Infeasible
from shoal.frequencies.frequencies import Background, Frequencies, SensitiveColumn
from shoal.frequencies.populations import Population, Survey
from shoal.hierarchies.base import Levels
from shoal.kernels.group import group
from shoal.pipeline.population import counts_by_weight, encode_population, encode_survey
from shoal.pipeline.requested_k import find_unservable, read_requested_k
from shoal.pipeline.sampling import draw_sample
from shoal.policy import Policy, QuasiIdentifier, Sensitive
from shoal.recodings.base import Column, Form
from shoal.recodings.range_ends import RangeEnds, is_nearly_unique

_SEEDS = 2**63
"""Kernels take seeds below this; secret ones are larger."""


@dataclass(frozen=True)
class BlockShare:
    """What a search must know of the whole table where its records are but a block of it."""

    whole: Frequencies
    """The sensitive values of the whole table."""
    allowed: int
    """How many records of the block may be suppressed."""


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """A table as numbers.

    Records that are suppressed whatever a search does are *forced*: no search sees them. They have a missing value
    whose policy is ``suppress``, or cannot comply within the boundaries, or are of persons who ask to be among more
    than there are, or are not in the sample. Their tuples and cells come after all others.
    """

    columns: tuple[Column, ...]
    frequencies: Frequencies
    cell_of_record: Ints
    known: dict[str, SensitiveColumn]
    forced_tuples: int
    forced_cells: int
    forced_suppression: int
    why: str = ""
    """Why records are suppressed whatever a search does."""
    population: Population | None = None
    survey: Survey | None = None
    starred: bool = False
    """Whether no condition on single classes can keep the suppressed records from being published as ``*``."""
    part: BlockShare | None = None
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
        return Background(
            whole,
            self.known,
            quasi_identifiers=names,
            starred=self.starred,
            population=people,
            everyone=everyone,
            survey=survey,
        )

    @property
    def searchable(self) -> Frequencies:
        """The frequencies without those that are suppressed whatever it does."""
        if not self.forced_cells:
            return self.frequencies
        whole = self.frequencies
        cells = len(whole.cell_counts) - self.forced_cells
        return Frequencies(
            whole.tuples[: len(whole.tuples) - self.forced_tuples],
            whole.cell_tuples[:cells],
            whole.cell_counts[:cells],
            whole.sensitive[:cells],
            None if whole.subjects is None else whole.subjects[:cells],
        )

    def suppress(self, tuples: Bools) -> Encoded:
        """Return the same table with some of the searchable tuples suppressed too."""
        whole = self.frequencies
        out = np.append(tuples, np.ones(self.forced_tuples, bool))
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
            forced_tuples=int(out.sum()),
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
            frequencies=self.searchable,
            columns=self.columns,
            models=policy.models,
            background=self.background,
            loss=policy.loss,
            max_suppressed=allowed,
            seed=policy.seed % _SEEDS,
            progress=progress,
            forced_suppression=self.forced_suppression,
        )


def encode(words: TableDictionary) -> Encoded:
    """Number the values of each column of a table, and count the combinations."""
    return _Encoder(words).encode()


class _Encoder:
    """Numbers the columns of a table, and gathers the records that are suppressed whatever a search does."""

    def __init__(self, words: TableDictionary) -> None:
        self.words, self.policy, self.table = words, words.policy, words.table
        self.forced = np.zeros(self.table.frame.height, bool)
        self.reasons: list[str] = []
        self.sensitive: list[Ints] = []
        self.known: dict[str, SensitiveColumn] = {}
        subject = self.policy.subject
        self.subjects = None if subject is None else codes_of(words.values(subject), words.occurring(subject))

    def encode(self) -> Encoded:
        pairs = [encode_column(self.words, name) for name in self.policy.quasi_identifiers]
        columns, codes = tuple(column for column, _ in pairs), [numbers for _, numbers in pairs]
        self._force_missing()
        self._add_sensitive()
        self._add_requested_k()
        self._leave_out_unsampled(codes)
        survey = None
        if counts_by_weight(self.policy):
            survey, weights = encode_survey(self.words, len(self.sensitive))
            self.sensitive.append(weights)
        classwise = any(model.classwise for model in self.policy.models)
        counted = count_codes(
            columns,
            codes,
            self.sensitive,
            self.known,
            subjects=self.subjects,
            forced_suppression=self.forced,
            record_counts=self.table.weights,
        )
        return replace(
            counted,
            why=" or ".join(self.reasons),
            population=encode_population(self.words, columns),
            survey=survey,
            starred=self.policy.suppressed == "star" and self.subjects is None and not classwise,
        )

    def _force_missing(self) -> None:
        roles: dict[str, QuasiIdentifier | Sensitive] = {**self.policy.quasi_identifiers, **self.policy.sensitive}
        for name, role in roles.items():
            if role.missing == "suppress":
                self.forced |= self.words.values(name).is_null().to_numpy()
        if self.forced.any():
            self.reasons.append("for their missing values")

    def _add_sensitive(self) -> None:
        for index, (name, role) in enumerate(self.policy.sensitive.items()):
            domain = self.words.occurring(name)
            codes = codes_of(self.words.values(name), domain)
            counts = self.table.count_codes(codes, len(domain) + 1)
            self.sensitive.append(np.where(codes == len(domain), -1, codes) if role.missing == "wildcard" else codes)
            self.known[name] = _known(index, domain, counts, role)

    def _add_requested_k(self) -> None:
        for request in (model.requested_k for model in self.policy.models):
            if request is None:
                continue
            requested_k = read_requested_k(self.table.frame, request)
            numbers, codes = np.unique(requested_k, return_inverse=True)
            self.known[request.column] = SensitiveColumn(
                len(self.sensitive), len(numbers), requested_k=numbers.astype(np.int64)
            )
            self.sensitive.append(codes.astype(np.int64))
            out = find_unservable(requested_k, self.subjects, self.table.record_counts)
            if out.any():
                most = requested_k[out].max()
                self.reasons.append(f"as they ask for more persons than there are (up to {most})")
            self.forced |= out

    def _leave_out_unsampled(self, codes: Sequence[npt.NDArray[np.integer]]) -> None:
        for model in self.policy.models:
            if model.sample_share is not None:
                self.forced |= ~draw_sample(codes, model.sample_share, self.policy.seed)
                self.reasons.append("as they are not in the sample")


def _known(index: int, domain: Domain, counts: Ints, role: Sensitive) -> SensitiveColumn:
    """Return what models know of a sensitive column: its values, their order, their hierarchy.

    ``counts`` is how many records have each value, and last how many have none.
    """
    blank = role.missing in ("own-value", "error") and bool(counts[-1])
    order = order_texts(domain, role)
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
    form = choose_form(spec, words.policy.publish, levels)
    # a class that would show * in every column shows a range in one of them, whatever its form
    ends = _round_ends(words, name) if levels.domain.ordered and levels.natural else None
    column = Column(
        name=name,
        levels=levels,
        form=form,
        weight=spec.weight,
        max_level=height if spec.hierarchy else 0,
        limits=limits,
        rounded_ends=ends,
    )
    return column, position.astype(np.min_scalar_type(levels.size))[words.codes(name)]


def _round_ends(words: TableDictionary, name: str) -> RangeEnds | None:
    """Return round ends for the ranges of a column in which most persons have a value of their own, unless it may show
    its values; labels with boundaries have ends of their own."""
    policy, domain = words.policy, words.domain(name)
    spec, persons = policy.quasi_identifiers[name], words.persons
    if spec.ends == "exact" or spec.boundaries or not is_nearly_unique(domain, persons):
        return None
    return RangeEnds.rounded(words.levels(name), max(policy.k, 2) * words.table.records / persons)


def choose_form(spec: QuasiIdentifier, publish: Form, levels: Levels) -> Form:
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
        columns=columns,
        frequencies=frequencies,
        cell_of_record=cell_of_record,
        known=known,
        forced_tuples=int(forced_suppression[tuple_rows].sum()),
        forced_cells=int(forced_suppression[cell_rows].sum()),
        forced_suppression=int(
            forced_suppression.sum() if record_counts is None else record_counts[forced_suppression].sum()
        ),
    )
