"""What stands for a published range: a choice that must be told with the result.

Its *midpoint*; its records spread *uniformly* over it; or a statistic of its *class*, the mean of what it stands for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

import numpy as np
import numpy.typing as npt

from shoal.encoding.domains import STAR
from shoal.encoding.labels import read_label
from shoal.encoding.types import Floats

Standing = Literal["midpoint", "uniform", "class"]
"""What stands for a range: its midpoint, its records spread evenly over it, or a mean that is known of it."""


def numbers(
    texts: Iterable[str | None], domain: tuple[float, float], *, standing: Literal["midpoint", "uniform"] = "midpoint"
) -> tuple[Floats, int]:
    """Return the number that stands for each published text of a numeric column, and how many texts have none.

    Parameters
    ----------
    texts
        What is published: numbers, ranges ``[20, 29]``, ``[20, 25)`` or ``20 - 30``, ``*``; missing ones are left out.
    domain
        The least and the greatest original value: ``*`` stands for all between them.
    standing
        What stands for a range.

    Examples
    --------
    >>> numbers(["21", "[20, 29]", "[0.5, 1.5)", "30 - 40", "*", "old"], (17, 90))
    (array([21. , 24.5,  1. , 35. , 53.5]), 1)
    >>> numbers(["[20, 29]"] * 5, (17, 90), standing="uniform")[0]
    array([20.5, 22.5, 24.5, 26.5, 28.5])
    """
    listed = [text for text in texts if text is not None]
    ends = {text: _ends(text, domain) for text in set(listed)}
    known = [text for text in listed if ends[text] is not None]
    spans = np.array([ends[text] for text in known], np.float64).reshape(-1, 2)
    _, kinds = np.unique(np.array(known, object).astype(str), return_inverse=True)
    return place_records(spans[:, 0], spans[:, 1], kinds, standing), len(listed) - len(known)


def _ends(text: str, domain: tuple[float, float]) -> tuple[float, float] | None:
    """Return what a text covers; a range of whole numbers covers half a unit more on both sides."""
    if text == STAR:
        return domain
    shown = read_label(text, "float")
    if shown.form not in ("value", "range") or not (math.isfinite(shown.least) and math.isfinite(shown.greatest)):
        return None
    is_whole = shown.form == "range" and shown.with_greatest and "." not in text
    return shown.least - 0.5 * is_whole, shown.greatest + 0.5 * is_whole


def place_records(lows: Floats, highs: Floats, kinds: npt.NDArray[np.intp], standing: Standing) -> Floats:
    """Return what stands for each record between a low and a high number, records of one kind having the same ones.

    Examples
    --------
    >>> lows, highs, kinds = np.array([0.0, 0.0]), np.array([8.0, 8.0]), np.array([0, 0])
    >>> place_records(lows, highs, kinds, "midpoint").tolist(), place_records(lows, highs, kinds, "uniform").tolist()
    ([4.0, 4.0], [2.0, 6.0])
    """
    index = _places(kinds) if standing == "uniform" else np.full(len(kinds), 0.5)
    return np.asarray(lows + index * (highs - lows))


def _places(kinds: npt.NDArray[np.intp]) -> Floats:
    """Return for each record where it stands among its equals, from 0 to 1."""
    counts = np.bincount(kinds)
    order = np.argsort(kinds, kind="stable")
    turn = np.empty(len(kinds), np.float64)
    turn[order] = np.arange(len(kinds)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray((turn + 0.5) / counts[kinds])
