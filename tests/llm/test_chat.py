"""Asking over HTTP: replies of every kind, and what is made of them."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from redraft.domain import Usage
from redraft.errors import EmptyReply, RefusedReply, TruncatedReply, UnreadableReply
from redraft.llm.chat import ChatModel
from redraft.settings import ReplyForm
from tests.chatserver import Answer, Fault, Reply
from tests.llm.support import RED, Desk, colour, story

GOOD = '{"name": "red", "share": 0.5}'


async def test_good_reply_is_read(desk: Desk) -> None:
    async with desk.serving([Answer(GOOD, cached_tokens=3, reasoning_tokens=7)]) as (server, model):
        reply = await model.ask(colour())
    assert reply.value == RED
    assert (reply.text, reply.finish_reason, reply.cached) == (GOOD, "stop", False)
    body = server.seen[0].body
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["name", "share"]
    assert body["response_format"]["json_schema"]["strict"] is True
    assert (body["max_completion_tokens"], body["temperature"]) == (50, 0.0)
    row = desk.ledger()[0]
    assert reply.usage == Usage(row["prompt_tokens"], row["completion_tokens"], 3, 7)
    assert (row["cached_prompt_tokens"], row["reasoning_tokens"], row["reported"]) == (3, 7, 1)
    assert row["prompt_tokens"] == server.seen[0].prompt_tokens


async def test_line_separator_becomes_a_line_break(desk: Desk) -> None:
    async with desk.serving(['{"name": "dark\u2028red", "share": 0.5}']) as (_, model):
        assert (await model.ask(colour())).value.name == "dark\nred"


BROKEN: list[tuple[Reply, str, str]] = [
    ('{"name": "red", "share": ', '{"name": "red", "share": ', "breaks off"),
    ('{"name": "red", "share": "half"}', '{"name": "red", "share": "half"}', "share"),
    ('{"name": "red", "share": NaN}', "NaN", "no JSON object"),
    ("I would say red.", "I would say red.", "no JSON object"),
    (Fault("null_content"), "(nothing)", "no JSON object"),
]


@pytest.mark.parametrize(("bad", "quoted", "complaint"), BROKEN)
async def test_broken_reply_is_repaired_once(desk: Desk, bad: Reply, quoted: str, complaint: str) -> None:
    async with desk.serving([bad, GOOD]) as (server, model):
        assert (await model.ask(colour())).value == RED
    assert len(server.seen) == 2
    first, reply, demand = server.seen[1].messages
    assert first == server.seen[0].messages[0]
    assert (reply["role"], demand["role"]) == ("assistant", "user")
    assert quoted in reply["content"]
    assert complaint in demand["content"]
    assert '"required":["name","share"]' in demand["content"]
    assert desk.outcomes() == ["unreadable", "ok"]


@pytest.mark.parametrize(
    ("replies", "bad"), [("plain", ["no idea", '{"name": 1}']), (None, ["no idea", '{"name": 1}', "still none"])]
)
async def test_reply_broken_again_fails(desk: Desk, replies: ReplyForm | None, bad: list[str]) -> None:
    """Once in a way of asking that is forced, and else once in each of the three."""
    async with desk.serving([*bad, GOOD], replies=replies) as (server, model):
        with pytest.raises(UnreadableReply) as caught:
            await model.ask(colour())
    assert len(server.seen) == len(bad)
    assert (caught.value.text, caught.value.finish_reason) == (bad[-1], "stop")
    rows = desk.ledger()
    assert [(row["outcome"], row["attempt"], row["body"]) for row in rows] == [
        ("unreadable", attempt, reply_text) for attempt, reply_text in enumerate(bad, 1)
    ]
    assert [(row["prompt_tokens"], row["completion_tokens"]) for row in rows] == [
        (request.prompt_tokens, request.completion_tokens) for request in server.seen
    ]


@pytest.mark.parametrize("bad", ["", "  \n ", "<think>Let me see. A rose is", Fault("null_content")])
async def test_empty_text_is_never_cached(desk: Desk, bad: Reply) -> None:
    async with desk.serving([bad, "Once upon a time."]) as (server, model):
        with pytest.raises(EmptyReply):
            await model.ask(story())
        assert (await model.ask(story())).value == "Once upon a time."
    assert len(server.seen) == 2
    assert desk.outcomes() == ["empty", "ok"]


async def test_cut_reply_is_not_repaired(desk: Desk) -> None:
    cut = Answer('{"name": "re', finish_reason="length")
    async with desk.serving([cut, "no idea", cut, GOOD]) as (server, model):
        for _ in range(2):
            # The repair of another fault may be cut off as well.
            with pytest.raises(TruncatedReply, match="cut off at the token limit") as caught:
                await model.ask(colour())
            assert caught.value.needs_more_tokens
        assert (await model.ask(colour(max_tokens=100))).value == RED
    assert [request.body["max_completion_tokens"] for request in server.seen] == [50, 50, 50, 100]
    assert desk.outcomes() == ["cut", "unreadable", "cut", "ok"]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (Answer(refusal="I cannot talk about roses."), "cannot talk about roses"),
        (Answer("Once up", finish_reason="content_filter"), "filter"),
        (Fault("status", status=400, message="blocked by our content management policy"), "policy"),
    ],
)
@pytest.mark.parametrize("request_", [colour(), story()], ids=["colour", "story"])
async def test_refusal_by_the_provider_is_final(desk: Desk, request_: Any, bad: Reply, words: str) -> None:
    async with desk.serving([bad]) as (server, model):
        with pytest.raises(RefusedReply, match=words):
            await model.ask(request_)
    assert len(server.seen) == 1
    row = desk.ledger()[0]
    assert row["outcome"] == "refused"
    assert bool(row["prompt_tokens"]) is isinstance(bad, Answer)


async def test_missing_usage_is_estimated(desk: Desk) -> None:
    async with desk.serving([Answer(GOOD, usage=None), *[Answer("no idea", usage=None)] * 3]) as (_, model):
        assert not (await model.ask(colour())).usage.reported
        with pytest.raises(UnreadableReply):
            await model.ask(colour("a lily"))
    for row in desk.ledger():
        assert row["reported"] == 0
        assert row["prompt_tokens"] > 10
        assert row["completion_tokens"] > 0


async def test_any_langchain_model_works(desk: Desk) -> None:
    def reply(text: str, **metadata: str) -> AIMessage:
        return AIMessage(text, response_metadata=metadata)

    lines = [
        reply("Once."),
        reply(f"Well: {GOOD}"),
        reply("Tw", stop_reason="max_tokens"),
        reply("", stop_reason="refusal"),
    ]
    chat = GenericFakeChatModel(messages=iter(lines))
    model = desk.recorded(ChatModel(chat, identity="fake"))
    assert (await model.ask(story())).value == "Once."
    assert (await model.ask(colour())).value == RED
    assert (await model.ask(story("b"))).finish_reason == "length"
    with pytest.raises(RefusedReply):
        await model.ask(story("c"))
