"""The form of a reply: in which way it is asked for, where its lists end, and what its items are called."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest
from langchain_core.runnables.base import RunnableBinding
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from redraft.errors import (
    CutReply,
    ProviderError,
    RedraftError,
    RejectedRequest,
    TransientError,
    UnreadableReply,
    UsageError,
)
from redraft.llm import structured_output
from redraft.llm.base import Request, Sampling
from redraft.llm.chat import ChatModel
from redraft.llm.reply_forms import ReplyShape
from redraft.llm.structured_output import full_schema, modes_for
from redraft.prompts.book import PROMPTS
from redraft.prompts.contract import Prompt
from redraft.prompts.decision import DECIDE
from redraft.prompts.factual import FactTree, GrowGiven
from redraft.prompts.qa import (
    ASK_DOCUMENT,
    COMPARE_ANSWERS,
    AnswerFromSummaryGiven,
    AskDocumentGiven,
    AskSummaryGiven,
    CompareGiven,
    Pair,
    QuestionItem,
    SummaryAnswers,
    SummaryLine,
    SummaryQuestions,
)
from redraft.prompts.tags import TaggedItem, Tags
from redraft.settings import DraftConfig, ReplyForm
from redraft.store.calls import ModelCapabilities
from tests.chatserver import Answer, ChatServer, Fault, Json, Seen
from tests.llm.support import KEY, RED, Desk, colour, story
from tests.prompts.samples import GIVEN
from tests.replies.prompts import CASES, Case

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


PAIRS = [Pair(id=n, question=f"Why {n}?", document="So.", summary="So.") for n in range(1, 4)]
ASKED: list[tuple[Prompt[Any, Any], BaseModel, str, int]] = [
    (ASK_DOCUMENT, AskDocumentGiven(excerpt="It rained.", count=7), "questions", 7),
    (COMPARE_ANSWERS, CompareGiven(pairs=PAIRS), "comparisons", 3),
    (DECIDE, GIVEN["decide"].model_copy(update={"at_most": 1}), "fix", 1),
]


def schema_of(seen: Seen) -> dict[str, Any]:
    body: dict[str, Any] = seen.body
    if mode_of(body) == "tools":
        return body["tools"][0]["function"]["parameters"]  # type: ignore[no-any-return]
    return body["response_format"]["json_schema"]["schema"]  # type: ignore[no-any-return]


def a_reply(seen: Seen, name: str) -> Answer:
    call = [{"id": "1", "type": "function", "function": {"name": "x", "arguments": f'{{"{name}": []}}'}}]
    return Answer(tool_calls=call) if mode_of(seen.body) == "tools" else Answer(f'{{"{name}": []}}')


@pytest.mark.parametrize("replies", ["schema", "tools"])
@pytest.mark.parametrize(("prompt", "given", "name", "most"), ASKED)
async def test_no_more_entries_than_are_asked_for(
    prompt: Prompt[Any, Any], given: BaseModel, name: str, most: int, replies: ReplyForm
) -> None:
    with ChatServer(lambda seen: a_reply(seen, name)) as server:
        chat = ChatOpenAI(model="m", base_url=server.base_url, api_key=SecretStr(KEY), max_retries=0)
        model = ChatModel(chat, modes=modes_for(replies, speaks_openai=True))
        # An empty list may be no reply; it is what was sent that counts.
        with contextlib.suppress(UnreadableReply):
            await model.ask(Request(prompt, given, Sampling(0.0, 100), text="Ask."))
    assert schema_of(server.seen[0])["properties"][name]["maxItems"] == most


@pytest.mark.parametrize("replies", ["schema", "tools"])
async def test_a_schema_has_the_tags_of_the_items_and_functions_stay_the_same_for_all(replies: ReplyForm) -> None:
    """Functions are part of the prompt, and stand before the rest of it: with other tags in them nothing of it would be
    the same as the last time."""
    prompt, given, name, _ = ASKED[1]
    with ChatServer(lambda seen: a_reply(seen, name)) as server:
        chat = ChatOpenAI(model="m", base_url=server.base_url, api_key=SecretStr(KEY), max_retries=0)
        model = ChatModel(chat, modes=modes_for(replies, speaks_openai=True))
        await model.ask(Request(prompt, given, Sampling(0.0, 100), text="Ask."))
    said = schema_of(server.seen[0])["properties"][name]["items"]["properties"]["id"]
    tags = {"type": "string", "enum": Tags(given).all("pairs")}
    assert said == (tags if replies == "schema" else {"type": "string"})
    # In words nothing is said of it.
    assert tags["enum"][0] not in str(server.seen[0].messages)


def test_the_tags_are_those_that_are_asked_about_and_of_other_items_all() -> None:
    asked = [QuestionItem(id=n, question=f"Who is {n}?") for n in (1, 2)]
    told = [SummaryLine(id=n, sentence=f"It is {n}.") for n in (1, 2, 3)]
    answers = AnswerFromSummaryGiven(sentences=[told[0], "And so on.", *told[1:]], questions=asked)
    entry = named(SummaryAnswers, answers)["answers"]["items"]["properties"]
    assert entry["id"]["enum"] == Tags(answers).all("questions")
    assert entry["sentences"]["items"]["enum"] == Tags(answers).all("sentences")
    assert len(entry["sentences"]["items"]["enum"]) == 3

    some = AskSummaryGiven(sentences=told, only=[2], at_most=4)
    entry = named(SummaryQuestions, some)["sentences"]["items"]["properties"]
    assert entry["id"]["enum"] == [Tags(some).tag("sentences", 2)]


def test_where_there_is_nothing_to_be_named_no_tag_is_asked_for() -> None:
    nobody = AnswerFromSummaryGiven(sentences=["It rained."], questions=[QuestionItem(id=1, question="Why?")])
    entry = named(SummaryAnswers, nobody)["answers"]["items"]["properties"]
    assert entry["sentences"]["items"] == {"type": "string"}


def named(shape: type[BaseModel], given: BaseModel) -> dict[str, Any]:
    schema = convert_to_openai_tool(shape, strict=True)["function"]["parameters"]
    before = json.dumps(schema)
    found: dict[str, Any] = ReplyShape(shape, Tags(given)).named(schema)["properties"]
    assert json.dumps(schema) == before, "what is sent to one is not what is sent to another"
    return found


async def test_a_server_that_refuses_the_limit_is_asked_without_it_in_the_same_way(desk: Desk) -> None:
    prompt, given, name, _ = ASKED[0]
    said = '{"questions": [{"question": "Why?", "kind": "why", "answer": "So.", "quote": "So."}]}'
    refused = Fault("status", status=400, message="Invalid schema: maxItems is not supported")
    async with desk.serving([refused, said, said]) as (server, model):
        await model.ask(Request(prompt, given, Sampling(0.0, 100)))
        await model.ask(Request(prompt, given, Sampling(0.0, 101)))
    assert [mode_of(seen.body) for seen in server.seen] == ["schema"] * 3
    assert ["maxItems" in str(schema_of(seen)["properties"][name]) for seen in server.seen] == [True, False, False]


async def test_a_server_that_refuses_the_tags_is_asked_without_them_in_the_same_way(desk: Desk) -> None:
    prompt, given, name, _ = ASKED[1]
    refused = Fault("status", status=400, message="response schema has too many enum values")

    def serve(seen: Seen) -> Answer | Fault:
        said = [{"id": one, "reason": "So.", "verdict": "agrees"} for one in Tags(given).all("pairs")]
        return refused if "enum" in str(ids_of(seen, name)) else Answer(json.dumps({name: said}))

    async with desk.serving(serve) as (server, model):
        await model.ask(Request(prompt, given, Sampling(0.0, 100)))
        await model.ask(Request(prompt, given, Sampling(0.0, 101)))
    assert [mode_of(seen.body) for seen in server.seen] == ["schema"] * 3
    assert ["enum" in str(ids_of(seen, name)) for seen in server.seen] == [True, False, False]
    assert all(schema_of(seen)["properties"][name]["maxItems"] == 3 for seen in server.seen)


def ids_of(seen: Seen, name: str) -> Any:
    return schema_of(seen)["properties"][name]["items"]["properties"]["id"]


def test_a_tree_has_as_many_facts_as_needed() -> None:
    """As in HAMLET's prompts; what ends a reply that loops is its room."""
    schema = convert_to_openai_tool(FactTree)["function"]["parameters"]
    assert "maxItems" not in json.dumps(ReplyShape(FactTree).limited(schema, GrowGiven(excerpt="So.")))


