"""A process of the service that also does work which holds it."""

from __future__ import annotations

import os
import time
from typing import Any

from shoal.gateway import worker
from shoal.gateway.answer_service import AnswerService


class HeldService(AnswerService):
    """Answers requests, and holds a thread as long as it is told."""

    def spin(self, seconds: float) -> None:
        """Take all of the time of the processor."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pass

    def check_health(self) -> dict[str, Any]:
        """Look at owners' databases, which take long to answer if the tests say so."""
        time.sleep(float(os.environ.get("SECONDS_OF_HEALTH", "0")))
        return super().check_health()

    def fail(self, secret: str) -> None:
        """Break in a way that nobody foresaw."""
        raise ZeroDivisionError(secret)


def main() -> None:
    """Serve whoever began this process."""
    worker.AnswerService = HeldService  # type: ignore[misc]
    worker.main()
