"""Metrics: what the service did, as Prometheus reads it; counts and times, never a value of the data."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counts requests, decisions and seconds; labels are words of the service's own, never a client's text.

    Examples
    --------
    >>> metrics = Metrics(open_requests=lambda: 1)
    >>> metrics.count_decision("release")
    >>> metrics.count_request("/query", 200, 0.02)
    >>> [line for line in metrics.to_text().splitlines() if line.startswith("shoal_decisions_total")]
    ['shoal_decisions_total{action="release"} 1.0']
    """

    def __init__(self, open_requests: Callable[[], float]) -> None:
        self._registry = registry = CollectorRegistry()
        labels = ["endpoint", "status"]
        self._requests = Counter("shoal_requests_total", "HTTP requests.", labels, registry=registry)
        self._decisions = Counter("shoal_decisions_total", "What owners decided.", ["action"], registry=registry)
        self._keys = Counter("shoal_keys_refused_total", "Keys that are not good.", registry=registry)
        self._seconds = Histogram(
            "shoal_request_seconds", "How long requests take.", ["endpoint"], buckets=_BOUNDS, registry=registry
        )
        Gauge("shoal_requests_open", "Requests that are answered now.", registry=registry).set_function(open_requests)

    def count_request(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request, and note how long it took."""
        self._requests.labels(endpoint, str(status)).inc()
        self._seconds.labels(endpoint).observe(seconds)

    def count_decision(self, action: str) -> None:
        """Count what an owner decided."""
        self._decisions.labels(action).inc()

    def count_refused_key(self) -> None:
        """Count a key that is not good."""
        self._keys.inc()

    def to_text(self) -> str:
        """Return everything as Prometheus reads it."""
        return generate_latest(self._registry).decode()
