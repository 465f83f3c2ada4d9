"""divide_anew(): every release is divided anew, and all persons stay among the values of their signature."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl

from shoal.algorithms.invariance.cutting import cut_balanced
from shoal.algorithms.invariance.signatures import Division, divide_by_signature
from shoal.encoding.domains import STAR
from shoal.encoding.types import Bools, Floats, Ints, Progress
from shoal.engines.columns import to_plain
from shoal.engines.counted import CountedTable
from shoal.engines.series import PERSON, SeriesState
from shoal.errors import Fault, Infeasible
from shoal.frequencies.frequencies import Classes
from shoal.pipeline.encode import Encoded
from shoal.pipeline.prepare import Prepared
from shoal.pipeline.series_records import (
    NextRelease,
    SeriesRecoding,
    encode_some,
    order_records,
    publish_some,
    rank_shown,
    require_few,
    view_rows,
)
from shoal.pipeline.solve import finish_classes, finish_solution
from shoal.pipeline.verify import Claims
from shoal.policy import Policy
from shoal.recodings.equivalence_classes import EquivalenceClasses
from shoal.recodings.local import Local

Shown = tuple[str | None, ...]
"""What a class shows in each quasi-identifier."""


def divide_anew(prepared: Prepared, persons: pl.Series, before: SeriesState, progress: Progress) -> NextRelease:
    """Return a release in which each class holds the values of its signatures equally often."""
    policy = prepared.policy
    assert policy.series is not None
    (on,) = policy.sensitive
    texts = to_plain(prepared.named.frame[on]).cast(pl.String)
    signed = sign_persons(persons, texts, before, policy.series.least_values)
    rows = pl.Series(np.flatnonzero(signed.division.of_record >= 0))
    require_few(prepared, len(persons) - len(rows))
    if not len(rows):
        raise Infeasible(Fault("nobody can be balanced with others", "series"))
    some, encoded = encode_some(prepared, rows, policy.may_suppress(len(persons)) - (len(persons) - len(rows)))
    progress("searching", 0, 0)
    balance = Balance(
        encoded=encoded,
        policy=policy,
        signatures=signed.division.of_record[rows.to_numpy()],
        values=signed.values[rows.to_numpy()],
        texts=signed.texts,
        starred=find_starred(before, policy),
    )
    balance.require_models()
    recoding = balance.settle(balance.cut(), [count_shown(release, policy) for release in before.releases])
    solution = finish_solution(recoding, encoded, policy)
    published = publish_some(some, rows, solution)
    assert published.owner.rows is not None
    frame, owned = order_records(published.table.frame, published.owner.rows)
    published = replace(
        published,
        table=CountedTable(frame),
        owner=view_rows(persons, owned, prepared),
        classes=rank_shown(frame, policy),
    )
    state = signed.keep(before, persons, owned, frame)
    counts = {
        "signatures": len({*signed.division.of_record[owned.to_numpy()].tolist()}),
        "held_back": len(persons) - len(owned),
        "counterfeits": 0,
    }
    claims = Claims(recoding=SeriesRecoding(number=state.number, way="m-invariance", counts=counts))
    return NextRelease(published=published, claims=claims, state=state)


@dataclass(frozen=True)
class SignedPersons:
    """The persons of a table, divided by signature."""

    division: Division
    values: Ints
    texts: tuple[str | None, ...]

    def keep(self, before: SeriesState, persons: pl.Series, owned: pl.Series, frame: pl.DataFrame) -> SeriesState:
        """Return what the owner keeps after a release of some of the records."""
        signatures = tuple(tuple(self.texts[value] for value in one) for one in self.division.signatures)
        rows = owned.to_numpy()
        newest = pl.DataFrame([persons.gather(owned), pl.Series("signature", self.division.of_record[rows])])
        return replace(
            before,
            releases=(*before.releases, frame.with_columns(persons.gather(owned).alias(PERSON))),
            persons=pl.concat([before.persons, newest]).unique().sort(PERSON, "signature"),
            signatures=signatures,
        )


def sign_persons(persons: pl.Series, texts: pl.Series, before: SeriesState, m: int) -> SignedPersons:
    """Divide persons by signature, in an order that does not depend on that of the table."""
    known = {*(text for one in before.signatures for text in one), *texts.unique().to_list()}
    every = tuple(sorted(known, key=lambda text: (text is None, text or "")))
    number = {text: index for index, text in enumerate(every)}
    values = np.array([number[text] for text in texts.to_list()], np.int64)
    signatures = [tuple(number[text] for text in one) for one in before.signatures]
    order = persons.arg_sort().to_numpy()
    earlier, barred = _look_up(persons.gather(order), values[order], before, signatures)
    found = divide_by_signature(values[order], earlier, signatures, m, barred)
    of_record = np.empty(len(order), np.int64)
    of_record[order] = found.of_record
    return SignedPersons(replace(found, of_record=of_record), values, every)


def _look_up(
    persons: pl.Series, values: Ints, before: SeriesState, signatures: Sequence[tuple[int, ...]]
) -> tuple[Ints, dict[int, frozenset[int]]]:
    """Return the signature of each person that holds the value; of those who had others only, all values of these.

    Whoever thinks that the value did not change would take what two signatures have in common: a person's signatures
    have nothing in common.
    """
    known = np.full(len(persons), -1, np.int64)
    had: defaultdict[int, frozenset[int]] = defaultdict(frozenset)
    places = pl.DataFrame([persons]).with_row_index("row").join(before.persons, on=PERSON, how="inner")
    for row, signature in places.sort("row", "signature").select("row", "signature").iter_rows():
        had[row] |= {*signatures[signature]}
        if values[row] in signatures[signature]:
            known[row] = signature
    return known, {row: values_had for row, values_had in had.items() if known[row] < 0}


@dataclass(frozen=True)
class BalancedGroups:
    """Records in groups that may become classes, near ones beside each other; -1 for those that show ``*``."""

    groups: tuple[Ints, ...]
    signatures: tuple[int, ...]
    """The signature of each group; of one of several, that of its first."""
    records: int

    @property
    def members(self) -> Ints:
        """The group of each record."""
        members = np.full(self.records, -1, np.int64)
        for number, group in enumerate(self.groups):
            members[group] = number
        return members

    def join(self, broken: Bools) -> BalancedGroups:
        """Return the groups with each broken one joined to the one beside it, of its own signature where there is one.

        Examples
        --------
        >>> groups = BalancedGroups((np.array([0]), np.array([1]), np.array([2])), (5, 6, 6), 3)
        >>> groups.join(np.array([False, False, True])).groups
        (array([0]), array([1, 2]))
        """
        linked = np.zeros(len(self.groups), bool)  # whether a group is joined to the next one
        for index in np.flatnonzero(broken).tolist():
            if linked[index] or (index and linked[index - 1]):
                continue
            beside = [place for place in (index, index - 1) if 0 <= place < len(self.groups) - 1]
            same = [place for place in beside if self.signatures[place] == self.signatures[place + 1]]
            linked[(same or beside)[0]] = True
        starts = np.flatnonzero(np.append(True, ~linked[:-1]))
        joined = [np.concatenate(self.groups[a:b]) for a, b in pairwise([*starts.tolist(), len(self.groups)])]
        return BalancedGroups(tuple(joined), tuple(self.signatures[start] for start in starts), self.records)


@dataclass(frozen=True, kw_only=True)
class Balance:
    """The records that are published, as numbers, with the signature and the sensitive value of each."""

    encoded: Encoded
    policy: Policy
    signatures: Ints
    values: Ints
    texts: tuple[str | None, ...]
    starred: int
    """The signature that was shown as ``*`` in the release before, -1 for none."""

    @property
    def codes(self) -> Ints:
        """The code of each record in each column."""
        frequencies = self.encoded.frequencies
        return frequencies.tuples[frequencies.cell_tuples[self.encoded.cell_of_record]].astype(np.int64)

    @property
    def scale(self) -> Floats:
        """What a step between codes of each column costs."""
        return np.array([column.weight / max(column.levels.size - 1, 1) for column in self.encoded.columns])

    def cut(self) -> BalancedGroups:
        """Cut the records of each signature, but those that show ``*``."""
        codes, scale = self.codes, self.scale
        starred = self._choose_starred(codes, scale) if self.policy.suppressed == "star" else self.values[:0]
        chosen = np.ones(len(codes), bool)
        chosen[starred] = False
        groups, owners = list[Ints](), list[int]()
        for signature in np.unique(self.signatures[chosen]).tolist():
            mine = np.flatnonzero((self.signatures == signature) & chosen)
            mine = mine[np.lexsort([*codes[mine].T[::-1], self.values[mine]])]
            size = len(np.unique(self.values[mine]))
            found = cut_balanced(codes, scale, mine.reshape(size, -1), -(-self.policy.k // size))
            groups += found
            owners += [signature] * len(found)
        return BalancedGroups(tuple(groups), tuple(owners), len(codes))

    def require_models(self) -> None:
        """Raise where the values of a signature, which is all that is left of several classes, do not keep a model."""
        _, numbers = np.unique(self.signatures, return_inverse=True)
        members = np.empty(len(numbers), np.int64)
        members[self.encoded.cell_of_record] = numbers
        classes = Classes.of(self.encoded.frequencies, members)
        for index, model in enumerate(self.policy.models):
            if model.sensitive_columns and not model.holds(classes, self.encoded.background).all():
                what = "the values of a signature, all that several releases leave open of a person, do not keep it"
                raise Infeasible(Fault(what, f"models[{index}]", model.key(), "raise m, or ask for less"))

    def _choose_starred(self, codes: Ints, scale: Floats) -> Ints:
        """Return k records of each value of one signature, the farthest from the middle: they would cost most.

        It is the signature of the release before where that has as many, so that the class stays what it is.
        """
        least = max(self.policy.k, 2)
        sizes = np.bincount(self.signatures)
        units = [np.bincount(self.values[self.signatures == one]).max(initial=0) for one in range(len(sizes))]
        known = self.starred if 0 <= self.starred < len(sizes) and units[self.starred] >= least else int(sizes.argmax())
        if units[known] < least:
            hint = "let more records be in the table, or say suppressed: drop, and nobody is hidden so"
            got = f"{units[known]} of each value, {least} are needed"
            raise Infeasible(Fault("too few records to hide everybody among those that show *", "series", got, hint))
        self._require_room(int(known), least)
        far = np.abs(codes - np.median(codes, axis=0)) @ scale
        found = list[Ints]()
        for value in np.unique(self.values[self.signatures == known]).tolist():
            mine = np.flatnonzero((self.signatures == known) & (self.values == value))
            found.append(mine[np.lexsort((*codes[mine].T, -far[mine]))[:least]])
        return np.concatenate(found)

    def _require_room(self, signature: int, least: int) -> None:
        """Raise where fewer records may be suppressed than would show ``*``."""
        records = least * len(np.unique(self.values[self.signatures == signature]))
        room = self.encoded.may_suppress(self.policy)
        if records > room:
            what = "k records of each value of a signature show *, so that nobody can be excluded from them"
            hint = "raise max_suppressed, or say suppressed: drop"
            raise Infeasible(Fault(what, "max_suppressed", f"{records} records, {max(room, 0)} may", hint))

    def recode(self, groups: BalancedGroups) -> Local:
        """Return the groups as a recoding; each record is a cell of its own, as it is another person's."""
        members = np.empty(len(self.values), np.int64)
        members[self.encoded.cell_of_record] = groups.members
        return Local(members, part=True)

    def settle(self, groups: BalancedGroups, earlier: Sequence[Mapping[Shown, Counter[str | None]]]) -> Local:
        """Join groups until all classes keep the models, and none is a few records away from how it looked before."""
        while True:
            recoding = self.recode(groups)
            published = finish_classes(recoding, self.encoded, self.policy)
            broken = self._break_models(published) | self._find_subtractable(published, earlier)
            of_record = published.classes.members[self.encoded.cell_of_record]
            of_group = np.array([of_record[group[0]] for group in groups.groups], np.int64)
            wrong = (of_group >= 0) & broken[of_group]
            if not wrong.any():
                return recoding
            if len(groups.groups) == 1:
                raise Infeasible(
                    Fault("not even all records together keep the models beside earlier releases", "series")
                )
            groups = groups.join(wrong)

    def _break_models(self, published: EquivalenceClasses) -> Bools:
        kept = np.ones(published.classes.count, bool)
        for model in self.policy.models:
            kept &= model.holds(published.classes, self.encoded.background)
        return ~kept

    def _find_subtractable(
        self, published: EquivalenceClasses, earlier: Sequence[Mapping[Shown, Counter[str | None]]]
    ) -> Bools:
        """Return the classes that look as in an earlier release, and differ from it by fewer than k records."""
        broken = np.zeros(published.classes.count, bool)
        shown = list(zip(*([one.texts[place] for place in one.ids.tolist()] for one in published.columns), strict=True))
        known = {index for index, texts in enumerate(shown) if any(texts in release for release in earlier)}
        counts = {index: Counter[str | None]() for index in known}
        of_record = published.classes.members[self.encoded.cell_of_record]
        for index, value in zip(of_record.tolist(), self.values.tolist(), strict=True):
            if index in counts:
                counts[index][self.texts[value]] += 1
        least = max(self.policy.k, 2)
        for index, own in counts.items():
            others = [release[shown[index]] for release in earlier if shown[index] in release]
            gaps = [gap.total() for other in others for gap in (own - other, other - own)]
            broken[index] = any(0 < gap < least for gap in gaps)
        return broken


