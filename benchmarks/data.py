"""The tables and policies that several benchmarks share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.results import SHARED
from shoal import datasets
from shoal.policy import Policy
from shoal.testing import encode_table

OCCUPATIONS = {
    "*": {
        "White collar": ["Exec-managerial", "Prof-specialty", "Sales", "Adm-clerical", "Tech-support"],
        "Blue collar": [
            "Craft-repair",
            "Machine-op-inspct",
            "Handlers-cleaners",
            "Transport-moving",
            "Farming-fishing",
        ],
        "Service": ["Other-service", "Protective-serv", "Priv-house-serv", "Armed-Forces"],
    }
}
EIGHT = (
    "age",
    "workclass",
    "sex",
    "education",
    "occupation",
    "marital-status",
    "race",
    "native-country",
)


def complete_adult() -> pl.DataFrame:
    """Return the 30,162 complete records of adult.data, 15 columns."""
    return datasets.adult(complete=True, part="train")


def million_adult(records: int = 1_000_000) -> pl.DataFrame:
    """Return Adult repeated, each age moved by a few years (N(0, 3), kept between 17 and 90)."""
    table = complete_adult()
    rows = np.resize(np.arange(table.height), records)
    moved = table["age"].to_numpy()[rows] + np.random.default_rng(0).normal(0.0, 3.0, records)
    ages = np.clip(np.rint(moved), 17, 90).astype(np.int64)
    return table[rows].with_columns(age=pl.Series(ages))


def eight_column_policy(k: int = 10, algorithm: str = "mondrian") -> Policy:
    """Return a policy with eight quasi-identifiers; income is published as it is, all else dropped."""
    known = datasets.policy("adult").quasi_identifiers
    occupation = {"hierarchy": "tree", "nodes": OCCUPATIONS}
    return Policy(
        quasi_identifiers={name: known.get(name, occupation) for name in EIGHT},
        sensitive=["income"],
        others="drop",
        models=[{"name": "k-anonymity", "k": k}],
        algorithm={"name": algorithm},
        publish="ranges",
    )


def hierarchies_as_columns(table: pl.DataFrame, policy: Policy) -> dict[str, dict[int, list[str | None]]]:
    """Return the labels of each column's values, level by level: the layout that anjana takes."""
    return {
        column.name: {
            level: [column.levels.text(level, code) for code in range(column.levels.size)]
            for level in range(column.levels.height + 1)
        }
        for column in encode_table(table, policy).columns
    }


ARX = SHARED / "arx-adult"
"""Adult as ARX ships it, with its hierarchies and known optima; not part of the project."""


def arx_adult() -> pl.DataFrame:
    """Return ARX's Adult: 30,162 records, nine columns."""
    return pl.read_csv(ARX / "adult.csv", separator=";", infer_schema_length=None)


def arx_million() -> pl.DataFrame:
    """Return ARX's Adult 33 times, each age moved by up to three years."""
    table = pl.concat([arx_adult()] * 33, rechunk=True)
    moved = table["age"].to_numpy() + np.random.default_rng(0).integers(-3, 4, table.height)
    return table.with_columns(age=pl.Series(np.clip(moved, 1, 99)))


def arx_policy(limit: float, algorithm: str = "optimal", k: int = 5) -> Policy:
    """Return a policy with ARX's nine quasi-identifiers; losses are measured against its hierarchies."""
    names = arx_adult().columns
    files = {name: str(ARX / f"adult_hierarchy_{name}.csv") for name in names}
    return Policy(
        quasi_identifiers={
            name: {"hierarchy": "tree", "file": file, "domain": "hierarchy"} for name, file in files.items()
        },
        models=[{"name": "k-anonymity", "k": k}],
        algorithm={"name": algorithm},
        max_suppressed=limit,
    )


def local_policy(columns: Sequence[str], k: int, algorithm: object) -> Policy:
    """Return a policy for local recoding: numbers by range, categories by the trees of our Adult policy.

    Where there is none (occupation) it is the tree above; the trees are those of the notes on local recoding.
    """
    known = datasets.policy("adult").quasi_identifiers
    trees = {**{name: known[name] for name in EIGHT if name in known}, "age": {}}
    return Policy(
        quasi_identifiers={name: trees.get(name, {"hierarchy": "tree", "nodes": OCCUPATIONS}) for name in columns},
        others="drop",
        models=[{"name": "k-anonymity", "k": k}],
        algorithm=algorithm,
    )


def sets_policy(columns: Sequence[str], k: int, algorithm: object) -> Policy:
    """Return a policy for local recoding without hierarchies: ranges of numbers, sets of categories."""
    return Policy(
        quasi_identifiers={name: {} for name in columns},
        others="drop",
        models=[{"name": "k-anonymity", "k": k}],
        algorithm=algorithm,
        publish="sets",
    )


DIFFERENT = (*(f"n{number}" for number in range(6)), "region", "kind")


def different_records(records: int) -> pl.DataFrame:
    """Return records that are all different: six correlated whole numbers from 0 to 1,000, a region and a kind."""
    draw = np.random.default_rng(0)
    common = draw.normal(0.0, 1.0, records)
    numbers = {
        f"n{number}": np.clip(np.rint(500 + 150 * (0.7 * common + 0.7 * draw.normal(0.0, 1.0, records))), 0, 1000)
        for number in range(6)
    }
    texts = {
        name: [f"{name}-{value:02d}" for value in draw.integers(0, values, records).tolist()]
        for name, values in (("region", 20), ("kind", 5))
    }
    return pl.DataFrame({**{name: values.astype(np.int64) for name, values in numbers.items()}, **texts})


def ranges_policy(columns: Sequence[str], k: int = 10, algorithm: str = "mondrian") -> Policy:
    """Return a policy without hierarchies: ranges of numbers, sets of texts."""
    models = [{"name": "k-anonymity", "k": k}]
    return Policy(quasi_identifiers=list(columns), models=models, algorithm={"name": algorithm}, publish="ranges")


def write_wide_table(folder: Path, records: int = 30_000, columns: int = 24, values: int = 5_000) -> Path:
    """Write a table, a tree of four levels for each column and a policy with fixed levels; return their folder."""
    folder = folder / "wide"
    folder.mkdir()
    draw = np.random.default_rng(0)
    names = [f"c{column}" for column in range(columns)]
    tree = "".join(f"value-{n:05d};group-{n // 20:04d};region-{n // 500:02d};*\n" for n in range(values))
    for name in names:
        (folder / f"{name}.csv").write_text(tree)
    drawn = {name: [f"value-{n:05d}" for n in draw.integers(0, values, records).tolist()] for name in names}
    pl.DataFrame(drawn).write_csv(folder / "data.csv")
    trees = "".join(f"  {name}: {{hierarchy: tree, file: {name}.csv}}\n" for name in names)
    levels = ", ".join(f"{name}: {3 if name != 'c0' else 2}" for name in names)
    algorithm = f"algorithm: {{name: fixed-levels, levels: {{{levels}}}}}\n"
    models = "models: [{name: k-anonymity, k: 5}]\n"
    (folder / "policy.yaml").write_text(f"quasi_identifiers:\n{trees}{models}{algorithm}")
    return folder
