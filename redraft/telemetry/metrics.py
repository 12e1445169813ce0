"""Calls as metrics for Prometheus: counted, added up, and their seconds in a histogram, by model."""

from __future__ import annotations

import time
from contextvars import ContextVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from redraft.domain import Usage
from redraft.events import CallAnswered, CallFailed, CallStarted, Event

# From a local model's short reply to a long one of a model that thinks.
_SECONDS = (0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 240, 480)
_KINDS = ("prompt", "cached_prompt", "completion", "reasoning")


class CallMetrics:
    """The metrics of calls in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.in_flight = Gauge(
            "redraft_requests_in_flight", "Requests that are on their way.", ["model"], registry=registry
        )
        self._calls = Counter(
            "redraft_calls", "Attempts to ask a model, by how they ended.", ["model", "outcome"], registry=registry
        )
        self._retries = Counter("redraft_retries", "Attempts that had to be repeated.", ["model"], registry=registry)
        self._tokens = Counter("redraft_tokens", "Tokens, by what they were.", ["model", "kind"], registry=registry)
        self._cost = Counter("redraft_cost_usd", "Dollars, where the price is known.", ["model"], registry=registry)
        self._seconds = Histogram(
            "redraft_call_seconds", "How long answers took.", ["model"], buckets=_SECONDS, registry=registry
        )

    def answered(self, model: str, usage: Usage, cost_usd: float | None, seconds: float | None) -> None:
        """Count an answer."""
        self._calls.labels(model, "ok").inc()
        for kind in _KINDS:
            self._tokens.labels(model, kind).inc(getattr(usage, f"{kind}_tokens"))
        self._cost.labels(model).inc(cost_usd or 0.0)
        if seconds is not None:
            self._seconds.labels(model).observe(seconds)

    def failed(self, model: str, outcome: str = "failed", cost_usd: float | None = None) -> None:
        """Count an attempt that brought no answer."""
        self._calls.labels(model, outcome).inc()
        self._cost.labels(model).inc(cost_usd or 0.0)

    def repeated(self, model: str) -> None:
        """Count an attempt that had to be repeated."""
        self._retries.labels(model).inc()


class MetricsObserver:
    """An observer of runs, for an application that offers a registry of its own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._metrics = CallMetrics(registry)
        # Each call is a task of its own, or a part of one.
        self._began: ContextVar[float | None] = ContextVar("redraft_call_began", default=None)

    def __call__(self, event: Event) -> None:
        """Count what an event says."""
        match event:
            case CallStarted(model=model):
                self._metrics.in_flight.labels(model).inc()
                self._began.set(time.monotonic())
            case CallAnswered(_, usage, cost, cached=False, model=model):
                self._metrics.answered(model, usage, cost, self._ended(model))
            case CallFailed(_, _, again_in, model):
                self._ended(model)
                self._metrics.failed(model)
                if again_in is not None:
                    self._metrics.repeated(model)

    def _ended(self, model: str) -> float | None:
        """The seconds that the call of this task took. One that was never sent has none."""
        began = self._began.get()
        if began is None:
            return None
        self._began.set(None)
        self._metrics.in_flight.labels(model).dec()
        return time.monotonic() - began
