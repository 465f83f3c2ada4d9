"""series_faults(): what is wrong with a release beside the earlier ones, counted from what was published."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from shoal.auditing.audit import audit_table
from shoal.auditing.census import count_classes
from shoal.auditing.original import OriginalTable
from shoal.auditing.owner import OwnerView
from shoal.engines.columns import to_plain
from shoal.engines.counted import CountedTable
from shoal.engines.series import PERSON, SeriesState
from shoal.errors import Fault
from shoal.policy import Policy
from shoal.policy.series import SeriesWay


def series_faults(
    published: CountedTable, policy: Policy, state: SeriesState, before: SeriesState, original: OriginalTable
) -> Iterator[Fault]:
    """Yield what of a release beside the earlier ones is not as the policy promises.

    Parameters
    ----------
    published
        The newest release, as everybody sees it.
    state
        What the owner keeps after it: whom each record is about, who has which signature.
    before
        What the owner kept before it.
    """
    newest = state.releases[-1]
    if not newest.drop(PERSON).equals(published.frame, null_equal=True):
        yield Fault("what the owner keeps is not what is published", "series")
        return
    if newest[PERSON].n_unique() < newest.height or newest[PERSON].null_count():
        yield Fault("a person is published twice, or nobody", "series")
    if any(not old.equals(kept) for old, kept in zip(before.releases, state.releases, strict=False)):
        yield Fault("what the owner keeps of earlier releases was changed", "series")
    assert policy.series is not None
    yield from _ASKED[policy.series.way](policy.series, policy, state, before, original)


def _appended(
    way: SeriesWay, policy: Policy, state: SeriesState, before: SeriesState, original: OriginalTable
) -> Iterator[Fault]:
    """Ask whether all that was published stays, and whether what came keeps the models by itself."""
    if not before.number:
        return
    newest, last = _rename(state.releases[-1]), _rename(before.releases[-1])
    gone = last.join(newest, on=last.columns, how="anti", nulls_equal=True).height
    if gone:
        yield Fault("records of the release before are gone or were changed", "series", f"{gone:,} records")
    came = state.releases[-1].filter(~newest["c0"].is_in(last["c0"].implode()))
    if came.height:
        owner = OwnerView(subjects=came[PERSON])
        audit = audit_table(CountedTable(came.drop(PERSON)), policy, original=original, owner=owner)
        broken = [one for one in audit.models if not one.holds]
        yield from (Fault(f"who came does not keep {one.model.key()}", "series", str(one.attained)) for one in broken)


def _rename(release: pl.DataFrame) -> pl.DataFrame:
    """Return a release by names of our own: polars reads ``^…$`` in a name as a pattern."""
    names = [PERSON, *(name for name in release.columns if name != PERSON)]
    return pl.DataFrame([to_plain(release[name]).alias(f"c{index}") for index, name in enumerate(names)])


def _balanced(
    way: SeriesWay, policy: Policy, state: SeriesState, before: SeriesState, original: OriginalTable
) -> Iterator[Fault]:
    """Ask whether signatures are large enough, kept and balanced, and whether look-alike classes differ by k."""
    least = way.least_values
    small = [values for values in state.signatures if len({*values}) < max(least, len(values))]
    if small:
        yield Fault("a signature has fewer values than are asked for", "series.m", f"{len(small[0])}, asked {least}")
    (on,) = policy.sensitive
    shown = _classes(state.releases[-1], policy, on)
    shown = _sign(shown, state)
    if shown["signature"].null_count() or shown["person"].n_unique() < shown.height:
        yield Fault("persons have no signature that holds their value, or several", "series")
        return
    counts = shown.group_by("class", "signature", "value").agg(pl.len().alias("times"))
    groups = counts.group_by("class", "signature").agg(
        pl.col("value").alias("values"), pl.col("times").min().alias("fewest"), pl.col("times").max().alias("most")
    )
    wrong = [
        row
        for row in groups.iter_rows(named=True)
        if {*row["values"]} != {*state.signatures[row["signature"]]} or row["fewest"] != row["most"]
    ]
    if wrong:
        yield Fault("classes in which the values of a signature are not equally often", "series", f"{len(wrong):,}")
    yield from _unkept_models(state, policy, shown)
    yield from _forgotten(state, before, shown)
    yield from _subtractable(state, before, policy, on)


def _unkept_models(state: SeriesState, policy: Policy, shown: pl.DataFrame) -> Iterator[Fault]:
    """Ask whether what several releases leave open of a person, the values of the signature, keeps the models."""
    models = [model for model in policy.models if model.sensitive_columns]
    if not models:
        return
    newest = state.releases[-1]
    numbers = shown["signature"].cast(pl.String)
    alike = pl.DataFrame(dict.fromkeys(policy.quasi_identifiers, numbers)).hstack(
        [newest[name] for name in policy.sensitive]
    )
    table, owner = CountedTable(alike), OwnerView(subjects=newest[PERSON])
    counted = count_classes(table, None, policy, owner)[0]
    for model in models:
        if not model.meets(model.recount(counted.census)):
            yield Fault(f"the values of a signature do not keep {model.key()}", "series.m")


def _classes(release: pl.DataFrame, policy: Policy, on: str) -> pl.DataFrame:
    """Return the person of each record, what its class shows as one text, and its sensitive value as a text."""
    texts = [release[name].cast(pl.String).fill_null("\0") for name in policy.quasi_identifiers]
    numbered = pl.DataFrame([text.alias(f"q{index}") for index, text in enumerate(texts)])
    shown = numbered.select(pl.struct(pl.all()).alias("class"))
    return shown.with_columns(to_plain(release[on]).cast(pl.String).alias("value"), release[PERSON].alias("person"))


def _sign(shown: pl.DataFrame, state: SeriesState) -> pl.DataFrame:
    """Return each record with the signatures of its person that hold its value."""
    held = [(number, value) for number, values in enumerate(state.signatures) for value in values]
    holding = pl.DataFrame(held, schema={"signature": pl.Int64, "value": pl.String}, orient="row")
    pairs = state.persons.rename({PERSON: "person"}).join(holding, on="signature", how="inner")
    return shown.join(pairs, on=["person", "value"], how="left", nulls_equal=True)


def _forgotten(state: SeriesState, before: SeriesState, shown: pl.DataFrame) -> Iterator[Fault]:
    """Ask whether everybody has a signature of before still, or one that has no value in common with any of them."""
    known = before.persons.rename({PERSON: "person", "signature": "earlier"})
    pairs = shown.join(known, on="person", how="inner").select("signature", "earlier").unique()
    lost = [
        now
        for now, earlier in pairs.iter_rows()
        if {*state.signatures[now]} != {*before.signatures[earlier]}
        and {*state.signatures[now]} & {*before.signatures[earlier]}
    ]
    if lost:
        yield Fault("persons have another signature than in earlier releases", "series", f"{len(lost):,} kinds")


def _subtractable(state: SeriesState, before: SeriesState, policy: Policy, on: str) -> Iterator[Fault]:
    """Ask whether classes that look alike in two releases differ by nobody, or by k records."""
    newest = _count(_classes(state.releases[-1], policy, on))
    for number, release in enumerate(before.releases, 1):
        both = newest.join(_count(_classes(release, policy, on)), on="class", suffix="_then", nulls_equal=True)
        for one, other in (("values", "values_then"), ("values_then", "values")):
            gaps = [_subtract(row[one], row[other]) for row in both.iter_rows(named=True)]
            few = sum(0 < gap < max(policy.k, 2) for gap in gaps)
            if few:
                what = f"classes that look as in release {number} differ from it by fewer than k records"
                yield Fault(what, "series", f"{few:,} classes")


def _count(shown: pl.DataFrame) -> pl.DataFrame:
    return shown.group_by("class").agg(pl.col("value").alias("values"))


def _subtract(values: list[str | None], others: list[str | None]) -> int:
    """Return how many of some values others do not have.

    Examples
    --------
    >>> _subtract(["flu", "flu", "gout"], ["flu", "cold"])
    2
    """
    left = list(others)
    for value in values:
        if value in left:
            left.remove(value)
    return len(values) - (len(others) - len(left))


_ASKED = {"append-only": _appended, "m-invariance": _balanced}
