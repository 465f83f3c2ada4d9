"""Metrics: what the service did, as Prometheus reads it; counts and times, never a value of the data."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from threading import Lock

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """Counts requests, decisions and seconds.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.count("shoal_decisions_total", action="release")
    >>> metrics.took("/query", 0.02)
    >>> print(metrics.text({"shoal_requests_open": 1}))  # doctest: +ELLIPSIS
    # TYPE shoal_decisions_total counter
    shoal_decisions_total{action="release"} 1
    # TYPE shoal_request_seconds histogram
    shoal_request_seconds_bucket{endpoint="/query",le="0.005"} 0
    ...
    # TYPE shoal_requests_open gauge
    shoal_requests_open 1
    <BLANKLINE>
    """

    def __init__(self) -> None:
        self._counts: dict[str, Counter[Labels]] = {}
        self._times: dict[str, list[int]] = {}
        self._sums: Counter[str] = Counter()
        self._lock = Lock()

    def count(self, name: str, **labels: str) -> None:
        """Count one thing; labels are words of the service's own, never a client's text."""
        with self._lock:
            self._counts.setdefault(name, Counter())[tuple(sorted(labels.items()))] += 1

    def took(self, endpoint: str, seconds: float) -> None:
        """Note how long a request took."""
        with self._lock:
            times = self._times.setdefault(endpoint, [0] * (len(_BOUNDS) + 1))
            times[bisect_left(_BOUNDS, seconds)] += 1
            self._sums[endpoint] += seconds  # type: ignore[assignment]

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return everything as Prometheus reads it."""
        with self._lock:
            lines = [line for name in sorted(self._counts) for line in _counter(name, self._counts[name])]
            lines += self._histogram("shoal_request_seconds")
        for name, value in gauges.items():
            lines += [f"# TYPE {name} gauge", f"{name} {value:g}"]
        return "\n".join(lines) + "\n"

    def _histogram(self, name: str) -> Iterable[str]:
        yield f"# TYPE {name} histogram"
        for endpoint, times in sorted(self._times.items()):
            total = 0
            for bound, count in zip((*_BOUNDS, None), times, strict=True):
                total += count
                upper = "+Inf" if bound is None else f"{bound:g}"
                yield f'{name}_bucket{{endpoint="{endpoint}",le="{upper}"}} {total}'
            yield f'{name}_sum{{endpoint="{endpoint}"}} {self._sums[endpoint]:g}'
            yield f'{name}_count{{endpoint="{endpoint}"}} {total}'


def _counter(name: str, counts: Counter[Labels]) -> Iterable[str]:
    yield f"# TYPE {name} counter"
    for labels, count in sorted(counts.items()):
        told = ",".join(f'{label}="{value}"' for label, value in labels)
        yield f"{name}{{{told}}} {count}" if told else f"{name} {count}"
