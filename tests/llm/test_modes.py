"""In which form a structured reply is requested: one that a server refuses or ignores is replaced, and remembered."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Collection
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from redraft.errors import ProviderError, RedraftError, RejectedRequest, UnreadableReply, UsageError
from redraft.llm.base import Request, Sampling
from redraft.llm.chat import ChatModel
from redraft.llm.structured_output import full_schema, modes_for
from redraft.prompts.book import PROMPTS
from redraft.prompts.contract import Prompt
from redraft.prompts.factual import FactTree
from redraft.prompts.qa import ASK_DOCUMENT, COMPARE_ANSWERS, AskDocumentInput, CompareInput, Pair
from redraft.prompts.revision import DECIDE
from redraft.prompts.tags import TaggedItem, Tags
from redraft.settings import ReplyForm
from redraft.store.calls import ModelCapabilities
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault, Json
from tests.llm.support import KEY, RED, Desk, colour
from tests.prompts.samples import GIVEN
from tests.replies.prompts import CASES

GOOD = '{"name": "red", "share": 0.5}'
PROSE = "I would say that it is red."
THINGS = ["a rose", "a lily", "a tulip", "a fern"]


def mode_of(body: Json) -> str:
    """Return the form in which a request asks for a structured reply."""
    return "schema" if "response_format" in body else "tools" if "tools" in body else "plain"


def modes_of(server: ChatServer) -> list[str]:
    return [mode_of(request.body) for request in server.seen]


def failing(message: str, status: int = 400) -> Fault:
    return Fault("status", status=status, message=message)


def refusing(modes: Collection[str], fault: Fault) -> Callable[[ChatRequest], Answer | Fault]:
    """A server that refuses structured replies in some modes; it writes prose."""

    def script(request: ChatRequest) -> Answer | Fault:
        is_structured = "Colour" in str(request.body) or mode_of(request.body) != "plain"
        return fault if is_structured and mode_of(request.body) in modes else Answer(GOOD, latency=0.01)

    return script


def enforcing(*modes: str) -> Callable[[ChatRequest], Answer]:
    """A server that enforces the form in some modes, and answers others in prose."""
    return lambda request: Answer(GOOD) if mode_of(request.body) in modes else Answer(PROSE, tool_calls=[])


async def ask_all(desk: Desk, server: ChatServer, replies: ReplyForm | None = None) -> None:
    async with desk.at(server, replies=replies) as model:
        for thing in THINGS:
            assert (await model.ask(colour(thing))).value == RED


def capabilities(desk: Desk, server: ChatServer) -> ModelCapabilities:
    return desk.store.capabilities.known(f"openai:m@{server.base_url}")


@pytest.mark.parametrize(
    "message", ["failed to parse grammar", "The schema contains features not supported by xgrammar.", "Bad request"]
)
@pytest.mark.parametrize(("modes", "accepted"), [(["schema"], "tools"), (["schema", "tools"], "plain")])
async def test_refused_mode_leads_to_the_next(desk: Desk, message: str, modes: list[str], accepted: str) -> None:
    async with desk.serving(refusing(modes, failing(message))) as (server, model):
        replies = await asyncio.gather(*(model.ask(colour(str(n))) for n in range(8)))
    assert [reply.value for reply in replies] == [RED] * 8
    # Each refused mode costs one request, and not one for each of the eight.
    assert modes_of(server) == [*modes, *[accepted] * 8]
    assert desk.pauses == []


async def test_mode_changes_after_two_server_faults(desk: Desk) -> None:
    fault = failing("Internal Server Error", 500)
    async with desk.serving(refusing(["schema"], fault)) as (server, model):
        assert (await model.ask(colour())).value == RED
    assert modes_of(server) == ["schema", "schema", "tools"]
    async with desk.serving([fault, Answer(GOOD)]) as (server, model):
        assert (await model.ask(colour("a lily"))).value == RED
    assert modes_of(server) == ["schema", "schema"]


@pytest.mark.parametrize("status", [400, 422])
async def test_refusal_in_every_mode_is_reported_soon(desk: Desk, status: int) -> None:
    async with desk.serving(lambda _: failing("The cat sat on the GPU.", status)) as (server, model):
        errors = await asyncio.gather(*(model.ask(colour(str(n))) for n in range(38)), return_exceptions=True)
    assert all(isinstance(error, RedraftError) and "The cat sat on the GPU." in error.message for error in errors)
    assert set(modes_of(server)) == {"schema", "tools", "plain"}
    assert any(isinstance(error, ProviderError) and "replies" in error.hint for error in errors)
    assert len(server.seen) <= 6


@pytest.mark.parametrize("form", ["schema", "tools", "plain"])
async def test_mode_can_be_forced(desk: Desk, form: ReplyForm) -> None:
    with ChatServer(lambda _: GOOD) as server:
        desk.store.capabilities.learn(f"openai:m@{server.base_url}", mode="tools")
        await ask_all(desk, server, form)
    assert set(modes_of(server)) == {form}


async def test_forced_mode_is_kept_when_refused(desk: Desk) -> None:
    async with desk.serving(refusing(["schema"], failing("Bad request")), replies="schema") as (server, model):
        for thing, error in zip(THINGS, (RejectedRequest, ProviderError, ProviderError), strict=False):
            with pytest.raises(error, match="Bad request"):
                await model.ask(colour(thing))
    assert modes_of(server) == ["schema", "schema"]


def test_only_openai_servers_accept_a_schema() -> None:
    assert modes_for("tools", speaks_openai=False) == ("tools",)
    with pytest.raises(UsageError, match="OpenAI's protocol"):
        modes_for("schema", speaks_openai=False)


@pytest.mark.parametrize(
    ("enforced", "modes", "learned"),
    [
        (["schema", "plain"], ["schema"] * 4, "json_schema"),
        (["tools", "plain"], ["schema", *["tools"] * 4], "tools"),
        (["plain"], ["schema", "tools", *["plain"] * 4], "plain"),
    ],
)
async def test_ignored_mode_is_abandoned_and_remembered(
    desk: Desk, enforced: list[str], modes: list[str], learned: str
) -> None:
    with ChatServer(enforcing(*enforced)) as server:
        await ask_all(desk, server)
        assert modes_of(server) == modes
        assert capabilities(desk, server).mode == learned
        async with desk.at(server) as model:
            assert (await model.ask(colour("an iris"))).value == RED
            # Another mode changes no cached reply.
            assert (await model.ask(colour(THINGS[0]))).cached
    assert modes_of(server) == [*modes, modes[-1]]


async def test_call_with_a_list_is_read(desk: Desk) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "Colour", "arguments": f"[{GOOD}]"}}

    def script(request: ChatRequest) -> Answer | str:
        return Answer(tool_calls=[call]) if mode_of(request.body) == "tools" else GOOD

    with ChatServer(script, refuses=["json_schema"]) as server:
        await ask_all(desk, server)
    assert modes_of(server) == ["schema", *["tools"] * 4]
    assert desk.pauses == []


PAIRS = CompareInput(pairs=[Pair(id=n, question=f"Why {n}?", document="So.", summary="So.") for n in range(1, 4)])
STRUCTURED = pytest.mark.parametrize("name", sorted(name for name in CASES if PROMPTS[name].returns is not FactTree))
Schema = dict[str, Any]


def schema_of(request: ChatRequest) -> Schema:
    schema: Schema = (
        request.body["tools"][0]["function"]["parameters"]
        if mode_of(request.body) == "tools"
        else request.body["response_format"]["json_schema"]["schema"]
    )
    return schema


async def schema_sent(prompt: Prompt[Any, Any], inputs: BaseModel, name: str, replies: ReplyForm) -> Schema:
    """The schema that a server gets for a request in this form."""

    def reply(request: ChatRequest) -> Answer:
        call = {"id": "1", "type": "function", "function": {"name": "x", "arguments": f'{{"{name}": []}}'}}
        return Answer(tool_calls=[call]) if mode_of(request.body) == "tools" else Answer(f'{{"{name}": []}}')

    with ChatServer(reply) as server:
        chat = ChatOpenAI(model="m", base_url=server.base_url, api_key=SecretStr(KEY), max_retries=0)
        # An empty list may be no reply.
        with contextlib.suppress(UnreadableReply):
            request = Request(prompt, inputs, Sampling(0.0, 100), text="Ask.")
            await ChatModel(chat, modes=modes_for(replies, speaks_openai=True)).ask(request)
    return schema_of(server.seen[0])


@pytest.mark.parametrize("replies", ["schema", "tools"])
@pytest.mark.parametrize(
    ("prompt", "inputs", "name", "count"),
    [
        (ASK_DOCUMENT, AskDocumentInput(excerpt="It rained.", count=7), "questions", 7),
        (COMPARE_ANSWERS, PAIRS, "comparisons", 3),
        (DECIDE, GIVEN["decide"].model_copy(update={"at_most": 1}), "fix", 1),
    ],
)
async def test_lists_are_limited(
    prompt: Prompt[Any, Any], inputs: BaseModel, name: str, count: int, replies: ReplyForm
) -> None:
    assert (await schema_sent(prompt, inputs, name, replies))["properties"][name]["maxItems"] == count


async def test_tags_are_named_in_strict_schemas_only() -> None:
    """Functions precede the prompt: other tags in them would break the provider's prefix cache."""
    ids = [
        (await schema_sent(COMPARE_ANSWERS, PAIRS, "comparisons", replies))["properties"]["comparisons"]["items"]
        for replies in ("schema", "tools")
    ]
    assert [schema["properties"]["id"] for schema in ids] == [
        {"type": "string", "enum": Tags(PAIRS).all("pairs")},
        {"type": "string"},
    ]


