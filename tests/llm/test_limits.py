"""The schema as it is sent: lists end where the prompt says how many entries are wanted, so that no model loops for
ever; and items have the tags of this request, so that none is named that does not exist."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from redraft.errors import UnreadableReply
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
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault
from tests.llm.support import KEY, Desk
from tests.llm.test_modes import mode_of, modes_of
from tests.prompts.samples import GIVEN
from tests.replies.prompts import CASES

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
