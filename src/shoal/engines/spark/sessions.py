"""session(): a Spark session.  translate_errors(): what Spark says, in words."""

from __future__ import annotations

import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import MissingExtra, ShoalError, TableError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEMORY = "4g"
"""What the driver of a session of ours may take, unless Spark is configured otherwise."""

_JAVA = "install Java 17 or later (for example openjdk-17-jre-headless), or let JAVA_HOME name it"


def session(master: str | None = None) -> SparkSession:
    """Return the session that there is, or one of our own.

    Parameters
    ----------
    master
        Where Spark runs, for example ``local[2]`` or ``spark://host:7077``; by default as Spark is configured, else
        all cores of this machine.

    Raises
    ------
    MissingExtra
        There is no pyspark, or no Java.
    """
    try:
        with quietly():
            from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra.of("pyspark", "spark", "an engine of Spark") from None
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    require_java()
    builder = SparkSession.builder.appName("shoal")
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has said all this already
    if not submitted:
        builder = builder.master(master or os.environ.get("MASTER") or "local[*]")
        builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
        if master is None or master.startswith("local"):
            # executors are this machine: with this Python, and found at an address that it always has
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            builder = builder.config("spark.driver.memory", MEMORY)
            builder = builder.config("spark.sql.shuffle.partitions", str(4 * (os.cpu_count() or 1)))
    try:
        # what goes wrong is told in words: traces of Java would stand around it
        with quietly():
            return builder.config("spark.log.level", "FATAL").getOrCreate()
    except Exception as error:  # of py4j or of pyspark, as far as it came
        raise MissingExtra("Spark does not start", got=first_line(error), hint=_JAVA) from None


def require_java() -> None:
    """Raise where there is no Java to be found."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return
    if shutil.which("java") is None:
        raise MissingExtra("Spark needs Java, and there is none on PATH", got=f"JAVA_HOME={home}", hint=_JAVA)


@contextmanager
def quietly() -> Iterator[None]:
    """Leave out that pyspark does not know the newest pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_HOW = "executors run Python too: install shoal there, or ship an environment (spark.archives), see docs/spark.md"


@contextmanager
def translate_errors() -> Iterator[None]:
    """Tell errors of Spark in words, without the trace of another language."""
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
    except ImportError:
        raise MissingExtra.of("pyspark", "spark", "an engine of Spark") from None
    try:
        with quietly():
            yield
    except ShoalError:
        raise
    except (PySparkException, Py4JError) as error:
        missing = _NO_MODULE.search(str(error))
        if missing:
            library = missing[1].partition(".")[0]
            raise MissingExtra(
                f"the Python of an executor has no {library}", got=first_line(error), hint=_HOW
            ) from None
        raise TableError("Spark could not do it", got=first_line(error)) from None


_CAUSE = re.compile(r"^(Caused by)?: ")


def first_line(error: BaseException) -> str:
    """Return what an error says first, without the frames of Java and Python."""
    lines = [_CAUSE.sub("", line.strip()) for line in str(error).splitlines()]
    told = [
        line for line in lines if line and not line.startswith(("at ", "... ", "File ", "Traceback", "JVM", "^", "~"))
    ]
    named = [line for line in told if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return (named or told or [type(error).__name__])[-1 if named else 0].rpartition("Exception: ")[2][:300]
