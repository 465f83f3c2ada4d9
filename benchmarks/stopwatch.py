"""watch(): the seconds that each stage of the pipeline takes, and how often what is made of a column is made.

A stage is known by the names of its functions, in the two tables below: a function that moves is one line here.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from typing import Any
from unittest.mock import patch

STAGES = {
    "shoal.policy.policy:Policy.read": "reading",
    "shoal.engines.memory.files:read_file": "reading",
    "shoal.pipeline.check:require_fit": "checking",
    "shoal.pipeline.encode:encode": "encoding",
    "shoal.algorithms.bounds.lower_bound:LowerBound.of": "bound",
    "shoal.recodings.equivalence_classes:finish_recoding": "publishing",
    "shoal.pipeline.publish:publish": "publishing",
    "shoal.auditing.audit:audit_table": "auditing",
    "shoal.auditing.fidelity:Fidelity.compare": "statistics",
    "shoal.auditing.truth:record_faults": "verification",
    "shoal.auditing.hygiene:bytes_faults": "verification",
    "shoal.pipeline.verify:other_records": "verification",
    "shoal.engines.fingerprint:fingerprint": "fingerprint",
    "shoal.engines.memory.write:to_bytes": "writing",
    "shoal.engines.memory.write:write_bytes": "writing",
    "shoal.reporting.html:render": "report",
}
"""Function → its stage. A stage that runs inside another is not counted there."""
COUNTED = {
    "shoal.engines.columns:column_domain": "column_domain",
    "shoal.hierarchies.base:Hierarchy.build": "hierarchy building",
    "shoal.engines.treatments:treat": "treatment",
    "shoal.pipeline.check:require_fit": "check",
}
"""Function → what its calls are called."""


@dataclass
class Stopwatch:
    """What was measured."""

    clock: Callable[[], float]
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    calls: Counter[str] = field(default_factory=Counter)
    _inner: list[float] = field(default_factory=list)

    def time(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """Return a function that adds its seconds to a stage, without those of stages inside it."""

        @wraps(function)
        def timed(*arguments: Any, **options: Any) -> Any:
            start = self.clock()
            self._inner.append(0.0)
            try:
                return function(*arguments, **options)
            finally:
                whole = self.clock() - start
                self.seconds[stage] += whole - self._inner.pop()
                if self._inner:
                    self._inner[-1] += whole

        return timed

    def ranked(self) -> dict[str, float]:
        """Return stage → seconds, most first."""
        return dict(sorted(self.seconds.items(), key=lambda item: -item[1]))

    def count(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a function whose calls are counted."""

        @wraps(function)
        def counted(*arguments: Any, **options: Any) -> Any:
            self.calls[name] += 1
            return function(*arguments, **options)

        return counted


@contextmanager
def watch(search: type, clock: Callable[[], float] = time.process_time) -> Iterator[Stopwatch]:
    """Yield a stopwatch for the calls that are made inside the block; ``search`` is the class of the algorithm."""
    watch = Stopwatch(clock)
    stages = {**STAGES, f"{search.__module__}:{search.__qualname__}.search": "search"}
    with ExitStack() as stack:
        for wrap, table in ((watch.time, stages), (watch.count, COUNTED)):
            for where, name in table.items():
                _replace(stack, where, wrap, name)
        yield watch


def find(where: str) -> tuple[Any, str]:
    """Return what holds a function, and the function's name in it: ``package.module:Class.method``."""
    module, _, path = where.partition(":")
    *owners, name = path.split(".")
    owner: Any = import_module(module)
    for part in owners:
        owner = getattr(owner, part)
    return owner, name


def _replace(stack: ExitStack, where: str, wrap: Callable[..., Callable[..., Any]], name: str) -> None:
    """Put a wrapped function in its place, and wherever a module has imported it by its name."""
    owner, attribute = find(where)
    function = getattr(owner, attribute)
    wrapped = wrap(function, name)
    if isinstance(owner, type):
        bound = isinstance(vars(owner).get(attribute), classmethod)
        stack.enter_context(patch.object(owner, attribute, staticmethod(wrapped) if bound else wrapped))
        return
    for module in [module for title, module in sys.modules.items() if title.split(".")[0] == "shoal"]:
        for key in [key for key, value in vars(module).items() if value is function]:
            stack.enter_context(patch.object(module, key, wrapped))


def format_stages(seconds: dict[str, float], whole: float) -> str:
    """Return the stages as text, longest first."""
    rest = whole - sum(seconds.values())
    parts = sorted({**seconds, "other": rest}.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {value:.2f} s" for name, value in parts)
