"""Make src/shoal/datasets/adult.parquet from the files of the UCI repository: adult.data and adult.test.

python -m benchmarks.make_adult FOLDER
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import polars as pl

COLUMNS = [
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
]
NUMBERS = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
TARGET = Path(__file__).parent.parent / "src" / "shoal" / "datasets" / "adult.parquet"


def part(path: Path, name: str) -> pl.DataFrame:
    lines = [line.rstrip(".").split(", ") for line in path.read_text().splitlines() if line.count(",") == 14]
    text = "\n".join(",".join(cells) for cells in lines)
    frame = pl.read_csv(io.StringIO(text), has_header=False, new_columns=COLUMNS, infer_schema=False, null_values="?")
    return frame.with_columns(pl.col(c).cast(pl.Int64) for c in NUMBERS).with_columns(part=pl.lit(name))


def main(folder: Path) -> None:
    table = pl.concat([part(folder / "adult.data", "train"), part(folder / "adult.test", "test")])
    assert table.height == 48_842, table.height
    table.write_parquet(TARGET, compression="zstd", compression_level=19, statistics=False)
    print(f"{TARGET}: {table.height} records, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
