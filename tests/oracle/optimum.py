"""Brute force over tiny tables: is there a release at all, and what is the least that one can lose?

*Full-domain*: every combination of levels, and in each every choice of classes to suppress. *Local*: every partition of
the records, with some of them suppressed. A found release is a proof that a refusal was false; losses are never
underestimated, so that a bound above them is a false bound.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .definitions import Row
from .meaning import ORDERED, Cover, Reader, to_number
from .setting import ACROSS, Setting, cover_of

MOST_LOCAL = 6
"""Records beyond which partitions are too many."""
MOST_NODES = 3000


@dataclass(frozen=True)
class Found:
    """A compliant release that brute force found."""

    loss: Fraction | None
    """Its certainty penalty; ``None`` where the oracle cannot say what a label costs."""
    shows: tuple[tuple[int, tuple[Any, ...] | None], ...]
    """Record → what it shows; ``None`` for a suppressed one."""
    discernibility: int = 0
    suppressed: int = 0


def _row(setting: Setting, index: int, shows: tuple[Any, ...]) -> Row:
    return Row(shows, setting.records[index])


def _stars(setting: Setting) -> tuple[str, ...]:
    return ("*",) * len(setting.readers)


def complies(setting: Setting, shown: Mapping[int, tuple[Any, ...]], out: Sequence[int]) -> bool:
    """Whether a release with these records shown and those suppressed keeps every model, starred or left out."""
    if not shown:
        return False
    kept = [_row(setting, index, shows) for index, shows in shown.items()]
    choices: list[list[Row]] = [[]]
    # where all show *, only those may be among them who could not but be suppressed
    joined = _stars(setting) in shown.values() and not set(out) <= setting.hidden
    if out and setting.policy.get("suppressed", "star") == "star" and not joined:
        choices.append([_row(setting, index, _stars(setting)) for index in out])
    for starred in choices:
        verdicts = setting.judge_all([*kept, *starred], strict=True)
        if all(one.surely for one in verdicts):
            return True
    return False


def search_nodes(setting: Setting) -> Iterator[Found]:
    """Yield a compliant release for every full-domain node that has one, with as few suppressed as possible."""
    levels = [reader.levels for reader in setting.readers]
    if any(level is None for level in levels):
        return
    heights = [range(len(level)) for level in levels if level is not None]
    count = 1
    for height in heights:
        count *= len(height)
    if count > MOST_NODES:
        return
    ceilings = [setting.ceiling(reader) for reader in setting.readers]
    for node in itertools.product(*heights):
        found = _node(setting, node, ceilings)
        if found is not None:
            yield found


def _shown_at(reader: Reader, level: int, value: Any) -> Any:
    assert reader.levels is not None
    if level == len(reader.levels) - 1 or (value is None and reader.missing == "wildcard"):
        return "*"
    return reader.levels[level][value]


def _node(setting: Setting, node: tuple[int, ...], ceilings: Sequence[Mapping[Any, Cover]]) -> Found | None:
    classes: dict[tuple[Any, ...], list[int]] = {}
    out = set(setting.forced)
    for index, record in enumerate(setting.records):
        if index in out:
            continue
        shows = []
        for reader, level, held in zip(setting.readers, node, ceilings, strict=True):
            value = record[reader.name]
            cover = _shown_at(reader, level, value)
            if value in held and not cover_of(reader, cover) <= held[value]:
                out.add(index)
            shows.append(cover)
        if index not in out:
            classes.setdefault(tuple(shows), []).append(index)
    stars = _stars(setting)
    if len(classes) > 1 and stars in classes:  # beside others, who shows nothing counts as suppressed
        out.update(classes.pop(stars))
    if len(out) > setting.may_suppress:
        return None
    keys = list(classes)
    for number in range(len(keys) + 1):
        for dropped in itertools.combinations(keys, number):
            gone = [*out, *(index for key in dropped for index in classes[key])]
            if len(gone) > setting.may_suppress:
                continue
            shown = {index: key for key in keys if key not in dropped for index in classes[key]}
            if complies(setting, shown, gone):
                return _found(setting, node, shown, gone)
    return None


def _found(setting: Setting, node: tuple[int, ...], shown: Mapping[int, tuple[Any, ...]], gone: Sequence[int]) -> Found:
    sizes: dict[tuple[Any, ...], int] = {}
    for key in shown.values():
        sizes[key] = sizes.get(key, 0) + 1
    count = len(setting.records)
    discernibility = sum(size * size for size in sizes.values()) + len(gone) * count
    total, weights = Fraction(0), Fraction(0)
    known = True
    for reader, level in zip(setting.readers, node, strict=True):
        weight = Fraction(str(reader.role.get("weight", 1)))
        weights += weight
        for index in shown:
            cost = cost_at(reader, level, setting.records[index][reader.name])
            known &= cost is not None
            total += weight * (cost or 0)
        total += weight * len(gone)
    shows = tuple((index, shown.get(index)) for index in range(count))
    loss = total / (weights * count) if known else None
    return Found(loss, shows, discernibility, len(gone))


def cost_at(reader: Reader, level: int, value: Any) -> Fraction | None:
    """Return the certainty penalty of a value's label at a level."""
    assert reader.levels is not None
    cover = _shown_at(reader, level, value)
    if cover == "*":
        return Fraction(1)
    if level == 0 or value is None:
        return Fraction(0)
    if reader.role.get("hierarchy") in ("intervals", "dates"):
        return None  # the width of the label, which the level map does not hold
    if reader.role.get("domain", "observed") != "observed":
        return None
    return reader.share(cover)


