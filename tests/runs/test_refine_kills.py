"""kill -9 while a draft is refined, then a resumption: the same outcome, and nothing is asked for twice.

`tests/graphs/test_stops.py` stops after each single checkpoint, without a process.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from redraft import DraftConfig, Limits, RefineConfig, Session, Store
from redraft.domain import ReviewQuestion
from redraft.events import CallAnswered, Event, RoundSettled, RunDone, RunStarted, StageStarted, unobserved
from redraft.report.history.results import Result
from tests.chatserver import ChatServer, asked
from tests.judges import KEY, Court, Json, island, told

# Of this one consistency is mended first, and coverage then: it revises twice.
POOR = told(1, wrong={2: "Bob"})
EVENTS: dict[str, type] = {
    event.__dataclass_fields__["kind"].default: event for event in (RunStarted, CallAnswered, RoundSettled, RunDone)
}
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__, "redraft.llm.openai"])


@dataclass(frozen=True)
class Death:
    """A process kills itself when an event is told for the so-manieth time."""

    kind: str
    times: int = 1

    def watch(self) -> Callable[[Event], None]:
        """An observer under which the process dies."""
        left = self.times

        def observer(event: Event) -> None:
            nonlocal left
            left -= isinstance(event, EVENTS[self.kind])
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

        return observer


async def agree(question: ReviewQuestion) -> Json:
    """A reviewer who asks for something in the first round, and has nothing to say to the others."""
    return {"add": ["The sea is cold."]} if question["round"] == 1 else {}


async def work(database: Path, url: str, observer: Callable[[Event], None] = unobserved) -> Result:
    """The refinement that is going to be killed."""
    async with Session(database, limits=Limits(concurrency=1), reviewer=agree, observer=observer) as session:
        return await session.refine(
            island(),
            POOR,
            refinement=RefineConfig(goals={"coverage": 0.9, "consistency": 1.0}, review=True, allow_self_check=True),
            settings=DraftConfig(model="openai:m", base_url=url, words=60),
        )


def killed(death: Death, database: Path, url: str) -> None:
    """What the process does that is going to die."""
    os.environ["OPENAI_API_KEY"] = KEY
    asyncio.run(work(database, url, death.watch()))


@contextmanager
def serving(folder: Path) -> Iterator[ChatServer]:
    """A server with a judge and a writer behind it, and a key for it."""
    court = Court(folder)
    with pytest.MonkeyPatch.context() as patch, court.served() as server:
        patch.setenv("OPENAI_API_KEY", KEY)
        yield server
    court.store.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ChatServer]:
    with serving(tmp_path / "script") as running:
        yield running


@dataclass(frozen=True)
class Undisturbed:
    """What comes of it without a death, and what is asked for."""

    result: Result
    asked: Counter[str]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")
    with serving(folder) as running:
        result = asyncio.run(work(folder / "redraft.db", running.base_url))
        return Undisturbed(result, sent(running))


def sent(server: ChatServer) -> Counter[str]:
    """How often each request has been answered.

    Who goes on with a run knows of the server what those before have learned, and asks as it is obeyed.
    """
    return Counter(map(asked, server.answered))


def outcome(result: Result) -> tuple[Any, ...]:
    """What must not depend on whether somebody was killed on the way."""
    rounds = [(made.number, made.aims, made.findings, made.accepted, made.reason) for made in result.rounds]
    return result.run.status, result.run.stop_reason, result.summary, result.scores, result.initial_scores, rounds


async def killed_and_resumed(
    death: Death, folder: Path, server: ChatServer, observer: Callable[[Event], None] = unobserved
) -> tuple[Any, ...]:
    """The outcome after a death. The observer sees the resumption."""
    database = folder / "killed.db"
    process = _PROCESSES.Process(target=killed, args=(death, database, server.base_url))
    process.start()
    await asyncio.to_thread(process.join, 60)
    assert process.exitcode == -signal.SIGKILL
    with Store(database) as store:
        run = store.runs.latest(1)[0]
        # Once its end is on record nothing is left to be done.
        assert store.status(run) == ("done" if death.kind == "done" else "killed")
        async with Session(store, reviewer=agree, observer=observer) as session:
            return outcome(await session.resume(run.id))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("death", "stages"),
    [
        (Death("started"), None),
        (Death("round", 2), ["revision 2, for coverage", "judging draft 2"]),
        (Death("done"), []),
    ],
    ids=lambda value: value.kind if isinstance(value, Death) else "",
)
async def test_a_killed_refinement_goes_on_to_the_same_outcome_and_asks_nothing_twice(
    tmp_path: Path, server: ChatServer, undisturbed: Undisturbed, death: Death, stages: list[str] | None
) -> None:
    """What was settled before the death is not done over again."""
    begun: list[str] = []

    def observer(event: Event) -> None:
        if isinstance(event, StageStarted):
            begun.append(event.name)

    assert await killed_and_resumed(death, tmp_path, server, observer) == outcome(undisturbed.result)
    assert sent(server) == undisturbed.asked
    assert stages is None or begun == stages


@pytest.mark.nightly
async def test_a_death_between_two_answers_repeats_one_request_at_most(
    tmp_path: Path, server: ChatServer, undisturbed: Undisturbed
) -> None:
    assert await killed_and_resumed(Death("call", 4), tmp_path, server) == outcome(undisturbed.result)
    # With one request at a time, only the one that was on its way may be sent again.
    assert sent(server).keys() == undisturbed.asked.keys()
    assert (sent(server) - undisturbed.asked).total() <= 1


@pytest.mark.slow
def test_the_undisturbed_refinement_revises_twice_and_asks_nothing_twice(undisturbed: Undisturbed) -> None:
    result = undisturbed.result
    assert (result.run.status, result.run.stop_reason) == ("done", "goals_met")
    assert [made.accepted for made in result.rounds] == [True, True, True]
    assert max(undisturbed.asked.values()) == 1
