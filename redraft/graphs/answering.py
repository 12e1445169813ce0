"""Answers a question about the document: one node, which keeps the answer as the run's draft."""

from __future__ import annotations

from typing import Any

from langgraph.graph import START, StateGraph

from redraft.domain import NOT_SAID, UNANSWERED, Evaluation, Parent, Span
from redraft.events import StageStarted
from redraft.graphs.job import Job
from redraft.graphs.nodes import SessionProtocol, node
from redraft.graphs.state import Drafting, State, Update
from redraft.settings import ANSWER
from redraft.store.connection import off_loop


async def answer(state: State, job: Job) -> Update:
    """Answer the run's question; keep the answer as its draft, and store its citations."""
    assert job.answerer is not None, "only a run that asks has this node"
    job.observe(StageStarted("answering", 1))
    found = await job.answerer.answer(job.run.settings.query or "", job.plan.words)
    cited = [Parent("excerpt", job.document.id, Span(*place)) for place in found.places]
    text, made_by = (found.text, ANSWER) if found.answered else (NOT_SAID, UNANSWERED)
    draft = await job.keep(text, made_by, found.notes, cited)
    kept = Evaluation(ANSWER, 1, "measured", details=found.model_dump(mode="json"))
    await off_loop(job.store.judgments.keep, draft, kept)
    return {"draft": draft}


def answer_graph(session: SessionProtocol | None = None) -> StateGraph[State, Any, State, Drafting]:
    """Return the uncompiled graph; its node works on a run that has begun."""
    graph = StateGraph(State, output_schema=Drafting)
    graph.add_node("answer", node(answer, session))
    graph.add_edge(START, "answer")
    return graph
