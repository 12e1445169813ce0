"""Direct: the whole document in one prompt, when it fits."""

from __future__ import annotations

from typing import Any

from langgraph.graph import START, StateGraph

from redraft.errors import IncompleteError
from redraft.graphs.job import Job
from redraft.graphs.state import Drafting, State, Update
from redraft.graphs.working import Shop, node


async def summarize(state: State, job: Job) -> Update:
    """Ask once for a summary of everything."""
    written = await job.writer.summarize_whole(job.document.text[slice(*job.read)], job.plan.words, "document")
    if not written.text:
        raise IncompleteError("every reply was empty", hint="try another --model, or another --strategy")
    if job.writer.says_nothing(written.text):
        raise await job.nothing_written()
    chunks = (0, len(job.chunks) - 1)
    piece = await job.piece(written, 0, 0, chunks, job.plan.words, [job.whole()])
    draft = await job.keep(written.text, "direct", (written.flaw,) if written.flaw else (), [piece])
    return {"draft": draft, "pieces": {"0": 1}}


def direct_graph(shop: Shop | None = None) -> StateGraph[State, Any, State, Drafting]:
    """The uncompiled graph; its nodes work for a run that has begun."""
    graph = StateGraph(State, output_schema=Drafting)
    graph.add_node("summarize", node(summarize, shop))
    graph.add_edge(START, "summarize")
    return graph
