"""find_requested_k(): the most that is asked in each published class, as far as an audit can know it."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.auditing.census import CountedClasses
from shoal.auditing.original import OriginalTable
from shoal.auditing.owner import OwnerView
from shoal.auditing.texts import find_indices, read_columns
from shoal.encoding.types import Ints
from shoal.engines.counted import CountedTable
from shoal.errors import Fault
from shoal.models.base import RequestedK
from shoal.policy import Policy

_PAIRS = 2_000_000
"""So many pairs of a published text and a value are read, at most."""


def find_requested_k(
    published: CountedTable, original: OriginalTable | None, policy: Policy, counted: CountedClasses, owner: OwnerView
) -> tuple[dict[str, Ints], list[Fault]]:
    """Return for each column of asks the most that is asked in each class, and what cannot be told.

    Exactly where the owner says what each published record asks for. From the original alone it is bounded from
    above: a class may hold whoever its texts are true of, so that it is enough if it is large enough for all of
    these. From the published table alone nothing is known.
    """
    told: dict[str, Ints] = {}
    faults: list[Fault] = []
    for model in policy.models:
        request = model.requested_k
        if request is None:
            continue
        if owner.requested_k is not None and request.column in owner.requested_k:
            given = pl.Series("ask", list(owner.requested_k[request.column]), strict=False)
            told[request.column] = _most(published.frame, policy, counted, _numbers(given, request))
        elif original is not None and request.column in original.frame.columns:
            bounded = _bound(original, policy, counted, _numbers(original.frame[request.column], request))
            if bounded is None or (bounded > counted.census.sizes).any():
                faults.append(_UNKNOWN)
                continue
            told[request.column] = bounded
            faults.append(_FROM_ABOVE)
        else:
            faults.append(_NOBODY_KNOWS)
    return told, faults


_HINT = "give what each published record asks for: the file that anonymize wrote (subjects), or asks="
_UNKNOWN = Fault(
    "a class may hold persons who ask for more: which records it holds is not published", hint=_HINT, kind="undecided"
)
_NOBODY_KNOWS = Fault(
    "what persons ask for is not published, so whether they get it cannot be counted", hint=_HINT, kind="undecided"
)
_FROM_ABOVE = Fault(
    "what is asked in a class is told from above: by all of the original whom its texts could mean",
    hint=f"for the exact numbers {_HINT}",
    kind="note",
)


def _numbers(given: pl.Series, request: RequestedK) -> pl.Series:
    """Return asks as numbers; one that cannot be read is one that nobody can keep."""
    numbers = given.alias("ask").cast(pl.String).replace("", None).cast(pl.Float64, strict=False).fill_nan(None)
    missing = given.is_null() | (given.cast(pl.String) == "")
    unread = numbers.is_null() & ~missing
    whole = numbers.ceil().cast(pl.Int64, strict=False)
    worst = np.iinfo(np.int64).max
    whole = whole.set(unread, worst)
    whole = whole.fill_null(worst if request.default is None else request.default)
    return whole if request.most is None else whole.clip(upper_bound=request.most)


def _most(frame: pl.DataFrame, policy: Policy, counted: CountedClasses, requested_k: pl.Series) -> Ints:
    shown = read_columns(frame, policy.quasi_identifiers)
    keys = [column.name for column in shown]
    most = pl.DataFrame([*shown, requested_k]).group_by(keys).agg(pl.col("ask").max())
    classes = counted.classes.select(keys)
    return classes.join(most, on=keys, how="left", nulls_equal=True, maintain_order="left")["ask"].to_numpy()


def _bound(original: OriginalTable, policy: Policy, counted: CountedClasses, requested_k: pl.Series) -> Ints | None:
    """Return for each class the most that is asked by records whom its texts could mean; ``None`` for too many."""
    sizes = counted.census.sizes
    most = np.ones(len(sizes), np.int64)
    small = np.flatnonzero(sizes < requested_k.to_numpy().max(initial=1))
    if not len(small):
        return most
    keys = [f"v{index}" for index in range(len(policy.quasi_identifiers))]
    values = [
        original.words.values(name).cast(pl.String).alias(key)
        for name, key in zip(policy.quasi_identifiers, keys, strict=True)
    ]
    people = pl.DataFrame([*values, requested_k]).unique().filter(pl.col("ask") > int(sizes[small].min()))
    texts = counted.classes[small.tolist()]
    meant = np.ones((len(small), people.height), bool)
    if meant.size > 50 * _PAIRS:
        return None
    for index, name in enumerate(policy.quasi_identifiers):
        shown, held = texts[f"q{index}"].unique().to_list(), people[keys[index]].unique().to_list()
        if len(shown) * len(held) > _PAIRS:
            return None
        reader = original.readers[name]
        covers = np.array([[reader.covers(text, value) for value in held] for text in shown], bool)
        rows = find_indices(texts[f"q{index}"], shown)
        meant &= covers[np.ix_(rows, find_indices(people[keys[index]], held))]
    asked = people["ask"].to_numpy()
    most[small] = np.where(meant, asked[None, :], 1).max(axis=1, initial=1)
    return most
