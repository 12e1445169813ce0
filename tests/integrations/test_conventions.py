"""Spans of calls and scores have the attributes of OpenTelemetry's conventions for generative AI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from redraft import Session
from redraft.integrations.opentelemetry import SpanObserver
from tests.chatserver import ChatRequest, ChatServer, Fault, Reply, summarizer
from tests.judges import KEY, island, summary_of


async def spans_of(folder: Path, *metrics: str, **models: Any) -> list[ReadableSpan]:
    """Return the spans of a draft, or of an evaluation by some metrics."""
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    async with Session(folder / "x.db", observer=SpanObserver(provider.get_tracer("test")), **models) as session:
        if metrics:
            await session.evaluate(island(), summary_of(1), metrics=metrics)
        else:
            await session.summarize(island(), words=60, strategy="direct", temperature=0.5)
    return list(kept.get_finished_spans())


def scores_in(spans: list[ReadableSpan]) -> dict[str, dict[str, Any]]:
    """Return the attributes of the scores by metric."""
    events = [event for span in spans for event in span.events if event.name == "gen_ai.evaluation.result"]
    return {str(one["gen_ai.evaluation.name"]): one for one in (dict(event.attributes or {}) for event in events)}


@pytest.mark.slow
async def test_call_has_conventional_attributes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    write = summarizer()

    def script(request: ChatRequest) -> Reply:
        return Fault("status", status=503) if request.index == 0 else write(request)

    with ChatServer(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        calls = [one for one in await spans_of(tmp_path, model="openai:m") if one.name == "chat m"]
    assert {call.kind for call in calls} == {SpanKind.CLIENT}
    failed, answered = [dict(call.attributes or {}) for call in calls]
    for said in (failed, answered):
        assert said["gen_ai.operation.name"] == "chat"
        assert said["gen_ai.provider.name"] == said["gen_ai.system"] == "openai"
        assert said["gen_ai.request.model"] == "m"
        assert said["gen_ai.request.temperature"] == 0.5
        assert said["gen_ai.output.type"] == "text"
        assert f"http://{said['server.address']}:{said['server.port']}/v1" == server.base_url
        assert str(said["redraft.model"]).startswith("openai:m@http://")
    assert failed["error.type"] == "transient"
    assert "gen_ai.usage.input_tokens" not in failed
    assert answered["gen_ai.usage.input_tokens"] == answered["redraft.prompt_tokens"]
    assert answered["gen_ai.usage.output_tokens"] == answered["redraft.completion_tokens"]
    assert answered["gen_ai.response.model"] == "m"
    assert answered["gen_ai.response.finish_reasons"] == ("stop",)


async def test_built_in_model_is_no_service(tmp_path: Path) -> None:
    calls = [one for one in await spans_of(tmp_path) if one.name == "redraft.call"]
    assert calls
    assert not any(name.startswith("gen_ai.") for call in calls for name in call.attributes or {})
    score = scores_in(await spans_of(tmp_path, "consistency"))["consistency"]
    assert 0 <= score["gen_ai.evaluation.score.value"] <= 1
    assert score["gen_ai.evaluation.score.label"] == "scored"
    assert score["redraft.round"] == 0


async def test_a_metric_without_a_score_says_so(tmp_path: Path) -> None:
    score = scores_in(await spans_of(tmp_path, "booookscore"))["booookscore"]
    assert (score["gen_ai.evaluation.score.label"], score["error.type"]) == ("failed", "failed")
    assert "gen_ai.evaluation.score.value" not in score
