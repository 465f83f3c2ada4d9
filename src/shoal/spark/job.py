"""A job for ``spark-submit``: policy in, release out.

``spark-submit $(python -m shoal.spark.job --path) --data s3a://bucket/people --policy policy.yaml --out DIR``
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.encoding.terminal import escape_text
from shoal.encoding.types import Progress, silent
from shoal.errors import ShoalError
from shoal.policy import Policy

if TYPE_CHECKING:
    from shoal.pipeline.release import Release


def release_of(
    data: str | Path,
    policy: str | Path,
    out: str | Path,
    *,
    format: str | None = None,
    master: str | None = None,
    statistics: bool = True,
    progress: Progress = silent,
    **limits: Any,
) -> tuple[Release, dict[str, Path]]:
    """Read a table with Spark, anonymize it there and write the release; return it with its files."""
    from shoal.engines.spark.sessions import session, translate_errors

    asked, spark = Policy.read(policy), session(master)
    with translate_errors():
        from shoal.engines.spark.reading import read_spark
        from shoal.pipeline.anonymize import anonymize

        release = anonymize(read_spark(spark, str(data), reading=asked.reading), asked, progress=progress, **limits)
        return release, release.write(out, format=format, statistics=statistics)


def main() -> int:
    """Do what the arguments say; return the exit code."""
    parser = argparse.ArgumentParser(prog="shoal.spark.job", description="Anonymize a table with Spark.")
    parser.add_argument("--path", action="store_true", help="print the path of this file, for spark-submit, and end")
    parser.add_argument("--data", help="a path or an address that Spark reads")
    parser.add_argument("--policy", help="the policy, a YAML file")
    parser.add_argument("--out", help="the folder to write to")
    parser.add_argument("--format", choices=("parquet", "csv", "jsonl"), help="parquet by default")
    parser.add_argument("--fits", type=int, help="how many combinations the driver takes")
    parser.add_argument("--block", type=int, help="about how many combinations a block has")
    asked = parser.parse_args()
    if asked.path:
        print(Path(__file__).resolve())
        return 0
    missing = [f"--{name}" for name in ("data", "policy", "out") if getattr(asked, name) is None]
    if missing:
        parser.error(f"needed: {', '.join(missing)}")
    limits = {name: getattr(asked, name) for name in ("fits", "block") if getattr(asked, name) is not None}
    try:
        release, files = release_of(asked.data, asked.policy, asked.out, format=asked.format, **limits)
    except ShoalError as error:
        print(escape_text(f"{error.title}\n{error.render()}"), file=sys.stderr)
        return 1
    print(escape_text(repr(release)))
    for name, path in files.items():
        print(escape_text(f"{name + ':':<10}{path}"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
