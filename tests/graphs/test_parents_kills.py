"""kill -9 while a summary is drafted: once the run has gone on, no parent is lost and none is there twice."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from redraft import DraftConfig, Limits, Session, Store
from redraft.domain import Parent
from redraft.events import CallAnswered, Event
from redraft.report.history.results import Result
from tests.chatserver import ChatServer
from tests.judges import KEY
from tests.support import story

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__, "redraft.llm.openai"])


async def work(database: Path, url: str, strategy: str, answers: int = 0) -> Result:
    """Draft; die when so many replies have come."""
    seen = 0

    def observer(event: Event) -> None:
        nonlocal seen
        seen += isinstance(event, CallAnswered)
        if answers and seen == answers:
            os.kill(os.getpid(), signal.SIGKILL)

    settings = DraftConfig(
        model="openai:m", base_url=url, strategy=strategy, words=60, chunk_tokens=128, context_tokens=800
    )
    async with Session(database, limits=Limits(concurrency=4), observer=observer) as session:
        return await session.summarize(story(150), settings=settings)


def killed(database: Path, url: str, strategy: str, answers: int) -> None:
    """What the process does that is going to die."""
    os.environ["OPENAI_API_KEY"] = KEY
    asyncio.run(work(database, url, strategy, answers))


def recorded(database: Path, result: Result) -> dict[str, tuple[Parent, ...]]:
    """All that is on record of what the texts of a run were made from, whatever the run is called."""
    with Store(database) as store:
        known = store.ancestry.of(result.run.id)
        assert known.keys() == {
            *(piece.name for piece in store.runs.pieces(result.run.id)),
            *(draft.id for draft in store.runs.drafts(result.run.id)),
        }
    return {name.replace(result.run.id, "run"): parents for name, parents in known.items()}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["hierarchical", pytest.param("incremental", marks=pytest.mark.nightly)])
async def test_a_death_leaves_every_text_with_its_parents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ChatServer() as server:
        calm = tmp_path / "calm.db"
        undisturbed = recorded(calm, await work(calm, server.base_url, strategy))
        calls = len(server.answered)
        for answers in (3, calls // 2, calls - 2):
            database = tmp_path / f"killed after {answers}.db"
            process = _PROCESSES.Process(target=killed, args=(database, server.base_url, strategy, answers))
            process.start()
            await asyncio.to_thread(process.join, 60)
            assert process.exitcode == -signal.SIGKILL
            async with Session(database) as session:
                (run,) = session.store.runs.latest(1)
                result = await session.resume(run.id)
            assert recorded(database, result) == undisturbed
