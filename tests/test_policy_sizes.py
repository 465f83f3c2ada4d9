"""What is written of a policy with large hierarchies: little, and vouched for by the hash of the whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.hierarchies import Tree
from shoal.policy.abridge import LARGEST, SHOWN, excerpt_large, hash_data, reference_large

COLUMNS = [f"c{number}" for number in range(24)]
VALUES = 2_000


def rows(values: int = VALUES) -> list[tuple[str, ...]]:
    """A tree of four levels."""
    return [(f"value-{n:05d}", f"group-{n // 20:04d}", f"region-{n // 500:02d}", "*") for n in range(values)]


@pytest.fixture(scope="module")
def policy() -> shoal.Policy:
    return shoal.Policy(
        quasi_identifiers=dict.fromkeys(COLUMNS, Tree(rows=rows())),
        models=[{"name": "k-anonymity", "k": 5}],
        algorithm={"name": "fixed-levels", "levels": {name: 3 if name != "c0" else 2 for name in COLUMNS}},
    )


@pytest.fixture(scope="module")
def folder(policy: shoal.Policy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    values = np.random.default_rng(0).integers(0, VALUES, (24, 400))
    table = pl.DataFrame({name: [rows()[n][0] for n in drawn] for name, drawn in zip(COLUMNS, values, strict=True)})
    folder = tmp_path_factory.mktemp("release")
    shoal.anonymize(table, policy).write(folder)
    return folder


def test_the_manifest_stays_under_100_kilobytes(folder: Path) -> None:
    assert (folder / "manifest.json").stat().st_size < 100_000


def test_the_report_stays_under_a_megabyte(folder: Path) -> None:
    assert (folder / "report.html").stat().st_size < 1_000_000


def test_the_manifest_names_the_values_by_number_and_hash_and_the_policy_by_the_hash_of_the_whole(
    folder: Path, policy: shoal.Policy
) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    nodes = policy.to_dict()["quasi_identifiers"]["c7"]["nodes"]
    assert manifest["policy"]["quasi_identifiers"]["c7"]["nodes"] == {"values": VALUES, "sha256": hash_data(nodes)}
    assert manifest["policy_hash"] == policy.hash


def test_the_report_shows_the_first_values_and_says_how_many_more_there_are(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "value-00019" in page
    assert f"{VALUES - SHOWN:,} more values, see policy.yaml" in page


def test_a_value_more_or_less_gives_another_policy_hash_and_another_reference() -> None:
    policies = [
        shoal.Policy(quasi_identifiers={"q": Tree(rows=rows(values))}, models=[{"name": "k-anonymity", "k": 5}])
        for values in (VALUES, VALUES - 1)
    ]
    assert policies[0].hash != policies[1].hash
    references = [reference_large(policy.effective())["quasi_identifiers"]["q"]["nodes"] for policy in policies]
    assert references[0]["sha256"] != references[1]["sha256"]


def test_small_policies_are_written_whole() -> None:
    for name in ("adult", "patients", "employees"):
        said = shoal.datasets.policy(name).effective()
        assert reference_large(said) == excerpt_large(said) == said


@pytest.mark.parametrize(
    "large",
    [
        [f"value {n}" for n in range(500)],
        {"*": {f"label {n}": [] for n in range(500)}},
        {"a": {"b": [f"value {n}" for n in range(499)]}, "c": []},
    ],
)
def test_an_excerpt_holds_the_first_values_of_lists_and_trees_of_any_shape(large: Any) -> None:
    assert len(json.dumps(large, indent=2)) > LARGEST
    short = excerpt_large({"sensitive": {"s": {"hierarchy": "tree", "nodes": large}}})["sensitive"]["s"]
    assert short["…"] == f"{500 - SHOWN} more values, see policy.yaml"
    assert str(SHOWN - 1) in json.dumps(short["nodes"])
    assert str(SHOWN) not in json.dumps(short["nodes"])
