"""Runs, stages and calls as OpenTelemetry spans, sent by OTLP as configured by its standard environment variables.

A slow or dead collector delays nothing: spans are exported in the background, dropped when the queue is full, and
flushed only briefly at the end.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import version

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Span, Status, StatusCode, Tracer, set_span_in_context
from typing_extensions import override

from redraft.events import (
    CallAnswered,
    CallFailed,
    CallStarted,
    Event,
    RunDone,
    RunStarted,
    StageStarted,
    happens_in,
    streamed,
)

_FAREWELL_SECONDS = 3.0
_EXPORT_SECONDS = 2
_ERROR = Status(StatusCode.ERROR)


@dataclass(slots=True)
class _RunSpans:
    """The spans of an active run."""

    span: Span
    stage: Span | None = None
    seen: int = 0
    """The time of its last event."""

    @property
    def innermost(self) -> Span:
        return self.stage or self.span


class SpanObserver:
    """An observer that makes spans: of each run, its stages, and their calls. One observer can serve many concurrent
    runs."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._runs: dict[str, _RunSpans] = {}
        # A call starts and ends in one task.
        self._call: ContextVar[Span | None] = ContextVar("redraft_call_span", default=None)

    def __call__(self, event: Event) -> None:
        """Begin or end a span."""
        run = self._runs.get(happens_in())
        if run is not None:
            run.seen = time.time_ns()
        match event:
            case RunStarted(key):
                self._begin(key)
            case RunDone(key, reason):
                self._end(key, reason)
            case StageStarted(name, planned) if run is not None:
                _end_stage(run)
                run.stage = self._span("redraft.stage", run.span)
                run.stage.set_attributes({"redraft.stage": name, "redraft.planned_calls": planned})
            case CallStarted(model=model, waited=waited):
                call = self._span("redraft.call", run.innermost if run else None)
                call.set_attribute("redraft.model", model)
                if waited is not None:
                    call.set_attribute("redraft.waited_seconds", waited)
                self._call.set(call)
            case CallAnswered(cached=False):
                self._answered(event)
            case CallFailed(again_in=again_in):
                self._failed(again_in)

    def close(self) -> None:
        """End unfinished spans at the time of their run's last event."""
        for run in self._runs.values():
            for span in (run.stage, run.span):
                if span is not None:
                    span.set_status(_ERROR)
                    span.end(run.seen)
        self._runs.clear()

    def _begin(self, key: str) -> None:
        # A run resumed in this process is the same span.
        if key not in self._runs:
            self._runs[key] = _RunSpans(self._span("redraft.run", None), seen=time.time_ns())
            self._runs[key].span.set_attribute("redraft.run", key)

    def _end(self, key: str, reason: str) -> None:
        if (run := self._runs.pop(key, None)) is not None:
            _end_stage(run)
            run.span.set_attribute("redraft.stop_reason", reason)
            run.span.end()

    def _answered(self, event: CallAnswered) -> None:
        if (call := self._taken()) is None:
            return
        usage = event.usage
        call.set_attributes(
            {
                "redraft.prompt_tokens": usage.prompt_tokens,
                "redraft.completion_tokens": usage.completion_tokens,
                **({} if event.cost_usd is None else {"redraft.cost_usd": event.cost_usd}),
            }
        )
        call.end()

    def _failed(self, again_in: float | None) -> None:
        if (call := self._taken()) is None:
            return
        if again_in is not None:
            call.set_attribute("redraft.again_in_seconds", again_in)
        call.set_status(_ERROR)
        call.end()

    def _taken(self) -> Span | None:
        """Return the span of the current task's call; None if it was never sent."""
        call = self._call.get()
        self._call.set(None)
        return call

    def _span(self, name: str, parent: Span | None) -> Span:
        # An application's current span is the parent of the runs it makes.
        return self._tracer.start_span(name, set_span_in_context(parent) if parent else None)


def _end_stage(run: _RunSpans) -> None:
    if run.stage is not None:
        run.stage.end()
        run.stage = None


class _Tolerant(SpanExporter):
    """An exporter that counts failures instead of logging each one."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner = inner
        self.lost = 0

    @override
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._inner.export(spans)
        except Exception:  # noqa: BLE001  (a collector may do whatever it likes)
            result = SpanExportResult.FAILURE
        self.lost += len(spans) if result is SpanExportResult.FAILURE else 0
        return result

    @override
    def shutdown(self) -> None:
        self._inner.shutdown()

    @override
    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


@contextmanager
def sending(tell: Callable[[str], object]) -> Iterator[None]:
    """Send spans of all that happens within, to where OTEL_EXPORTER_OTLP_ENDPOINT says; `tell` hears if that failed."""
    # The exporter's logger must not report a dead collector to the terminal.
    log = logging.getLogger("opentelemetry")
    log.addHandler(logging.NullHandler())
    log.propagate = False
    exporter = _Tolerant(OTLPSpanExporter(timeout=_EXPORT_SECONDS))
    resource = Resource.create({"service.name": "redraft", "service.version": version("redraft")})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    observer = SpanObserver(provider.get_tracer("redraft"))
    try:
        with streamed(observer):
            yield
    finally:
        observer.close()
        ending = threading.Thread(target=provider.shutdown, daemon=True)
        ending.start()
        ending.join(_FAREWELL_SECONDS)
        if exporter.lost or ending.is_alive():
            tell("not all spans could be sent to OTEL_EXPORTER_OTLP_ENDPOINT; nothing else was affected")
