"""Runs as spans at a collector: what is in them, what is not, and that a dead collector does no harm."""

from __future__ import annotations

import gc
import time
from pathlib import Path

import pytest

from tests.chatserver import ChatRequest, ChatServer, Fault, Reply, summarizer
from tests.cli.local_command import LocalCommand
from tests.command import Command
from tests.integrations.conftest import Collector, attributes, expect_no_secret

_ASKED = ("--strategy", "hierarchical", "-m", "openai:m", "-w", "60", "--chunk-tokens", "192")
_SENDING = (*_ASKED, "--set", "send_spans=true")


def command(folder: Path, url: str, endpoint: str) -> Command:
    return Command(folder, url, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)


@pytest.mark.nightly
def test_run_has_spans_of_stages_and_calls(folder: Path, collector: Collector) -> None:
    write = summarizer()

    def script(request: ChatRequest) -> Reply:
        return Fault("status", status=503) if request.index == 1 else write(request)

    with ChatServer(script) as server:
        done = command(folder, server.base_url, collector.url).run(
            "summarize", "in/patient-0.md", *_SENDING, "--set", "prices=prices.toml", "--json"
        )
        assert done.code == 0, done.err
        (run,) = collector.named("redraft.run")
        assert attributes(run) == {"redraft.run": done.json["run"], "redraft.stop_reason": "complete"}
        stages = collector.named("redraft.stage")
        assert stages
        assert {stage.parent_span_id for stage in stages} == {run.span_id}
        calls = collector.named("chat m")
        assert len(calls) == len(server.seen)
    assert {call.parent_span_id for call in calls} <= {stage.span_id for stage in stages}
    assert {call.trace_id for call in calls} == {run.trace_id}
    answered = [attributes(call) for call in calls if call.status.code != 2]
    assert len(answered) == len(calls) - 1, "the one that the server refused has failed"
    assert {message["redraft.model"].partition("@")[0] for message in answered} == {"openai:m"}
    assert all(0 <= message["redraft.waited_seconds"] < 30 for message in answered)
    assert all(message["redraft.prompt_tokens"] > 0 and message["redraft.cost_usd"] > 0 for message in answered)
    assert all(run.start_time_unix_nano <= call.start_time_unix_nano <= run.end_time_unix_nano for call in calls)
    for message in collector.sent:
        expect_no_secret(message)


@pytest.mark.nightly
def test_batch_workers_send_spans(folder: Path, collector: Collector) -> None:
    with ChatServer() as server:
        done = command(folder, server.base_url, collector.url).run("batch", "in", *_SENDING, "--workers", "2", "--json")
        assert done.code == 0, done.err
        assert len(collector.named("chat m")) == len(server.seen)
    runs = collector.named("redraft.run")
    assert len({attributes(run)["redraft.run"] for run in runs}) == len(runs) == 3
    traces = {call.trace_id for call in collector.named("chat m")}
    assert traces == {run.trace_id for run in runs}, "each run has its own calls"
    for message in collector.sent:
        expect_no_secret(message)


@pytest.mark.nightly
@pytest.mark.parametrize("hangs", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_dead_collector_does_no_harm(folder: Path, hangs: bool) -> None:
    with ChatServer() as server, Collector(hangs=True) as one:
        began = time.monotonic()
        inside = command(folder, server.base_url, one.url if hangs else "http://127.0.0.1:9")
        done = inside.run("summarize", "in/patient-0.md", *_SENDING)
        took = time.monotonic() - began
    assert done.code == 0, done.err
    assert "not all spans could be sent" in done.err
    assert "Traceback" not in done.err
    assert took < 20


@pytest.mark.slow
def test_without_the_option_nothing_is_sent(folder: Path, collector: Collector) -> None:
    with ChatServer() as server:
        done = command(folder, server.base_url, collector.url).run("summarize", "in/patient-0.md", *_ASKED)
    assert done.code == 0, done.err
    assert not collector.sent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "needs to know where spans go"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "says grpc"),
    ],
)
def test_unreachable_collector_is_reported_first(folder: Path, environment: dict[str, str], said: str) -> None:
    with ChatServer() as server:
        inside = LocalCommand(folder, server.base_url, **environment)
        for command in ("batch", "summarize"):
            done = inside.run(command, "in/patient-0.md", *_SENDING)
            assert done.code == 2, done.err
            assert said in done.err
        assert not server.seen
    gc.collect()  # Work that was not begun is not left lying about, which would be a warning here.


def test_missing_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redraft.plugins.find_spec", lambda name: None)
    inside = LocalCommand(folder, "http://127.0.0.1:9")
    done = inside.run("batch", "in", *_SENDING)
    assert done.code == 2, done.err
    assert 'pip install "redraft[telemetry]"' in done.err
    assert inside.run("batch", "in", *_ASKED, "--engine", "nobody's").code == 2
    assert inside.run("batch", "status", "--json").json["batches"] == [], "what cannot be worked on is not opened"