@pytest.mark.parametrize(
    ("word", "message"),
    [("maxItems", "Invalid schema: maxItems is not supported"), ("enum", "response schema has too many enum values")],
)
async def test_refused_keyword_is_omitted(desk: Desk, word: str, message: str) -> None:
    def id_and_limit(request: ChatRequest) -> str:
        entries = schema_of(request)["properties"]["comparisons"]
        return f"{entries['items']['properties']['id']} {entries.get('maxItems') and 'maxItems'}"

    def serve(request: ChatRequest) -> Answer | Fault:
        entries = [{"id": tag, "reason": "So.", "verdict": "full"} for tag in Tags(PAIRS).all("pairs")]
        is_refused = word in id_and_limit(request)
        refusal = Fault("status", status=400, message=message)
        return refusal if is_refused else Answer(json.dumps({"comparisons": entries}))

    async with desk.serving(serve) as (server, model):
        for sample in (0, 1):
            await model.ask(Request(COMPARE_ANSWERS, PAIRS, Sampling(0.0, 100, sample=sample)))
    assert modes_of(server) == ["schema"] * 3
    assert [word in id_and_limit(request) for request in server.seen] == [True, False, False]
    other = ({"maxItems", "enum"} - {word}).pop()
    assert all(other in id_and_limit(request) for request in server.seen)


@STRUCTURED
def test_cache_key_has_no_limits_or_tags(name: str) -> None:
    case = CASES[name]
    schema = str(full_schema(Request(case.prompt, case.given)))
    assert "maxItems" not in schema
    lists = {field: getattr(case.given, field) for field in type(case.given).model_fields}
    tagged = [
        field
        for field, items in lists.items()
        if isinstance(items, list) and any(isinstance(item, TaggedItem) for item in items)
    ]
    assert not [tag for field in tagged for tag in Tags(case.given).all(field) if tag in schema]
