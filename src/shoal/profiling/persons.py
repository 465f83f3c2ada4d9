"""find_subject(): the column that says which person a record is about, found by what stays the same within it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from shoal.engines.columns import to_plain_or_texts, to_texts
from shoal.profiling.profile import PLACEHOLDERS, Meaning, Profile, name_means, split_words

_RECORDS = 20_000
"""About so many records are looked at: all of some persons, who tell as much as all of them."""
_CONSTANT, _CHANCE, _VARYING = 0.98, 0.7, 0.9
"""The shares of groups with one value: what belongs to a person; what chance may do at most; what does not."""
_MOST_RECORDS = 200
"""A number that nothing is known of has no more records on average where it is a person's."""
_LONG = 8
"""Codes of things are shorter than the numbers that states and companies give to persons."""
_EVENTS_EACH = 12
"""A code of which no more is known than one fact has more records on average where it stands for a thing."""
_TWIN = 0.95
"""A column with so many values for each number tells the number again."""
_COARSER = 30
"""Persons have no more events than this on average; a hospital has more patients."""
_FEW = 20
"""What has fewer values is a place or a kind of things, unless more speaks for persons."""
_RETURN = 0.9
"""More values than this for each record are those of different persons, some of whom share one."""
_FEWER = 0.8
"""A date of birth stands for persons where there are so many fewer of it than of a number that determines it."""
_ABOUT = 0.9
"""So many values of the finest one make another as fine, but for those of records that it is not known of."""
_GROUPS = 600
"""Records that are looked at before a column is measured that hardly numbers persons."""
_PUBLIC: tuple[Meaning, ...] = ("birth", "postal", "age", "sex", "known", "origin", "sensitive", "text", "weight")
"""What a column may mean that tells of a person, and numbers persons only where the data say so."""
_NUMBER_WORDS = frozenset(["no", "num", "number", "code", "card", "numero", "numer", "nro", "numara"])
_CALLED: tuple[Meaning, ...] = ("person", "label", "identifier")
_EVENT_WORDS = """visit visits encounter admission episode stay sample specimen order test result record row line entry
    event invoice claim besuch aufenthalt episoden probe zeile vorgang auftrag rechnung eintrag visite sejour passage
    ligne visita ricovero consulta episodio ingreso internacao opname bezoek wizyta pobyt besok"""
_EVENTS = frozenset(_EVENT_WORDS.split())


