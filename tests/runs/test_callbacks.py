"""Callbacks of a session and of a call reach LangChain."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from typing_extensions import override

from redraft import ChatModel, RedraftError, Session
from tests.judges import island


class Heard(BaseCallbackHandler):
    """Keeps the tags and metadata of each request to a chat model."""

    def __init__(self) -> None:
        self.asked: list[tuple[set[str], dict[str, Any]]] = []

    @override
    def on_chat_model_start(self, *args: Any, **details: Any) -> None:
        self.asked.append((set(details["tags"] or ()), details["metadata"] or {}))


def session(folder: Path, **config: Any) -> Session:
    chat = FakeListChatModel(responses=["The keeper number 1 is called Tom1 and lives at station 7 by the cold sea."])
    return Session(folder / "x.db", model=ChatModel(chat), **config)


async def test_callbacks_of_session_and_call_are_merged(tmp_path: Path) -> None:
    heard, mine = Heard(), Heard()
    async with session(tmp_path, callbacks=[heard], tags=["all"], metadata={"team": "a", "job": 1}) as opened:
        result = await opened.summarize(
            island(3), words=30, strategy="direct", callbacks=[mine], tags=["one"], metadata={"job": 2}
        )
        ((tags, metadata),) = mine.asked
        assert heard.asked == mine.asked
        assert {"all", "one"} <= tags
        assert (metadata["team"], metadata["job"]) == ("a", 2)
        assert "callbacks" not in result.run.settings.model_dump()
        await opened.summarize(island(4), words=30, strategy="direct")
    assert len(mine.asked) == 1, "those of a call are for that call"
    assert len(heard.asked) == 2
    assert "one" not in heard.asked[1][0]


CALLS: dict[str, Callable[[Session, Heard], Coroutine[Any, Any, object]]] = {
    "ask": lambda opened, heard: opened.ask(island(3), "Who is number 1?", callbacks=[heard]),
    "build": lambda opened, heard: opened.build(island(3), callbacks=[heard]),
    "compare": lambda opened, heard: opened.compare(island(3), "It is Tom1.", "It is Tom2.", callbacks=[heard]),
    "evaluate": lambda opened, heard: opened.evaluate(island(3), "It is Tom1.", callbacks=[heard]),
}


@pytest.mark.parametrize("call", CALLS)
async def test_every_call_takes_callbacks(tmp_path: Path, call: str) -> None:
    heard = Heard()
    async with session(tmp_path) as opened:
        with suppress(RedraftError):  # The model always says the same.
            await CALLS[call](opened, heard)
    assert heard.asked
