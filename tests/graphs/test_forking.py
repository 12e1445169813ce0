"""Going back to a checkpoint and on from there in another way, as LangGraph has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from redraft import BudgetError, Limits, Result, Session, graphs, read_trace
from tests.graphs.test_embedding import POOR, Bench, thread
from tests.judges import told
from tests.runs.test_refining import stories

Graph = CompiledStateGraph[Any, Any, Any, Any]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.store.close()


async def gone(graph: Graph, bench: Bench, session: Session) -> Result:
    """The way that is going to be abandoned: consistency is mended first, and then coverage."""
    left = await graph.ainvoke(bench.task, thread(), context=session)
    result = await session.result(left["run"])
    assert [aims for _, aims, _ in stories(result)] == [(), ("consistency",), ("coverage",)]
    assert result.run.stop_reason == "goals_met"
    return result


async def at(graph: Graph, node: str, number: int) -> Any:
    """The checkpoint before a node in a round."""
    history = [one async for one in graph.aget_state_history(thread())]
    return next(one for one in history if one.next == (node,) and one.values["round"] == number)


def compiled() -> Graph:
    return graphs.summarizer("direct").compile(checkpointer=InMemorySaver())


async def test_it_goes_on_from_a_checkpoint_with_other_aims(bench: Bench) -> None:
    graph = compiled()
    async with bench.session() as session:
        before = await gone(graph, bench, session)
        past = await at(graph, "revise", 0)
        missing = [one.id for one in before.initial["coverage"].findings if one.kind == "unanswered"]
        other = {"aims": ["coverage"], "to_fix": missing, "next": "revise"}
        fork = await graph.aupdate_state(past.config, other, as_node="decide")
        left = await graph.ainvoke(None, fork, context=session)
        after = await session.result(left["run"])

    assert (after.run.id, after.run.status, after.run.stop_reason) == (before.run.id, "done", "goals_met")
    assert [aims for _, aims, _ in stories(after)] == [(), ("coverage",), ("consistency",)]
    assert after.rounds[1].findings == tuple(missing)
    assert after.scores == {"coverage": 1.0, "consistency": 1.0}
    assert [turn.made.number for turn in read_trace(bench.store, after.run.id).turns] == [0, 1, 2]


@pytest.mark.parametrize("number", [0, 1])
async def test_a_fork_that_ends_sooner_leaves_no_round_of_the_way_that_was_abandoned(bench: Bench, number: int) -> None:
    graph = compiled()
    async with bench.session() as session:
        before = await gone(graph, bench, session)
        past = await at(graph, "decide", number)
        fork = await graph.aupdate_state(past.config, {"next": "finish", "stop": "cancelled"}, as_node="decide")
        left = await graph.ainvoke(None, fork, context=session)
        after = await session.result(left["run"])

    assert (after.run.status, after.run.stop_reason) == ("done", "cancelled")
    assert after.rounds == before.rounds[: number + 1]
    assert after.run.draft == before.rounds[number].draft
    assert after.summary == [POOR, told(1, 2, 3)][number]


@pytest.mark.slow
async def test_a_fork_that_stops_on_its_way_has_the_best_draft_of_that_way(bench: Bench) -> None:
    graph = compiled()
    async with bench.session() as session:
        before = await gone(graph, bench, session)
        past = await at(graph, "decide", 0)
        other = {"aims": ["review"], "to_fix": [], "instruction": "Say it all again.", "next": "revise"}
        fork = await graph.aupdate_state(past.config, other, as_node="decide")
    author = bench.script
    # The revision is paid for, and the judging of what comes of it is not.
    bench.script = lambda sheet: told(1, 3) if sheet.prompt == "revise" else author(sheet)
    async with bench.session(limits=Limits(max_calls=before.usage.calls + 1)) as session:
        with pytest.raises(BudgetError):
            await graph.ainvoke(None, fork, context=session)
        stopped = await session.result(before.run.id)
    assert (stopped.run.status, stopped.summary) == ("stopped", POOR)
    assert [made.number for made in stopped.rounds] == [0, 1]

    async with bench.session(limits=Limits()) as session:
        config = {"configurable": {"thread_id": "theirs"}}
        left = await graph.ainvoke(None, config, context=session)
    assert bench.store.runs.get(left["run"]).status == "done"
