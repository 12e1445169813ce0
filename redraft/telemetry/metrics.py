"""Call metrics for Prometheus: counters and histograms of seconds by model and stage."""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from redraft.domain import Usage
from redraft.events import CallAnswered, CallFailed, CallStarted, Event
from redraft.telemetry.stages import stage_of

# From a local model's short reply to a long one of a reasoning model.
_SECONDS = (0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 240, 480)
# From no waiting to waiting for other calls to release budget.
_WAITED = (0.01, 0.1, 0.5, 1, 2, 5, 15, 60, 300, 900, 3600)
_BY = ("model", "stage")
_KINDS = ("prompt", "cached_prompt", "completion", "reasoning")


class CallLabels(NamedTuple):
    """The labels of call metrics: the model and the purpose."""

    model: str
    stage: str


class CallMetrics:
    """The call metrics in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.in_flight = Gauge("redraft_requests_in_flight", "Requests in flight.", _BY, registry=registry)
        self._calls = Counter(
            "redraft_calls", "Attempts to ask a model, by outcome.", [*_BY, "outcome"], registry=registry
        )
        self._retries = Counter("redraft_retries", "Attempts that had to be repeated.", _BY, registry=registry)
        self._tokens = Counter("redraft_tokens", "Tokens, by kind.", [*_BY, "kind"], registry=registry)
        self._cost = Counter("redraft_cost_usd", "Dollars, where the price is known.", _BY, registry=registry)
        self._seconds = Histogram(
            "redraft_call_seconds", "How long answers took.", _BY, buckets=_SECONDS, registry=registry
        )
        self._waited = Histogram(
            "redraft_call_wait_seconds",
            "How long attempts waited before they were sent: for a place, a limit a minute, the budget.",
            _BY,
            buckets=_WAITED,
            registry=registry,
        )

    def answered(self, asked: CallLabels, usage: Usage, cost_usd: float | None, seconds: float | None) -> None:
        """Count an answer."""
        self._calls.labels(*asked, "ok").inc()
        for kind in _KINDS:
            self._tokens.labels(*asked, kind).inc(getattr(usage, f"{kind}_tokens"))
        self._cost.labels(*asked).inc(cost_usd or 0.0)
        if seconds is not None:
            self._seconds.labels(*asked).observe(seconds)

    def failed(self, asked: CallLabels, outcome: str = "failed", cost_usd: float | None = None) -> None:
        """Count an attempt that brought no answer."""
        self._calls.labels(*asked, outcome).inc()
        self._cost.labels(*asked).inc(cost_usd or 0.0)

    def repeated(self, asked: CallLabels) -> None:
        """Count an attempt that had to be repeated."""
        self._retries.labels(*asked).inc()

    def waited(self, asked: CallLabels, seconds: float | None) -> None:
        """Count how long an attempt waited, where that is known."""
        if seconds is not None:
            self._waited.labels(*asked).observe(seconds)


class MetricsObserver:
    """An observer for applications that serve a registry of their own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._metrics = CallMetrics(registry)
        # Each call is its own task, or part of one.
        self._began: ContextVar[float | None] = ContextVar("redraft_call_began", default=None)

    def __call__(self, event: Event) -> None:
        """Count what an event says."""
        match event:
            case CallStarted(model=model, prompt=prompt, waited=waited):
                asked = CallLabels(model, stage_of(prompt))
                self._metrics.in_flight.labels(*asked).inc()
                self._metrics.waited(asked, waited)
                self._began.set(time.monotonic())
            case CallAnswered(_, usage, cost, cached=False, model=model, prompt=prompt):
                asked = CallLabels(model, stage_of(prompt))
                self._metrics.answered(asked, usage, cost, self._ended(asked))
            case CallFailed(again_in=again_in, model=model, prompt=prompt):
                asked = CallLabels(model, stage_of(prompt))
                self._ended(asked)
                self._metrics.failed(asked)
                if again_in is not None:
                    self._metrics.repeated(asked)

    def _ended(self, asked: CallLabels) -> float | None:
        """Return the seconds that the current task's call took; None if it was never sent."""
        began = self._began.get()
        if began is None:
            return None
        self._began.set(None)
        self._metrics.in_flight.labels(*asked).dec()
        return time.monotonic() - began
