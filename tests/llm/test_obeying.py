"""Servers that take no notice of how they are asked: what a call costs there, and what is remembered of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from redraft.errors import CutReply
from redraft.llm.addresses import base_url
from redraft.runs.models import open_model
from redraft.settings import DraftConfig, ReplyForm
from redraft.store.calls import ModelCapabilities
from tests.chatserver import Answer, ChatServer, Seen
from tests.llm.support import KEY, RED, Desk, colour
from tests.llm.test_modes import mode_of

GOOD = '{"name": "red", "share": 0.5}'
THINGS = ["a rose", "a lily", "a tulip", "a fern"]
CALL = [{"id": "1", "type": "function", "function": {"name": "Colour", "arguments": GOOD}}]


def shows_schema(seen: Seen) -> bool:
    """Whether the last message says in words what form the reply is to have."""
    return '"required":["name","share"]' in str(seen.messages[-1]["content"])


def ignoring(good: str = GOOD) -> Callable[[Seen], Answer]:
    """A server that hands on the words, and nothing else, to a model that does what these say."""
    return lambda seen: Answer(good if shows_schema(seen) else "I would say that it is red.", tool_calls=[])


def obeying(seen: Seen) -> Answer | str:
    """A server that keeps its model to the form."""
    return Answer(tool_calls=CALL) if mode_of(seen.body) == "tools" else GOOD


async def asked(desk: Desk, server: ChatServer, replies: ReplyForm | None = None) -> None:
    desk.monkeypatch.setenv("OPENAI_API_KEY", KEY)
    settings = DraftConfig(model="openai:m", base_url=base_url(server.base_url), replies=replies)
    async with open_model(settings, seconds=5) as opened:
        model = desk.recorded(opened)
        for thing in THINGS:
            assert (await model.ask(colour(thing))).value == RED


def known(desk: Desk, server: ChatServer) -> ModelCapabilities:
    return desk.store.capabilities.known(f"openai:m@{server.base_url}")


async def test_the_first_prompt_has_the_schema_in_it_and_those_after_an_exact_reply_have_not(desk: Desk) -> None:
    with ChatServer(obeying) as server:
        await asked(desk, server)
    assert [(mode_of(seen.body), shows_schema(seen)) for seen in server.seen] == [
        ("schema", True), *[("schema", False)] * 3
    ]  # fmt: skip


async def test_a_server_that_ignores_the_schema_costs_one_call_more_and_not_one_for_each(desk: Desk) -> None:
    with ChatServer(ignoring()) as server:
        await asked(desk, server)
        assert len(server.seen) == len(THINGS) + 1
        assert [mode_of(seen.body) for seen in server.seen] == ["schema", "schema", "tools", "tools", "tools"]
        assert known(desk, server).mode == "tools"


async def test_a_server_whose_replies_are_in_fences_has_proven_nothing(desk: Desk) -> None:
    with ChatServer(ignoring(f"```json\n{GOOD}\n```")) as server:
        await asked(desk, server)
    assert len(server.seen) == len(THINGS)
    assert all(map(shows_schema, server.seen))


async def test_the_next_run_begins_where_the_last_one_got_to(desk: Desk) -> None:
    def plainly(seen: Seen) -> str:
        return GOOD if mode_of(seen.body) == "plain" else "It is red."

    with ChatServer(plainly) as server:
        await asked(desk, server)
        assert known(desk, server).mode == "plain"
        assert [mode_of(seen.body) for seen in server.seen] == ["schema", "tools", *["plain"] * 4]
        desk.monkeypatch.setattr("tests.llm.test_obeying.THINGS", ["an iris"])
        await asked(desk, server)
        assert [mode_of(seen.body) for seen in server.seen[6:]] == ["plain"]


async def test_what_is_forced_is_used_whatever_is_remembered(desk: Desk) -> None:
    with ChatServer(obeying) as server:
        desk.store.capabilities.learn_mode(f"openai:m@{server.base_url}", "plain")
        await asked(desk, server, "schema")
        assert {mode_of(seen.body) for seen in server.seen} == {"schema"}
        assert known(desk, server).mode == "json_schema"


async def test_a_reply_that_was_cut_off_says_nothing_of_the_server(desk: Desk) -> None:
    cut = Answer('{"name": "re', finish_reason="length")
    with ChatServer([cut, GOOD, "<think>Hm", GOOD, GOOD]) as server:
        async with desk.at(server) as model:
            with pytest.raises(CutReply):
                await model.ask(colour())
            for thing in THINGS[:3]:
                assert (await model.ask(colour(thing))).value == RED
    assert len(server.seen) == 5
    assert {mode_of(seen.body) for seen in server.seen} == {"schema"}


async def test_the_calls_of_a_function_prove_that_a_server_knows_them(desk: Desk) -> None:
    with ChatServer(obeying, refuses=["json_schema"]) as server:
        await asked(desk, server)
    assert [shows_schema(seen) for seen in server.seen if mode_of(seen.body) == "tools"] == [True, False, False, False]


async def test_what_is_remembered_of_a_mode_changes_no_cached_reply(desk: Desk) -> None:
    with ChatServer(ignoring()) as server:
        await asked(desk, server)
        count = len(server.seen)
        desk.store.capabilities.learn_mode(f"openai:m@{server.base_url}", "plain")
        await asked(desk, server)
        assert len(server.seen) == count


async def test_a_call_whose_arguments_are_a_list_is_made_in_words(desk: Desk) -> None:
    listed = [{"id": "1", "type": "function", "function": {"name": "Colour", "arguments": f"[{GOOD}]"}}]

    def listing(seen: Seen) -> Answer | str:
        return Answer(tool_calls=listed) if mode_of(seen.body) == "tools" else GOOD

    with ChatServer(listing, refuses=["json_schema"]) as server:
        await asked(desk, server)
    assert [mode_of(seen.body) for seen in server.seen] == ["schema", "tools", *["plain"] * 4]
    assert desk.pauses == []