@pytest.mark.parametrize(
    "name", sorted(name for name, one in PROMPTS.items() if one.returns is not str and one.returns is not FactTree)
)
def test_no_list_of_any_reply_goes_on_for_ever(name: str) -> None:
    case = CASES[name]
    schema = convert_to_openai_tool(case.prompt.returns, strict=True)["function"]["parameters"]
    endless = list(lists_without_end(ReplyShape(case.prompt.returns, Tags(case.given)).limited(schema, case.given)))
    assert not endless


def lists_without_end(schema: object, place: str = "") -> Iterator[str]:
    if isinstance(schema, dict):
        if schema.get("type") == "array" and "maxItems" not in schema:
            yield place
        for name, part in schema.items():
            yield from lists_without_end(part, f"{place}.{name}")


def test_lists_within_entries_have_limits_of_their_own() -> None:
    told = ["It was dark.", *(SummaryLine(id=n, sentence="It rained.") for n in (1, 2, 3))]
    given = AskSummaryGiven(sentences=told, at_most=4)
    schema = {
        "properties": {
            "sentences": {
                "type": "array",
                "items": {"properties": {"id": {"type": "string"}, "questions": {"type": "array", "items": {}}}},
            }
        }
    }
    limited = ReplyShape(SummaryQuestions).limited(schema, given)["properties"]["sentences"]
    assert limited["maxItems"] == 3
    some = given.model_copy(update={"only": [1, 3]})
    assert ReplyShape(SummaryQuestions).limited(schema, some)["properties"]["sentences"]["maxItems"] == 2
    assert limited["items"]["properties"]["questions"]["maxItems"] == 4
    assert "maxItems" not in str(schema), "what is sent to one is not what is sent to another"


