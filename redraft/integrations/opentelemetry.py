"""Runs, stages and calls as OpenTelemetry spans, sent by OTLP as configured by its standard environment variables.

Calls have the attributes of the conventions for generative AI (`gen_ai.*`) besides redraft's own, and each score is an
event `gen_ai.evaluation.result` of its stage.

A slow or dead collector delays nothing: spans are exported in the background, dropped when the queue is full, and
flushed only briefly at the end.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
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
_OF_SCORE = ("round", "judged", "unjudged", "offline_check")
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


class SpanObserver:
    """An observer that makes spans: of each run, its stages, and their calls. One observer can serve many concurrent
    runs."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        # The span of each active run, and that of its stage.
        self._runs: dict[str, list[Span]] = {}
        # A call starts and ends in one task.
        self._call: ContextVar[Span | None] = ContextVar("redraft_call_span", default=None)

    def __call__(self, event: Event) -> None:
        """Begin or end a span."""
        spans = self._runs.get(current_run(), [])
        match event:
            case RunStarted(key) if key not in self._runs:  # one resumed in this process is the same span
                self._runs[key] = [self._begin("redraft.run", [], {"redraft.run": key})]
            case RunDone(key, reason) if (ended := self._runs.pop(key, None)) is not None:
                ended[0].set_attribute("redraft.stop_reason", reason)
                for span in reversed(ended):
                    span.end()
            case StageStarted(name, planned) if spans:
                for stage in spans[1:]:
                    stage.end()
                attributes = {"redraft.stage": name, "redraft.planned_calls": planned}
                spans[1:] = [self._begin("redraft.stage", spans[:1], attributes)]
            case CallStarted():
                attributes = _attributes_of(event)
                model = attributes.get("gen_ai.request.model")
                name, kind = (f"chat {model}", SpanKind.CLIENT) if model else ("redraft.call", SpanKind.INTERNAL)
                self._call.set(self._begin(name, spans, attributes, kind))
            case CallAnswered(cached=False) | CallFailed() if (call := self._call.get()) is not None:
                self._call.set(None)
                if isinstance(event, CallFailed):
                    call.set_status(_ERROR)
                    outcome = {"redraft.again_in_seconds": event.again_in, "error.type": event.code or None}
                else:
                    outcome = _attributes_of(event)
                call.set_attributes(_without_none(outcome))
                call.end()
            case MetricScored() if spans:
                # Reasons are left out, since they may quote texts.
                attributes = {
                    "gen_ai.evaluation.name": event.metric,
                    "gen_ai.evaluation.score.value": event.score,
                    "gen_ai.evaluation.score.label": event.outcome,
                    "error.type": "failed" if event.outcome == "failed" else None,
                    **{f"redraft.{name}": getattr(event, name) for name in _OF_SCORE},
                }
                spans[-1].add_event("gen_ai.evaluation.result", _without_none(attributes))

    def close(self) -> None:
        """End unfinished spans."""
        for spans in self._runs.values():
            spans[0].set_status(_ERROR)
            for span in reversed(spans):
                span.end()
        self._runs.clear()

    def _begin(
        self, name: str, above: Sequence[Span], attributes: Mapping[str, Any], kind: SpanKind = SpanKind.INTERNAL
    ) -> Span:
        # An application's current span is the parent of the runs it makes.
        context = set_span_in_context(above[-1]) if above else None
        return self._tracer.start_span(name, context, kind, _without_none(attributes))


def _attributes_of(event: CallStarted | CallAnswered) -> dict[str, Any]:
    """Return what is known of a call when it starts, or by its answer: of a model within this process only redraft's
    own attributes, of others also those of the conventions."""
    provider, _, rest = event.model.partition(":")
    is_service = bool(rest) and provider not in (EXTRACTIVE, NLI)
    if isinstance(event, CallAnswered):
        usage = event.usage
        attributes: dict[str, Any] = {
            "redraft.prompt_tokens": usage.prompt_tokens,
            "redraft.completion_tokens": usage.completion_tokens,
            "redraft.cost_usd": event.cost_usd,
        }
        conventional: dict[str, Any] = {
            "gen_ai.response.model": event.answered_by or None,
            "gen_ai.response.finish_reasons": [event.finish_reason] if event.finish_reason else None,
            "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.completion_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_prompt_tokens or None,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens or None,
        }
    else:
        attributes = {"redraft.model": event.model, "redraft.waited_seconds": event.waited}
        name, separator, address = rest.partition("@http")
        parts, provider = urlsplit(f"http{address}" if separator else ""), _PROVIDERS.get(provider, provider)
        conventional = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.system": provider,
            "gen_ai.request.model": name,
            "gen_ai.output.type": "json" if event.structured else "text",
            **{f"gen_ai.request.{option}": getattr(event, option) for option in ("temperature", "top_p", "max_tokens")},
            "server.address": parts.hostname,
            "server.port": parts.port or _PORTS.get(parts.scheme),
        }
    return attributes | (conventional if is_service else {})


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


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
