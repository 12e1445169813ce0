"""Runs, stages and calls as OpenTelemetry spans, sent by OTLP as configured by its standard environment variables.

Calls have the attributes of the conventions for generative AI (`gen_ai.*`) besides redraft's own, and each score is an
event `gen_ai.evaluation.result` of its stage.

A slow or dead collector delays nothing: spans are exported in the background, dropped when the queue is full, and
flushed only briefly at the end.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from typing_extensions import override

from redraft.events import (
    CallAnswered,
    CallFailed,
    CallStarted,
    Event,
    MetricScored,
    RunDone,
    RunStarted,
    StageStarted,
    current_run,
    stream_to,
)
from redraft.settings import EXTRACTIVE, NLI

_FAREWELL_SECONDS = 3.0
_EXPORT_SECONDS = 2
_ERROR = Status(StatusCode.ERROR)
_PORTS = {"http": 80, "https": 443}
# The names of the conventions for providers that LangChain names otherwise.
_PROVIDERS = {
    "amazon_bedrock": "aws.bedrock",
    "bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "azure_openai": "azure.ai.openai",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "mistralai": "mistral_ai",
    "xai": "x_ai",
}


@dataclass(slots=True)
class _RunSpans:
    """The spans of an active run."""

    span: Span
    stage: Span | None = None
    seen: int = 0
    """The time of its last event."""


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
        run = self._runs.get(current_run())
        if run is not None:
            run.seen = time.time_ns()
        match event:
            case RunStarted(key) if key not in self._runs:  # one resumed in this process is the same span
                self._runs[key] = _RunSpans(self._span("redraft.run", None), seen=time.time_ns())
                self._runs[key].span.set_attribute("redraft.run", key)
            case RunDone(key, reason) if (done := self._runs.pop(key, None)) is not None:
                _end_stage(done)
                done.span.set_attribute("redraft.stop_reason", reason)
                done.span.end()
            case StageStarted(name, planned) if run is not None:
                _end_stage(run)
                run.stage = self._span("redraft.stage", run.span)
                run.stage.set_attributes({"redraft.stage": name, "redraft.planned_calls": planned})
            case CallStarted():
                self._call.set(self._begun(event, (run.stage or run.span) if run else None))
            case CallAnswered(cached=False):
                self._answered(event)
            case CallFailed() if (call := self._taken()) is not None:
                call.set_attributes(
                    _known({"redraft.again_in_seconds": event.again_in, "error.type": event.code or None})
                )
                call.set_status(_ERROR)
                call.end()
            case MetricScored() if run is not None:
                # Reasons are left out, since they may quote texts.
                attributes = {
                    "gen_ai.evaluation.name": event.metric,
                    "gen_ai.evaluation.score.value": event.score,
                    "gen_ai.evaluation.score.label": event.outcome,
                    "error.type": "failed" if event.outcome == "failed" else None,
                    "redraft.round": event.round,
                    "redraft.judged": event.judged,
                    "redraft.unjudged": event.unjudged,
                    "redraft.offline_check": event.offline_check,
                }
                (run.stage or run.span).add_event("gen_ai.evaluation.result", _known(attributes))

    def close(self) -> None:
        """End unfinished spans at the time of their run's last event."""
        for run in self._runs.values():
            for span in (run.stage, run.span):
                if span is not None:
                    span.set_status(_ERROR)
                    span.end(run.seen)
        self._runs.clear()

    def _begun(self, event: CallStarted, parent: Span | None) -> Span:
        attributes = {"redraft.model": event.model, "redraft.waited_seconds": event.waited}
        provider, name, address = _parts(event.model)
        if not provider:
            # A model within this process.
            call = self._span("redraft.call", parent)
            call.set_attributes(_known(attributes))
            return call
        call = self._span(f"chat {name}", parent, SpanKind.CLIENT)
        provider = _PROVIDERS.get(provider, provider)
        conventional = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.system": provider,
            "gen_ai.request.model": name,
            "gen_ai.output.type": "json" if event.structured else "text",
            "gen_ai.request.temperature": event.temperature,
            "gen_ai.request.top_p": event.top_p,
            "gen_ai.request.max_tokens": event.max_tokens,
            "server.address": urlsplit(address).hostname,
            "server.port": urlsplit(address).port or _PORTS.get(urlsplit(address).scheme),
        }
        call.set_attributes(_known({**attributes, **conventional}))
        return call

    def _answered(self, event: CallAnswered) -> None:
        if (call := self._taken()) is None:
            return
        usage = event.usage
        call.set_attributes(
            {
                "redraft.prompt_tokens": usage.prompt_tokens,
                "redraft.completion_tokens": usage.completion_tokens,
                **_known({"redraft.cost_usd": event.cost_usd}),
            }
        )
        if _parts(event.model)[0]:
            conventional = {
                "gen_ai.response.model": event.answered_by or None,
                "gen_ai.response.finish_reasons": [event.finish_reason] if event.finish_reason else None,
                "gen_ai.usage.input_tokens": usage.prompt_tokens,
                "gen_ai.usage.output_tokens": usage.completion_tokens,
                "gen_ai.usage.cache_read.input_tokens": usage.cached_prompt_tokens or None,
                "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens or None,
            }
            call.set_attributes(_known(conventional))
        call.end()

    def _taken(self) -> Span | None:
        """Return the span of the current task's call; None if it was never sent."""
        call = self._call.get()
        self._call.set(None)
        return call

    def _span(self, name: str, parent: Span | None, kind: SpanKind = SpanKind.INTERNAL) -> Span:
        # An application's current span is the parent of the runs it makes.
        return self._tracer.start_span(name, set_span_in_context(parent) if parent else None, kind)


def _parts(model: str) -> tuple[str, str, str]:
    """Return the provider, name and address of a model; no provider for one within this process."""
    provider, separator, named = model.partition(":")
    if not separator or provider in (EXTRACTIVE, NLI):
        return "", model, ""
    name, _, address = named.partition("@http")
    return provider, name, address and f"http{address}"


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _end_stage(run: _RunSpans) -> None:
    if run.stage is not None:
        run.stage.end()
        run.stage = None


class _CountingExporter(OTLPSpanExporter):
    """An exporter that counts failures instead of logging each one."""

    lost = 0

    @override
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = super().export(spans)
        except Exception:  # noqa: BLE001  (a collector may do whatever it likes)
            result = SpanExportResult.FAILURE
        self.lost += len(spans) if result is SpanExportResult.FAILURE else 0
        return result


@contextmanager
def sending(tell: Callable[[str], object]) -> Iterator[None]:
    """Send spans of all that happens within, to where OTEL_EXPORTER_OTLP_ENDPOINT says; `tell` hears if that failed."""
    # The exporter's logger must not report a dead collector to the terminal.
    log = logging.getLogger("opentelemetry")
    log.addHandler(logging.NullHandler())
    log.propagate = False
    exporter = _CountingExporter(timeout=_EXPORT_SECONDS)
    resource = Resource.create({"service.name": "redraft", "service.version": version("redraft")})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    observer = SpanObserver(provider.get_tracer("redraft"))
    try:
        with stream_to(observer):
            yield
    finally:
        observer.close()
        ending = threading.Thread(target=provider.shutdown, daemon=True)
        ending.start()
        ending.join(_FAREWELL_SECONDS)
        if exporter.lost or ending.is_alive():
            tell("not all spans could be sent to OTEL_EXPORTER_OTLP_ENDPOINT; nothing else was affected")
