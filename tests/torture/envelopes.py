"""Replies in envelopes that no protocol knows: whoever says them, whatever they say was used, wherever the text stands.

Hypothesis makes them from parts.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sqlite3
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx2
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from redraft.errors import ModelError
from redraft.llm.openai import open_openai
from redraft.llm.rate_limiter import Limiter
from redraft.llm.recorded import RecordedModel
from redraft.prompts.book import PromptBook
from redraft.store.store import Store
from tests.llm.support import STORY, Request, Sampling, ThingGiven

Json = dict[str, Any]
TEXT = "The keeper kept the light for forty years."
COUNTS: list[Any] = [0, 7, 3.7, 2**31, 2**53, 2**63, 2**64, -1, -(2**63), float("nan"), float("inf"), 1e300]
COUNTS += ["12", "many", "", None, True, [], {}, [1], {"a": 1}]
JUNK: list[Any] = [None, "", 0, -1, 3.7, True, False, [], {}, "x", ["x"], {"x": None}, float("nan"), "\ud800", "a\0b"]

counts = st.sampled_from(COUNTS)
junk = st.sampled_from(JUNK)


def maybe(strategy: st.SearchStrategy[Any], name: str) -> st.SearchStrategy[Json]:
    """A field that may be missing."""
    return st.one_of(st.just({}), strategy.map(lambda value: {name: value}))


def joined(*parts: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.tuples(*parts).map(lambda values: {name: value for part in values for name, value in part.items()})


def some(*parts: tuple[st.SearchStrategy[Any], str]) -> st.SearchStrategy[Json]:
    return joined(*(maybe(strategy, name) for strategy, name in parts))


READABLE: list[Any] = [
    TEXT,
    [{"type": "text", "text": TEXT}],
    [{"type": "text", "text": TEXT[:10]}, {"type": "text", "text": TEXT[10:]}],
    [TEXT],
    {"type": "text", "text": TEXT},
]
contents = st.one_of(st.sampled_from(READABLE), st.sampled_from(READABLE), junk)
roles = st.one_of(
    st.just("assistant"), st.sampled_from(["user", "system", "developer", "tool", "function", "model"]), junk
)
usages = st.one_of(
    some(
        (counts, "prompt_tokens"),
        (counts, "completion_tokens"),
        (counts, "total_tokens"),
        (st.one_of(junk, some((counts, "cached_tokens"))), "prompt_tokens_details"),
        (st.one_of(junk, some((counts, "reasoning_tokens"), (counts, "audio_tokens"))), "completion_tokens_details"),
    ),
    junk,
)
messages = joined(
    contents.map(lambda content: {"content": content}),
    some((roles, "role"), (junk, "refusal"), (junk, "tool_calls"), (junk, "function_call"), (junk, "audio")),
    some((junk, "name"), (junk, "id"), (junk, "annotations"), (junk, "reasoning_content"), (junk, "reasoning")),
)
choices = joined(
    messages.map(lambda message: {"message": message}),
    some((st.one_of(st.just("stop"), junk), "finish_reason"), (junk, "logprobs"), (junk, "index")),
)
envelopes = joined(
    choices.map(lambda choice: {"choices": [choice]}),
    some((usages, "usage"), (st.one_of(st.just("m"), junk), "model"), (junk, "service_tier")),
    some((junk, "id"), (junk, "object"), (junk, "created"), (junk, "system_fingerprint")),
)
"""Answers with one choice, in which anything but that may be anything."""


class Desk:
    """A model at a server that answers as it is told, and the ledger of what was asked of it."""

    def __init__(self, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.answer: Json = {}
        self.asked = 0
        self.numbers = itertools.count()
        self.tally: Counter[str] = Counter()
        self.store = Store(folder / "redraft.db")
        (folder / f"{STORY.name}.md").write_text("Tell a story about {{ thing }}.", "utf-8")
        self.ledger = sqlite3.connect(folder / "redraft.db")
        self.ledger.row_factory = sqlite3.Row
        self.stack = AsyncExitStack()
        transport = httpx2.MockTransport(self._answered)
        with patch("openai.DefaultAsyncHttpx2Client", lambda **_: httpx2.AsyncClient(transport=transport)):
            chat = open_openai("m", "http://nowhere.example/v1", key="sk-0123456789", seconds=5, closing=self.stack)
        with patch.dict("redraft.prompts.book.PROMPTS", {STORY.name: STORY}):
            book = PromptBook(str(folder))
        self.model = RecordedModel(
            chat, book=book, store=self.store, limiter=Limiter(4), pause=lambda _: asyncio.sleep(0)
        )

    def _answered(self, _: httpx2.Request) -> httpx2.Response:
        self.asked += 1
        return httpx2.Response(
            200, content=json.dumps(self.answer).encode(), headers={"content-type": "application/json"}
        )

    def ask(self, answer: Json) -> str:
        """The text that comes of an answer, or the code of the error."""
        self.answer, before = answer, self.asked
        thing = f"number {next(self.numbers)}"
        try:
            reply = self.loop.run_until_complete(
                self.model.ask(Request(STORY, ThingGiven(thing=thing), Sampling(max_tokens=50), thing))
            )
        except ModelError as error:
            self.tally[error.code] += 1
            outcome = error.code
        else:
            assert self.asked == before + 1, "an answer that can be read is paid for once"
            self.tally["ok"] += 1
            outcome = reply.text
        rows = self.ledger.execute("SELECT * FROM calls WHERE label = ?", (thing,)).fetchall()
        assert rows
        for row in rows:
            assert row["outcome"] != "sent"
            assert row["outcome"] != "bug", row["error"]
            for name in ("prompt_tokens", "completion_tokens", "cached_prompt_tokens"):
                assert isinstance(row[name], int)
                assert 0 <= row[name] <= 2**31
        return outcome

    def close(self) -> None:
        self.loop.run_until_complete(self.stack.aclose())
        self.loop.close()
        self.ledger.close()


def holds(desk: Desk, answer: Json) -> None:
    """What can be read is read and stored; nothing that was answered stays in flight, or ends in a traceback."""
    outcome = desk.ask(answer)
    choice = answer["choices"][0]
    message = choice["message"]
    if message["content"] in READABLE and not (isinstance(refusal := message.get("refusal"), str) and refusal):
        assert outcome == TEXT, (outcome, answer)


def many(tries: int, number: int = 0) -> Counter[str]:
    """What became of so many answers, which go by a number."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder))

        @seed(number)
        @settings(
            max_examples=tries,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(envelopes)
        def attack(answer: Json) -> None:
            holds(desk, answer)

        try:
            attack()
        finally:
            desk.close()
        return desk.tally
