"""Published records: what is beside them, who of them is suppressed, and whose they may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .definitions import Row
from .matching import assign
from .meaning import same_value
from .setting import Setting

MOST_MATCHED = 60
"""Records up to which published ones are given an original each."""


def give_aside(setting: Setting, rows: list[dict[str, Any]], release: Any) -> list[Row]:
    """Put what the owner knows of each published record beside it."""
    published = []
    subject, weight = setting.policy.get("subject"), setting.policy.get("survey_weight")
    for index, record in enumerate(rows):
        cells = {name: plain_cell(setting, name, record[name]) for name in setting.kept}
        if subject and release.subjects is not None:
            cells[subject] = release.subjects[index]
        if release.owner.requested_k is not None:
            cells.update({name: release.owner.requested_k[name][index] for name in release.owner.requested_k.columns})
        if weight and weight not in cells and release.owner.weights is not None:
            cells[weight] = float(release.owner.weights[index])
        texts = tuple(None if record[name] == "" else record[name] for name in setting.columns)
        published.append(Row(texts, cells))
    return published


def plain_cell(setting: Setting, name: str, cell: Any) -> Any:
    """Return a kept cell as the original's value that it shows, where it shows one."""
    for record in setting.records:
        if same_value(setting.kinds[name], record[name], cell):
            return record[name]
    return cell


def count_suppressed(setting: Setting, rows: Sequence[Row]) -> tuple[int, int]:
    """Return how many records are starred, and how many left out."""
    stars = sum(set(row.shows) == {"*"} for row in rows)
    left_out = len(setting.records) - len(rows)
    if stars == len(rows):  # nobody was singled out, but for those who had to be suppressed
        return max(0, len(setting.hidden) - left_out), left_out
    return stars, left_out


def allowed_originals(setting: Setting, row: Row, *, strict: bool = True) -> list[int]:
    """Return the original records that a published one is true of; strictly, none that must be suppressed."""
    starred = set(row.shows) == {"*"}
    found = []
    for index, record in enumerate(setting.records):
        if strict and index in setting.forced and not starred:
            continue
        if any(
            name in row.cells and not same_value(setting.kinds.get(name, "text"), record[name], row.cells[name])
            for name in record
        ):
            continue
        if starred:
            found.append(index)
            continue
        for reader, text in zip(setting.readers, row.shows, strict=True):
            cover, value = reader.cover(text), record[reader.name]
            if value is None and text == "*" and not strict:
                continue
            if value not in cover or (value is None and reader.missing == "wildcard" and text != "*"):
                break
            held = setting.ceiling(reader).get(value)
            if held is not None and not (cover <= held or reader.reading(text) <= held):
                break
        else:
            found.append(index)
    return found


def is_true(setting: Setting, rows: Sequence[Row], *, strict: bool = True) -> bool | None:
    """Whether every published record can be given an original one of its own; ``None`` where texts cannot be read."""
    if len(rows) > MOST_MATCHED:
        return None
    if any(reader.role.get("treatment") for reader in setting.readers):
        return None
    return assign([allowed_originals(setting, row, strict=strict) for row in rows]) is not None


def unreadable(setting: Setting, rows: Sequence[Row]) -> bool:
    """Whether a label of a hierarchy made from data has a name that only that hierarchy knows."""
    for index, reader in enumerate(setting.readers):
        if not reader.by_hand and any(not reader.cover(row.shows[index]) for row in rows):
            return True
    return False
