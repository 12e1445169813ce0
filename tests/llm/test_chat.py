"""Asking over HTTP: replies of every kind in whatever envelope, and what is made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from redraft.domain import Usage
from redraft.errors import BudgetError, EmptyReply, RefusedReply, TruncatedReply, UnreadableReply
from redraft.llm import chat
from redraft.llm.budget import Budget
from redraft.llm.chat import ChatModel
from redraft.settings import Price, ReplyForm
from tests.chatserver import Answer, ChatServer, Fault, Raw, Reply
from tests.cli.local_command import LocalCommand
from tests.llm.support import RED, Desk, colour, story
from tests.llm.test_recorded import begin_run

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


TEXT = "Once upon a time."
USED = {"prompt_tokens": 12, "completion_tokens": 5}


def envelope(usage: object = USED, model: object = "m", finish: object = "stop", **message: Any) -> Raw:
    fields = {"content": TEXT, "role": "assistant", **message}
    fields = {name: value for name, value in fields.items() if value is not ...}
    body = {"choices": [{"message": fields, "finish_reason": finish}], "model": model, "usage": usage}
    return Raw(json.dumps(body).encode(), readable=True)


@pytest.mark.parametrize("role", [..., None, "", "user", "tool", "function", "system", "model", 7, ["assistant"]])
async def test_any_role_is_a_reply(desk: Desk, role: object) -> None:
    async with desk.serving([envelope(role=role)]) as (server, model):
        reply = await model.ask(story())
    assert reply.value == TEXT
    assert reply.usage == Usage(12, 5)
    assert desk.outcomes() == ["ok"]
    assert len(server.seen) == 1


async def test_finish_reason_without_encoding_is_stored(desk: Desk) -> None:
    async with desk.serving([envelope(finish="\ud800")]) as (_, model):
        assert (await model.ask(story())).value == TEXT
    assert [row["finish_reason"] for row in desk.ledger()] == ["?"]


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 2**63, "completion_tokens": 5},
        {"prompt_tokens": -1, "completion_tokens": 5},
        {"prompt_tokens": float("nan"), "completion_tokens": 5},
        {"prompt_tokens": "many", "completion_tokens": 5},
        {"prompt_tokens": True, "completion_tokens": []},
        {"completion_tokens": 5},
        "none",
        [],
    ],
)
async def test_implausible_usage_is_unreported(desk: Desk, usage: object) -> None:
    async with desk.serving([envelope(usage)]) as (_, model):
        reply = await model.ask(story())
    assert reply.value == TEXT
    assert not reply.usage.reported
    assert desk.outcomes() == ["ok"]


async def test_reply_without_text_is_stored(desk: Desk) -> None:
    async with desk.serving([envelope(content=None, role=None, finish=["stop"])]) as (_, model):
        with pytest.raises(EmptyReply):
            await model.ask(story())
    assert desk.outcomes() == ["empty"]


async def test_any_message_class_is_read(desk: Desk) -> None:
    class Odd(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "odd"

        def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
            return ChatResult(generations=[ChatGeneration(message=ChatMessage(TEXT, role="somebody"))])

    reply = await desk.recorded(ChatModel(Odd())).ask(story())
    assert reply.value == TEXT


async def test_internal_error_keeps_the_reply(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of our own in reading a reply: the reply was paid for, and is in the ledger."""
    stumbles = iter([RuntimeError("stumbled")])
    read = chat.reasoning_tokens

    def stumbling(*arguments: Any) -> Any:
        for error in stumbles:
            raise error
        return read(*arguments)

    monkeypatch.setattr(chat, "reasoning_tokens", stumbling)
    async with desk.serving(['{"name": "red", "share": 0.5}'] * 2) as (_, model):
        assert (await model.ask(colour())).value == RED
    assert desk.outcomes() == ["unreadable", "ok"]


@pytest.mark.parametrize(
    ("name", "odd"), [("m", False), ("m-2026-01-31", False), ("org/m", False), ("M:latest", False), ("small", True)]
)
async def test_answer_by_another_model_is_noted(desk: Desk, name: str, odd: bool) -> None:
    async with desk.serving([envelope(model=name)]) as (_, model):
        reply = await model.ask(story())
    assert reply.odd == ((f"'{name}' answered instead of 'm'",) if odd else ())


def test_run_shows_who_answered(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    with ChatServer(lambda _: envelope(model="small", content="The keeper kept the light.")) as server:
        command = LocalCommand(tmp_path, server.base_url)
        done = command.run("summarize", "book.md", "-w", "60", "-m", "openai:m", "--json")
    assert done.code == 0, done.err
    (odd,) = done.json["oddities"]
    assert odd.endswith("'small' answered instead of 'm'")
    printed = command.run("show", done.json["run"])
    assert "unexpected in replies: openai:m@" in printed.err
    assert "'small' answered instead of 'm'" in printed.err


async def test_overrun_ends_the_run(desk: Desk) -> None:
    run, budget = begin_run(desk.store), Budget(max_calls=None, max_cost=0.01)
    answers = [envelope({"prompt_tokens": 10, "completion_tokens": 50_000})] * 2
    price = Price(prompt=1, completion=1)
    async with desk.serving(answers, run=run, budget=budget, price=price) as (server, model):
        assert (await model.ask(story("a rose"))).value == TEXT
        with pytest.raises(BudgetError, match=r"\$0\.04 more than the limit of \$0\.01"):
            await model.ask(story("a bee"))
    assert len(server.seen) == 1
