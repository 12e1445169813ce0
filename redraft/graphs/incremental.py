"""Incremental updating: one running summary takes in the document chunk by chunk."""

from __future__ import annotations

from typing import Any

from langgraph.graph import START, StateGraph
from langgraph.types import Command

from redraft.domain import Usage
from redraft.errors import EmptyReply, RejectedRequest, ReplyError
from redraft.graphs.job import Job
from redraft.graphs.plan import OVERFLOW, running_target
from redraft.graphs.state import Drafting, Update
from redraft.graphs.working import Shop, node
from redraft.text.words import count_words


class Running(Drafting, total=False):
    """What is shown of the running summary: the id of its text, and how far it has come."""

    read: int
    """How many chunks have been taken in."""
    text: str


class RunningState(Running, total=False):
    """What the nodes know; little, because all of it is in every checkpoint."""

    run: str


async def start(state: RunningState, job: Job) -> Update:
    """Begin with nothing read."""
    return {"read": 0, "text": ""}


async def read_chunk(state: RunningState, job: Job) -> Command[str]:
    """Take the next chunk into the running summary. A chunk that the model declines is left out, and named."""
    index, count = state["read"], len(job.chunks)
    excerpt = job.excerpt(job.chunks[index])
    passed: Update = {"read": index + 1}
    if not count_words(excerpt):
        return Command(update=passed, goto=_onward(index + 1, job))
    target = running_target(job.plan.words, index, count)
    room = int(job.plan.words * OVERFLOW)
    place, where = f"chunk {index + 1}/{count}", job.place(job.chunks[index])
    try:
        if state["text"]:
            summary = await job.text(state["text"])
            written = await job.writer.update(excerpt, summary, target, room, place, place=where)
        else:
            written = await job.writer.begin(excerpt, target, room, place, place=where)
        if not written.text:
            raise EmptyReply("every reply was empty", text="", usage=Usage(), place=place)
    except (ReplyError, RejectedRequest) as error:
        await job.gap(index, error)
        return Command(update=passed, goto=_onward(index + 1, job))
    await job.close_gap(index)
    if job.writer.says_nothing(written.text):
        return Command(update=passed, goto=_onward(index + 1, job))
    running = [await job.as_parent(state["text"], "running")] if state["text"] else []
    parents = [*running, job.part(job.chunks[index])]
    piece = await job.piece(written, 0, index, (0, index), target, parents)
    onward = "compress" if piece.words > job.plan.words else _onward(index + 1, job)
    update = {**passed, "text": await job.keep_text(piece.text), "pieces": {"0": index + 1}}
    return Command(update=update, goto=onward)


async def compress(state: RunningState, job: Job) -> Command[str]:
    """Bring a running summary that has outgrown the limit back to its target, before anything else is taken in."""
    index, count = state["read"] - 1, len(job.chunks)
    target = running_target(job.plan.words, index, count)
    place = f"compress after chunk {index + 1}/{count}"
    written = await job.writer.compress(await job.text(state["text"]), target, job.plan.words, place)
    running = await job.as_parent(state["text"], "running")
    piece = await job.piece(written, 0, index, (0, index), target, [running], step=1)
    return Command(update={"text": await job.keep_text(piece.text)}, goto=_onward(state["read"], job))


async def tidy(state: RunningState, job: Job) -> Update:
    """Remove the traces of the process, and keep the result as the run's draft."""
    if not state["text"]:
        raise await job.nothing_written()
    written = await job.writer.tidy(await job.text(state["text"]), "tidy")
    running = await job.as_parent(state["text"], "running")
    return {"draft": await job.keep(written.text, "incremental", (written.flaw,) if written.flaw else (), [running])}


def _onward(read: int, job: Job) -> str:
    """Read on until nothing is left."""
    return "read_chunk" if read < len(job.chunks) else "tidy"


def incremental_graph(shop: Shop | None = None) -> StateGraph[RunningState, Any, RunningState, Running]:
    """The uncompiled graph; its nodes work for a run that has begun."""
    graph = StateGraph(RunningState, output_schema=Running)
    graph.add_node("start", node(start, shop))
    graph.add_node("read_chunk", node(read_chunk, shop), destinations=("read_chunk", "compress", "tidy"))
    graph.add_node("compress", node(compress, shop), destinations=("read_chunk", "tidy"))
    graph.add_node("tidy", node(tidy, shop))
    graph.add_edge(START, "start")
    graph.add_edge("start", "read_chunk")
    return graph
