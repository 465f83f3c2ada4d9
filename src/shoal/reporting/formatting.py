"""Numbers as people read them: counts, shares, chances."""

from __future__ import annotations

import math
import re
from html import escape
from numbers import Integral, Real
from typing import Any

import numpy as np

NOTHING = "–"
"""Stands where there is no number."""

_MARKS = re.compile(r"``(.+?)``|\*([^\s*](?:[^*]*[^\s*])?)\*")


def format_count(number: int) -> str:
    """Return a count with separated thousands.

    Examples
    --------
    >>> format_count(48842)
    '48,842'
    """
    return f"{number:,}"


def format_number(value: Any) -> str:
    """Return any measured value: whole numbers as they are, others with four digits.

    Examples
    --------
    >>> format_number(930362.0), format_number(0.10526), format_number(None), format_number((0.5, 10))
    ('930,362', '0.1053', '–', '0.5000, 10')
    """
    if value is None:
        return NOTHING
    if isinstance(value, tuple):
        return ", ".join(map(format_number, value))
    if isinstance(value, bool) or not isinstance(value, Real):
        return str(value)
    if isinstance(value, Integral):
        return format_count(int(value))
    real = float(value)
    if not math.isfinite(real):
        return NOTHING
    return f"{real:,.0f}" if abs(real) >= 1000 else f"{real:.4f}"


DAY_UNITS = {"days since 1970": 1, "microseconds since 1970": 86_400_000_000}
"""The units in which dates are counted, and how long a day is in them."""


def format_date(value: float, unit: str) -> str:
    """Return a date or a moment that is counted in a unit; midnight is the day.

    Examples
    --------
    >>> format_date(18_000.0, "days since 1970"), format_date(1.5552216e15, "microseconds since 1970")
    ('2019-04-14', '2019-04-14 06:00')
    """
    moment = np.datetime64(0, "s") + np.timedelta64(round(value / DAY_UNITS[unit] * 86_400), "s")
    if unit == "days since 1970":
        return str(moment.astype("M8[D]"))
    text = str(moment).replace("T", " ")
    return text.removesuffix(":00").removesuffix(" 00:00")


def format_brief(value: float) -> str:
    """Return a value in few signs, for drawings: so many thousands, millions, … from ten thousand on.

    Examples
    --------
    >>> [format_brief(value) for value in (0.43216, 1234.5, 930_362_114, 0.0, 12.0, float("nan"))]
    ['0.4322', '1,234', '930M', '0', '12', '–']
    """
    if not math.isfinite(value):
        return NOTHING
    if abs(value) < 10_000:
        whole = value == round(value) or abs(value) >= 1000
        return f"{value:,.0f}" if whole else f"{value:.4f}"
    power, sign = next(each for each in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")) if abs(value) >= each[0])
    return f"{float(f'{value / power:.3g}'):g}{sign}" if abs(value) < 1e15 else f"{value:.1e}"


def format_share(value: float) -> str:
    """Return a share as a percentage that is never rounded to none or to all.

    Examples
    --------
    >>> format_share(0.483), format_share(0.0), format_share(0.00001), format_share(0.99999)
    ('48.3 %', '0 %', '< 0.1 %', '> 99.9 %')
    """
    if not math.isfinite(value):
        return NOTHING
    if value in (0.0, 1.0):
        return f"{value:.0%}".replace("%", " %")
    if 0 < value < 0.001:
        return "< 0.1 %"
    if 0.999 < value < 1:
        return "> 99.9 %"
    return f"{100 * value:.1f} %"


def format_chance(value: float) -> str:
    """Return a chance as one in so many; never as less than it is.

    Examples
    --------
    >>> format_chance(0.1), format_chance(0.0641), format_chance(1.0), format_chance(0.0)
    ('1 in 10', 'about 1 in 15.6', 'certain', 'none')
    """
    if not math.isfinite(value) or value <= 0:
        return "none"
    if value >= 1:
        return "certain"
    odds = 1 / value
    if abs(odds - round(odds)) < 1e-9 * odds:
        return f"1 in {round(odds):,}"
    # rounded down, so that the chance is rounded up
    return f"about 1 in {math.floor(odds * 10) / 10:,.1f}" if odds < 100 else f"about 1 in {int(odds):,}"


def format_bounds(low: float, high: float) -> str:
    """Return the range of a metric.

    Examples
    --------
    >>> format_bounds(0, 1), format_bounds(0, float("inf"))
    ('0 to 1', '0 or more')
    """
    return f"{low:g} or more" if math.isinf(high) else f"{low:g} to {high:g}"


def format_list(names: Any, word: str = "and") -> str:
    """Return names as a phrase.

    Examples
    --------
    >>> format_list(["age", "sex", "zip"])
    'age, sex and zip'
    """
    texts = [str(name) for name in names]
    return f" {word} ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def elide(text: str, most: int) -> str:
    """Return a text of so many signs at most, its end left out where it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def format_html(text: str) -> str:
    """Return a docstring's text as HTML: escaped, with its two kinds of marks.

    Examples
    --------
    >>> format_html("how *likely* it is (``wildcard``), if a < b")
    'how <em>likely</em> it is (<code>wildcard</code>), if a &lt; b'
    """
    parts, end = [], 0
    for mark in _MARKS.finditer(text):
        parts.append(escape(text[end : mark.start()]))
        code, emphasis = mark.groups()
        parts.append(f"<code>{escape(code)}</code>" if code else f"<em>{escape(emphasis)}</em>")
        end = mark.end()
    return "".join([*parts, escape(text[end:])])
