"""publish_next(): a table as the next release of a series, beside all that was published before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.encoding.types import Progress
from shoal.engines.keys import Key
from shoal.engines.series import SeriesState, read_state, require_promise
from shoal.errors import Misfit, SeriesError
from shoal.pipeline.prepare import Prepared
from shoal.pipeline.series_append import append_classes
from shoal.pipeline.series_invariant import divide_anew
from shoal.pipeline.series_records import NextRelease, name_persons, require_few
from shoal.policy import Policy
from shoal.policy.series import hash_promise

if TYPE_CHECKING:
    from shoal.pipeline.release import Release

_WAYS = {"append-only": append_classes, "m-invariance": divide_anew}


def open_series(policy: Policy, after: str | Path | Release | None, key: Key | None) -> SeriesState | None:
    """Return what the owner kept of the releases so far: none where the policy has no series.

    Raises
    ------
    SeriesError, Misfit
        The release before cannot be followed, or the policy is about a single release.
    """
    if policy.series is None:
        if after is not None:
            hint = "say series: {way: m-invariance, m: 3} or {way: append-only}, from the first release on"
            raise Misfit("the policy is about a single release, and one is named before it", where="after", hint=hint)
        return None
    if after is None:
        return SeriesState(promise=hash_promise(policy))
    if isinstance(after, (str, Path)):
        return read_state(Path(after), hash_promise(policy), key)
    if after.series is None:
        raise SeriesError("the earlier release is of a policy without a series", where="after")
    require_promise(after.series, hash_promise(policy), "after")
    return after.series


def publish_next(prepared: Prepared, before: SeriesState, progress: Progress) -> NextRelease:
    """Return the next release of a series, in the way that the policy names.

    Raises
    ------
    Misfit, Infeasible
        The table does not follow the one before, or too many records would be held back.
    """
    assert prepared.policy.series is not None
    persons = name_persons(prepared)
    progress("dividing", 0, 0)
    made = _WAYS[prepared.policy.series.way](prepared, persons, before, progress)
    held = len(persons) - made.published.table.records
    require_few(prepared, held)
    return replace(made, state=replace(made.state, held_back=held))
