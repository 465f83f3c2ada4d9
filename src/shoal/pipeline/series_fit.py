"""series_misfits(): what keeps a table from being released again and again."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.engines.dictionary import TableDictionary
from shoal.errors import Fault, TableError


def series_misfits(words: TableDictionary) -> Iterator[Fault]:
    """Yield where persons cannot be followed, and where a sensitive value is too frequent to be balanced."""
    policy, table = words.policy, words.table
    if policy.series is None or policy.subject not in table.frame.columns:
        return
    if table.is_counted:
        hint = "read the table into memory (without --memory, without Spark)"
        yield Fault("persons are followed one by one, and here records were counted", "series", hint=hint)
        return
    try:
        persons = words.values(policy.subject)
    except TableError:  # told already
        return
    missing, repeated = persons.null_count(), len(persons.drop_nulls()) - persons.drop_nulls().n_unique()
    if missing or repeated:
        got = f"{missing:,} without a person, {repeated:,} of persons who have one"
        yield Fault("each record must be of another person", policy.subject, got, "make it one record for each")
    yield from _too_frequent(words, policy.series.least_values)


def _too_frequent(words: TableDictionary, m: int) -> Iterator[Fault]:
    """Yield where more records than may be suppressed have a value that fewer than an m-th may have."""
    on, records = next(iter(words.policy.sensitive), ""), words.table.records
    if m < 2 or not records or on not in words.table.frame.columns:
        return
    most = int(words.values(on).value_counts(name="records")["records"].max() or 0)  # type: ignore[arg-type]
    held, allowed = records - min(records, (records - most) * m // (m - 1)), words.policy.may_suppress(records)
    if held > allowed:
        got, hint = f"{most:,} of {records:,} have one value", "lower m, or raise max_suppressed"
        what = f"no value may have more than one in {m} of the published records, and {held:,} would be held back"
        yield Fault(what, "series.m", got, hint, "infeasible")
