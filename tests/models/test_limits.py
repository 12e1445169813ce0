"""Lists in a schema end where the prompt says how many entries are wanted: a model that loops cannot go on for ever."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from redraft.errors import UnreadableReply
from redraft.models.base import Request, Sampling
from redraft.models.chat import ChatModel
from redraft.models.forms import Form
from redraft.models.modes import modes_for
from redraft.prompts.catalog import PROMPTS
from redraft.prompts.contract import Prompt
from redraft.prompts.factual import FactTree, GrowGiven
from redraft.prompts.judging import (
    ASK_DOCUMENT,
    COMPARE_ANSWERS,
    AskDocumentGiven,
    AskSummaryGiven,
    CompareGiven,
    Pair,
    SummaryQuestions,
    Told,
)
from redraft.settings import ReplyForm
from tests.chatserver import Answer, ChatServer, Fault, Seen
from tests.models.support import KEY, Desk
from tests.models.test_modes import mode_of

PAIRS = [Pair(id=n, question=f"Why {n}?", document="So.", summary="So.") for n in range(1, 4)]
ASKED: list[tuple[Prompt[Any, Any], BaseModel, str, int]] = [
    (ASK_DOCUMENT, AskDocumentGiven(excerpt="It rained.", count=7), "questions", 7),
    (COMPARE_ANSWERS, CompareGiven(pairs=PAIRS), "comparisons", 3),
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
    assert "enum" not in str(schema_of(server.seen[0])["properties"][name]["items"]["properties"].get("id", {}))


async def test_a_server_that_refuses_the_limit_is_asked_without_it_in_the_same_way(desk: Desk) -> None:
    prompt, given, name, _ = ASKED[0]
    said = '{"questions": [{"question": "Why?", "kind": "why", "answer": "So.", "quote": "So."}]}'
    refused = Fault("status", status=400, message="Invalid schema: maxItems is not supported")
    with ChatServer([refused, said, said]) as server:
        async with desk.at(server) as model:
            await model.ask(Request(prompt, given, Sampling(0.0, 100)))
            await model.ask(Request(prompt, given, Sampling(0.0, 101)))
    assert [mode_of(seen.body) for seen in server.seen] == ["schema"] * 3
    assert ["maxItems" in str(schema_of(seen)["properties"][name]) for seen in server.seen] == [True, False, False]


def test_no_level_of_a_tree_goes_on_for_ever() -> None:
    roots = Form(FactTree).limited(convert_to_openai_tool(FactTree)["function"]["parameters"], GrowGiven(excerpt="So."))
    branches = roots["properties"]["roots"]["items"]["properties"]["branches"]
    leaves = branches["items"]["properties"]["leaves"]
    assert [one["maxItems"] for one in (roots["properties"]["roots"], branches, leaves)] == [8, 8, 8]


def test_lists_within_entries_have_limits_of_their_own() -> None:
    told = ["It was dark.", *(Told(id=n, sentence="It rained.") for n in (1, 2, 3))]
    given = AskSummaryGiven(sentences=told, at_most=4)
    schema = {
        "properties": {
            "sentences": {
                "type": "array",
                "items": {"properties": {"id": {"type": "string"}, "questions": {"type": "array", "items": {}}}},
            }
        }
    }
    limited = Form(SummaryQuestions).limited(schema, given)["properties"]["sentences"]
    assert limited["maxItems"] == 3
    some = given.model_copy(update={"only": [1, 3]})
    assert Form(SummaryQuestions).limited(schema, some)["properties"]["sentences"]["maxItems"] == 2
    assert limited["items"]["properties"]["questions"]["maxItems"] == 4
    assert "maxItems" not in str(schema), "what is sent to one is not what is sent to another"


@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "https://eu.api.openai.com/v1"])
def test_openai_itself_sees_one_schema_and_not_one_for_each_number(url: str) -> None:
    model = ChatModel(ChatOpenAI(model="m", base_url=url, api_key=SecretStr(KEY)))
    prompt, given, _, _ = ASKED[0]
    assert "maxItems" not in str(model._tool(Request(prompt, given)))


def test_what_identifies_a_reply_does_not_know_of_limits() -> None:
    assert not [name for name, prompt in PROMPTS.items() if "maxItems" in schema_text(prompt)]


def schema_text(prompt: Prompt[Any, Any]) -> str:
    shape = prompt.returns
    return str(shape.model_json_schema()) if issubclass(shape, BaseModel) else ""
