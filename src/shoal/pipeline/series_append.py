"""append_classes(): what was published stays to the letter; who is new is published in classes of their own."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from shoal.encoding.domains import STAR
from shoal.encoding.types import Progress
from shoal.engines.columns import to_plain
from shoal.engines.counted import CountedTable
from shoal.engines.series import PERSON, SeriesState
from shoal.errors import Infeasible, Misfit
from shoal.pipeline.prepare import Prepared
from shoal.pipeline.publish import Published
from shoal.pipeline.series_records import (
    NextRelease,
    SeriesRecoding,
    encode_some,
    order_records,
    publish_some,
    rank_shown,
    view_rows,
)
from shoal.pipeline.solve import Solution, solve_encoded
from shoal.pipeline.verify import Claims
from shoal.policy import Policy


def append_classes(prepared: Prepared, persons: pl.Series, before: SeriesState, progress: Progress) -> NextRelease:
    """Return the release before with classes of the persons who were not in it.

    Where the new ones cannot keep the models by themselves they wait for others: they are held back.
    """
    last = before.releases[-1] if before.number else None
    rows = _find_published(prepared, persons, last)
    new = pl.Series(range(len(persons)), dtype=pl.Int64).filter(~persons.is_in(persons.gather(rows).implode()))
    room = prepared.policy.may_suppress(len(persons)) - _count_starred(last, prepared.policy)
    some, solution = _solve_new(prepared, new, room, progress)
    frame, owned = None if last is None else last.drop(PERSON), rows
    if solution is not None:
        came = publish_some(some, new, solution)
        assert came.owner.rows is not None
        frame = came.table.frame if frame is None else pl.concat([frame, came.table.frame.cast(frame.schema)])
        owned = pl.concat([rows, came.owner.rows])
    assert frame is not None
    frame, owned = order_records(frame, owned)
    published = Published(
        table=CountedTable(frame),
        owner=view_rows(persons, owned, prepared),
        classes=rank_shown(frame, prepared.policy),
    )
    release = frame.with_columns(persons.gather(owned).alias(PERSON))
    state = replace(before, releases=(*before.releases, release))
    counts = {"kept": len(rows), "new": len(owned) - len(rows), "held_back": len(persons) - len(owned)}
    claims = Claims(recoding=SeriesRecoding(number=state.number, way="append-only", counts=counts))
    return NextRelease(published=published, claims=claims, state=state)


def _find_published(prepared: Prepared, persons: pl.Series, last: pl.DataFrame | None) -> pl.Series:
    """Return the row of each record of the release before; raise where one is gone or changed."""
    if last is None:
        return pl.Series([], dtype=pl.Int64)
    places = pl.DataFrame([persons]).with_row_index("row")
    rows = last.select(PERSON).join(places, on=PERSON, how="left", maintain_order="left")["row"].cast(pl.Int64)
    changed = rows.is_null()
    exact = [name for name in last.columns if name != PERSON and name not in prepared.policy.quasi_identifiers]
    for name in exact:
        now = to_plain(prepared.named.frame[name]).cast(pl.String).gather(rows)
        changed |= ~now.eq_missing(to_plain(last[name]).cast(pl.String))
    if changed.any():
        raise Misfit(
            "persons of earlier releases are gone, or have other values: such a table is not append-only",
            where="series",
            got=f"{int(changed.sum()):,} of {last.height:,}",
            hint="keep their records, or begin a series with way: m-invariance",
        )
    return rows


def _count_starred(last: pl.DataFrame | None, policy: Policy) -> int:
    if last is None:
        return 0
    shown = pl.DataFrame([last[name].alias(str(index)) for index, name in enumerate(policy.quasi_identifiers)])
    return int(shown.select(pl.all_horizontal(pl.all() == STAR).fill_null(value=False).sum()).item())


def _solve_new(prepared: Prepared, new: pl.Series, room: int, progress: Progress) -> tuple[Prepared, Solution | None]:
    """Return what is decided for new persons; nothing where they all have to wait, and may."""
    if not len(new):
        return prepared, None
    some, encoded = encode_some(prepared, new, max(room, 0))
    try:
        return some, solve_encoded(encoded, prepared.policy, progress)
    except Infeasible:
        if len(new) > room or len(new) == len(prepared.named.frame):
            raise
    return some, None
