"""An executor is killed in the middle of a run: Spark does its part again, and the release is the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark

import shoal
from tests.spark.conftest import SOURCE, adult, adult_policy, there
from tests.spark.losing import fingerprint


def test_a_killed_executor_loses_nothing(spark: Any) -> None:
    root = Path(__file__).parent.parent.parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYTHONPATH": f"{SOURCE}{os.pathsep}{root}",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [sys.executable, "-m", "tests.spark.losing", "searching the blocks"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    release = shoal.anonymize(there(spark, adult(400)), adult_policy("mondrian"), fits=50, block=150)
    assert done.stdout.splitlines()[-1] == f"killed 1 released {fingerprint(release.table)}"
