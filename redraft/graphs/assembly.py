"""The public graphs: the whole summarizer, and its parts. Each begins a run and finishes it, and is returned
uncompiled: compile it with a checkpointer, or add it to another graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime, get_runtime
from pydantic_core import to_jsonable_python

from redraft.errors import UsageError
from redraft.events import StageStarted
from redraft.graphs import evaluation, refinement
from redraft.graphs.state import (
    GraphContext,
    GraphInput,
    GraphOutput,
    GraphResult,
    Node,
    Scope,
    SessionProtocol,
    State,
    Strategy,
    Task,
    Update,
    Work,
    node,
    refuse_new_order,
    session_of,
    streaming,
)
from redraft.graphs.strategies import chosen_graph, name_of, strategy_named
from redraft.settings import AUTO, GIVEN_STRATEGY
from redraft.store.connection import off_loop, thread_of

Graph = StateGraph[State, Any, GraphInput, GraphOutput]


def summarizer(
    strategy: str | Strategy = AUTO, *, refine: bool = True, session: SessionProtocol | None = None
) -> Graph:
    """Draft a summary by `strategy`, and refine it until it meets its goals, unless `refine` is False.

    A strategy is a name or a `Strategy`; `auto` chooses it for the document when the graph runs. The input is
    `{"order": {"source": path}}` with `words`, `goals` or any other option in the order, a `redraft.graphs.Task`; the
    output is `{"result": ...}`, a `redraft.graphs.GraphResult`. A graph around it needs no other key in common. The
    session is the context; or build the graph with `session` if it runs in a graph or on a server with its own context.
    Updates are the changes of each node, and `stream_mode="custom"` yields the typed events. Raises a `UsageError` for
    an unknown strategy, and at run time whatever the session's methods raise. A cancelled run can be resumed.
    """
    return _built(strategy, "refine" if refine else "summarize", session)


def draft(strategy: str | Strategy = AUTO, *, session: SessionProtocol | None = None) -> Graph:
    """Draft a summary by `strategy` without refining it; streams and raises as `summarizer` does."""
    return _built(strategy, "summarize", session)


def refine(*, session: SessionProtocol | None = None) -> Graph:
    """Judge the given summary and refine it until it meets its goals: `{"order": {"source": ..., "summary": ...}}`.
    Streams and raises as `summarizer` does. "summary" is a text, a path, or the id that `await session.add(text)`
    returns."""
    return _built(GIVEN_STRATEGY, "refine", session)


def judge(strategy: str | Strategy = GIVEN_STRATEGY, *, session: SessionProtocol | None = None) -> Graph:
    """Judge the given summary by every metric concurrently: `{"order": {"source": ..., "summary": ...}}`. With a
    strategy, a summary is drafted first."""
    return _built(strategy, "evaluate", session)


def _built(strategy: str | Strategy, scope: Scope, session: SessionProtocol | None) -> Graph:
    strategy = name_of(strategy)
    graph: Graph = StateGraph(State, context_schema=GraphContext, input_schema=GraphInput, output_schema=GraphOutput)
    graph.add_node("begin", _begin(strategy, scope, session), input_schema=GraphInput)
    graph.add_edge(START, "begin")
    drafted = "begin"
    if strategy != GIVEN_STRATEGY:
        graph.add_node("draft", _draft(strategy, session))
        graph.add_edge("begin", "draft")
        drafted = "draft"
    graph.add_edge(drafted, "finish" if scope == "summarize" else "judge")
    steps: list[Work] = []
    if scope != "summarize":
        steps += [evaluation.judge, evaluation.metric, evaluation.gather]
        judged = "settle" if scope == "refine" else "finish"
        graph.add_conditional_edges("judge", evaluation.metric_steps, ["metric"])
        graph.add_edge("metric", "gather")
        graph.add_conditional_edges(
            "gather", lambda state: evaluation.metric_steps(state) or judged, ["metric", judged]
        )
    if scope == "refine":
        steps += [refinement.settle, refinement.decide, refinement.review, refinement.revise]
        for name, following in (("settle", ()), ("decide", ("review", "finish")), ("review", ("judge", "finish"))):
            graph.add_conditional_edges(name, lambda state: state["next"], ["decide", "revise", *following])
        graph.add_edge("revise", "judge")
    for step in steps:
        graph.add_node(step.__name__, node(step, session))
    graph.add_node("finish", _finish(session))
    graph.add_edge("finish", END)
    return graph


def _begin(strategy: str, scope: Scope, session: SessionProtocol | None) -> RunnableLambda[GraphInput, Update]:
    def explain(_state: GraphInput) -> Update:
        raise UsageError(
            "the graphs of redraft are asynchronous, so invoke and stream cannot run them",
            hint="call `await graph.ainvoke(...)` or `async for ... in graph.astream(...)`; asyncio.run starts a loop",
        )

    async def begin(state: GraphInput) -> Update:
        """Open the named run, or a new one."""
        runtime: Runtime[Any] = get_runtime()
        opened, order = session_of(runtime, session), state.get("order")
        if not isinstance(order, Mapping):
            raise UsageError(
                f"the order of the graph is of the type {type(order).__name__}" if order else "the graph has no order",
                hint='start it with {"order": {"source": PATH, "words": 300}}, or another redraft.graphs.Task',
            )
        with streaming(runtime):
            chosen = cast("Task", {**order, "strategy": _chosen(strategy, order)})
            run = order.get("recorded") or await opened.begin(chosen, scope)
            async with opened.at_work(run) as job:
                new: Update = {"run": job.run.id, "round": 0, "best": "", "stop": "", "judged": {}, "scores": {}}
                # A thread may have been used for another run before.
                return {**new, "next": "", "draft": await job.given_draft() if strategy == GIVEN_STRATEGY else ""}

    # LangGraph needs a synchronous counterpart of the asynchronous node.
    return RunnableLambda(explain, begin)


def _chosen(strategy: str, order: Task) -> str:
    """Return the strategy of a graph: that of its order if the graph is built to choose one."""
    requested = name_of(order.get("strategy") or strategy)
    if requested == strategy or strategy == AUTO:
        return requested
    does = "judges a summary that it is given" if strategy == GIVEN_STRATEGY else f"drafts by {strategy}"
    raise UsageError(
        f"the graph {does}, so the strategy {requested!r} in its order makes no difference",
        hint=f"leave it out, or build the graph with it, such as redraft.graphs.summarizer({requested!r})",
    )


def _draft(strategy: str, session: SessionProtocol | None) -> Node:
    """Return a node that drafts by the strategy; by the one on record if it is chosen for the document."""
    # LangGraph finds a nested graph that is a variable of its node.
    graph = chosen_graph(session) if strategy == AUTO else strategy_named(strategy).graph(session)
    drafting = graph.compile()

    async def draft(state: State, runtime: Runtime[Any], config: RunnableConfig) -> Update:
        """Draft by the strategy chosen for the document; how many planned calls are left is announced first."""
        with streaming(runtime):
            async with session_of(runtime, session).at_work(state["run"]) as job:
                done = len(await off_loop(job.store.runs.pieces, job.run.id))
                if job.plan.calls:
                    job.observe(StageStarted("drafting", max(0, job.plan.expected_calls - done)))
            return dict(await drafting.ainvoke({"run": state["run"]}, config))

    return draft


def _finish(session: SessionProtocol | None) -> Node:
    async def finish(state: State, runtime: Runtime[Any], config: RunnableConfig) -> Update:
        """Close the run with the best draft as its result. On the thread of the run itself, texts stay in the store."""
        refuse_new_order(state)
        run, best, opened = state["run"], state.get("best") or state["draft"], session_of(runtime, session)
        with streaming(runtime):
            async with opened.at_work(run) as job:
                await job.rewind_to(state["round"], best)
                summary, evaluations = (await job.draft(best)).text, await job.judged(best)
            reason = await opened.finish(run, best, state["stop"], state.get("why", ""))
        ended: Update = {"best": best, "stop": reason}
        if config["configurable"].get("thread_id") == thread_of(run):
            return ended
        result: GraphResult = {
            "run": run,
            "status": "done",
            "summary": summary,
            "scores": state["scores"],
            "findings": [
                to_jsonable_python(finding) for evaluation in evaluations.values() for finding in evaluation.findings
            ],
            "stop": reason,
        }
        return {**ended, "result": result}

    return finish


BUILDERS: dict[str, Callable[..., Graph]] = {"summarizer": summarizer, "draft": draft, "refine": refine, "judge": judge}
"""The public graphs by name."""
