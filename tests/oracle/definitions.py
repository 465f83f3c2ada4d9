"""The privacy models, as the papers and the documentation define them: over lists of records, in exact fractions.

Each model answers whether it holds, what is attained where that is a number that the product tells too, or that this
oracle cannot say (``None``): then nothing is compared.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

Texts = tuple[Any, ...]
MOST_ASSIGNMENTS = 30_000
"""So many ways to fill in missing values are tried for one class; beyond, the oracle says nothing."""


@dataclass(frozen=True)
class Row:
    """A published record: what it shows, and what the owner knows of it."""

    shows: Texts
    """The texts of the quasi-identifiers."""
    cells: Mapping[str, Any]
    """The values of the other columns; of the original's subject, asks and weights too."""


@dataclass(frozen=True)
class Counting:
    """A published table with all that definitions look at."""

    columns: tuple[str, ...]
    """The quasi-identifiers."""
    rows: list[Row]
    whole: list[Mapping[str, Any]]
    """The cells of all records of the original."""
    modes: Mapping[str, str] = field(default_factory=dict)
    """Sensitive column → what a missing value is."""
    subject: str | None = None
    weight: str | None = None
    ranks: Mapping[str, Mapping[Any, int]] = field(default_factory=dict)
    """Sensitive column → the order of its values."""
    paths: Mapping[str, Mapping[Any, tuple[Any, ...]]] = field(default_factory=dict)
    """Sensitive column → each value's groups from level 0 to below the top."""
    persons: Callable[[Texts], int] | None = None
    """How many of the population a class could be."""
    population: int = 0
    strict: bool = False
    """Whether a missing value that suppresses its record says nothing among starred ones."""

    @cached_property
    def classes(self) -> list[list[Row]]:
        return self.group(range(len(self.columns)))

    def group(self, indices: Sequence[int]) -> list[list[Row]]:
        """Put records together that show the same in some columns."""
        groups: dict[Texts, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(tuple(row.shows[index] for index in indices), []).append(row)
        return list(groups.values())

    def size(self, rows: Sequence[Row]) -> int:
        """Count records, or persons where a subject is named."""
        return len({row.cells[self.subject] for row in rows}) if self.subject else len(rows)

    def value(self, on: Any, cells: Mapping[str, Any]) -> Any:
        """Return a sensitive value; of several columns their combination."""
        return cells[on] if isinstance(on, str) else tuple(cells[name] for name in on)

    def tally(self, on: Any, cells: Sequence[Mapping[str, Any]]) -> tuple[Counter[Any], int, int]:
        """Count how many have each value, how many a missing one that may be any, and how many there are."""
        if self.subject:  # each person once for each value
            pairs = {(one[self.subject], self.value(on, one)) for one in cells}
            values = Counter(value for _, value in pairs)
            people = len({person for person, _ in pairs})
        else:
            values, people = Counter(self.value(on, one) for one in cells), len(cells)
        blank = 0
        if self.mode(on) == "wildcard" or (self.strict and self.mode(on) == "suppress"):
            blank = values.pop(None, 0)
        return values, blank, people

    def mode(self, on: Any) -> str:
        names = [on] if isinstance(on, str) else on
        modes = {self.modes.get(name, "own-value") for name in names}
        return modes.pop() if len(modes) == 1 else "mixed"


@dataclass(frozen=True)
class Judged:
    """What the oracle says of a model; ``None`` where it cannot say."""

    holds: bool | None
    attained: Any = None
    at_least: bool = False
    """Whether what is told may be worse: a missing value may also be one that nobody else has."""

    @property
    def surely(self) -> bool:
        """Whether it holds however missing values are thought of: only then is a refusal called false."""
        return self.holds is True and not self.at_least


UNSURE = Judged(None)


def judge(model: Mapping[str, Any], table: Counting) -> Judged:
    """Say whether a model holds for a published table, and what is attained."""
    if not table.rows:
        return UNSURE
    on = model.get("on")
    if on is not None and not isinstance(on, str):
        several = any(table.mode(name) != "own-value" for name in on)
        if several and any(None in (cells[name] for name in on) for cells in table.whole):
            return UNSURE  # a combination with a part that may be anything: no definition is documented
    return MODELS[model["name"]](model, table)


def _exact(number: Any) -> Fraction:
    return Fraction(str(number))


def _cells(rows: Sequence[Row]) -> list[Mapping[str, Any]]:
    return [row.cells for row in rows]


def _k_anonymity(model: Mapping[str, Any], table: Counting) -> Judged:
    least = min(table.size(rows) for rows in table.classes)
    return Judged(least >= model["k"], least)


def _distinct_of(table: Counting, rows: Sequence[Row], on: Any) -> int:
    values, blank, people = table.tally(on, _cells(rows))
    return min(people, max(len(values), 1 if blank else 0))


def _distinct(model: Mapping[str, Any], table: Counting) -> Judged:
    least = min(_distinct_of(table, rows, model["on"]) for rows in table.classes)
    return Judged(least >= model["l"], least)


def _p_sensitive(model: Mapping[str, Any], table: Counting) -> Judged:
    values = min(_distinct_of(table, rows, model["on"]) for rows in table.classes)
    size = min(table.size(rows) for rows in table.classes)
    return Judged(values >= model["p"] and size >= model["k"], (values, size))


def _worst_counts(table: Counting, rows: Sequence[Row], on: Any) -> tuple[list[int], int]:
    """Return the counts of a class from the most frequent value on, blanks being the most frequent one."""
    values, blank, people = table.tally(on, _cells(rows))
    counts = sorted(values.values(), reverse=True) or [0]
    counts[0] += blank
    return counts, people


def _alpha_k(model: Mapping[str, Any], table: Counting) -> Judged:
    share = Fraction(0)
    for rows in table.classes:
        counts, people = _worst_counts(table, rows, model["on"])
        share = max(share, Fraction(min(counts[0], people), people))
    size = min(table.size(rows) for rows in table.classes)
    return Judged(share <= _exact(model["alpha"]) and size >= model["k"], (float(share), size))


def _entropy(model: Mapping[str, Any], table: Counting) -> Judged:
    if model.get("estimator") == "grassberger":
        return _grassberger(model, table)
    holds, least = True, math.inf
    asked = _exact(model["l"])
    for rows in table.classes:
        counts, people = _worst_counts(table, rows, model["on"])
        total = sum(counts)
        # exp(entropy) >= l, to the power of the total, in whole numbers: no logarithm at the edge
        powers = math.prod(count**count for count in counts if count)
        holds &= Fraction(total) ** total >= asked**total * powers
        entropy = -sum(c / total * math.log(c / total) for c in counts if c)
        least = min(least, math.exp(entropy))
        if table.subject:
            holds &= people >= asked
            least = min(least, people)
    return Judged(holds, None if table.subject else least)


def _grassberger(model: Mapping[str, Any], table: Counting) -> Judged:
    """Grassberger (2003): ln N - (1/N) Σ n G(n); G(1) = -γ - ln 2, G(2) = 2 - γ - ln 2, G(2n+2) = G(2n) + 2/(2n+1)."""
    euler = 0.57721566490153286
    edge, holds, least = False, True, math.inf
    for rows in table.classes:
        values, blank, people = table.tally(model["on"], _cells(rows))
        if blank:
            return Judged(False)
        total = sum(values.values())
        estimate = math.log(total) - sum(count * _g(count, euler) for count in values.values()) / total
        gap = estimate - math.log(model["l"])
        edge |= abs(gap) < 1e-9
        # an estimate above what the values of the class could have at all counts as that
        holds &= gap >= 0 and len(values) >= model["l"]
        least = min(least, max(1.0, min(math.exp(estimate), len(values))))
        if table.subject:
            holds &= people >= model["l"]
    return Judged(None if edge else holds, None if table.subject else least)


def _g(count: int, euler: float) -> float:
    if count == 1:
        return -euler - math.log(2)
    value = 2 - euler - math.log(2)
    for step in range(2, count - count % 2, 2):
        value += 2 / (step + 1)
    return value


def _recursive(model: Mapping[str, Any], table: Counting) -> Judged:
    c, asked = _exact(model["c"]), model["l"]
    reached = math.inf
    for rows in table.classes:
        counts, people = _worst_counts(table, rows, model["on"])
        indices = range(1, len(counts) + 1)
        best = max((index for index in indices if counts[0] < c * sum(counts[index - 1 :])), default=0)
        reached = min(reached, best, people if table.subject else best)
    return Judged(reached >= asked, reached if reached >= 2 else None)


def _fill(
    table: Counting, on: Any, rows: Sequence[Row]
) -> Iterator[tuple[Counter[Any], int, Counter[Any], int]] | None:
    """Yield counts of the class and of the whole table for every way to fill in values that may be any.

    ``suppress`` counts like ``wildcard`` here: a record without a value may have any of them.
    """
    mode = table.mode(on)
    inside, whole = _cells(rows), table.whole
    class_values, class_blank, class_people = table.tally(on, inside)
    all_values, all_blank, all_people = table.tally(on, whole)
    if mode == "suppress" and not table.strict:
        class_blank, all_blank = class_values.pop(None, 0), all_values.pop(None, 0)
    rest_blank = all_blank - class_blank
    if not class_blank and not rest_blank:
        return iter([(class_values, class_people, all_values, all_people)])
    if table.subject or not all_values or rest_blank < 0:
        return None  # of persons, of nobody, or of a table that is not of this original
    names = sorted(all_values, key=repr)
    if _ways(class_blank, len(names)) * _ways(rest_blank, len(names)) > MOST_ASSIGNMENTS:
        return None

    def ways() -> Iterator[tuple[Counter[Any], int, Counter[Any], int]]:
        for some in itertools.combinations_with_replacement(names, class_blank):
            for others in itertools.combinations_with_replacement(names, rest_blank):
                yield (
                    class_values + Counter(some),
                    class_people,
                    all_values + Counter(some) + Counter(others),
                    all_people,
                )

    return ways()


def _ways(blanks: int, names: int) -> int:
    return math.comb(blanks + names - 1, blanks)


def _t_closeness(model: Mapping[str, Any], table: Counting) -> Judged:
    distance, on = model.get("distance", "equal"), model["on"]
    told = [table.value(on, cells) for cells in table.whole]
    if distance != "equal" and (not isinstance(on, str) or (None in told and table.mode(on) == "own-value")):
        return UNSURE  # where a missing value stands in an order is not documented
    worst = Fraction(0)
    for rows in table.classes:
        ways = _fill(table, on, rows)
        if ways is None:
            return UNSURE
        for inside, _, whole, _ in ways:
            names = sorted(whole, key=repr)
            p, q = (
                {name: Fraction(counts[name], sum(counts.values())) for name in names} for counts in (inside, whole)
            )
            if distance == "equal":
                far = sum(abs(p[name] - q[name]) for name in names) / 2
            elif distance == "ordered":
                if on not in table.ranks:
                    return UNSURE
                far = _ordered(p, q, sorted(names, key=lambda name: table.ranks[on][name]))
            else:
                if on not in table.paths:
                    return UNSURE
                far = _hierarchical(p, q, table.paths[on])
            worst = max(worst, far)
    return Judged(worst <= _exact(model["t"]), float(worst), _any_blank(table, on))


def _any_blank(table: Counting, on: Any) -> bool:
    """Whether values are missing that may be any."""
    return table.mode(on) in ("wildcard", "suppress") and any(table.value(on, cells) is None for cells in table.whole)


def _ordered(p: Mapping[Any, Fraction], q: Mapping[Any, Fraction], names: Sequence[Any]) -> Fraction:
    moved, total = Fraction(0), Fraction(0)
    for name in names[:-1]:
        moved += p[name] - q[name]
        total += abs(moved)
    return total / (len(names) - 1) if len(names) > 1 else Fraction(0)


def _hierarchical(
    p: Mapping[Any, Fraction], q: Mapping[Any, Fraction], paths: Mapping[Any, tuple[Any, ...]]
) -> Fraction:
    height = len(next(iter(paths.values())))
    total = Fraction(0)
    for level in range(height):
        groups: dict[Any, Fraction] = {}
        for name in p:
            groups[paths[name][level]] = groups.get(paths[name][level], Fraction(0)) + p[name] - q[name]
        total += sum(abs(extra) for extra in groups.values()) / (2 * height)
    return total


def _beta(model: Mapping[str, Any], table: Counting) -> Judged:
    asked, enhanced = _exact(model["beta"]), model.get("enhanced", True)
    holds, edge, worst = True, False, Fraction(0)
    for rows in table.classes:
        ways = _fill(table, model["on"], rows)
        if ways is None:
            return UNSURE
        for inside, people, whole, everyone in ways:
            for name in inside:
                p, q = Fraction(inside[name], people), Fraction(whole[name], everyone)
                if p <= q:
                    continue
                gain = (p - q) / q
                worst = max(worst, gain)
                holds &= gain <= asked
                if enhanced:
                    limit = -math.log(q)
                    edge |= abs(float(gain) - limit) < 1e-9
                    holds &= float(gain) <= limit + 1e-12
    return Judged(None if edge else holds, None if enhanced else float(worst), _any_blank(table, model["on"]))


def _delta_disclosure(model: Mapping[str, Any], table: Counting) -> Judged:
    worst = 0.0
    for rows in table.classes:
        ways = _fill(table, model["on"], rows)
        if ways is None:
            return UNSURE
        for inside, people, whole, everyone in ways:
            for name, often in whole.items():
                if not often:
                    continue
                if not inside[name]:
                    return Judged(False)
                worst = max(worst, abs(math.log(Fraction(inside[name], people) / Fraction(often, everyone))))
    edge = abs(worst - model["delta"]) < 1e-9
    return Judged(None if edge else worst < model["delta"], worst, _any_blank(table, model["on"]))


def _average_risk(model: Mapping[str, Any], table: Counting) -> Judged:
    sizes = [table.size(rows) for rows in table.classes]
    risk = Fraction(len(sizes), sum(sizes))
    return Judged(risk <= _exact(model["threshold"]), float(risk))


def _sample_uniqueness(model: Mapping[str, Any], table: Counting) -> Judged:
    sizes = [table.size(rows) for rows in table.classes]
    share = Fraction(sizes.count(1), sum(sizes))
    return Judged(share <= _exact(model["threshold"]), float(share))


def _population_uniqueness(model: Mapping[str, Any], table: Counting) -> Judged:
    if all(table.size(rows) > 1 for rows in table.classes):
        return Judged(True, 0.0)  # only a record that stands alone can be of a person who does
    return UNSURE


def _k_map(model: Mapping[str, Any], table: Counting) -> Judged:
    if table.persons is not None:
        least = min(table.persons(rows[0].shows) for rows in table.classes)
    elif table.weight is not None:
        least = min(math.floor(sum(Fraction(row.cells[table.weight]) for row in rows)) for rows in table.classes)
    else:
        return UNSURE
    return Judged(least >= model["k"], least)


def _delta_presence(model: Mapping[str, Any], table: Counting) -> Judged:
    if table.persons is None:
        return UNSURE
    starred = [rows for rows in table.classes if set(rows[0].shows) == {"*"}] if len(table.classes) > 1 else []
    chances, matched = [], 0
    for rows in table.classes:
        if rows in starred:
            continue
        persons = table.persons(rows[0].shows)
        matched += persons
        chances.append(Fraction(table.size(rows), persons) if persons else Fraction(10**9))
    left = table.population - matched
    if starred:
        chances.append(Fraction(len(starred[0]), left) if left > 0 else Fraction(10**9))
    elif left > 0:
        chances.append(Fraction(0))
    low, high = _exact(model.get("delta_min", 0)), _exact(model["delta_max"])
    return Judged(low <= min(chances) and max(chances) <= high)


def _personal_k(model: Mapping[str, Any], table: Counting) -> Judged:
    for rows in table.classes:
        asked = [row.cells[model["on"]] for row in rows]
        asks = [model.get("default") if one is None else one for one in asked]
        most = max(one for one in asks if one is not None)
        if model.get("most") is not None:
            most = min(most, model["most"])
        if table.size(rows) < most:
            return Judged(False)
    return Judged(True)


def _scenarios(model: Mapping[str, Any], table: Counting) -> Judged:
    indices = {name: index for index, name in enumerate(table.columns)}
    if model.get("known"):
        known = [tuple(names) for names in model["known"]]
    else:
        known = list(itertools.combinations(table.columns, min(model["any_of"], len(table.columns))))
    least, share = math.inf, Fraction(0)
    for names in known:
        for rows in table.group([indices[name] for name in names]):
            least = min(least, table.size(rows))
            if model.get("on"):
                counts, people = _worst_counts(table, rows, model["on"])
                share = max(share, Fraction(min(counts[0], people), people))
    holds = least >= model["k"] and (not model.get("on") or share <= _exact(model["confidence"]))
    return Judged(holds, (float(share), least) if model.get("on") else least)


def _differential_privacy(model: Mapping[str, Any], table: Counting) -> Judged:
    return UNSURE  # no table can show it; the family of cases that asks for it checks sizes against the theorem


MODELS: dict[str, Callable[[Mapping[str, Any], Counting], Judged]] = {
    "k-anonymity": _k_anonymity,
    "distinct-l-diversity": _distinct,
    "p-sensitive": _p_sensitive,
    "alpha-k-anonymity": _alpha_k,
    "entropy-l-diversity": _entropy,
    "recursive-l-diversity": _recursive,
    "t-closeness": _t_closeness,
    "beta-likeness": _beta,
    "delta-disclosure": _delta_disclosure,
    "average-risk": _average_risk,
    "sample-uniqueness": _sample_uniqueness,
    "population-uniqueness": _population_uniqueness,
    "k-map": _k_map,
    "delta-presence": _delta_presence,
    "personal-k": _personal_k,
    "scenarios": _scenarios,
    "differential-privacy": _differential_privacy,
}
