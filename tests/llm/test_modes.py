"""In which form a reply is asked for: what a server refuses or ignores is asked for otherwise, and remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

import pytest

from redraft.errors import ProviderError, RedraftError, RejectedRequest, TransientError, TruncatedReply, UsageError
from redraft.llm.structured_output import modes_for
from redraft.settings import DraftConfig, ReplyForm
from redraft.store.calls import ModelCapabilities
from tests.chatserver import Answer, ChatServer, Fault, Json, Seen
from tests.llm.support import RED, Desk, colour, story

GOOD = '{"name": "red", "share": 0.5}'
WORDS = [
    "failed to parse grammar",
    "The schema contains features not supported by xgrammar.",
    "JSON mode is not supported",
    "Bad request",
]


def mode_of(body: Json) -> str:
    """In which way a request asks for a structured reply."""
    return "schema" if "response_format" in body else "tools" if "tools" in body else "plain"


def refusing(modes: Collection[str], fault: Fault) -> Callable[[Seen], Answer | Fault]:
    """A server that cannot do some of the modes; prose it writes."""

    def script(seen: Seen) -> Answer | Fault:
        structured = "share" in str(seen.body)
        return fault if structured and mode_of(seen.body) in modes else Answer(GOOD, latency=0.01)

    return script


def failing(message: str, status: int = 400) -> Fault:
    return Fault("status", status=status, message=message)


@pytest.mark.parametrize("message", WORDS)
@pytest.mark.parametrize(("modes", "used"), [(["schema"], "tools"), (["schema", "tools"], "plain")])
async def test_a_refusal_in_any_words_leads_to_the_next_mode(
    desk: Desk, message: str, modes: list[str], used: str
) -> None:
    async with desk.serving(refusing(modes, failing(message))) as (server, model):
        replies = await asyncio.gather(*(model.ask(colour(str(n))) for n in range(8)))
    assert [reply.value for reply in replies] == [RED] * 8
    assert mode_of(server.seen[-1].body) == used
    # Each mode that is refused costs one request, and not one for each of the eight.
    assert len(server.seen) == 8 + len(modes)
    assert desk.pauses == []


async def test_two_faults_over_a_schema_lead_to_the_next_mode_and_one_does_not(desk: Desk) -> None:
    broken = failing("Internal Server Error", 500)
    async with desk.serving(refusing(["schema"], broken)) as (server, model):
        assert (await model.ask(colour())).value == RED
    assert [mode_of(seen.body) for seen in server.seen] == ["schema", "schema", "tools"]
    async with desk.serving([broken, Answer(GOOD)]) as (server, model):
        assert (await model.ask(colour("a lily"))).value == RED
    assert [mode_of(seen.body) for seen in server.seen] == ["schema", "schema"]


@pytest.mark.parametrize("status", [400, 422])
async def test_where_nothing_works_the_true_reason_is_told_and_soon(desk: Desk, status: int) -> None:
    async def asked(n: int) -> RedraftError | None:
        try:
            await model.ask(colour(str(n)))
        except RedraftError as error:
            return error
        return None

    async with desk.serving(lambda seen: failing("The cat sat on the GPU.", status)) as (server, model):
        errors = await asyncio.gather(*(asked(n) for n in range(38)))
    assert all(error and "The cat sat on the GPU." in error.message for error in errors)
    assert {mode_of(seen.body) for seen in server.seen} == {"schema", "tools", "plain"}
    assert any(isinstance(error, ProviderError) and "replies" in error.hint for error in errors)
    assert len(server.seen) <= 6


async def test_a_server_that_is_down_is_told_as_that(desk: Desk) -> None:
    async with desk.serving(lambda seen: failing("Out of memory", 500)) as (server, model):
        with pytest.raises(TransientError, match="Out of memory"):
            await model.ask(colour())
    assert len(server.seen) < 10


async def test_one_request_that_is_refused_in_every_way_says_nothing_of_the_others(desk: Desk) -> None:
    def script(seen: Seen) -> Answer | Fault:
        return failing("odd characters") if "a lily" in str(seen.messages) else Answer(GOOD)

    async with desk.serving(script) as (server, model):
        assert (await model.ask(colour())).value == RED
        with pytest.raises(RejectedRequest, match="odd characters"):
            await model.ask(colour("a lily"))
        assert (await model.ask(colour("a tulip"))).value == RED
        assert (await model.ask(story())).value == GOOD
    assert [mode_of(seen.body) for seen in server.seen[:-1]] == ["schema", "schema", "tools", "plain", "schema"]


@pytest.mark.parametrize("form", ["schema", "tools", "plain"])
async def test_one_way_of_asking_can_be_forced(desk: Desk, form: ReplyForm) -> None:
    async with desk.serving(lambda seen: GOOD, replies=form) as (server, model):
        assert (await model.ask(colour())).value == RED
    assert [mode_of(seen.body) for seen in server.seen] == [form]


async def test_what_is_forced_is_not_left_where_it_is_refused(desk: Desk) -> None:
    async with desk.serving(refusing(["schema"], failing("Bad request")), replies="schema") as (server, model):
        with pytest.raises(RejectedRequest, match="Bad request"):
            await model.ask(colour())
        with pytest.raises(ProviderError, match="Bad request"):
            await model.ask(colour("a lily"))
        with pytest.raises(ProviderError):
            await model.ask(colour("a tulip"))
    assert [mode_of(seen.body) for seen in server.seen] == ["schema", "schema"]


def test_only_some_can_be_sent_a_schema() -> None:
    assert modes_for("tools", speaks_openai=False) == ("tools",)
    with pytest.raises(UsageError, match="OpenAI's protocol"):
        modes_for("schema", speaks_openai=False)


def test_how_is_asked_is_no_part_of_what_is_asked() -> None:
    plain = DraftConfig(replies="plain")
    assert plain.identity("d", "t", {}) == DraftConfig().identity("d", "t", {})
    assert DraftConfig.model_validate_json(plain.model_dump_json()) == plain


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
    async with desk.at(server, replies=replies) as model:
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
        desk.monkeypatch.setattr("tests.llm.test_modes.THINGS", ["an iris"])
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
    async with desk.serving([cut, GOOD, "<think>Hm", GOOD, GOOD]) as (server, model):
        with pytest.raises(TruncatedReply):
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