# ---- local recoding


def partitions(items: Sequence[int]) -> Iterator[list[list[int]]]:
    """Yield every way to part a list."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for parts in partitions(rest):
        yield [[first], *parts]
        for index in range(len(parts)):
            yield [*parts[:index], [first, *parts[index]], *parts[index + 1 :]]


def show_part(setting: Setting, part: Sequence[int]) -> tuple[tuple[Any, ...], list[Fraction | None]] | None:
    """Return what a class shows in local recoding and what each cell costs; ``None`` where boundaries forbid it."""
    shows: list[Any] = []
    costs: list[Fraction | None] = []
    for reader in setting.readers:
        values = {setting.records[index][reader.name] for index in part}
        held = setting.ceiling(reader)
        cover, cost = _show_values(reader, values, setting.policy.get("publish", "labels"))
        if any(value in held and not cover_of(reader, cover) <= held[value] for value in values):
            return None
        shows.append(cover)
        costs.append(cost)
    if all(cover == "*" for cover in shows):
        # such a class shows its values in one column, unless a missing one that may be any is there
        open_columns = [
            index
            for index, reader in enumerate(setting.readers)
            if not (reader.missing == "wildcard" and None in _values(setting, reader, part)) and len(reader.domain) > 1
        ]
        best = None
        for index in open_columns:
            cover = frozenset(_values(setting, setting.readers[index], part))
            cost = _dearest(setting.readers[index], cover)
            if best is None or (cost is not None and best[2] is not None and cost < best[2]):
                best = (index, cover, cost)
        if best is not None and not any(setting.ceiling(reader) for reader in setting.readers):
            shows[best[0]], costs[best[0]] = ("values", best[1]), best[2]
    return tuple(shows), costs


def _values(setting: Setting, reader: Reader, part: Sequence[int]) -> set[Any]:
    return {setting.records[index][reader.name] for index in part}


def _show_values(reader: Reader, values: set[Any], publish: str) -> tuple[Any, Fraction | None]:
    if None in values and reader.missing == "wildcard":
        return "*", Fraction(1)
    if len(values) == 1:
        return frozenset(values), Fraction(0)
    form = reader.role.get("publish") or publish
    hierarchy = reader.role.get("hierarchy")
    plain = reader.role.get("domain", "observed") == "observed"
    if form == "labels" and hierarchy is not None:
        if reader.levels is None:
            return "*", None
        for level in range(len(reader.levels)):
            covers = {_shown_at(reader, level, value) for value in values}
            if len(covers) == 1:
                return covers.pop(), cost_at(reader, level, next(iter(values - {None}), None))
    if reader.kind in ORDERED and hierarchy != "tree":
        if None in values:
            return "*", Fraction(1)
        return ("range", min(values), max(values)), _dearest(reader, frozenset(values))
    # a set of neighbouring numbers may be told as a range
    return frozenset(values), _dearest(reader, frozenset(values)) if plain else None


def _dearest(reader: Reader, cover: Cover) -> Fraction | None:
    """What a range or a set of values costs, whichever is more: the optimum must not be underestimated."""
    if reader.role.get("domain", "observed") != "observed":
        return None
    share = reader.share(cover)
    ends = reader.extent()
    known = [value for value in cover if value is not None]
    if ends is None or ends[0] == ends[1] or not known:
        return share
    width = (to_number(max(known)) - to_number(min(known))) / (ends[1] - ends[0])
    return width if form_is_range(reader, cover) else max(share, width)


def form_is_range(reader: Reader, cover: Cover) -> bool:
    """Whether a class of these values is told as a range for sure."""
    return None not in cover and reader.role.get("hierarchy") is None and reader.kind in ORDERED


def search_partitions(setting: Setting) -> Iterator[Found]:
    """Yield every compliant local release of a tiny table."""
    if len(setting.records) > MOST_LOCAL or any(not reader.by_hand for reader in setting.readers):
        return
    free = [index for index in range(len(setting.records)) if index not in setting.forced]
    classwise = [model for model in setting.models if model and model["name"] not in ACROSS]
    seen: dict[tuple[int, ...], tuple[Any, ...] | None] = {}

    def look(part: tuple[int, ...]) -> tuple[Any, ...] | None:
        if part not in seen:
            shown = show_part(setting, part)
            if shown is not None:
                rows = [_row(setting, index, shown[0]) for index in part]
                verdicts = setting.judge_all(rows, classwise, strict=True)
                # a class that breaks a model by itself may still look like another: left out here, which is safe
                shown = shown if all(one.surely for one in verdicts) else None
            seen[part] = shown
        return seen[part]

    stars = _stars(setting)
    for number in range(min(setting.may_suppress - len(setting.forced), len(free) - 1) + 1):
        for gone in itertools.combinations(free, number):
            for parts in partitions([index for index in free if index not in gone]):
                looks = [look(tuple(part)) for part in parts]
                if any(one is None for one in looks):
                    continue
                if len(parts) > 1 and any(one is not None and one[0] == stars for one in looks):
                    continue  # beside others, who shows nothing counts as suppressed
                shown = {index: one[0] for part, one in zip(parts, looks, strict=True) for index in part if one}
                out = [*setting.forced, *gone]
                if complies(setting, shown, out):
                    yield Found(_local_loss(setting, parts, looks, len(out)), tuple(shown.items()), 0, len(out))


def _local_loss(setting: Setting, parts: Sequence[Sequence[int]], looks: Sequence[Any], out: int) -> Fraction | None:
    total, weights = Fraction(0), Fraction(0)
    for index, reader in enumerate(setting.readers):
        weight = Fraction(str(reader.role.get("weight", 1)))
        weights += weight
        for part, look in zip(parts, looks, strict=True):
            if look[1][index] is None:
                return None
            total += weight * look[1][index] * len(part)
        total += weight * out
    return total / (weights * len(setting.records))


def find_simple(setting: Setting) -> bool:
    """Whether one class of all records complies, or what is left when those are suppressed who break a model."""
    return any(_simple(setting))


def _simple(setting: Setting) -> Iterator[bool]:
    if any(setting.ceiling(reader) for reader in setting.readers):
        return
    free = [index for index in range(len(setting.records)) if index not in setting.forced]
    if len(setting.forced) > setting.may_suppress:
        return
    stars = _stars(setting)
    yield complies(setting, dict.fromkeys(free, stars), sorted(setting.forced))
    raw: dict[tuple[Any, ...], list[int]] = {}
    for index in free:
        shows = tuple(
            "*"
            if setting.records[index][reader.name] is None and reader.missing == "wildcard"
            else frozenset([setting.records[index][reader.name]])
            for reader in setting.readers
        )
        raw.setdefault(shows, []).append(index)
    classwise = [model for model in setting.models if model and model["name"] not in ACROSS]
    good = {}
    for key, part in raw.items():
        verdicts = setting.judge_all([_row(setting, index, key) for index in part], classwise, strict=True)
        if all(one.surely for one in verdicts) and key != stars:
            good.update(dict.fromkeys(part, key))
    out = [index for index in range(len(setting.records)) if index not in good]
    if good and len(out) <= setting.may_suppress:
        yield complies(setting, good, out)
