"""kill -9 at every node of the refinement, then a resumption: the same outcome, and nothing is asked for twice."""

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
from typing import Any, Literal

import pytest
from langgraph.runtime import Runtime

from redraft import DraftConfig, Limits, RefineConfig, Session, Store
from redraft.events import CallAnswered, Event, StageStarted, unobserved
from redraft.graphs import assembly, evaluation, refinement
from redraft.graphs.review import ReviewQuestion
from redraft.report.history.results import Result
from tests.chatserver import ChatServer, asked
from tests.judges import KEY, Court, Json, island, told

# Of this one consistency is mended first, and coverage then: it comes past every node three times, and revises twice.
POOR = told(1, wrong={2: "Bob"})
HOMES = {"begin": assembly, "finish": assembly, "judge": evaluation, "metric": evaluation, "gather": evaluation}
NODES = (
    "begin",
    "judge",
    "metric",
    "gather",
    "settle",
    "decide",
    "confirm",
    "review",
    "revise",
    "contest",
    "compare",
    "finish",
)
ONCE = ("begin", "compare", "finish")
MADE = ("begin", "finish")

Moment = Literal["before", "after"]
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__, "redraft.llm.openai"])


@dataclass(frozen=True)
class Death:
    """When a process kills itself: at a visit to a node, or as soon as so many answers are stored."""

    node: str = ""
    moment: Moment = "before"
    visit: int = 1
    answers: int = 0

    def arrange(self) -> None:
        """Wrap the node, so that its process dies there."""
        home: Any = HOMES.get(self.node, refinement)
        passed = Counter[Moment]()

        def pass_by(moment: Moment) -> None:
            passed[moment] += 1
            if (moment, passed[moment]) == (self.moment, self.visit):
                _die()

        def deadly(work: Callable[..., Any]) -> Callable[..., Any]:
            async def fatal(*given: Any) -> Any:
                pass_by("before")
                update = await work(*given)
                pass_by("after")
                return update

            # LangGraph gives a node the runtime where its signature asks for it; the first node has it otherwise.
            async def first(state: Any) -> Any:
                return await fatal(state)

            async def later(state: Any, runtime: Runtime[Any]) -> Any:
                return await fatal(state, runtime)

            wrapped = first if self.node == "begin" else later
            wrapped.__name__ = work.__name__
            return wrapped

        if self.node in MADE:
            make = getattr(home, f"_{self.node}")
            setattr(home, f"_{self.node}", lambda *given: deadly(make(*given)))
        else:
            setattr(home, self.node, deadly(getattr(home, self.node)))

    def watch(self) -> Callable[[Event], None]:
        """An observer under which the process dies."""
        answered = 0

        def observer(event: Event) -> None:
            nonlocal answered
            answered += isinstance(event, CallAnswered)
            if answered == self.answers:
                _die()

        return observer if self.answers else unobserved


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


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
    if death.node:
        death.arrange()
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
        assert store.status(run) == ("done" if (death.node, death.moment) == ("finish", "after") else "killed")
        async with Session(store, reviewer=agree, observer=observer) as session:
            return outcome(await session.resume(run.id))


# Whoever comes to a node the second time has passed it the first time, and has more behind it that could be lost.
DEATHS = [Death(node, moment, 1 if node in ONCE else 2) for node in NODES for moment in ("before", "after")]


@pytest.mark.slow
@pytest.mark.parametrize("death", DEATHS, ids=lambda death: f"{death.moment}-{death.node}-{death.visit}")
async def test_a_death_at_a_node_changes_nothing(
    tmp_path: Path, server: ChatServer, undisturbed: Undisturbed, death: Death
) -> None:
    assert await killed_and_resumed(death, tmp_path, server) == outcome(undisturbed.result)
    assert sent(server) == undisturbed.asked


@pytest.mark.slow
@pytest.mark.parametrize("answers", [1, 3, 4, 6])
async def test_a_death_between_two_answers_changes_nothing(
    tmp_path: Path, server: ChatServer, undisturbed: Undisturbed, answers: int
) -> None:
    death = Death(answers=answers)
    assert await killed_and_resumed(death, tmp_path, server) == outcome(undisturbed.result)
    # With one request at a time, only the one that was on its way may be sent again.
    assert sent(server).keys() == undisturbed.asked.keys()
    assert (sent(server) - undisturbed.asked).total() <= 1


@pytest.mark.slow
def test_what_is_killed_passes_every_node_twice_and_asks_nothing_twice(undisturbed: Undisturbed) -> None:
    result = undisturbed.result
    assert (result.run.status, result.run.stop_reason) == ("done", "goals_met")
    assert [made.accepted for made in result.rounds] == [True, True, True]
    assert max(undisturbed.asked.values()) == 1


@pytest.mark.slow
async def test_it_goes_on_where_it_was_and_does_nothing_over_again(tmp_path: Path, server: ChatServer) -> None:
    stages: list[str] = []

    def observer(event: Event) -> None:
        if isinstance(event, StageStarted):
            stages.append(event.name)

    await killed_and_resumed(Death("settle", "before", 2), tmp_path, server, observer)

    assert stages == ["revision 2, for coverage", "judging draft 2"]
