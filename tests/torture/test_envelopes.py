"""Replies in envelopes that no protocol knows: whoever says them and whatever they say was used, the text is read."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redraft.errors import ModelError
from tests.chatserver import ChatServer, Raw
from tests.llm.support import Desk, story

Json = dict[str, Any]
TEXT = "The keeper kept the light for forty years."
COUNTS: list[Any] = [0, 7, 3.7, 2**31, 2**53, 2**63, 2**64, -1, -(2**63), float("nan"), float("inf"), 1e300]
COUNTS += ["12", "many", "", None, True, [], {}, [1], {"a": 1}]
JUNK: list[Any] = [None, "", 0, -1, 3.7, True, False, [], {}, "x", ["x"], {"x": None}, float("nan"), "\ud800", "a\0b"]
READABLE: list[Any] = [
    TEXT,
    [{"type": "text", "text": TEXT}],
    [{"type": "text", "text": TEXT[:10]}, {"type": "text", "text": TEXT[10:]}],
    [TEXT],
    {"type": "text", "text": TEXT},
]
counts, junk = st.sampled_from(COUNTS), st.sampled_from(JUNK)


def some(*names: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    """An object with some of these fields: named ones may be anything, others are as they are described or anything."""
    optional = dict.fromkeys(names, junk) | {name: field | junk for name, field in fields.items()}
    return st.fixed_dictionaries({}, optional=optional)


def joined(*parts: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.tuples(*parts).map(lambda values: {name: value for part in values for name, value in part.items()})


usages = some(
    prompt_tokens=counts,
    completion_tokens=counts,
    total_tokens=counts,
    prompt_tokens_details=some(cached_tokens=counts),
    completion_tokens_details=some(reasoning_tokens=counts, audio_tokens=counts),
)
messages = joined(
    st.fixed_dictionaries({"content": st.sampled_from(READABLE) | st.sampled_from(READABLE) | junk}),
    some("refusal", "tool_calls", "function_call", "audio", "name", "annotations", "reasoning_content", "reasoning"),
    some(role=st.sampled_from(["assistant", "assistant", "user", "system", "developer", "tool", "function", "model"])),
)
choices = joined(st.fixed_dictionaries({"message": messages}), some("logprobs", "index", finish_reason=st.just("stop")))
envelopes = joined(
    st.fixed_dictionaries({"choices": choices.map(lambda choice: [choice])}),
    some("id", "object", "created", "system_fingerprint", "service_tier", usage=usages, model=st.just("m")),
)
"""Answers with one choice, in which anything but that may be anything."""


@pytest.mark.slow
def test_answer_in_any_envelope_is_read_and_stored(desk: Desk) -> None:
    """What can be read is paid for once; nothing that was answered stays in flight, or ends in a traceback."""
    things, answers = itertools.count(), [dict[str, Any]()]

    async def ask(thing: str) -> str:
        async with desk.at(server) as model:
            return str((await model.ask(story(thing))).value)

    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(envelopes)
    def attack(answer: Json) -> None:
        thing, before, answers[0] = f"number {next(things)}", len(server.seen), answer
        message = answer["choices"][0]["message"]
        try:
            text = asyncio.run(ask(thing))
        except ModelError as error:
            text = error.code
        else:
            assert len(server.seen) == before + 1
        if message["content"] in READABLE and not (isinstance(message.get("refusal"), str) and message["refusal"]):
            assert text == TEXT, (text, answer)
        rows = [row for row in desk.ledger() if row["label"] == thing]
        assert rows
        for row in rows:
            assert row["outcome"] not in ("sent", "bug"), row["error"]
            for name in ("prompt_tokens", "completion_tokens", "cached_prompt_tokens"):
                assert isinstance(row[name], int)
                assert 0 <= row[name] <= 2**31

    with ChatServer(lambda request: Raw(json.dumps(answers[0]).encode(), readable=True)) as server:
        attack()
    assert desk.outcomes().count("ok") > 20
