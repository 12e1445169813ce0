"""Another program holds the database for a while: the run waits, and whatever else the application does goes on."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from redraft import Document, Result
from redraft.errors import RunError
from redraft.llm.base import Request
from redraft.store import connection
from tests.graphs.test_embedding import Author
from tests.judges import Harness
from tests.support import Desk, story

pytestmark = pytest.mark.slow

HELD = 2.0
# An event loop that waits for the lock itself stands still for nearly all of that; a busy machine takes some of it.
STALL = HELD * 0.6


def hold(database: Path) -> None:
    """Take the database's write lock, and keep it for a while from another thread."""
    locked = threading.Event()

    def keep() -> None:
        with sqlite3.connect(database, isolation_level=None) as raw:
            raw.execute("BEGIN IMMEDIATE")
            locked.set()
            time.sleep(HELD)
            raw.execute("ROLLBACK")
        raw.close()

    threading.Thread(target=keep).start()
    assert locked.wait(10)


@asynccontextmanager
async def watched() -> AsyncIterator[Callable[[], float]]:
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - began - 0.01)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    try:
        yield lambda: longest
    finally:
        watching.cancel()


def holding(model: Any, prompt: str, database: Path) -> list[str]:
    """Have the database held when a prompt is asked for the first time; where that has happened is noted."""
    ask, prompts = model.ask, list[str]()

    async def asked(request: Request[Any, Any]) -> Any:
        if request.prompt.name == prompt and not prompts:
            prompts.append(prompt)
            await asyncio.to_thread(hold, database)
        return await ask(request)

    model.ask = asked
    return prompts


async def refined(harness: Harness, document: Document) -> Result:
    async with harness.session() as session:
        settings = harness.settings({"strategy": "direct", "words": 100})
        return await session.summarize(document, settings=settings, goals={"coverage": 0.9, "consistency": 1.0})


@pytest.mark.parametrize("prompt", ["", "summarize_whole", "ask_document", "answer_from_document", "edit"])
async def test_refining_waits_without_blocking_the_loop(tmp_path: Path, prompt: str) -> None:
    before, harness = Harness(tmp_path / "before", Author()), Harness(tmp_path, Author())
    undisturbed = await refined(before, before.document)
    prompts = holding(harness.model, prompt, harness.store.path)
    if not prompt:
        hold(harness.store.path)
    began = time.monotonic()
    async with watched() as longest:
        result = await refined(harness, harness.document)
    took = time.monotonic() - began
    for place in (before, harness):
        place.store.close()

    assert prompts == ([prompt] if prompt else [])
    assert took > HELD * 0.8, "nobody had to wait, and nothing was tested"
    assert (result.summary, result.scores) == (undisturbed.summary, undisturbed.scores)
    assert longest() < STALL


async def test_claimed_run_does_not_block_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CLAIM_SECONDS", HELD)
    desk = Desk(tmp_path)
    stopped = await desk.summarize(story(20))
    desk.store.runs.set_status(stopped.run.id, "interrupted")
    with desk.store.claim(stopped.run.id):
        async with watched() as longest:
            with pytest.raises(RunError, match="is in use"):
                await desk.resume(stopped.run.id)
    assert longest() < STALL
    # Whoever was refused has taken nothing away from the one who works on it.
    assert (await desk.resume(stopped.run.id)).run.status == "done"
    assert not desk.store.connection.lock_path(stopped.run.id).exists()  # type: ignore[attr-defined]
    desk.store.close()
