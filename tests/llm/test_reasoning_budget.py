"""Models that think before they reply have room for it: by their name, as their replies tell, and as they are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from redraft.errors import TruncatedReasoning
from redraft.llm.addresses import base_url
from redraft.llm.base import LazyModel
from redraft.llm.chat import ChatModel
from redraft.llm.reasoning_budget import MAX_ROOM, START, refuses_sampling, usual_room
from redraft.runs.models import open_model
from redraft.settings import DraftConfig
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault, Reply
from tests.llm.support import KEY, RED, Desk, colour, story

GOOD = '{"name": "red", "share": 0.5}'
TALE = "Once upon a time."


def usage(request: ChatRequest, reply: int, thought: int | None) -> dict[str, Any]:
    details = {} if thought is None else {"completion_tokens_details": {"reasoning_tokens": thought}}
    return {"prompt_tokens": 9, "completion_tokens": reply, "total_tokens": 9 + reply, **details}


def thinker(thought: int, says: str = GOOD, *, how: str = "reported") -> Callable[[ChatRequest], Reply]:
    """Thinks for so many tokens before it says something, if its limit lets it come to that, as servers differ."""
    words = "Hm, let me see. " * 40

    def reply(request: ChatRequest) -> Reply:
        limit = request.body["max_completion_tokens"]
        cut = limit < thought + 20
        reported = usage(request, min(limit, thought + 20), min(limit, thought) if how == "reported" else None)
        separate = words if how == "apart" else None
        text = "" if cut else says
        if how == "tags":
            text = f"<think>{words}" if cut else f"<think>{words}</think>{says}"
        finish = "stop" if how == "silent" or not cut else "length"
        return Answer(text, finish_reason=finish, usage=reported, reasoning_content=separate)

    return reply


def limits(server: ChatServer) -> list[int]:
    return [request.body["max_completion_tokens"] for request in server.seen]


@pytest.mark.parametrize("how", ["reported", "apart", "tags", "unnamed", "silent"])
@pytest.mark.parametrize("request_", [colour(), story()], ids=["colour", "story"])
async def test_cut_reasoning_gets_more_room(desk: Desk, request_: Any, how: str) -> None:
    says = GOOD if request_.prompt.returns is not str else TALE
    async with desk.serving(thinker(3_000, says, how=how)) as (server, model):
        assert (await model.ask(request_)).value == (RED if says == GOOD else TALE)
    assert limits(server) == [50, 50 + 1_024, 50 + 2_048, 50 + 4_096]
    assert set(desk.outcomes()[:-1]) == {"cut_thought"}
    assert desk.outcomes()[-1] == "ok"


async def test_next_run_starts_with_learned_room(desk: Desk) -> None:
    with ChatServer(thinker(3_000)) as server:
        async with desk.at(server) as model:
            await model.ask(colour())
        count = len(server.seen)
        async with desk.at(server) as model:
            await model.ask(colour("a lily"))
            # What was answered with less room for thoughts is the answer to the same request.
            assert (await model.ask(colour())).cached
    assert len(server.seen) == count + 1
    assert limits(server)[-1] >= 50 + 3_020


async def test_reply_cut_by_reasoning_is_repeated(desk: Desk) -> None:
    def reply(request: ChatRequest) -> Reply:
        if request.body["max_completion_tokens"] < 1_000:
            return Answer("Once upon", finish_reason="length", usage=usage(request, 50, 45))
        return Answer(TALE)

    async with desk.serving(reply) as (server, model):
        assert (await model.ask(story())).value == TALE
    assert limits(server) == [50, 50 + 1_024]


async def test_endless_reasoning_is_given_up(desk: Desk) -> None:
    async with desk.serving(thinker(10**6)) as (server, model):
        with pytest.raises(TruncatedReasoning, match=f"{MAX_ROOM:,} tokens were not enough") as caught:
            await model.ask(story())
    assert f"reasoning_tokens={2 * MAX_ROOM}" in caught.value.hint
    assert not caught.value.needs_more_tokens
    assert len(server.seen) <= 7
    assert limits(server)[-1] == 50 + MAX_ROOM


async def test_fixed_room_is_kept(desk: Desk) -> None:
    async with desk.serving(thinker(3_000), reasoning_tokens=500) as (server, model):
        with pytest.raises(TruncatedReasoning, match="500 tokens were not enough") as caught:
            await model.ask(colour())
    assert limits(server) == [550]
    assert "reasoning_tokens=1024" in caught.value.hint


async def test_room_learned_later_stays_within_booking(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ChatServer([Answer(GOOD)]) as server:
        async with open_model(DraftConfig(model="openai:m", base_url=base_url(server.base_url)), seconds=5.0) as inner:
            request = replace(colour(), text="What colour has a rose?")
            booked = inner.most_tokens(request.sampling)
            assert isinstance(inner, LazyModel)
            cast("ChatModel", inner.model).expect_reasoning(3_000)
            assert inner.most_tokens(request.sampling) > booked
            await inner.ask(replace(request, most_tokens=booked))
    assert limits(server) == [booked]


async def test_small_window_lowers_the_room(desk: Desk) -> None:
    def reply(request: ChatRequest) -> Reply:
        limit = request.body["max_completion_tokens"]
        if limit > 2_000:
            return Fault("status", status=400, message=f"maximum context length is 4096 tokens, not {limit}")
        return Answer(GOOD)

    async with desk.serving(reply, name="qwen3:8b") as (server, model):
        await model.ask(colour())
        await model.ask(colour("a lily"))
    assert limits(server) == [50 + START, 50 + START // 4, 50 + START // 16, 50 + START // 16]
    assert desk.outcomes() == ["unsupported", "unsupported", "ok", "ok"]


@pytest.mark.parametrize(
    "name",
    [
        *("o1", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5.1", "openai/gpt-5-mini", "ft:o3-mini:us::x"),
        *("openai/gpt-oss-120b", "gpt-oss:20b", "deepseek-r1", "deepseek/deepseek-r1-0528:free", "deepseek-reasoner"),
        *(
            "deepseek-r1-distill-llama-70b",
            "us.deepseek.r1-v1:0",
            "qwen3:8b",
            "Qwen/Qwen3-32B",
            "qwq-32b",
            "qwen-3-32b",
        ),
        *("gemini-2.5-pro", "google/gemini-3-flash", "magistral-small", "glm-4.5-air", "zai-org/GLM-4.6"),
        *("kimi-k2-thinking", "MiniMax-M2", "grok-4", "Qwen3-4B-Thinking-2507", "claude-3-7-sonnet:thinking"),
    ],
)
def test_reasoning_models_are_known_by_name(name: str) -> None:
    assert usual_room(name) == START


@pytest.mark.parametrize(
    "name",
    [
        *("gpt-4o", "gpt-4.1-mini", "gpt-5-chat-latest", "openai/gpt-5.1-chat", "claude-sonnet-4-5", "llama3.1:8b"),
        *("mistral-small", "qwen2.5:7b", "Qwen3-4B-Instruct-2507", "qwen3-coder:30b", "deepseek-chat", "kimi-k2"),
        *("grok-4-fast-non-reasoning", "gemini-2.0-flash", "gemma3:12b", "phi-4", "glm-4-9b", "m", ""),
    ],
)
def test_other_models_get_no_room(name: str) -> None:
    assert usual_room(name) == 0


def test_only_openai_reasoning_models_refuse_temperature() -> None:
    assert refuses_sampling("openai/gpt-5-mini")
    assert not any(map(refuses_sampling, ("gpt-5-chat-latest", "gpt-oss:20b", "qwen3:8b", "deepseek-r1", "gpt-4o")))
