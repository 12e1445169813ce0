"""Batch metrics for Prometheus, read from the store on each scrape, wherever the workers are."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from redraft.domain import Usage
from redraft.errors import StoreError, UsageError
from redraft.store.calls import OK, SENT
from redraft.store.connection import Row
from redraft.store.store import Store
from redraft.telemetry.metrics import CallLabels, CallMetrics
from redraft.telemetry.stages import stage_of

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
        yield GaugeMetricFamily("redraft_batch_items_short", "Documents that are done and fell short.", short)
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
        asked = _asked(row)
        self._calls.waited(asked, row["waited"])
        if row["attempt"] > 1:
            self._calls.repeated(asked)
        if row["outcome"] != OK:
            self._calls.failed(asked, row["outcome"], row["cost_usd"])
            return
        tokens = ("prompt_tokens", "completion_tokens", "cached_prompt_tokens", "reasoning_tokens")
        self._calls.answered(asked, Usage(*(row[name] for name in tokens)), row["cost_usd"], row["seconds"])


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
