"""What a reply comes in: whoever says it and whatever it says was used, it is read, stored and noted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, ChatMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from redraft.domain import Usage
from redraft.errors import BudgetError, EmptyReply
from redraft.llm import chat
from redraft.llm.budget import Budget
from redraft.llm.chat import ChatModel
from redraft.settings import Price
from tests.chatserver import ChatServer, Raw
from tests.cli.local_command import LocalCommand
from tests.llm.support import RED, Desk, colour, story
from tests.llm.test_recorded import begin_run

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
