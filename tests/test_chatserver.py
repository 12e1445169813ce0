"""The chat server that the other tests talk to does what they rely on."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import APIStatusError, OpenAI

from tests.chatserver import Answer, ChatServer, Fault, Seen, linear_latency, summarizer

CLIENT = httpx.Client(limits=httpx.Limits(max_keepalive_connections=0))
TOOLS: dict[str, Any] = {
    "tools": [{"type": "function", "function": {"name": "summary", "parameters": {"type": "object"}}}],
    "tool_choice": {"type": "function", "function": {"name": "summary"}},
}


def post(server: ChatServer, text: str = "Hello there!", timeout: float = 5.0, **body: Any) -> httpx.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **body}
    headers = {"Authorization": "Bearer key"}
    return CLIENT.post(f"{server.base_url}/chat/completions", json=body, headers=headers, timeout=timeout)


def said(response: httpx.Response) -> str:
    return str(response.json()["choices"][0]["message"]["content"])


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 3
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_answer_carries_usage_and_is_recorded() -> None:
    with ChatServer(["x" * 40, Answer("two", usage=None), Answer("abcd", reasoning_tokens=5)]) as server:
        first, second, third = (post(server, seed=7).json() for _ in range(3))
        assert CLIENT.get(f"{server.base_url}/models").json()["data"][0]["id"] == "test-model"
        seen = server.answered[0]
    assert first["choices"][0]["message"]["content"] == seen.reply == "x" * 40
    assert first["choices"][0]["finish_reason"] == "stop"
    assert (first["usage"]["prompt_tokens"], first["usage"]["completion_tokens"]) == (3, 10)
    assert "usage" not in second
    assert third["usage"]["completion_tokens"] == 6
    assert third["usage"]["completion_tokens_details"] == {"reasoning_tokens": 5}
    assert (seen.index, seen.status, seen.prompt_tokens, seen.completion_tokens) == (0, 200, 3, 10)
    assert (seen.model, seen.body["seed"], seen.authorization) == ("m", 7, "Bearer key")
    assert seen.path == "/v1/chat/completions"
    assert 0 < seen.start <= seen.end


def test_an_exhausted_script_says_so() -> None:
    with ChatServer(["only"]) as server:
        post(server)
        response = post(server)
    assert response.status_code == 500
    assert "exhausted" in response.json()["error"]["message"]


def test_scripts_may_be_asynchronous_and_mixed() -> None:
    async def echo(seen: Seen) -> str:
        return str(seen.messages[0]["content"])

    with ChatServer([echo, lambda seen: Answer(str(seen.index)), "three"]) as server:
        assert [said(post(server, "one")) for _ in range(3)] == ["one", "1", "three"]


def test_many_requests_are_in_flight_at_once() -> None:
    barrier = asyncio.Barrier(64)

    async def once_all_are_here(_: Seen) -> str:
        await barrier.wait()
        return "yes"

    with ChatServer(once_all_are_here) as server, ThreadPoolExecutor(64) as pool:
        statuses = [response.status_code for response in pool.map(lambda _: post(server), range(64))]
        assert (server.peak, server.in_flight, len(server.answered)) == (64, 0, 64)
    assert statuses == [200] * 64


def test_a_plain_request_costs_little() -> None:
    with ChatServer(lambda _: "yes") as server:
        times = []
        for _ in range(50):
            start = time.monotonic()
            post(server)
            times.append(time.monotonic() - start)
    assert sorted(times)[len(times) // 2] < 0.01


def test_error_statuses_look_like_the_real_ones() -> None:
    full = Fault("status", status=400, message="Too long.", param="messages", code="context_length_exceeded")
    faults = [Fault("status", status=429, retry_after=0.5), Fault("status", status=503), full]
    with ChatServer(faults) as server:
        limited, down, long = (post(server) for _ in faults)
        assert [seen.status for seen in server.seen] == [429, 503, 400]
        assert server.answered == []
    assert (limited.status_code, limited.headers["retry-after"]) == (429, "0.5")
    assert limited.json()["error"]["code"] == "rate_limit_exceeded"
    assert (down.status_code, down.json()["error"]["type"]) == (503, "server_error")
    assert "retry-after" not in down.headers
    assert long.json()["error"] == {
        "message": "Too long.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }


def test_the_sdk_reads_answers_and_errors() -> None:
    with (
        ChatServer(["fine", Fault("status", status=401)]) as server,
        OpenAI(base_url=server.base_url, api_key="key", max_retries=0) as client,
    ):

        def ask() -> str | None:
            asked = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hello"}])
            return asked.choices[0].message.content

        assert ask() == "fine"
        with pytest.raises(APIStatusError) as caught:
            ask()
    assert (caught.value.status_code, caught.value.code) == (401, "invalid_api_key")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", ["drop", "drop_midway"])
def test_a_dropped_connection(kind: Any, stream: bool) -> None:
    with ChatServer([Fault(kind), "after"]) as server:
        with pytest.raises(httpx.RemoteProtocolError):
            post(server, stream=stream)
        assert said(post(server)) == "after"
        assert [(seen.fault, seen.answered) for seen in server.seen] == [(kind, False), ("", True)]
        assert server.seen[0].status == (0 if kind == "drop" else 200)


def test_a_hang_ends_with_the_client_or_with_the_server() -> None:
    with ChatServer(lambda _: Fault("hang")) as server:
        with pytest.raises(httpx.ReadTimeout):
            post(server, timeout=0.2)
        wait_for(lambda: server.in_flight == 0)

        def give_up() -> None:
            with pytest.raises(httpx.TransportError):
                post(server)

        thread = threading.Thread(target=give_up)
        thread.start()
        wait_for(lambda: server.in_flight == 1)
        start = time.monotonic()
    assert time.monotonic() - start < 0.5
    thread.join()
    assert [seen.status for seen in server.seen] == [0, 0]
    assert all(seen.end for seen in server.seen)


def test_unreadable_replies_are_not_answers() -> None:
    kinds: list[Any] = ["html", "no_choices", "null_content", "malformed"]
    with ChatServer([Fault(kind) for kind in kinds]) as server:
        html, no_choices, null_content, malformed = (post(server) for _ in kinds)
        assert [seen.status for seen in server.seen] == [200] * 4
        assert server.answered == []
    assert html.headers["content-type"].startswith("text/html")
    assert no_choices.json()["choices"] == []
    assert null_content.json()["choices"][0]["message"]["content"] is None
    with pytest.raises(json.JSONDecodeError):
        malformed.json()


def test_replies_may_be_slow_cut_filtered_or_refused() -> None:
    odd = [Answer("cut", "length"), Answer("", "content_filter"), Answer(refusal="No.")]
    with ChatServer([Fault("drip", "slowly", seconds=0.3), *odd]) as server:
        start = time.monotonic()
        assert said(post(server)) == "slowly"
        assert time.monotonic() - start >= 0.29
        cut, filtered, refused = (post(server).json()["choices"][0] for _ in odd)
        assert len(server.answered) == 4
    assert cut["finish_reason"] == "length"
    assert filtered["finish_reason"] == "content_filter"
    assert (refused["message"]["content"], refused["message"]["refusal"]) == (None, "No.")


@pytest.mark.parametrize(
    ("feature", "body", "param", "message"),
    [
        (
            "json_schema",
            {"response_format": {"type": "json_schema"}},
            "response_format",
            "'json_schema' is not",
        ),
        (
            "json_object",
            {"response_format": {"type": "json_object"}},
            "response_format",
            "'json_object' is not",
        ),
        ("tools", TOOLS, "tools", "'tools' is not supported"),
        (
            "temperature",
            {"temperature": 0.5},
            "temperature",
            "does not support 0.5 with this model. Only the",
        ),
        ("max_completion_tokens", {"max_completion_tokens": 9}, "max_completion_tokens", "Use 'max_tokens'"),
    ],
)
def test_a_provider_refuses_a_feature(feature: str, body: dict[str, Any], param: str, message: str) -> None:
    with ChatServer(lambda _: "yes", refuses={feature}) as server:
        response = post(server, **body)
        assert post(server, temperature=1).status_code == 200
    error = response.json()["error"]
    assert (response.status_code, error["param"], error["type"]) == (400, param, "invalid_request_error")
    assert message in error["message"]


def test_text_becomes_the_arguments_of_a_forced_tool() -> None:
    with ChatServer(['{"text": "broken', Answer("{}", "length"), "plain"]) as server:
        wrapped, cut = (post(server, **body).json()["choices"][0] for body in (TOOLS, TOOLS))
        assert said(post(server, tools=TOOLS["tools"])) == "plain"
    assert wrapped["message"]["content"] is None
    function = wrapped["message"]["tool_calls"][0]["function"]
    assert function == {"name": "summary", "arguments": '{"text": "broken'}
    assert (wrapped["finish_reason"], cut["finish_reason"]) == ("tool_calls", "length")


@pytest.mark.slow
def test_limits_answer_429() -> None:
    released = threading.Event()

    async def once_released(_: Seen) -> str:
        await asyncio.to_thread(released.wait)
        return "yes"

    with (
        ChatServer(once_released, limit_concurrency=2, retry_after=1) as server,
        ThreadPoolExecutor(5) as pool,
    ):
        requests = [pool.submit(post, server) for _ in range(5)]
        wait_for(lambda: len(server.seen) == 5 and server.in_flight == 2)
        released.set()
        responses = [request.result() for request in requests]
    assert sorted(r.status_code for r in responses) == [200, 200, 429, 429, 429]
    assert {r.headers.get("retry-after") for r in responses} == {None, "1"}
    with ChatServer(lambda _: "yes", limit_per_minute=2, minute=0.5) as server:
        assert [post(server).status_code for _ in range(3)] == [200, 200, 429]
        time.sleep(0.5)
        assert post(server).status_code == 200


def test_a_stream_has_chunks_usage_and_an_end() -> None:
    text = "Grüße aus\nder Stadt. " * 9
    with ChatServer(lambda _: text) as server:
        response = post(server, stream=True, stream_options={"include_usage": True})
        *chunks, end = [event.removeprefix("data: ") for event in response.text.strip().split("\n\n")]
        deltas = [json.loads(chunk) for chunk in chunks]
        with OpenAI(base_url=server.base_url, api_key="key", max_retries=0) as client:
            stream = client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "Hello"}], stream=True
            )
            assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == text
        assert [seen.reply for seen in server.answered] == [text, text]
    assert response.headers["content-type"] == "text/event-stream"
    assert end == "[DONE]"
    assert deltas[-1]["choices"] == []
    assert deltas[-1]["usage"]["completion_tokens"] == len(text.encode()) // 4
    assert deltas[-2]["choices"][0]["finish_reason"] == "stop"


def test_latency_depends_on_the_content_only() -> None:
    latency = linear_latency(0.1, 0.001, 0.01, seed=3)
    assert latency(100, 10, 0) == latency(100, 10, 99)
    assert latency(100, 10, 0) != latency(101, 10, 0)
    assert 0.24 <= latency(100, 10, 0) <= 0.36
    with ChatServer(lambda _: "yes", latency=lambda prompt, completion, index: 0.2) as server:
        post(server)
    assert 0.19 <= server.seen[0].end - server.seen[0].start < 1


def test_the_summarizer_is_deterministic_and_keeps_to_the_limit() -> None:
    seen = Seen(0, 0.0, "", "m", [{"role": "system", "content": "500 words"}], {}, "", 0)
    script = summarizer()
    for limit in [*range(1, 80), 1_000]:
        asked = {"role": "user", "content": f"Of 12 words or so. At most {limit:,} words."}
        reply = script(replace(seen, index=limit, messages=[*seen.messages, asked]))
        assert reply == summarizer()(replace(seen, messages=[*seen.messages, asked]))
        assert isinstance(reply, str)
        assert reply.endswith(".")
        assert min(limit, 8) <= len(reply.split()) <= limit
        lengths = [len(sentence.split()) for sentence in reply.split(". ")]
        assert min(limit, 8) <= min(lengths) <= max(lengths) <= 16
        assert len(reply.split()) >= int(0.9 * limit)
    texts = [script(replace(seen, messages=[{"role": "user", "content": text}])) for text in ("a", "b")]
    assert texts[0] != texts[1]
    assert [len(str(text).split()) for text in texts] == [90, 90]


@contextmanager
def process(*options: str) -> Iterator[tuple[subprocess.Popen[str], ChatServer]]:
    command = [sys.executable, "-m", "tests.chatserver", *options]
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        remote = ChatServer()
        remote.base_url = running.stdout.readline().strip()
        try:
            yield running, remote
        finally:
            running.kill()


@pytest.mark.slow
def test_the_log_of_a_process_outlives_it(tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"
    with process("--log", str(log), "--latency-base", "0.1", "--refuses", "tools") as (running, remote):
        reply = said(post(remote, "Use 20 words."))
        assert post(remote, **TOOLS).status_code == 400
        running.kill()
    first, second = (Seen(**json.loads(line)) for line in log.read_text().splitlines())
    assert (first.reply, first.answered, first.status) == (reply, True, 200)
    assert 0.08 <= first.end - first.start < 1
    assert (second.index, second.answered, second.status) == (1, False, 400)
