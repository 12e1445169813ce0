"""Strategies that are objects of the program, and strategies and settings in the input of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from redraft import DraftConfig, Session, UsageError, graphs
from redraft import graphs as public
from redraft.errors import RunError
from redraft.graphs import strategies
from redraft.graphs.assembly import draft, judge, summarizer
from tests.judges import Harness, island
from tests.runs.test_dry_run import harness as harness

BOOK = island(3)


class Opening:
    """A strategy that takes the beginning of the document."""

    prompts: ClassVar[Sequence[Any]] = ()

    @staticmethod
    async def opening(state: public.DraftState, job: public.Job) -> public.Update:
        words = job.document.text.split()[: job.plan.words]
        return {"draft": await job.keep(" ".join(words), "opening")}

    @classmethod
    def graph(cls, session: public.SessionProtocol | None) -> StateGraph[Any, Any, Any, Any]:
        graph = StateGraph(public.DraftState)
        graph.add_node("opening", public.node(cls.opening, session))
        graph.add_edge(START, "opening")
        return graph


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> graphs.Strategy:
    monkeypatch.setattr(strategies, "_objects", {})
    return graphs.Strategy("opening", Opening.graph, graphs.Planner.empty_plan, ())


async def test_strategy_may_be_an_object(harness: Harness, opening: graphs.Strategy) -> None:
    async with harness.session() as session:
        result = await session.summarize(BOOK, strategy=opening, words=20)
        assert result.summary == " ".join(BOOK.text.split()[:20])
        assert result.settings.strategy == "opening"
        repeated = await session.summarize(BOOK, settings=DraftConfig(strategy="opening", words=20))
        assert repeated.summary == result.summary
        source = await session.add(BOOK)
        state = await draft(opening).compile().ainvoke({"order": {"source": source, "words": 20}}, context=session)
        assert (await session.result(state["result"]["run"])).summary == result.summary


async def test_resume_needs_the_strategy_again(
    harness: Harness, opening: graphs.Strategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with harness.session() as session:
        result = await session.summarize(BOOK, strategy=opening, words=20)
    monkeypatch.setattr(strategies, "_objects", {})  # as in another process
    async with harness.session() as session:
        with pytest.raises(RunError, match="the strategy opening, an object of the program that began it"):
            await session.resume(result.run.id)
    async with harness.session(strategies=[opening]) as session:
        assert (await session.resume(result.run.id)).summary == result.summary


async def test_input_of_a_graph_names_its_strategy(harness: Harness) -> None:
    async with Session(harness.store) as session:
        task = {"source": await session.add(BOOK), "words": 20, "strategy": "direct"}
        with pytest.raises(UsageError, match="the graph drafts by hierarchical, so the strategy 'direct'"):
            await draft("hierarchical").compile().ainvoke({"order": task}, context=session)
        with pytest.raises(UsageError, match="the graph judges a summary that it is given"):
            await judge().compile().ainvoke({"order": task}, context=session)
        for graph in (draft(), draft("direct")):
            state = await graph.compile().ainvoke({"order": task}, context=session)
            assert (await session.result(state["result"]["run"])).settings.strategy == "direct"


async def test_order_written_amid_a_run_is_refused(harness: Harness) -> None:
    graph = summarizer("hierarchical").compile(checkpointer=InMemorySaver(), interrupt_before=["judge"])
    thread: Any = {"configurable": {"thread_id": "1"}}
    async with Session(harness.store) as session:
        order = {"source": await session.add(island()), "words": 60, "goals": {"coverage": 0.9}, "rounds": 1}
        await graph.ainvoke({"order": order}, thread, context=session)
        state = await graph.aget_state(thread)
        changed = await graph.aupdate_state(thread, {"order": {**order, "words": 30}}, as_node="draft")
        with pytest.raises(UsageError, match=f"run {state.values['run']} has begun, and keeps the order") as refusal:
            await graph.ainvoke(None, changed, context=session)
        assert "session.fork(" in refusal.value.hint
        # It waits once more before it judges a revision.
        output = await graph.ainvoke(None, state.config, context=session)
        assert (output or await graph.ainvoke(None, thread, context=session))["result"]["stop"]
