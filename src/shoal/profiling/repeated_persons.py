"""doubt_records(): records of the same persons, where no column numbers them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import polars as pl

from shoal.engines.columns import to_plain
from shoal.profiling.clusters import find_clustered
from shoal.profiling.persons import count_independent, measure_candidate
from shoal.profiling.profile import Profile, profile_column
from shoal.profiling.role_rules import RoleSuggestion

_DIFFER, _CHANCE, _FOLLOWS = 0.05, 0.3, 3
"""How often records of one person differ in what belongs to the person; how often any two records do at least; and how
much more often those that agree only in a part of the key: what follows from that part is no fact of persons."""
_WIDEST = 6
"""Columns of which two or three are taken together: those with the most values."""
_REPEATED = 0.1
"""So many records at least stand in groups, or the table holds a few doubles."""
_KEY = "a key of several columns"
_FEWEST = 20
"""Fewer groups may agree by chance."""
_PLAIN = 20
"""One fact at least has few values, as a sex or a kind of job: amounts that are reckoned from others have many."""
_ASKED = "Name one that does; or write none, if each record is about another person. Until then nothing is released"
_RECORDS = 5_000
"""About so many records are looked at: all of some groups."""


def doubt_records(frame: pl.DataFrame, profiles: Mapping[str, Profile], decisions: Mapping[str, RoleSuggestion]) -> str:
    """Return why records may be of the same persons, although nothing numbers persons; nothing where they are not.

    Two or three columns are taken together, as a year of birth and a place: where at least two others that do not
    follow from each other stay the same within them, but not within each of them alone, while some column varies, these
    are facts of persons who return. That this is no chance is told by the same groups with mixed records.

    Why it is safe: the draft names nobody then, and is refused until somebody has decided.

    Examples
    --------
    >>> persons = [(1940 + i * 17 % 50, i % 45, "fm"[i % 7 % 2], "abc"[i * 5 % 8 % 3]) for i in range(90)]
    >>> visits = pl.DataFrame(persons * 3, schema=["year", "zip", "sex", "job"], orient="row")
    >>> visits = visits.with_columns(day=pl.int_range(pl.len()) * 7919 % 101)
    >>> from shoal.profiling.profile import profile_column
    >>> profiles = {name: profile_column(visits[name]) for name in visits.columns}
    >>> from shoal.profiling.role_rules import suggest_roles
    >>> doubt_records(visits, profiles, suggest_roles(profiles))[:43]
    'Records that agree in year, zip agree in se'
    """
    subject = next((name for name, decision in decisions.items() if decision.role == "subject"), None)
    if subject is None:
        return _doubt(frame, profiles, decisions) or _doubt_clusters(frame, profiles, decisions)
    if profiles[subject].means("person") or profiles[subject].pattern or profiles[subject].scheme:
        return ""
    kept = measure_candidate(frame, profiles, subject).constant
    once = frame.filter(frame[subject].is_not_null() & frame[subject].is_first_distinct())
    facts = {name: profile_column(once[name]) for name in once.columns if name in kept}
    if not (reason := _doubt(once, facts, {name: decisions[name] for name in facts})):
        return ""
    return f"{subject} may number what happens to persons, not persons. {reason}"


def _doubt_clusters(
    frame: pl.DataFrame, profiles: Mapping[str, Profile], decisions: Mapping[str, RoleSuggestion]
) -> str:
    name = find_clustered(frame, profiles, decisions)
    if not name:
        return ""
    return (
        f"Records come in clusters by {name}, as those of persons who return do, and those of different persons do "
        f"not: several records may be about one person, and no column numbers persons. {_ASKED}"
    )


def _doubt(frame: pl.DataFrame, profiles: Mapping[str, Profile], decisions: Mapping[str, RoleSuggestion]) -> str:
    """Return why records are of the same persons, by what stays the same within a key of two or three columns."""
    facts = [name for name, one in decisions.items() if one.role in ("quasi_identifiers", "sensitive")]
    facts = [name for name in facts if 1 < profiles[name].distinct < profiles[name].present]
    known = [name for name in facts if decisions[name].role == "quasi_identifiers"]
    for key in _list_keys(known, profiles):
        plain = [name for name in known if name not in key and profiles[name].distinct <= _PLAIN]
        if not _find_kept(frame, plain, key):
            continue
        found = _find_kept(frame, [name for name in facts if name not in key], key)
        if 2 <= len(found) < len(facts) - len(key) and _count_facts(frame, found, key) >= 2:
            return (
                f"Records that agree in {', '.join(key)} agree in {', '.join(found)} too, which differ otherwise: "
                f"several records may be about one person, and no column numbers persons. {_ASKED}"
            )
    return ""


def _list_keys(known: list[str], profiles: Mapping[str, Profile]) -> Iterator[tuple[str, ...]]:
    """Yield two and three of the columns with the most values."""
    usable = [name for name in known if profiles[name].distinct > 2]
    widest = sorted(usable, key=lambda name: -profiles[name].distinct)[:_WIDEST]
    yield from combinations(widest, 2)
    yield from combinations(widest, 3)


def _find_kept(frame: pl.DataFrame, others: list[str], key: tuple[str, ...]) -> list[str]:
    """Return the columns that stay the same within some others together, and not within some of these."""
    sample = _sample(frame, others, key)
    groups = sample.group_by(_KEY).len()["len"]
    repeated = groups.filter(groups > 1)
    if not others or len(repeated) < _FEWEST or repeated.sum() < _REPEATED * sample.height:
        return []
    apart = _measure_differing(sample)
    mixed = _measure_differing(sample.with_columns(sample[_KEY].shuffle(seed=0)))
    kept = [name for name, share in apart.items() if share <= _DIFFER and mixed[name] >= _CHANCE]
    for part in (some for size in range(1, len(key)) for some in combinations(key, size)):
        if kept:
            alone = _measure_differing(_sample(frame, kept, part))
            kept = [name for name in kept if alone[name] >= max(_FOLLOWS * apart[name], _DIFFER)]
    return kept


def _count_facts(frame: pl.DataFrame, kept: list[str], key: tuple[str, ...]) -> int:
    """Return how many of some columns do not follow from each other."""
    return count_independent(_sample(frame, kept, key).group_by(_KEY, maintain_order=True).first(), kept)


def _sample(frame: pl.DataFrame, others: list[str], key: tuple[str, ...]) -> pl.DataFrame:
    """Return some groups of records that agree in a key, all of each."""
    keys = pl.DataFrame([frame[name].alias(f"k{index}") for index, name in enumerate(key)]).hash_rows(seed=18)
    rows = (keys % max(frame.height // _RECORDS, 1) == 0).arg_true()
    columns = [to_plain(frame[name].gather(rows)).alias(name) for name in others]
    return pl.DataFrame([*columns, keys.gather(rows).alias(_KEY)])


def _measure_differing(sample: pl.DataFrame) -> dict[str, float]:
    """Return for each column how often two records with one key differ in it."""
    ordered = sample.sort(_KEY, maintain_order=True)
    same = ordered[_KEY] == ordered[_KEY].shift()
    return {
        name: float((ordered[name] != ordered[name].shift()).filter(same).mean() or 0.0)  # type: ignore[arg-type]
        for name in sample.columns
        if name != _KEY
    }
