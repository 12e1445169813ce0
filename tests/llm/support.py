"""What the tests of models share: two prompts of their own, and models at a local server."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from redraft.events import Event
from redraft.llm.addresses import base_url
from redraft.llm.base import Model, Request, Sampling
from redraft.llm.budget import FREE, Budget, Limiter
from redraft.llm.recorded import RecordedModel
from redraft.prompts.book import PROMPTS, PromptBook
from redraft.prompts.contract import Prompt, PromptInput
from redraft.runs.models import open_model
from redraft.settings import DraftConfig, Price, ReplyForm
from redraft.store.store import Store
from tests.chatserver import ChatServer, Script
from tests.chatserver import Reply as ServerReply

KEY = "sk-test-SECRETSECRETSECRET1234"


class Colour(BaseModel):
    """What colour something has."""

    model_config = ConfigDict(extra="forbid")

    name: str
    share: float


class ThingGiven(PromptInput):
    thing: str


COLOUR = Prompt("test_colour", ThingGiven, Colour, "names a colour", 0.0)
STORY = Prompt("test_story", ThingGiven, str, "tells a story")
RED = Colour(name="red", share=0.5)


def make_book(
    folder: Path, monkeypatch: pytest.MonkeyPatch, template: str = "What colour has {{ thing }}?"
) -> PromptBook:
    """A book that has the two prompts."""
    folder.mkdir(exist_ok=True)
    for prompt, text in ((COLOUR, template), (STORY, "Tell a story about {{ thing }}.")):
        monkeypatch.setitem(PROMPTS, prompt.name, prompt)
        (folder / f"{prompt.name}.md").write_text(text, "utf-8")
    return PromptBook(str(folder))


def colour(thing: str = "a rose", **sampling: Any) -> Request[ThingGiven, Colour]:
    return Request(
        COLOUR, ThingGiven(thing=thing), Sampling(**{"temperature": 0.0, "max_tokens": 50, **sampling}), thing
    )


def story(thing: str = "a rose", **sampling: Any) -> Request[ThingGiven, str]:
    return Request(STORY, ThingGiven(thing=thing), Sampling(**{"max_tokens": 50, **sampling}), thing)


@dataclass
class Desk:
    """A store, and models that are recorded in it. Pauses between tries are noted and not waited for."""

    folder: Path
    book: PromptBook
    monkeypatch: pytest.MonkeyPatch
    events: list[Event] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = Store(self.folder / "redraft.db")

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(0)

    def recorded(
        self,
        inner: Model,
        *,
        run: str | None = None,
        budget: Budget | None = None,
        price: Price | None = FREE,
        limiter: Limiter | None = None,
        store: Store | None = None,
        pause: Callable[[float], Awaitable[None]] | None = None,
        **bounds: Any,
    ) -> RecordedModel:
        return RecordedModel(
            inner,
            book=self.book,
            store=store or self.store,
            limiter=limiter or Limiter(16),
            run=run,
            budget=budget or Budget(max_calls=None, max_cost=None),
            price=price,
            observer=self.events.append,
            pause=pause or self._pause,
            **bounds,
        )

    @asynccontextmanager
    async def at(
        self,
        server: ChatServer,
        *,
        seconds: float = 5.0,
        name: str = "m",
        replies: ReplyForm | None = None,
        reasoning_tokens: int | None = None,
        **options: Any,
    ) -> AsyncIterator[RecordedModel]:
        """A recorded model at a server."""
        self.monkeypatch.setenv("OPENAI_API_KEY", KEY)
        address = base_url(server.base_url)
        settings = DraftConfig(
            model=f"openai:{name}", base_url=address, replies=replies, reasoning_tokens=reasoning_tokens
        )
        async with open_model(settings, seconds=seconds) as model:
            yield self.recorded(model, **options)

    @asynccontextmanager
    async def serving(
        self, script: Script | Iterable[ServerReply | Script], *, refuses: Collection[str] = (), **options: Any
    ) -> AsyncIterator[tuple[ChatServer, RecordedModel]]:
        """A server that answers so, and a recorded model at it."""
        with ChatServer(script, refuses=refuses) as server:
            async with self.at(server, **options) as model:
                yield server, model

    def ledger(self) -> list[dict[str, Any]]:
        """All attempts on record, with the text of the reply."""
        with sqlite3.connect(self.store.path) as database:
            database.row_factory = sqlite3.Row
            query = "SELECT c.*, t.text AS content FROM calls c LEFT JOIN texts t ON t.id = c.reply ORDER BY c.id"
            records = [(json.loads(row["body"]), dict(row)) for row in database.execute(query)]
            rows = [record["usage"] | record | row | {"body": row["content"]} for record, row in records]
        database.close()
        return rows

    def outcomes(self) -> list[str]:
        return [row["outcome"] for row in self.ledger()]
