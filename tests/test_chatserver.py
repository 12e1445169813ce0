"""The chat server that the other tests talk to does what they rely on."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests.chatserver import ChatServer, Fault, Seen, linear_latency, summarizer

CLIENT = httpx.Client(limits=httpx.Limits(max_keepalive_connections=0))
TOOLS: dict[str, Any] = {
    "tools": [{"type": "function", "function": {"name": "summary", "parameters": {"type": "object"}}}],
    "tool_choice": {"type": "function", "function": {"name": "summary"}},
}


def post(server: ChatServer, text: str = "Hello there!", read: float = 60.0, **body: Any) -> httpx.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **body}
    headers = {"Authorization": "Bearer key"}
    return CLIENT.post(
        f"{server.base_url}/chat/completions", json=body, headers=headers, timeout=httpx.Timeout(60, read=read)
    )


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_hang_ends_with_client_or_server() -> None:
    with ChatServer(lambda _: Fault("hang")) as server:
        with pytest.raises(httpx.ReadTimeout):
            post(server, read=0.2)
        wait_for(lambda: server.in_flight == 0)

        def give_up() -> None:
            with pytest.raises(httpx.TransportError):
                post(server)

        thread = threading.Thread(target=give_up)
        thread.start()
        wait_for(lambda: server.in_flight == 1)
        start = time.monotonic()
    assert time.monotonic() - start < 30
    thread.join()
    assert [request.status for request in server.seen] == [0, 0]
    assert all(request.end for request in server.seen)


@pytest.mark.parametrize(
    ("feature", "body", "param", "message"),
    [
        ("json_schema", {"response_format": {"type": "json_schema"}}, "response_format", "'json_schema' is not"),
        ("json_object", {"response_format": {"type": "json_object"}}, "response_format", "'json_object' is not"),
        ("tools", TOOLS, "tools", "'tools' is not supported"),
        ("temperature", {"temperature": 0.5}, "temperature", "does not support 0.5 with this model. Only the"),
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


@pytest.mark.slow
def test_limits_answer_429() -> None:
    released = threading.Event()

    async def once_released(_: Seen) -> str:
        await asyncio.to_thread(released.wait)
        return "yes"

    with ChatServer(once_released, limit_concurrency=2, retry_after=1) as server, ThreadPoolExecutor(5) as pool:
        requests = [pool.submit(post, server) for _ in range(5)]
        wait_for(lambda: len(server.seen) == 5 and server.in_flight == 2)
        released.set()
        responses = [request.result() for request in requests]
    assert sorted(r.status_code for r in responses) == [200, 200, 429, 429, 429]
    assert {r.headers.get("retry-after") for r in responses} == {None, "1"}
    with ChatServer(lambda _: "yes", limit_per_minute=2) as server:
        assert [post(server).status_code for _ in range(3)] == [200, 200, 429]
        server.minute = 0.0
        assert post(server).status_code == 200


def test_latency_depends_on_the_content_only() -> None:
    latency = linear_latency(0.1, 0.001, 0.01, seed=3)
    assert latency(100, 10, 0) == latency(100, 10, 99)
    assert latency(100, 10, 0) != latency(101, 10, 0)
    assert 0.24 <= latency(100, 10, 0) <= 0.36
    with ChatServer(lambda _: "yes", latency=lambda prompt, completion, index: 0.2) as server:
        post(server)
    assert 0.19 <= server.seen[0].end - server.seen[0].start < 1


def test_summarizer_is_deterministic_within_the_limit() -> None:
    request = Seen(0, 0.0, "", "m", [{"role": "system", "content": "500 words"}], {}, "", 0)
    script = summarizer()
    for limit in [*range(1, 80), 1_000]:
        message = {"role": "user", "content": f"Of 12 words or so. At most {limit:,} words."}
        reply = script(replace(request, index=limit, messages=[*request.messages, message]))
        assert reply == summarizer()(replace(request, messages=[*request.messages, message]))
        assert isinstance(reply, str)
        assert reply.endswith(".")
        assert min(limit, 8) <= len(reply.split()) <= limit
        lengths = [len(sentence.split()) for sentence in reply.split(". ")]
        assert min(limit, 8) <= min(lengths) <= max(lengths) <= 16
        assert len(reply.split()) >= int(0.9 * limit)
    texts = [script(replace(request, messages=[{"role": "user", "content": text}])) for text in ("a", "b")]
    assert texts[0] != texts[1]
    assert [len(str(text).split()) for text in texts] == [90, 90]
