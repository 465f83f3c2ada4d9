"""The command line as tests use it: each call is a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CODE = "from shoal.cli import run; run()"
_LONGEST = 300
"""Seconds after which a command hangs."""
_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(
    ["shoal.cli.app", "shoal.pipeline.anonymize", "shoal.algorithms.local.shoal", "scipy.stats", "jinja2"]
)

Done = subprocess.CompletedProcess[str]


def run(*arguments: object, check: int | None = None) -> Done:
    """Run ``shoal``, and require an exit code."""
    return _required(_run(_call, arguments, Path.cwd()), check)


def run_code(code: str, folder: Path) -> Done:
    """Run Python code in a folder."""
    return _run(_execute, (code,), folder)


def _run(target: Any, arguments: tuple[object, ...], folder: Path) -> Done:
    """Run a function in a process that is forked from one that has imported what most need, and has done nothing yet.

    To start from nothing (:func:`run_afresh`) takes four times as long.
    """
    with tempfile.TemporaryDirectory() as streams:
        texts = [Path(streams, name) for name in ("stdout", "stderr")]
        process = _FORKING.Process(target=target, args=([*map(str, arguments)], [*map(str, texts)], folder))
        process.start()
        process.join(_LONGEST)
        if process.exitcode is None:
            process.kill()
            raise AssertionError(f"still running after {_LONGEST} seconds: {arguments}")
        stdout, stderr = (text.read_text() for text in texts)
        return subprocess.CompletedProcess(arguments, process.exitcode, stdout, stderr)


def run_afresh(*arguments: object, check: int | None = None, code: str = CODE, **options: Any) -> Done:
    """Run ``shoal`` in an interpreter of its own, perhaps with something planted in it."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return _required(subprocess.run(command, capture_output=True, text=True, check=False, **options), check)


def _required(done: Done, check: int | None) -> Done:
    assert "Traceback" not in done.stderr + done.stdout, done.stderr
    assert check is None or done.returncode == check, (done.returncode, done.stdout, done.stderr)
    return done


def _redirect(texts: list[str], folder: Path) -> None:
    for stream, text in zip((1, 2), texts, strict=True):
        os.dup2(os.open(text, os.O_CREAT | os.O_WRONLY), stream)
    sys.stdout, sys.stderr = (open(stream, "w", encoding="utf-8", closefd=False) for stream in (1, 2))  # noqa: SIM115
    os.chdir(folder)


def _call(arguments: list[str], texts: list[str], folder: Path) -> None:
    _redirect(texts, folder)
    sys.argv = ["shoal", *arguments]
    from shoal.cli import run

    run()


def _execute(arguments: list[str], texts: list[str], folder: Path) -> None:
    _redirect(texts, folder)
    sys.argv = ["-c"]
    exec(arguments[0], {"__name__": "__main__"})
