"""A schema as it goes out: lists end where the prompt says how many entries are wanted, so that a model that loops
cannot go on for ever; and items have the names that they have in this request, so that none is named that there is not.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from redraft.errors import UnreadableReply
from redraft.llm import structured_output
from redraft.llm.base import Request, Sampling
from redraft.llm.chat import ChatModel
from redraft.llm.structured_output import KEYWORDS, LIMITS, NAMES, fitted, full_schema, modes_for
from redraft.prompts.book import PROMPTS
from redraft.prompts.contract import Prompt
from redraft.prompts.factual import ExtractFactsInput, FactTree
from redraft.prompts.qa import (
    ASK_DOCUMENT,
    COMPARE_ANSWERS,
    AnswerFromSummaryInput,
    AskDocumentInput,
    AskSummaryInput,
    CompareInput,
    Pair,
    QuestionItem,
    SummaryAnswers,
    SummaryLine,
    SummaryQuestions,
)
from redraft.prompts.revision import DECIDE
from redraft.prompts.tags import TaggedItem, Tags
from redraft.settings import ReplyForm
from tests.chatserver import Answer, ChatServer, Fault, Seen
from tests.llm.support import KEY, Desk
from tests.llm.test_modes import mode_of
from tests.prompts.samples import GIVEN
from tests.replies.prompts import CASES, Case

PAIRS = [Pair(id=n, question=f"Why {n}?", document="So.", summary="So.") for n in range(1, 4)]
ASKED: list[tuple[Prompt[Any, Any], BaseModel, str, int]] = [
    (ASK_DOCUMENT, AskDocumentInput(excerpt="It rained.", count=7), "questions", 7),
    (COMPARE_ANSWERS, CompareInput(pairs=PAIRS), "comparisons", 3),
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
    answers = AnswerFromSummaryInput(context="And so on.", sentences=told, questions=asked)
    entry = named(SummaryAnswers, answers)["answers"]["items"]["properties"]
    assert entry["id"]["enum"] == Tags(answers).all("questions")
    assert entry["sentences"]["items"]["enum"] == Tags(answers).all("sentences")
    assert len(entry["sentences"]["items"]["enum"]) == 3

    some = AskSummaryInput(sentences=told, only=[2], at_most=4)
    entry = named(SummaryQuestions, some)["sentences"]["items"]["properties"]
    assert entry["id"]["enum"] == [Tags(some).tag("sentences", 2)]


def test_where_there_is_nothing_to_be_named_no_tag_is_asked_for() -> None:
    nobody = AnswerFromSummaryInput(context="It rained.", sentences=[], questions=[QuestionItem(id=1, question="Why?")])
    entry = named(SummaryAnswers, nobody)["answers"]["items"]["properties"]
    assert entry["sentences"]["items"] == {"type": "string"}


def named(shape: type[BaseModel], given: BaseModel) -> dict[str, Any]:
    schema = convert_to_openai_tool(shape, strict=True)["function"]["parameters"]
    before = json.dumps(schema)
    found: dict[str, Any] = fitted(schema, shape, given, [NAMES], Tags(given))["properties"]
    assert json.dumps(schema) == before, "what is sent to one is not what is sent to another"
    return found


async def test_a_server_that_refuses_the_limit_is_asked_without_it_in_the_same_way(desk: Desk) -> None:
    prompt, given, name, _ = ASKED[0]
    said = '{"questions": [{"question": "Why?", "kind": "why", "answer": "So.", "quote": "So."}]}'
    refused = Fault("status", status=400, message="Invalid schema: maxItems is not supported")
    async with desk.serving([refused, said, said]) as (server, model):
        await model.ask(Request(prompt, given, Sampling(0.0, 100)))
        await model.ask(Request(prompt, given, Sampling(0.0, 100, sample=1)))
    assert [mode_of(seen.body) for seen in server.seen] == ["schema"] * 3
    assert ["maxItems" in str(schema_of(seen)["properties"][name]) for seen in server.seen] == [True, False, False]


async def test_a_server_that_refuses_the_tags_is_asked_without_them_in_the_same_way(desk: Desk) -> None:
    prompt, given, name, _ = ASKED[1]
    refused = Fault("status", status=400, message="response schema has too many enum values")

    def serve(seen: Seen) -> Answer | Fault:
        said = [{"id": one, "reason": "So.", "verdict": "full"} for one in Tags(given).all("pairs")]
        return refused if "enum" in str(ids_of(seen, name)) else Answer(json.dumps({name: said}))

    async with desk.serving(serve) as (server, model):
        await model.ask(Request(prompt, given, Sampling(0.0, 100)))
        await model.ask(Request(prompt, given, Sampling(0.0, 100, sample=1)))
    assert [mode_of(seen.body) for seen in server.seen] == ["schema"] * 3
    assert ["enum" in str(ids_of(seen, name)) for seen in server.seen] == [True, False, False]
    assert all(schema_of(seen)["properties"][name]["maxItems"] == 3 for seen in server.seen)


def ids_of(seen: Seen, name: str) -> Any:
    return schema_of(seen)["properties"][name]["items"]["properties"]["id"]


def test_a_tree_has_as_many_facts_as_needed() -> None:
    """As in HAMLET's prompts; what ends a reply that loops is its room."""
    schema = convert_to_openai_tool(FactTree)["function"]["parameters"]
    assert "maxItems" not in json.dumps(fitted(schema, FactTree, ExtractFactsInput(excerpt="So."), [LIMITS]))


