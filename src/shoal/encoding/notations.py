"""How values are published: the table of all notations that :mod:`shoal.encoding.labels` reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from shoal.encoding.domains import Kind

Form = Literal["star", "missing", "value", "range", "set", "shortened", "mask", "list", "sign", "name"]
"""What a text is; a name is what follows no notation: a value of a column of texts, or a label of a hierarchy."""


@dataclass(frozen=True, kw_only=True)
class Notation:
    """A way in which values are published."""

    examples: tuple[str, ...]
    """All with the same meaning."""
    means: str
    writer: str
    form: Form
    kind: Kind = "integer"
    """A kind of column that it is read so for."""
    covers: tuple[str | None, ...]
    """Values that each example may stand for, the outermost among them; ``None`` is the missing one."""
    excludes: tuple[str | None, ...] = ()
    """Values that none of the examples stands for, the nearest ones."""


NOTATIONS = (
    Notation(
        examples=("*",),
        means="anything, also a missing value",
        writer="shoal, ARX",
        form="star",
        covers=("20", None),
    ),
    Notation(
        examples=("[20, 24]",),
        means="from 20 to 24, both ends",
        writer="shoal: whole numbers, dates, values of a class",
        form="range",
        covers=("20", "24"),
        excludes=("19", "25", None),
    ),
    Notation(
        examples=("[0.2, 0.3)",),
        means="from 0.2 to below 0.3; of whole numbers `[20, 25)` is 20 to 24",
        writer="shoal: other numbers",
        form="range",
        kind="float",
        covers=("0.2", "0.29"),
        excludes=("0.3", "0.19"),
    ),
    Notation(
        examples=("[2020-01-30, 2020-02-02]",),
        means="days; of moments the whole last day",
        writer="shoal: weeks",
        form="range",
        kind="datetime",
        covers=("2020-01-30 00:00:00", "2020-02-02 23:59:59.999999"),
        excludes=("2020-02-03 00:00:00",),
    ),
    Notation(
        examples=("2020-02",),
        means="a month; `2020-Q1` is a quarter, `2020` a year, of moments `2020-02-01` a day; ends may be written so",
        writer="shoal: dates",
        form="range",
        kind="date",
        covers=("2020-02-01", "2020-02-29"),
        excludes=("2020-01-31", "2020-03-01"),
    ),
    Notation(
        examples=("[1990, 1999]", "1990-1999"),
        means="from the first day of 1990 to the last of 1999",
        writer="shoal: decades (with brackets)",
        form="range",
        kind="date",
        covers=("1990-01-01", "1999-12-31"),
        excludes=("1989-12-31", "2000-01-01"),
    ),
    Notation(
        examples=('{a, "b, c", (missing)}',),
        means="one of these; quotes are around what could be read otherwise, `(missing)` is a missing value",
        writer="shoal",
        form="set",
        kind="text",
        covers=("a", "b, c", None),
        excludes=("b", "(missing)"),
    ),
    Notation(
        examples=("{a, … 5 …, g}",),
        means="a to g in the order of its hierarchy, five are not named: only the hierarchy tells which",
        writer="shoal: large groups",
        form="shortened",
        kind="text",
        covers=("a", "g", "d"),
    ),
    Notation(
        examples=("[20, 25[", "[20, 25)", "[20:25)"),
        means="from 20 to below 25",
        writer="ARX, `cut` of pandas and R, UTD toolbox",
        form="range",
        covers=("20", "24"),
        excludes=("19", "25"),
    ),
    Notation(
        examples=("]20, 25]", "(20, 25]", "(20:25]"),
        means="above 20, to 25",
        writer="`cut` of pandas and R, UTD toolbox",
        form="range",
        covers=("21", "25"),
        excludes=("20", "26"),
    ),
    Notation(
        examples=("[20:25]", "[20; 25]", "[20..25]", "[20-25]"),
        means="from 20 to 25; codes of categories are labels of their hierarchy (`shoal policy import`)",
        writer="UTD toolbox, and others",
        form="range",
        covers=("20", "25"),
        excludes=("19", "26"),
    ),
    Notation(
        examples=("[20]",),
        means="20",
        writer="UTD toolbox",
        form="range",
        covers=("20",),
        excludes=("19", "21"),
    ),
    Notation(
        examples=("20-30", "20 - 30", "20–30", "20~30", "20..30", "20:30", "20 to 30"),
        means="from 20 to 30, both ends; `20-30` beside `30-40` may be meant without 30, but does not say so",
        writer="trees made by hand, papers",
        form="range",
        covers=("20", "30"),
        excludes=("19", "31"),
    ),
    Notation(
        examples=("<30", "< 30"),
        means="below 30",
        writer="trees made by hand",
        form="range",
        covers=("-5", "29"),
        excludes=("30",),
    ),
    Notation(
        examples=("<=30", "≤30", "=<30"),
        means="up to 30",
        writer="trees made by hand",
        form="range",
        covers=("-5", "30"),
        excludes=("31",),
    ),
    Notation(
        examples=(">50",),
        means="above 50",
        writer="trees made by hand",
        form="range",
        covers=("51", "999"),
        excludes=("50",),
    ),
    Notation(
        examples=(">=50", "≥50", "=>50", "50+", "[50, ∞)"),
        means="from 50 on",
        writer="trees made by hand",
        form="range",
        covers=("50", "999"),
        excludes=("49",),
    ),
    Notation(
        examples=("476**", "476*"),
        means="each `*` hides a character; where that fits no value, stars at one end hide any number of them",
        writer="shoal (labels of its hierarchy `mask`), ARX",
        form="mask",
        kind="text",
        covers=("47651",),
        excludes=("47751", None),
    ),
    Notation(
        examples=("**651",),
        means="the same at the other end; `4*6` hides one in the middle",
        writer="shoal (labels of its hierarchy `mask`), ARX",
        form="mask",
        kind="text",
        covers=("47651",),
        excludes=("47652",),
    ),
    Notation(
        examples=("a|b", "a~b", "a; b", "a, b"),
        means="one of these, if each is a value of the column; else it is a name",
        writer="other tools",
        form="list",
        kind="text",
        covers=("a", "b"),
        excludes=("c", None),
    ),
    Notation(
        examples=("NULL", "NA", "N/A", "NaN", "None", "<NA>"),
        means="as `*`, if nothing is promised of the table; else it is a name",
        writer="other tools",
        form="sign",
        covers=("20", None),
    ),
)
"""shoal's own notations first; ``docs/audit.md`` shows the same table."""
