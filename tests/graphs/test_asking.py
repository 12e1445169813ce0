"""Graphs that others drive: the question to a person, in two processes too, and going back to a checkpoint."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from redraft import Result, ReviewQuestion, Session, graphs, read_trace
from redraft.errors import RunError
from redraft.events import Event, Waiting
from tests.graphs.test_embedding import GOALS, POOR, Author, Bench, thread
from tests.judges import ScriptedReply, Sheet, keepers_in
from tests.runs.test_refining import stories

ROOM = {"words": 100}
REVIEWED = {"goals": GOALS, **ROOM, "review": True}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def asked_by(graph: Any, config: RunnableConfig) -> tuple[str, ReviewQuestion]:
    (interrupt,) = (await graph.aget_state(config)).interrupts
    return interrupt.id, interrupt.value


def compiled() -> Any:
    return graphs.summarizer("direct").compile(checkpointer=InMemorySaver())


class Asked(NamedTuple):
    """A graph that waits for an answer, in its session."""

    graph: Any
    session: Session
    question: ReviewQuestion

    async def answered(self, answer: Any) -> Result:
        output = (await self.graph.ainvoke(Command(resume=answer), thread(), context=self.session))["result"]
        result = await self.session.result(output["run"])
        assert output["stop"] == result.run.stop_reason
        return result


@pytest.fixture
async def asked(bench: Bench) -> AsyncIterator[Asked]:
    graph = compiled()
    async with bench.session() as session:
        await graph.ainvoke({"order": {**bench.task, **REVIEWED}}, thread(), context=session)
        yield Asked(graph, session, (await asked_by(graph, thread()))[1])


@pytest.mark.slow
async def test_the_question_can_be_read_by_itself(bench: Bench) -> None:
    events: list[Event] = []
    graph = compiled()
    async with bench.session(observer=events.append) as session:
        output = await graph.ainvoke({"order": {**bench.task, **REVIEWED}}, thread(), context=session)
    (run,) = bench.store.runs.latest(9)
    _, question = await asked_by(graph, thread())

    assert (run.status, run.stop_reason, run.error) == ("waiting", "review", None)
    assert output["__interrupt__"][0].value == question
    assert json.loads(json.dumps(question)) == question
    assert (question["run"], question["round"], question["draft"]) == (run.id, 1, run.draft)
    assert (question["text"], question["words"], question["goals"]) == (POOR, 14, GOALS)
    assert question["scores"] == {"coverage": 1 / 6, "consistency": 0.5}
    wrong, *lacking = question["findings"]
    # For what is lacking there are free words.
    assert [(finding["metric"], finding["expected"]) for finding in lacking] == [
        ("coverage", f"Tom{n}") for n in (3, 4, 5, 6)
    ]
    assert (wrong["metric"], wrong["sentence"], wrong["found"], wrong["expected"]) == (
        "consistency",
        "The keeper number 2 is called Bob.",
        "Bob",
        "Tom2",
    )
    text = wrong["evidence"]["text"]
    assert text == "The keeper number 2 is called Tom2 and lives at station 14 by the cold sea for 5 years."
    assert bench.document.text[slice(*wrong["evidence"]["span"])] == wrong["evidence"]["text"]
    assert question["problem"] == ""
    (waiting,) = [event for event in events if isinstance(event, Waiting)]
    assert (waiting.run, waiting.question) == (run.id, question)
    assert not bench.store.is_claimed(run.id)


WRONG = {
    "an unknown number": ({"drop": [9]}, "drop: there is no finding '9'; they are numbered from 1 to 5"),
    "an unknown id": ({"drop": ["none"]}, "drop: there is no finding 'none'"),
    "a number that is true": ({"drop": [True]}, "drop: must be a whole number"),
    "a wrong type": ({"drop": "1"}, "drop: must be a list"),
    "words for a truth": ({"stop": "yes"}, "stop: must be true or false"),
    "an extra key": ({"dropp": [1]}, "dropp: is not known here"),
    "an empty draft": ({"edited": " \n "}, "edited: the draft is empty"),
    "an empty request": ({"add": [" "]}, "add: a request is empty"),
    "a text": ("go on", "give an object such as"),
    "a list": ([1, 3], "give an object such as"),
}


@pytest.mark.slow
async def test_wrong_answer_is_asked_again(bench: Bench, asked: Asked) -> None:
    for what, (wrong, problem) in WRONG.items():
        key, _ = await asked_by(asked.graph, thread())
        await asked.graph.ainvoke(Command(resume={key: wrong}), thread(), context=asked.session)
        _, again = await asked_by(asked.graph, thread())
        assert problem in again["problem"], what
        assert {**again, "problem": ""} == asked.question
        assert bench.store.runs.get(asked.question["run"]).status == "waiting"
    calls = len(bench.sheets)
    result = await asked.answered({"stop": True})
    assert (result.run.status, result.run.stop_reason, result.summary) == ("done", "cancelled", POOR)
    assert len(bench.sheets) == calls


_ANSWER = """
import asyncio, json, sys
from pathlib import Path
from redraft import Session
from tests.graphs.test_embedding import Bench

