"""Tables in files whose distinct records do not fit are cut into blocks; the release holds whatever is in them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engines.files import blocks
from shoal.errors import AuditFailed, Infeasible, Misfit, OverBudget
from shoal.policy import Policy

from .test_memory import measured

ROOM = 200 * 10**6
SMALL = {"memory": "1GB", "fits": 50, "block": 150}
RNG = np.random.default_rng(7)
MESSY = pl.DataFrame(
    {
        "age": RNG.integers(20, 90, 900),
        "pay": np.where(RNG.random(900) < 0.1, np.nan, RNG.integers(0, 40, 900) / 4 * np.sign(RNG.normal(size=900))),
        "since": pl.Series(RNG.integers(0, 5000, 900)).cast(pl.Date),
        "city": pl.Series(RNG.choice(["Bonn", "Ulm", "^…$", "*a", ""], 900)).replace("", None),
        "kind": pl.Series(RNG.choice(["z", "a", "m"], 900), dtype=pl.Categorical),
        "ill": RNG.choice(["flu", "cold", "cough", "gout"], 900),
        "note": RNG.choice(["x", "y", None], 900),
    }
)
POLICY = Policy(
    quasi_identifiers=["age", "pay", "since", "city", "kind"],
    sensitive=["ill"],
    others="keep",
    models=[{"name": "k-anonymity", "k": 4}, {"name": "distinct-l-diversity", "on": "ill", "l": 2}],
    algorithm="mondrian",
)


def laid(frame: pl.DataFrame, folder: Path, kind: str) -> Path:
    path = folder / f"table.{kind}"
    frame.write_csv(path) if kind == "csv" else frame.write_parquet(path, row_group_size=100)
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("models", [POLICY.models, [{"name": "t-closeness", "on": "ill", "t": 0.5}]])
def test_whatever_is_in_the_cells(kind: str, models: Any, tmp_path: Path) -> None:
    policy = POLICY.replace(models=models)
    release = shoal.anonymize(laid(MESSY, tmp_path, kind), policy, **SMALL)
    assert release.manifest["recoding"]["blocks"] > 3
    assert release.audit.records == release.audit.published == MESSY.height
    files = release.write(tmp_path / "out")
    again = shoal.audit(files["release"], policy, original=tmp_path / f"table.{kind}")
    assert again.holds, again.failures()
    assert again.utility == release.audit.utility
    written = pl.read_parquet(files["release"]) if kind == "parquet" else pl.read_csv(files["release"])
    assert written["note"].value_counts().sort("note").equals(MESSY["note"].value_counts().sort("note"))


def test_order_of_records_and_of_files_decides_nothing(tmp_path: Path) -> None:
    found = []
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        shuffled = MESSY.sample(fraction=1.0, shuffle=True, seed=seed)
        for part in range(seed + 1):
            shuffled.gather_every(seed + 1, part).write_parquet(folder / f"{part}.parquet")
        files = shoal.anonymize(folder, POLICY, **SMALL).write(tmp_path / f"out{seed}", statistics=False)
        found.append(files["release"].read_bytes())
    assert found[0] == found[1] == found[2]


def test_texts_that_are_read_alike_are_one_value(tmp_path: Path) -> None:
    """``7`` and ``07`` are one number, wherever they stand."""
    path = tmp_path / "table.csv"
    path.write_text("age,zip\n" + "".join(f"{'0' * (n % 2)}{n % 60},{n % 7}\n" for n in range(600)))
    policy = Policy(quasi_identifiers=["age", "zip"], models=[{"name": "k-anonymity", "k": 5}], algorithm="mondrian")
    cut, whole = (shoal.anonymize(path, policy, **options) for options in (SMALL, {"memory": "1GB"}))
    assert cut.manifest["recoding"]["blocks"] > 1
    assert cut.audit.records == 600 and cut.loss < 1.5 * whole.loss + 0.05


def test_missing_values_that_suppress_are_in_no_block(tmp_path: Path) -> None:
    specs = {name: {"missing": "suppress"} if name == "city" else {} for name in POLICY.quasi_identifiers}
    missing = MESSY["city"].null_count()
    policy = POLICY.replace(quasi_identifiers=specs, max_suppressed=0.4)
    release = shoal.anonymize(laid(MESSY, tmp_path, "parquet"), policy, **SMALL)
    assert missing <= release.audit.suppressed <= 0.4 * MESSY.height
    assert "city" in release.frame.columns and release.frame["city"].null_count() == 0


def test_what_blocks_cannot_keep_is_told_with_what_does_not_fit(tmp_path: Path) -> None:
    specs = {"age": {"hierarchy": "intervals", "widths": [5, 10]}}
    policy = POLICY.replace(quasi_identifiers=specs, others="drop", algorithm="optimal")
    with pytest.raises(Misfit, match=r"(?s)do not fit into the memory.*one recoding for the whole table"):
        shoal.anonymize(laid(MESSY, tmp_path, "parquet"), policy, **SMALL)


def test_what_cannot_be_promised_is_infeasible(tmp_path: Path) -> None:
    policy = POLICY.replace(models=[{"name": "k-anonymity", "k": 1000}])
    with pytest.raises(Infeasible):
        shoal.anonymize(laid(MESSY, tmp_path, "parquet"), policy, **SMALL)


def test_numbers_that_do_not_fit_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.engines.files import budget

    monkeypatch.setattr(budget, "_NUMBERED", 10**8)
    with pytest.raises(OverBudget, match="not even cut into blocks"):
        shoal.anonymize(laid(MESSY, tmp_path, "parquet"), POLICY, **SMALL)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.engines.files import engine

    path, honest = laid(MESSY, tmp_path, "parquet"), engine.number_table

    def change(*given: Any) -> Any:
        laid(MESSY.with_columns(age=pl.col("age") + 100), tmp_path, "parquet")
        return honest(*given)

    monkeypatch.setattr(engine, "number_table", change)
    with pytest.raises(AuditFailed, match="changed while it was read"):
        shoal.anonymize(path, POLICY, **SMALL)


@pytest.mark.parametrize("column", ["t0", "c5"], ids=["a text", "a sensitive value"])
def test_pieces_that_lie_are_caught(column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = blocks.FilesPieces.add

    def lie(self: Any, found: pl.DataFrame) -> None:
        honest(
            self,
            found.with_columns(
                pl.repeat(found[column][0], found.height, dtype=found[column].dtype, eager=True).alias(column)
            ),
        )

    monkeypatch.setattr(blocks.FilesPieces, "add", lie)
    with pytest.raises(AuditFailed):
        shoal.anonymize(laid(MESSY, tmp_path, "parquet"), POLICY, **SMALL)


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_records_that_do_not_fit_go_through_in_blocks(tmp_path: Path) -> None:
    columns = {"age": (20, 90), "sex": (0, 2), "job": (0, 400), "illness": (0, 4)}
    draw = np.random.default_rng(3)
    big = pl.DataFrame({name: draw.integers(*span, 250_000) for name, span in columns.items()})
    answer = measured(tmp_path, big, "parquet", ROOM)
    assert answer["error"] == ""
    assert int(str(answer["peak"])) < int(str(answer["base"])) + ROOM, answer
    assert "blocks" in (tmp_path / "out" / "manifest.json").read_text()
