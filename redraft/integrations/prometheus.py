"""Metrics for Prometheus: calls by model and stage, and the state of a batch, read from the store on each scrape."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict
from types import ModuleType
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from redraft.domain import Usage
from redraft.errors import StoreError, UsageError
from redraft.events import CallAnswered, CallFailed, CallStarted, Event
from redraft.prompts import coherence, factual, qa, revision, summarization
from redraft.prompts.contract import Prompt
from redraft.store.calls import OK, SENT
from redraft.store.connection import Row
from redraft.store.store import Store

# From a local model's short reply to a long one of a reasoning model.
_SECONDS = (0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 240, 480)
# From no waiting to waiting for other calls to release budget.
_WAITED = (0.01, 0.1, 0.5, 1, 2, 5, 15, 60, 300, 900, 3600)
_BY = ("model", "stage")
_KINDS = ("prompt", "cached_prompt", "completion", "reasoning")
OTHER = "other"
"""The stage of prompts from packages or applications."""
_STAGES: Mapping[ModuleType, str] = {
    summarization: "drafting",
    qa: "judging",
    factual: "judging",
    coherence: "judging",
    revision: "revising",
}
_OF = {var.name: stage for where, stage in _STAGES.items() for var in vars(where).values() if isinstance(var, Prompt)}
_OF |= {revision.DECIDE.name: "deciding", qa.TRACE_SENTENCES.name: "tracing", qa.WRITE_ANSWER.name: "answering"}
STAGES = (*dict.fromkeys([*_STAGES.values(), *_OF.values()]), OTHER)


def stage_of(prompt: str) -> str:
    """Return the stage of a prompt's calls."""
    return _OF.get(prompt, OTHER)


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
            "How long attempts waited before they were sent: for a slot, a rate limit or the budget.",
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
                labels = CallLabels(model, stage_of(prompt))
                self._metrics.in_flight.labels(*labels).inc()
                self._metrics.waited(labels, waited)
                self._began.set(time.monotonic())
            case CallAnswered(_, usage, cost, cached=False, model=model, prompt=prompt):
                labels = CallLabels(model, stage_of(prompt))
                self._metrics.answered(labels, usage, cost, self._ended(labels))
            case CallFailed(again_in=again_in, model=model, prompt=prompt):
                labels = CallLabels(model, stage_of(prompt))
                self._ended(labels)
                self._metrics.failed(labels)
                if again_in is not None:
                    self._metrics.repeated(labels)

    def _ended(self, asked: CallLabels) -> float | None:
        """Return the seconds that the current task's call took; None if it was never sent."""
        began = self._began.get()
        if began is None:
            return None
        self._began.set(None)
        self._metrics.in_flight.labels(*asked).dec()
        return time.monotonic() - began


# A run may be added to the budget a moment after its first call was booked.
_LATE = 200
HERE = "127.0.0.1"
_LAST = "SELECT coalesce(max(id), 0) AS id FROM calls"
_SINCE = """
    SELECT id, model, prompt, outcome, attempt, seconds, waited, cost_usd, prompt_tokens, completion_tokens,
    cached_prompt_tokens, reasoning_tokens FROM calls c
    WHERE id > ? AND EXISTS (SELECT 1 FROM budget_runs WHERE budget = ? AND budget_runs.run = c.run) ORDER BY id
"""


class BatchCollector(Collector):
    """The status of a batch from the store, and the calls that ended since this was created, each counted once."""

    def __init__(self, store: Store, batch: str, budget_key: str) -> None:
        self._store = store
        self._batch = batch
        self._budget_key = budget_key
        self._registry = CollectorRegistry()
        self._calls = CallMetrics(self._registry)
        self._lock = threading.Lock()
        row = store.connection.row(_LAST)
        self._from: int = row["id"] if row else 0
        """All calls up to this number have ended and are counted."""
        self._counted = set[int]()

    @override
    def collect(self) -> Iterable[Metric]:
        with self._lock:
            try:
                self._catch_up()
                yield from self._standing()
            except StoreError:
                # The database is briefly unavailable: report the last known values.
                pass
            yield from self._registry.collect()

    def _standing(self) -> Iterator[Metric]:
        counts = self._store.batches.counts(self._batch)
        calls, cost = self._store.reservations.used(self._budget_key)
        items = GaugeMetricFamily("redraft_batch_items", "Documents of the batch, by their state.", labels=["state"])
        numbers = asdict(counts)
        short = numbers.pop("short")
        for state, number in numbers.items():
            items.add_metric([state], number)
        yield items
        yield GaugeMetricFamily(
            "redraft_batch_items_short", "Documents that are done, but incomplete or below a goal.", short
        )
        yield GaugeMetricFamily("redraft_batch_calls", "Calls made for the batch, in total.", calls)
        if cost is not None:
            text = "Dollars spent on the batch; calls in flight count at their maximum."
            yield GaugeMetricFamily("redraft_batch_cost_usd", text, cost)

    def _catch_up(self) -> None:
        rows = self._store.connection.rows(_SINCE, (self._from, self._budget_key))
        self._calls.in_flight.clear()
        for row in rows:
            if row["outcome"] == SENT:
                self._calls.in_flight.labels(*_asked(row)).inc()
            elif row["id"] not in self._counted:
                self._count(row)
                self._counted.add(row["id"])
        if rows:
            in_flight = (row["id"] for row in rows if row["outcome"] == SENT)
            self._from = max(self._from, min(next(in_flight, rows[-1]["id"]) - 1, rows[-1]["id"] - _LATE))
            self._counted = {one for one in self._counted if one > self._from}

    def _count(self, row: Row) -> None:
        labels = _asked(row)
        self._calls.waited(labels, row["waited"])
        if row["attempt"] > 1:
            self._calls.repeated(labels)
        if row["outcome"] != OK:
            self._calls.failed(labels, row["outcome"], row["cost_usd"])
            return
        tokens = ("prompt_tokens", "completion_tokens", "cached_prompt_tokens", "reasoning_tokens")
        self._calls.answered(labels, Usage(*(row[name] for name in tokens)), row["cost_usd"], row["seconds"])


def _asked(row: Row) -> CallLabels:
    return CallLabels(row["model"], stage_of(row["prompt"]))


def address(port: int) -> str:
    """Return the address of the metrics."""
    return f"http://{HERE}:{port}/metrics"


@contextmanager
def served(store: Store, batch: str, budget_key: str, port: int) -> Iterator[None]:
    """Serve the metrics of a batch on this machine."""
    registry = CollectorRegistry()
    registry.register(BatchCollector(store, batch, budget_key))
    try:
        server, thread = start_http_server(port, HERE, registry)
    except OSError as error:
        raise UsageError(f"port {port} cannot be used: {error.strerror}", hint="name another --metrics-port") from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