async def main(folder, run, answer):
    bench = Bench(Path(folder))
    async with bench.session() as session:
        question = await session.question(run)
        result = await session.resume(run, answer=json.loads(answer))
        again = await session.question(run)
    prompts = sorted({sheet.prompt for sheet in bench.sheets})
    bench.store.close()
    print(json.dumps([question, result.run.status, result.run.stop_reason, result.summary, again, prompts]))

asyncio.run(main(*sys.argv[1:]))
"""


def in_another_process(folder: Path, run: str, answer: Any) -> Any:
    command = [sys.executable, "-c", _ANSWER, str(folder), run, json.dumps(answer)]
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, cwd=root)
    return json.loads(done.stdout)


@pytest.mark.slow
async def test_another_process_answers_and_goes_on(bench: Bench, tmp_path: Path) -> None:
    async with bench.session() as session:
        settings = bench.settings({"strategy": "direct", "words": 100})
        waiting = await session.summarize(bench.document, settings=settings, goals=GOALS, review=True)
        run, question = waiting.run.id, await session.question(waiting.run.id)
        assert waiting.run.status == "waiting"
        assert waiting.summary == POOR
        assert (await session.resume(run, answer={"drop": [7]})).run.status == "waiting"
        again = await session.question(run)
        assert again is not None
        assert "numbered from 1 to 5" in again["problem"]
        assert {**again, "problem": ""} == question
        # The first process goes on living, and does not hold on to the run.
        found, status, reason, summary, after, prompts = in_another_process(tmp_path, run, {})
        assert (found, status, reason, after) == (again, "done", "goals_met", None)
        # What was asked by the first process is not asked again by the second.
        assert "ask_document" not in prompts
        assert "summarize_whole" not in prompts
        assert keepers_in(summary).keys() == {1, 2, 3, 4, 5, 6}
        assert (await session.result(run)).summary == summary
        with pytest.raises(RunError, match="is not waiting for an answer"):
            await session.resume(run, answer={})


async def test_manual_run_is_answered_in_its_graph(asked: Asked) -> None:
    run = asked.question["run"]
    assert await asked.session.question(run) is None
    with pytest.raises(RunError, match="in a thread of a graph of your own") as caught:
        await asked.session.resume(run, answer={"stop": True})
    assert "await graph.ainvoke(Command(resume=...), config, context=session)" in caught.value.hint
    assert (await asked.answered({"stop": True})).run.status == "done"


Graph = CompiledStateGraph[Any, Any, Any, Any]


class Stepwise(Author):
    """Deals with the points first, and tells what is missing in the next round."""

    def edit(self, sheet: Sheet) -> ScriptedReply:
        return self.revise(sheet) if sheet.items("points") else super().edit(sheet)


async def gone(graph: Graph, bench: Bench, session: Session) -> Result:
    """The way that is going to be abandoned: consistency is mended first, and then coverage."""
    bench.script = Stepwise()
    output = (await graph.ainvoke({"order": bench.task}, thread(), context=session))["result"]
    result = await session.result(output["run"])
    assert [aims for _, aims, _ in stories(result)] == [(), ("consistency", "coverage"), ("coverage",)]
    assert result.run.stop_reason == "goals_met"
    return result


async def at(graph: Graph, node: str, number: int) -> Any:
    history = [snapshot async for snapshot in graph.aget_state_history(thread())]
    return next(snapshot for snapshot in history if snapshot.next == (node,) and snapshot.values["round"] == number)


async def test_checkpoint_continues_with_other_aims(bench: Bench) -> None:
    graph = compiled()
    async with bench.session() as session:
        before = await gone(graph, bench, session)
        past = await at(graph, "revise", 0)
        missing = [finding.id for finding in before.initial["coverage"].findings if finding.kind == "unanswered"]
        other = {"aims": ["coverage"], "to_fix": missing, "next": "revise"}
        fork = await graph.aupdate_state(past.config, other, as_node="decide")
        result = (await graph.ainvoke(None, fork, context=session))["result"]
        after = await session.result(result["run"])

    assert (after.run.id, after.run.status, after.run.stop_reason) == (before.run.id, "done", "goals_met")
    assert [aims for _, aims, _ in stories(after)] == [(), ("coverage",), ("consistency",)]
    assert after.rounds[1].findings == tuple(missing)
    assert after.scores == {"coverage": 1.0, "consistency": 1.0}
    assert [turn.round.number for turn in read_trace(bench.store, after.run.id).rounds] == [0, 1, 2]
