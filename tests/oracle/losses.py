"""Losses of a published table by their definitions, from its texts and the original alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from .definitions import Texts
from .meaning import Reader
from .setting import Setting

WITH_K = {"k-anonymity", "p-sensitive", "alpha-k-anonymity"}


def measure_losses(setting: Setting, shows: Sequence[Texts], suppressed: int) -> dict[str, float]:
    """Return the losses that the texts of the kept records and the number of suppressed ones tell."""
    count = len(setting.records)
    sizes = Counter(shows)
    classes = len(sizes) + (suppressed > 0)
    found: dict[str, float] = {
        "discernibility": float(sum(size * size for size in sizes.values()) + suppressed * count),
        "average-class-size": count / classes,
    }
    least = [model["k"] for model in setting.models if model.get("name") in WITH_K]
    if least and not any(model.get("name") in ("k-map", "scenarios", "personal-k") for model in setting.models):
        found["class-size"] = count / (classes * max(least))
    if any(not reader.reading(row[index]) for index, reader in enumerate(setting.readers) for row in shows):
        return found  # a text that stands for nothing is told by the check of truth
    columns: dict[str, list[Any]] = {}
    for index, reader in enumerate(setting.readers):
        texts = [row[index] for row in shows]
        own = [record[reader.name] for record in setting.records]
        if any(row[index] in reader.vague for row in shows):
            continue
        columns.setdefault("certainty-penalty", []).append(_penalty(reader, texts, suppressed, count))
        columns.setdefault("minimal-distortion", []).append(_distortion(reader, texts) + suppressed)
        columns.setdefault("i-loss", []).append(_i_loss(reader, texts, suppressed, count))
        if None in own and reader.missing == "suppress":
            own = [value for value in own if value is not None]
            columns.setdefault("non-uniform-entropy", []).append(None)  # what a missing value tells is not documented
            columns.setdefault("kl-divergence", []).append(_divergence(reader, texts, own, suppressed))
            continue
        columns.setdefault("non-uniform-entropy", []).append(_bits(reader, texts, own, suppressed))
        columns.setdefault("kl-divergence", []).append(_divergence(reader, texts, own, suppressed))
    if any(not reader.reading(row[index]) for index, reader in enumerate(setting.readers) for row in shows):
        return found  # a text that stands for nothing is told by the check of truth
    if any(row[index] in reader.vague for index, reader in enumerate(setting.readers) for row in shows):
        return found
    weights = [Fraction(str(reader.role.get("weight", 1))) for reader in setting.readers]
    for name, values in columns.items():
        if any(value is None for value in values):
            continue
        total = sum(float(weight) * float(value) for weight, value in zip(weights, values, strict=True))
        by = sum(weights) if name in ("certainty-penalty", "i-loss") else max(weights)
        found[name] = total / float(by)
    return found


def _penalty(reader: Reader, texts: Sequence[Any], suppressed: int, count: int) -> Fraction:
    return (sum((reader.penalty(text) for text in texts), Fraction(0)) + suppressed) / count


def _distortion(reader: Reader, texts: Sequence[Any]) -> int:
    """A cell is exact where it stands for one value; a range that could be more in between is not."""
    return sum(reader.penalty(text) > 0 for text in texts)


def _i_loss(reader: Reader, texts: Sequence[Any], suppressed: int, count: int) -> Fraction | None:
    if reader.role.get("domain", "observed") != "observed":
        return None
    size = len(reader.domain)
    lost = sum(max(0, len(reader.reading(text)) - 1) for text in texts) + suppressed * (size - 1)
    return Fraction(lost, size * count)


def _bits(reader: Reader, texts: Sequence[Any], own: Sequence[Any], suppressed: int) -> float:
    often = Counter(own)
    shown = sum(math.log2(sum(often[value] for value in reader.reading(text))) for text in texts)
    return shown + suppressed * math.log2(len(own)) - sum(math.log2(often[value]) for value in own)


def _divergence(reader: Reader, texts: Sequence[Any], own: Sequence[Any], suppressed: int) -> float | None:
    if reader.role.get("domain", "observed") != "observed":
        return None
    often: Mapping[Any, int] = Counter(own)
    spread: dict[Any, Fraction] = dict.fromkeys(often, Fraction(0))
    for text, number in Counter(texts).items():
        cover = reader.reading(text)
        for value in cover & spread.keys():
            spread[value] += Fraction(number, len(cover))
    for value in spread:
        spread[value] += Fraction(suppressed, len(reader.domain))
    if any(share == 0 for share in spread.values()):
        return None
    total = sum(spread.values())
    return sum(
        often[value] / len(own) * math.log2(Fraction(often[value], len(own)) / (spread[value] / total))
        for value in often
    )
