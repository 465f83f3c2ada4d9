"""The memory is bounded: measured in a process of its own, as the system tells it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engines.files.budget import MemoryBudget, default_memory, format_size, resident
from shoal.engines.files.count import count
from shoal.engines.files.scan import open_scan
from shoal.errors import OverBudget, TableError

pytestmark = pytest.mark.slow

BUDGET = 80 * 10**6
POLICY = {
    "quasi_identifiers": {name: {} for name in ("age", "sex", "job")},
    "sensitive": ["illness"],
    "others": "keep",
    "models": [{"name": "k-anonymity", "k": 5}],
    "algorithm": {"name": "mondrian"},
}
CHILD = """
import json, pathlib, sys
import shoal

def highest():  # ru_maxrss would start at what the parent once used
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

policy, out = json.loads(sys.argv[3]), sys.argv[4]
shoal.anonymize_file(sys.argv[1], policy, out + "-small", format=sys.argv[6])  # imports, kernels, the machine's threads
base = highest()
error = ""
try:
    shoal.anonymize_file(sys.argv[2], policy, out, memory=int(sys.argv[5]), format=sys.argv[6])
except shoal.ShoalError as told:
    error = f"{type(told).__name__}: {told}"
print(json.dumps({"base": base, "peak": highest(), "error": error}))
"""


def table(records: int, notes: int) -> pl.DataFrame:
    """Return a table with so many different notes."""
    rng = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, records),
            "sex": rng.choice(["female", "male"], records),
            "job": rng.choice(["clerk in the city", "cook in the city", "nurse in the city"], records),
            "illness": rng.choice(["some kind of flu", "some kind of cold"], records),
            **{f"note {n}": pl.Series(rng.integers(0, notes, records)).cast(pl.String) + " is noted" for n in range(4)},
        }
    )


def measured(tmp_path: Path, big: pl.DataFrame, kind: str, budget: int = BUDGET) -> dict[str, object]:
    small, large = tmp_path / f"small.{kind}", tmp_path / f"large.{kind}"
    for frame, path in ((big.head(1000), small), (big, large)):
        frame.write_csv(path) if kind == "csv" else frame.write_parquet(path, row_group_size=100_000)
    command = [sys.executable, "-c", CHILD, small, large, json.dumps(POLICY), tmp_path / "out", str(budget), kind]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_rows_that_need_several_times_the_budget_go_through(kind: str, tmp_path: Path) -> None:
    big = table(3_000_000, 2)
    assert big.estimated_size() > 3 * BUDGET
    answer = measured(tmp_path, big, kind)
    assert answer["error"] == ""
    assert int(str(answer["peak"])) < int(str(answer["base"])) + BUDGET, answer
    assert (tmp_path / "out" / f"release.{kind}").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_distinct_records_that_do_not_fit_are_told_before_the_memory_is_used_up(tmp_path: Path) -> None:
    answer = measured(tmp_path, table(1_000_000, 1000), "parquet")
    what = "the distinct records do not fit into the memory, not even cut into blocks; got more than"
    assert str(answer["error"]).startswith(f"OverBudget: memory: {what}")
    assert "--engine spark" in str(answer["error"])
    assert int(str(answer["peak"])) < int(str(answer["base"])) + BUDGET, answer
    assert not (tmp_path / "out").exists()


def test_a_search_that_takes_more_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was estimated: the memory is looked at."""
    from shoal.engines.files import budget

    table(2000, 2).write_parquet(tmp_path / "data.parquet")
    taken = iter([0, *[0] * 3])
    monkeypatch.setattr(budget, "resident", lambda: next(taken, 10**12))
    with pytest.raises(OverBudget, match=r"takes more memory than is allowed; got 1e\+03 GB of 1 GB"):
        shoal.anonymize_file(tmp_path / "data.parquet", POLICY, tmp_path / "out", memory="1GB")
    assert not (tmp_path / "out").exists()


def test_the_error_says_how_many_fit(tmp_path: Path) -> None:
    table(5000, 1000).write_parquet(tmp_path / "data.parquet")
    tight = MemoryBudget(10**6)
    with pytest.raises(OverBudget, match=r"more than the [0-9]+ distinct records of 8 columns that 1 MB hold"):
        count(open_scan(tmp_path / "data.parquet"), tight)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4 * 10**9),
        ("512MB", 512 * 10**6),
        ("1.5 gb", 1_500_000_000),
        ("1GiB", 2**30),
        ("2t", 2 * 10**12),
        (10**8, 10**8),
    ],
)
def test_sizes(text: str | int, size: int) -> None:
    assert MemoryBudget.of(text).bytes == size


@pytest.mark.parametrize("text", ["four", "4 bananas", "-4GB", "", "4,5GB"])
def test_what_is_no_size_is_told(text: str) -> None:
    with pytest.raises(TableError, match="is no size"):
        MemoryBudget.of(text)


@pytest.mark.parametrize("memory", ["1KB", "0GB", 0, -1])
def test_too_little_is_told(memory: str | int) -> None:
    with pytest.raises(TableError, match="too little to work with"):
        MemoryBudget.of(memory)


def test_half_of_the_machine_by_default() -> None:
    assert default_memory() > 10**8
    assert format_size(MemoryBudget.of("4GB").bytes) == "4 GB"
    assert resident() >= 0


def test_long_texts_count(tmp_path: Path) -> None:
    """A few records with texts that alone do not fit."""
    pl.DataFrame({"note": [f"{n}" * 10_000 for n in range(50)]}).write_parquet(tmp_path / "data.parquet")
    assert MemoryBudget(10**6).distinct(1) > 50
    with pytest.raises(OverBudget, match="do not fit"):
        count(open_scan(tmp_path / "data.parquet"), MemoryBudget(10**6))


def test_searches_that_need_more_memory_leave_less_for_records() -> None:
    assert MemoryBudget.of("4GB", search=3000).distinct(9) < MemoryBudget.of("4GB", search=500).distinct(9)
