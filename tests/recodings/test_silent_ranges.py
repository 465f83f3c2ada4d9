"""A class that would show * everywhere shows a range in one column: its ends are nobody's either."""

from __future__ import annotations

import random
import re

import polars as pl

import shoal


def test_what_says_something_says_no_value() -> None:
    draw = random.Random(4)
    few = [round(draw.lognormvariate(3, 0.6), 2) for _ in range(200)]
    table = pl.DataFrame(
        {
            "city": [["Aix", "Bonn"][i % 2] for i in range(205)],
            "amount": [*few, *(round(303.7 + 157.3 * i, 2) for i in range(5))],
        }
    )
    policy = shoal.Policy(
        quasi_identifiers={
            "city": {"hierarchy": "suppress"},
            "amount": {"hierarchy": "intervals", "widths": [20, 200]},
        },
        models=[{"name": "k-anonymity", "k": 5}],
        max_suppressed=0,
    )
    shown = {text for text in shoal.anonymize(table, policy).table["amount"].to_list() if text != "*"}
    ranges = [text for text in shown if text.endswith("]")]
    assert ranges  # classes whose amounts no interval holds
    values = {f"{value}" for value in table["amount"].to_list()}
    assert not values & {end for text in ranges for end in re.findall(r"[0-9.]+", text)}


def test_fractions_of_a_small_table_end_at_round_numbers() -> None:
    """Seventy patients have weights of their own; ages of as many are shared."""
    draw = random.Random(5)
    table = pl.DataFrame({"kg": [round(draw.gauss(75, 12), 2) for _ in range(70)], "sex": ["f", "m"] * 35})
    policy = shoal.Policy(quasi_identifiers=["kg", "sex"], models=[{"name": "k-anonymity", "k": 5}])
    ends = {
        end for text in shoal.anonymize(table, policy).table["kg"].to_list() for end in re.findall(r"[0-9.]+", text)
    }
    assert ends
    assert not ends & {str(value) for value in table["kg"].to_list()}
