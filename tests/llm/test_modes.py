"""The way down from a schema: a server that cannot do one thing is asked in another way, whatever it says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

import pytest

from redraft.errors import ProviderError, RedraftError, RejectedRequest, TransientError, UsageError
from redraft.llm.addresses import base_url
from redraft.llm.structured_output import modes_for
from redraft.runs.models import open_model
from redraft.settings import DraftConfig, ReplyForm
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
    with ChatServer(refusing(modes, failing(message))) as server:
        async with desk.at(server) as model:
            replies = await asyncio.gather(*(model.ask(colour(str(n))) for n in range(8)))
    assert [reply.value for reply in replies] == [RED] * 8
    assert mode_of(server.seen[-1].body) == used
    # Each mode that is refused costs one request, and not one for each of the eight.
    assert len(server.seen) == 8 + len(modes)
    assert desk.pauses == []


async def test_two_faults_over_a_schema_lead_to_the_next_mode_and_one_does_not(desk: Desk) -> None:
    broken = failing("Internal Server Error", 500)
    with ChatServer(refusing(["schema"], broken)) as server:
        async with desk.at(server) as model:
            assert (await model.ask(colour())).value == RED
    assert [mode_of(seen.body) for seen in server.seen] == ["schema", "schema", "tools"]
    with ChatServer([broken, Answer(GOOD)]) as server:
        async with desk.at(server) as model:
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

    with ChatServer(lambda seen: failing("The cat sat on the GPU.", status)) as server:
        async with desk.at(server) as model:
            errors = await asyncio.gather(*(asked(n) for n in range(38)))
    assert all(error and "The cat sat on the GPU." in error.message for error in errors)
    assert {mode_of(seen.body) for seen in server.seen} == {"schema", "tools", "plain"}
    assert any(isinstance(error, ProviderError) and "replies" in error.hint for error in errors)
    assert len(server.seen) <= 6


async def test_a_server_that_is_down_is_told_as_that(desk: Desk) -> None:
    with ChatServer(lambda seen: failing("Out of memory", 500)) as server:
        async with desk.at(server) as model:
            with pytest.raises(TransientError, match="Out of memory"):
                await model.ask(colour())
    assert len(server.seen) < 10


async def test_one_request_that_is_refused_in_every_way_says_nothing_of_the_others(desk: Desk) -> None:
    def script(seen: Seen) -> Answer | Fault:
        return failing("odd characters") if "a lily" in str(seen.messages) else Answer(GOOD)

    with ChatServer(script) as server:
        async with desk.at(server) as model:
            assert (await model.ask(colour())).value == RED
            with pytest.raises(RejectedRequest, match="odd characters"):
                await model.ask(colour("a lily"))
            assert (await model.ask(colour("a tulip"))).value == RED
            assert (await model.ask(story())).value == GOOD
    assert [mode_of(seen.body) for seen in server.seen[:-1]] == ["schema", "schema", "tools", "plain", "schema"]


@pytest.mark.parametrize(("form", "used"), [("schema", "schema"), ("tools", "tools"), ("plain", "plain")])
async def test_one_way_of_asking_can_be_forced(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, form: ReplyForm, used: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    with ChatServer(lambda seen: GOOD) as server:
        settings = DraftConfig(model="openai:m", base_url=base_url(server.base_url), replies=form)
        async with open_model(settings, seconds=5) as model:
            assert (await desk.recorded(model).ask(colour())).value == RED
    assert [mode_of(seen.body) for seen in server.seen] == [used]


async def test_what_is_forced_is_not_left_where_it_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    with ChatServer(refusing(["schema"], failing("Bad request"))) as server:
        settings = DraftConfig(model="openai:m", base_url=base_url(server.base_url), replies="schema")
        async with open_model(settings, seconds=5) as opened:
            model = desk.recorded(opened)
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