@dataclass(frozen=True)
class SubjectCandidate:
    """A column that repeats, and what stays the same within its values."""

    name: str
    profile: Profile
    constant: frozenset[str]
    """Columns that have one value within nearly every value of it, and more often than by chance."""
    varying: frozenset[str]
    """Columns that differ within many of its values."""
    personal: frozenset[str]
    """Those of the constant ones that persons are born with."""
    aged: bool
    """Whether an age is among the constant ones."""
    shared: bool
    """Whether persons of either sex, or of several dates of birth, stand under one value of it."""
    independent: int
    """How many of the constant ones do not follow from each other."""
    mixed: bool = False
    """Whether what may be a sex or an age differs within it, where no column is called one and stays the same."""
    members: str = ""
    """The column that numbers persons within it, from one again in each household."""

    @property
    def numbers(self) -> bool:
        """Whether its values are keys, not words."""
        return self.profile.keys and not self.is_doubtful

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its name."""
        return frozenset(split_words(self.name))

    @property
    def is_event(self) -> bool:
        """Whether its name says that it numbers something that happens to persons."""
        return speaks_of_event(self.name) and not self.profile.means("person")

    @property
    def is_named(self) -> bool:
        """Whether its name says that it names or numbers somebody, and nothing else."""
        named = bool(self.profile.scheme) or any(self.profile.means(meaning) for meaning in _CALLED)
        return named and not is_public(self.profile)

    @cached_property
    def is_doubtful(self) -> bool:
        """Whether its type, its name or its few values speak for something else than a person."""
        column = self.profile
        called = self.is_named or bool(self.words & _NUMBER_WORDS) or column.means("label")
        few = column.distinct < _FEW and not (column.keys and self.is_named)
        return _is_measured(column) or few or (is_public(column) and not called)

    @property
    def explains(self) -> bool:
        """Whether what stays the same within its values is more than a code and its meaning."""
        if self.is_named and self.numbers:
            return bool(self.constant)
        if self.shared or not (self.varying or self.numbers):
            return False
        if self.profile.distinct < _FEW:  # a place or a kind of things has both sexes, and all ages
            named = self.profile.means("person") and bool(self.personal)
            return len(self.personal) + self.aged >= 2 or named or self.owns_facts
        few = self.profile.present <= _MOST_RECORDS * self.profile.distinct
        if self.is_doubtful:
            few = few and self.profile.uniqueness <= _RETURN  # some are born on one day
            return few and (bool(self.personal) or (_is_birth(self.profile) and bool(self.constant)))
        if self.numbers:
            known = self.independent >= 2 or bool(self.personal) or self.aged
            returning = self.profile.present <= _EVENTS_EACH * self.profile.distinct
            return few and (known or ((returning or self.profile.shortest >= _LONG) and bool(self.constant)))
        # a first name tells the sex, and is shared; of a place there are many records
        alone = self.profile.present <= _COARSER * self.profile.distinct
        return (self.independent >= 2) + (self._has_birth or self.aged) + alone >= 2

    @property
    def owns_facts(self) -> bool:
        """Whether so many facts of few persons stay the same within it that it hardly is a place or a kind of things.

        Where a sex, an age or a birth is known, one of these is among them; where none is, nothing of two values
        differs within it, as the sex of those who come to a place does.
        """
        if is_public(self.profile) and not (self.is_named or _is_birth(self.profile)):
            return False
        born = bool(self.personal) or self.aged or _is_birth(self.profile)
        several = self.independent >= 2 or len(self.constant) >= (2 if born else 3)
        return several and not self.mixed

    @property
    def _has_birth(self) -> bool:
        return any(not name_means(name, "sex") for name in self.personal)

    def __str__(self) -> str:
        counts = f"{self.profile.distinct:,} values fill {self.profile.present:,} records"
        if not self.constant:
            return counts
        return f"{counts}, {len(self.constant)} columns stay the same within them and {len(self.varying)} do not"


@dataclass(frozen=True)
class Persons:
    """Who the records are about, as far as the data tell it."""

    subject: SubjectCandidate | None
    others: tuple[SubjectCandidate, ...] = ()
    """Those that could be the person as well."""


def find_subject(frame: pl.DataFrame, profiles: Mapping[str, Profile]) -> Persons:
    """Find the column that numbers persons, by the data: it repeats, and within it some columns stay the same.

    Of several the one with the most persons is taken that still explains the repetition: a name shared by two patients
    keeps less constant than their numbers do. A number of visits gives way to the number of patients that it
    determines.

    Why it is safe: counting by a column that each person has one value of never counts more persons than there are.

    Examples
    --------
    >>> visits = pl.DataFrame({"eid": [7001 + i % 40 for i in range(160)], "lab": [i * 7 % 31 for i in range(160)],
    ...                        "sex": ["fm"[i % 2] for i in range(160)], "job": [i % 40 // 4 for i in range(160)]})
    >>> from shoal.profiling.profile import profile_column
    >>> find_subject(visits, {name: profile_column(visits[name]) for name in visits.columns}).subject.name
    'eid'
    """
    names = [name for name, column in profiles.items() if 2 <= column.distinct < column.present]
    names = [name for name in names if _may_number(profiles[name]) or _keeps_something(frame, profiles, name)]
    found = [measure_candidate(frame, profiles, name) for name in names]
    explaining = [candidate for candidate in found if candidate.explains]
    best = _find_owner(_choose(explaining), found, profiles)
    others = (candidate for candidate in explaining if candidate is not best and not candidate.is_doubtful)
    return Persons(best, tuple(others))


def _find_owner(
    chosen: SubjectCandidate | None, found: list[SubjectCandidate], profiles: Mapping[str, Profile]
) -> SubjectCandidate | None:
    """Return one of few values that keeps all that a nameless number keeps, but for what is finer: its persons."""
    if chosen is None or chosen.is_named:
        return chosen
    coarse = [one for one in found if one.name in chosen.constant and 5 <= one.profile.distinct < _FEW]
    for one in _finest_first([one for one in coarse if not (is_public(one.profile) or one.shared or one.mixed)]):
        rest = {name for name in chosen.constant - {one.name} if profiles[name].distinct <= one.profile.distinct}
        near = one.profile.distinct * _COARSER >= chosen.profile.distinct > one.profile.distinct
        if near and len(rest) >= 2 and rest <= one.constant:
            return one
    return chosen


def speaks_of_event(name: str) -> bool:
    """Return whether the name of a column speaks of something that happens to persons."""
    return bool(set(split_words(name)) & _EVENTS)


def _may_number(column: Profile) -> bool:
    """Whether a column holds keys or names, and nothing that its name or its type calls something else."""
    if column.kind in ("other", "boolean") or _is_measured(column) or is_public(column):
        return False
    return column.keys or column.distinct > 20


def _is_measured(column: Profile) -> bool:
    """Whether a column holds dates or fractions, as whole numbers and words do not."""
    dated = column.kind in ("date", "datetime") or bool(column.written) or column.calendar
    return dated or (column.kind == "float" and not column.whole) or column.commas


def is_public(column: Profile) -> bool:
    """Return whether the name of a column says that others may know it of a person, and not that it is one."""
    return any(column.means(meaning) for meaning in _PUBLIC) and not column.means("person")


def _keeps_something(frame: pl.DataFrame, profiles: Mapping[str, Profile], name: str) -> bool:
    """Whether records with one value of a column agree in another one, by a look at some of them."""
    if profiles[name].kind in ("other", "boolean") or profiles[name].distinct < 5:
        return False
    others = [other for other, column in profiles.items() if other != name and column.distinct > 1]
    sample = sample_groups(frame, name, others, _GROUPS).sort("key")
    agree = sample.select(pl.all() == pl.all().shift()).filter(pl.col("key"))
    mixed = sample.select(pl.all() == pl.all().shuffle(seed=0))
    for other in (column for column in sample.columns if column != "key"):
        if (agree[other].mean() or 0) >= _VARYING and (mixed[other].mean() or 0) <= _CHANCE:  # type: ignore[operator]
            return True
    return False


def measure_candidate(frame: pl.DataFrame, profiles: Mapping[str, Profile], name: str) -> SubjectCandidate:
    """Measure what stays the same within the values of a column."""
    names = [other for other, column in profiles.items() if other != name and column.distinct > 1]
    sample = sample_groups(frame, name, names)
    within = shares_of_one_value(sample)
    mixed = shares_of_one_value(sample.with_columns(sample["key"].shuffle(seed=0)))
    keys = {f"c{index}": other for index, other in enumerate(names)}
    constant = [key for key in keys if within.get(key, 0) >= _CONSTANT and mixed.get(key, 1) <= _CHANCE]
    varying = frozenset(keys[key] for key in keys if within.get(key, 1) < _VARYING)
    first = sample.group_by("key", maintain_order=True).agg(pl.all().drop_nulls().first())
    shared = [key for key in constant if _is_shared(first[key])]
    personal = frozenset(keys[key] for key in constant if _is_personal(profiles[keys[key]]))
    found = frozenset(keys[key] for key in constant)
    return SubjectCandidate(
        name=name,
        profile=profiles[name],
        constant=found,
        varying=varying,
        personal=personal,
        aged=any(profiles[other].means("age") for other in found),
        shared=any(profiles[other].means("sex") or profiles[other].means("birth") for other in varying),
        independent=count_independent(first, shared),
        mixed=not personal and any(_may_be_personal(profiles[other]) for other in varying),
    )


def _is_shared(values: pl.Series) -> bool:
    present = values.drop_nulls()
    return present.n_unique() <= _TWIN * len(present)


def _may_be_personal(column: Profile) -> bool:
    """Whether a column has two values, as a sex has, or is called an age."""
    return column.distinct == 2 or column.means("age")


def sample_groups(frame: pl.DataFrame, name: str, others: list[str], records: int = _RECORDS) -> pl.DataFrame:
    """Return some values of a column (``key``) with all their records; the other columns as ``c0``, ``c1``, …"""
    column = frame[name].alias("key")
    hashes = (to_texts(column) if column.dtype.is_nested() else column).hash(seed=18)
    share = max(-(-frame.height // records), 1)
    rows = (column.is_not_null() & (hashes % share == 0)).arg_true()
    chosen = frame[rows]
    columns = [_leave_blank(to_plain_or_texts(chosen[other])).alias(f"c{index}") for index, other in enumerate(others)]
    return pl.DataFrame([to_plain_or_texts(chosen[name]).alias("key"), *columns]).filter(pl.col("key").is_not_null())


def _leave_blank(values: pl.Series) -> pl.Series:
    """Return texts without what is written for a missing one: an unknown sex is no other sex."""
    if values.dtype != pl.String:
        return values
    unknown = values.str.strip_chars().str.to_lowercase().is_in(PLACEHOLDERS)
    return pl.select(pl.when(~unknown).then(values)).to_series()


def shares_of_one_value(sample: pl.DataFrame) -> dict[str, float]:
    """Return for each column the share of the values of ``key`` with several records that have one value of it."""
    others = [name for name in sample.columns if name != "key"]
    kinds = sample.group_by("key").agg(
        *(pl.col(name).drop_nulls().n_unique().alias(name) for name in others),
        *(pl.col(name).count().alias(f"n{name}") for name in others),
    )
    several = ((name, kinds[name].filter(kinds[f"n{name}"] > 1)) for name in others)
    return {name: float((column == 1).mean()) for name, column in several if len(column) >= 2}  # type: ignore[arg-type]


def _is_personal(column: Profile) -> bool:
    """Whether persons are born with it."""
    return column.means("sex") or _is_birth(column)


def _is_birth(column: Profile) -> bool:
    """Whether it tells when somebody was born; dates over forty years are dates of birth in any language."""
    return column.means("birth") or (column.kind == "date" and column.span > 40 * 365)


def count_independent(values: pl.DataFrame, names: list[str]) -> int:
    """Return how many columns there are, of those that follow from each other one."""
    kept: list[str] = []
    for name in sorted(names, key=lambda name: -values[name].n_unique()):
        if not any(_follows(values, name, other) for other in kept):
            kept.append(name)
    return len(kept)


def _follows(values: pl.DataFrame, name: str, other: str) -> bool:
    pairs = values.select(other, name).drop_nulls()
    return pairs.n_unique() <= 1.02 * pairs[other].n_unique()


def _choose(candidates: list[SubjectCandidate]) -> SubjectCandidate | None:
    """Return the candidate that is most likely a person: so called, then numbered; an event where nothing else is."""
    numbers = [one for one in candidates if one.numbers and not one.is_event]
    persons = [one for one in numbers if one.profile.means("person") and not speaks_of_event(one.name)]
    doubtful = [one for one in candidates if one.is_doubtful]
    names = [one for one in candidates if not (one.numbers or one.is_doubtful)]
    for tier in (persons, numbers, names, doubtful, candidates):
        if tier:
            # what looks like a number of persons may be one of their visits, and a name or a birth tells the persons
            chosen = _coarsest(_finest_first(tier))
            rest = [] if tier is persons else [*names, *doubtful]
            coarser = (one for one in rest if one.profile.distinct < chosen.profile.distinct)
            return _coarsest([chosen, *_finest_first(list(coarser))])
    return None


def _finest_first(candidates: list[SubjectCandidate]) -> list[SubjectCandidate]:
    """Return the candidates by how many values they have; of about as many, one that is known of all records first."""
    finest = sorted(candidates, key=lambda one: -one.profile.distinct)
    alike = [one for one in finest if one.profile.distinct >= _ABOUT * finest[0].profile.distinct]
    first = min(alike, key=lambda one: (one.profile.missing, not one.profile.keys), default=None)
    return finest if first is None else [first, *(one for one in finest if one is not first)]


def _coarsest(finest_first: list[SubjectCandidate]) -> SubjectCandidate:
    """Return the finest, or a coarser one that it determines, where that keeps all constant that persons are born
    with."""
    chosen = finest_first[0]
    for coarser in finest_first[1:]:
        most = _FEWER if coarser.is_doubtful else 1
        nested = coarser.name in chosen.constant and coarser.profile.distinct < most * chosen.profile.distinct
        nested = nested and coarser.profile.missing <= chosen.profile.missing
        if nested and _is_alike(chosen, coarser) and coarser.profile.distinct * _COARSER >= chosen.profile.distinct:
            chosen = coarser
    return chosen


def _is_alike(finer: SubjectCandidate, coarser: SubjectCandidate) -> bool:
    """Whether the coarser of two may be the person of the finer."""
    if finer.personal:
        return finer.personal <= coarser.constant | {coarser.name}
    if coarser.profile.distinct < _FEW:
        return coarser.owns_facts
    return coarser.independent >= min(2, finer.independent)
