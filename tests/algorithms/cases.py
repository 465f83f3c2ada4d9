"""Random tables and policies whose lattices are small enough to be counted record by record."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import strategies as st

from shoal.policy import Policy

NODES = {"*": {"north": ["a", "b"], "south": {"coast": ["c"], "hills": ["d", "e"]}}}
LADDER = {"*": {"same": {"same": ["p", "q"]}, "r": ["r"]}}
"""Labels that stay the same over levels, and a value whose labels are all its own name."""
BOUNDARIES: list[list[str]] = [[], [], ["a", "hills"], ["north", "south"], ["coast"]]
MISSING = ["own-value", "wildcard", "suppress"]


@st.composite
def cases(draw: st.DrawFn, *, plain: bool = False, most: int = 24) -> tuple[pl.DataFrame, Policy]:
    """A table and a policy for full-domain searches; ``plain`` ones have neither missing values nor persons."""
    count = draw(st.integers(1, most))
    missing = {name: draw(st.sampled_from(MISSING)) for name in ("age", "place", "step", "illness")}

    def column(values: st.SearchStrategy[Any], blank: bool) -> list[Any]:
        chosen = st.one_of(values, values, st.none()) if blank and not plain else values
        return draw(st.lists(chosen, min_size=count, max_size=count))

    blanks = {name: draw(st.booleans()) for name in missing}
    table = pl.DataFrame(
        {
            "age": pl.Series(column(st.integers(1, 12), blanks["age"]), dtype=pl.Int64),
            "place": pl.Series(column(st.sampled_from("abcde"), blanks["place"]), dtype=pl.String),
            "step": pl.Series(column(st.sampled_from("pqr"), blanks["step"]), dtype=pl.String),
            "fixed": pl.Series(column(st.sampled_from("fm"), False), dtype=pl.String),
            "illness": pl.Series(column(st.sampled_from(["flu", "cold", "hiv"]), blanks["illness"]), dtype=pl.String),
            "person": pl.Series(column(st.integers(0, max(count // 2, 1)), False), dtype=pl.Int64),
        }
    )
    weights = st.sampled_from([1.0, 2.5, 0.3])
    age = draw(
        st.sampled_from(
            [
                {"hierarchy": "intervals", "widths": [3, 6]},
                {"hierarchy": "divisor-based", "smallest": 2},
                {"hierarchy": "intervals", "widths": [3, 6], "domain": [0.0, 20.0]},
            ]
        )
    )
    specs: dict[str, Any] = {
        "age": age,
        "place": {
            "hierarchy": "tree",
            "nodes": NODES,
            "boundaries": draw(st.sampled_from(BOUNDARIES)),
            "domain": draw(st.sampled_from(["observed", "hierarchy"])),
        },
        "step": {"hierarchy": "tree", "nodes": LADDER},
        "fixed": draw(st.sampled_from([{}, {"hierarchy": "suppress"}])),
    }
    used = draw(st.lists(st.sampled_from(sorted(specs)), min_size=1, max_size=3, unique=True))
    quasi = {name: {**specs[name], "weight": draw(weights), "missing": missing.get(name, "own-value")} for name in used}
    if "place" in quasi:  # labels of values that do not occur are no labels
        present = set(table["place"])
        known = {"a": {"a"}, "hills": {"d", "e"}, "north": {"a", "b"}, "south": {"c", "d", "e"}, "coast": {"c"}}
        whole = quasi["place"]["domain"] == "hierarchy"
        kept = [label for label in quasi["place"]["boundaries"] if whole or known[label] & present]
        quasi["place"]["boundaries"] = kept
    models: list[dict[str, Any]] = [{"name": "k-anonymity", "k": draw(st.integers(2, 4))}]
    if draw(st.booleans()):
        models.append({"name": "distinct-l-diversity", "on": "illness", "l": draw(st.integers(2, 3))})
    people = draw(st.booleans()) and not plain
    policy = Policy(
        identifiers=["person"],
        subject="person" if people else None,
        others="drop",
        quasi_identifiers=quasi,
        sensitive={"illness": {"missing": missing["illness"]}},
        models=models,
        algorithm="exhaustive",
        loss=draw(st.sampled_from(["certainty-penalty", "discernibility", "class-size"])),
        max_suppressed=draw(st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0])),
    )
    return table, policy
