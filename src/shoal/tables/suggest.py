"""suggest(): a draft policy from the data, with the reasons as comments."""

from __future__ import annotations


def suggest(table: object) -> str:
    raise RuntimeError
