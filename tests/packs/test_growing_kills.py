"""kill -9 while key facts are grown, then a resumption: the same trees, and nothing is paid for twice."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from redraft import DraftConfig, Limits, RefineConfig, Session, Store
from redraft.domain import KeyFacts
from redraft.events import Event, unobserved
from redraft.report.history.results import Result
from redraft.text import tokens
from tests.chatserver import ChatServer
from tests.judges import KEY, island, told
from tests.runs.test_refine_kills import _PROCESSES, Death, Undisturbed, outcome, sent, serving

# Three chunks.
KEEPERS = 60


async def work(database: Path, url: str, observer: Callable[[Event], None] = unobserved) -> Result:
    """The refinement that is going to be killed: trees are grown for it first, and then it revises."""
    async with Session(database, limits=Limits(concurrency=1), observer=observer) as session:
        return await session.refine(
            island(KEEPERS),
            told(*range(1, KEEPERS - 3), wrong={KEEPERS: "Bob"}),
            refinement=RefineConfig(goals={"keyfact_recall": 1.0, "faithfulness": 1.0}, allow_self_check=True),
            settings=DraftConfig(model="openai:m", base_url=url, words=900, context_tokens=1600),
        )


def killed(death: Death, database: Path, url: str) -> None:
    """What the process does that is going to die."""
    os.environ["OPENAI_API_KEY"] = KEY
    asyncio.run(work(database, url, death.watch()))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ChatServer]:
    with serving(tmp_path / "script") as running:
        yield running


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Undisturbed, KeyFacts]:
    folder = tmp_path_factory.mktemp("undisturbed")
    with serving(folder) as running, pytest.MonkeyPatch.context() as patch:
        # As in the processes that die: tiktoken itself remembers what other tests have loaded.
        patch.setattr("tiktoken.registry.ENCODINGS", {})
        tokens._load.cache_clear()
        result = asyncio.run(work(folder / "redraft.db", running.base_url))
        with Store(folder / "redraft.db") as store:
            return Undisturbed(result, sent(running)), grown(store, result)


def grown(store: Store, result: Result) -> KeyFacts:
    """The key facts that the drafts were judged by, whoever gave them."""
    found = store.keyfacts.latest(result.run.document)
    assert found is not None
    assert result.evaluations["keyfact_recall"].details["keyfacts"] == found.id
    return replace(found, builder="", validator="")


@pytest.mark.slow
def test_what_is_killed_grows_trees_and_asks_nothing_twice(undisturbed: tuple[Undisturbed, KeyFacts]) -> None:
    whole, trees = undisturbed

    assert (whole.result.run.status, whole.result.run.stop_reason) == ("done", "goals_met")
    # In so small a window a revision has room for some of the missing facts at a time.
    assert [made.aims for made in whole.result.rounds[1:]] == [("faithfulness",), *[("keyfact_recall",)] * 3]
    assert len(trees.trees) == 6
    assert max(whole.asked.values()) == 1
    assert whole.asked.total() > 60


@pytest.mark.slow
@pytest.mark.parametrize("answers", [1, 9, 45])
async def test_a_death_amid_the_trees_changes_nothing(
    tmp_path: Path, server: ChatServer, undisturbed: tuple[Undisturbed, KeyFacts], answers: int
) -> None:
    whole, trees = undisturbed
    database = tmp_path / "killed.db"
    process = _PROCESSES.Process(target=killed, args=(Death("call", answers), database, server.base_url))
    process.start()
    await asyncio.to_thread(process.join, 60)
    assert process.exitcode == -signal.SIGKILL
    with Store(database) as store:
        run = store.runs.latest(1)[0]
        assert store.status(run) == "killed"
        assert store.keyfacts.latest(run.document) is None
        async with Session(store) as session:
            resumed = await session.resume(run.id)

        assert outcome(resumed) == outcome(whole.result)
        assert grown(store, resumed) == trees
    # With one request at a time, only the one that was on its way may be sent again.
    assert sent(server).keys() == whole.asked.keys()
    assert (sent(server) - whole.asked).total() <= 1