@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "https://eu.api.openai.com/v1"])
def test_openai_itself_sees_one_schema_and_not_one_for_each_number(url: str) -> None:
    model = ChatModel(ChatOpenAI(model="m", base_url=url, api_key=SecretStr(KEY)))
    prompt, given, _, _ = ASKED[1]
    bound = model._bound(Request(prompt, given), "json_schema", 0)
    assert isinstance(bound, RunnableBinding)
    schema = bound.kwargs["extra_body"]["response_format"]["json_schema"]["schema"]
    assert schema == convert_to_openai_tool(prompt.returns, strict=True)["function"]["parameters"]


@pytest.mark.parametrize("name", sorted(name for name, prompt in PROMPTS.items() if prompt.returns is not str))
def test_what_identifies_a_reply_does_not_know_of_limits_and_tags(name: str) -> None:
    case = CASES[name]
    schema = str(full_schema(Request(case.prompt, case.given)))
    assert "maxItems" not in schema
    assert not [tag for field in fields_of(case) for tag in Tags(case.given).all(field) if tag in schema]


@pytest.mark.parametrize("name", sorted(name for name, prompt in PROMPTS.items() if prompt.returns is not str))
def test_what_is_booked_has_room_for_the_schema_as_it_goes_out(name: str) -> None:
    request = Request(CASES[name].prompt, CASES[name].given)
    sent = json.dumps(
        structured_output.function_tool(request, "json_schema", ("maxItems", "enum"))["function"]["parameters"]
    )
    for part in re.findall(r'"maxItems": \d+|"enum": \[.*?\]', sent):
        assert part in structured_output.longest_schema(request)


def fields_of(case: Case) -> list[str]:
    """The fields that hold items."""
    return [
        name
        for name in type(case.given).model_fields
        if isinstance(found := getattr(case.given, name), list) and any(isinstance(one, TaggedItem) for one in found)
    ]