@pytest.mark.parametrize(
    "name", sorted(name for name, one in PROMPTS.items() if one.returns is not str and one.returns is not FactTree)
)
def test_no_list_of_any_reply_goes_on_for_ever(name: str) -> None:
    case = CASES[name]
    schema = convert_to_openai_tool(case.prompt.returns, strict=True)["function"]["parameters"]
    endless = list(lists_without_end(fitted(schema, case.prompt.returns, case.given, [LIMITS])))
    assert not endless


def lists_without_end(schema: object, place: str = "") -> Iterator[str]:
    if isinstance(schema, dict):
        if schema.get("type") == "array" and "maxItems" not in schema:
            yield place
        for name, part in schema.items():
            yield from lists_without_end(part, f"{place}.{name}")


def test_lists_within_entries_have_limits_of_their_own() -> None:
    told = [SummaryLine(id=n, sentence="It rained.") for n in (1, 2, 3)]
    given = AskSummaryInput(context="It was dark.", sentences=told, at_most=4)
    schema = {
        "properties": {
            "sentences": {
                "type": "array",
                "items": {"properties": {"id": {"type": "string"}, "questions": {"type": "array", "items": {}}}},
            }
        }
    }
    limited = fitted(schema, SummaryQuestions, given, [LIMITS])["properties"]["sentences"]
    assert limited["maxItems"] == 3
    some = given.model_copy(update={"only": [1, 3]})
    assert fitted(schema, SummaryQuestions, some, [LIMITS])["properties"]["sentences"]["maxItems"] == 2
    assert limited["items"]["properties"]["questions"]["maxItems"] == 4
    assert "maxItems" not in str(schema), "what is sent to one is not what is sent to another"


@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "https://eu.api.openai.com/v1"])
def test_openai_itself_sees_one_schema_and_not_one_for_each_number(url: str) -> None:
    model = ChatModel(ChatOpenAI(model="m", base_url=url, api_key=SecretStr(KEY)))
    prompt, given, _, _ = ASKED[1]
    bound = model._bound(Request(prompt, given), "json_schema", 0)
    assert isinstance(bound, ChatOpenAI)
    assert bound.extra_body is not None
    schema = bound.extra_body["response_format"]["json_schema"]["schema"]
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
    sent = structured_output.named_schema(request, "json_schema", KEYWORDS)
    for part in re.findall(r'"maxItems":\d+|"enum":\[.*?\]', json.dumps(sent, separators=(",", ":"))):
        assert part in structured_output.prompt_schema(request, KEYWORDS)


def fields_of(case: Case) -> list[str]:
    """The fields that hold items."""
    return [
        name
        for name in type(case.given).model_fields
        if isinstance(found := getattr(case.given, name), list) and any(isinstance(one, TaggedItem) for one in found)
    ]