def count_shown(release: pl.DataFrame, policy: Policy) -> dict[Shown, Counter[str | None]]:
    """Return how often each sensitive value is in each class of a release, by what the class shows."""
    (on,) = policy.sensitive
    texts = [release[name].cast(pl.String).to_list() for name in policy.quasi_identifiers]
    counted: defaultdict[Shown, Counter[str | None]] = defaultdict(Counter)
    for shown, value in zip(zip(*texts, strict=True), to_plain(release[on]).cast(pl.String).to_list(), strict=True):
        counted[shown][value] += 1
    return dict(counted)


def find_starred(before: SeriesState, policy: Policy) -> int:
    """Return the signature that the release before showed as ``*``, -1 for none."""
    if not before.number:
        return -1
    last = before.releases[-1]
    shown = pl.DataFrame([last[name].alias(str(index)) for index, name in enumerate(policy.quasi_identifiers)])
    starred = shown.select(pl.all_horizontal(pl.all() == STAR).fill_null(value=False)).to_series()
    (on,), persons = policy.sensitive, last[PERSON].filter(starred)
    values = to_plain(last[on]).cast(pl.String).filter(starred)
    pairs = pl.DataFrame([persons, values.alias("value")]).join(before.persons, on=PERSON, how="inner")
    found = (one for _, value, one in pairs.iter_rows() if value in before.signatures[one])
    return next(found, -1)
