"""A model that thinks without an end: a run says so, and does not ask for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft import DraftConfig, Session, Store
from redraft.errors import IncompleteError
from redraft.llm.reasoning_budget import MOST
from tests.chatserver import Answer, ChatServer, Seen
from tests.llm.support import KEY
from tests.support import story


async def test_a_run_whose_model_thinks_without_an_end_names_that_and_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def musing(seen: Seen) -> Answer:
        limit = seen.body["max_completion_tokens"]
        usage = {"prompt_tokens": 9, "completion_tokens": limit, "total_tokens": 9 + limit}
        return Answer("", finish_reason="length", usage=usage)

    with ChatServer(musing) as server, Store(tmp_path / "redraft.db") as store:
        settings = DraftConfig(
            model="openai:m",
            base_url=server.base_url,
            chunk_tokens=128,
            context_tokens=1024,
            words=60,
            strategy="hierarchical",
        )
        async with Session(store, settings=settings) as session:
            with pytest.raises(IncompleteError, match=f"{MOST:,} tokens were not enough") as caught:
                await session.summarize(story(12))
        known = store.capabilities.known(f"openai:m@{server.base_url}")
    assert "`reasoning_tokens`" in caught.value.hint
    # Each chunk takes a few requests until the room is as large as it may be, and no further tries with fewer words.
    assert len(server.seen) <= 8 * 3
    assert (known.reasoning_tokens or 0) >= MOST
