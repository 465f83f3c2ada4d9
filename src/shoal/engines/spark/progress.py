"""Stages: what Spark is doing, told while it does it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

from pyspark.sql import SparkSession

from shoal.encoding.types import Progress, silent

_SECONDS = 0.3
"""How often Spark is asked."""


@dataclass
class Stages:
    """Tells the tasks of the running stage under the name of the step that they belong to."""

    progress: Progress
    step: str = ""

    @classmethod
    def of(cls, progress: Progress) -> Stages:
        """Return the stages that tell a progress, if some do."""
        owner = getattr(progress, "__self__", None)
        return owner if isinstance(owner, cls) else cls(progress)

    def tell(self, what: str, done: int, total: int) -> None:
        """Tell what is done on the driver: no stage of Spark belongs to it."""
        self.step = ""
        self.progress(what, done, total)

    def begin(self, step: str) -> None:
        """Say which step comes next."""
        self.step = step
        self.progress(step, 0, 0)

    def look(self, tracker: Any) -> None:
        """Tell how many tasks of the running stages are done."""
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        if self.step and known:
            self.progress(self.step, sum(s.numCompletedTasks for s in known), sum(s.numTasks for s in known))


@contextmanager
def watch_stages(spark: SparkSession, progress: Progress) -> Iterator[Stages]:
    """Tell the stages of Spark to a caller until this ends; a session of Spark Connect tells none."""
    stages, over = Stages(progress), Event()
    context = None if progress is silent else getattr(spark, "_sc", None)
    if context is None:
        yield stages
        return
    tracker = context.statusTracker()

    def ask() -> None:
        while not over.wait(_SECONDS):
            stages.look(tracker)

    asking = Thread(target=ask, name="shoal-spark-progress", daemon=True)
    asking.start()
    try:
        yield stages
    finally:
        over.set()
        asking.join()
