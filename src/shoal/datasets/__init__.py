"""Tables to try things on: UCI Adult, and the small worked tables of the papers, each with its policy.

``adult`` is the Adult table of the UCI Machine Learning Repository (B. Becker and R. Kohavi, 1996,
https://doi.org/10.24432/C5XW20), licensed under CC BY 4.0; both of its files are joined, ``?`` is a missing value.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Literal

import polars as pl

from shoal.engines.memory.files import read_csv
from shoal.policy import Policy

NAMES = ("adult", "employees", "hospital", "patients", "voters")
_HERE = files("shoal.datasets")


def adult(*, complete: bool = False, part: Literal["all", "train", "test"] = "all") -> pl.DataFrame:
    """Return the Adult table: 48,842 people of the US census of 1994, 15 columns.

    Parameters
    ----------
    complete
        Leave out the records with missing values.
    part
        ``train`` is the repository's ``adult.data``, ``test`` its ``adult.test``.

    Examples
    --------
    >>> adult().shape, adult(complete=True, part="train").height
    ((48842, 15), 30162)
    """
    table = pl.read_parquet((_HERE / "adult.parquet").read_bytes())
    if part != "all":
        table = table.filter(pl.col("part") == part)
    table = table.drop("part")
    return table.drop_nulls() if complete else table


def employees() -> pl.DataFrame:
    """Return the six employees of Hussien et al. (2015), Table 5."""
    return _small("employees")


def hospital() -> pl.DataFrame:
    """Return the twelve patients of Sarrafi (2017), Table 2-7."""
    return _small("hospital")


def patients() -> pl.DataFrame:
    """Return the four patients of Sarrafi (2017), Figure 1-2."""
    return _small("patients")


def voters() -> pl.DataFrame:
    """Return the voter list of Sarrafi (2017), Table 1-1: it finds Paul among the patients."""
    return _small("voters")


def policy(name: str) -> Policy:
    """Return the policy of a table.

    Examples
    --------
    >>> policy("adult").models[0]
    KAnonymity(k=10)
    """
    _check(name)
    return Policy.from_yaml((_HERE / f"{name}.yaml").read_text(encoding="utf-8"), source=f"{name}.yaml")


def load(name: str) -> tuple[pl.DataFrame, Policy]:
    """Return a table and its policy."""
    return adult() if name == "adult" else _small(name), policy(name)


def _small(name: str) -> pl.DataFrame:
    _check(name)
    return read_csv((_HERE / f"{name}.csv").read_bytes(), f"{name}.csv")


def _check(name: str) -> None:
    if name not in NAMES:
        raise ValueError(f"no such dataset: {name!r}; one of: {', '.join(NAMES)}")
