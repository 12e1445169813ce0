"""Incremental updating: one running summary takes in the document chunk by chunk."""

from __future__ import annotations

from typing import Literal

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from redraft.domain import Usage
from redraft.errors import EmptyReply, IncompleteError, RejectedRequest, ReplyError
from redraft.graphs.context import DraftingContext
from redraft.graphs.plan import OVERFLOW, running_target
from redraft.graphs.state import DraftingInput, DraftingOutput
from redraft.text.words import count_words


class IncrementalState(TypedDict):
    """Ids and small values; the texts are in the store. `read` counts the chunks that have been taken in."""

    run: str
    read: int
    text: str
    words: int
    draft: str


async def start(state: IncrementalState) -> dict[str, int | str]:
    """Begin with nothing read."""
    return {"read": 0, "text": "", "words": 0}


async def read_chunk(state: IncrementalState, runtime: Runtime[DraftingContext]) -> dict[str, int | str]:
    """Take the next chunk into the running summary. A chunk that the model declines is left out, and named."""
    context = runtime.context
    index, count = state["read"], len(context.chunks)
    excerpt = context.excerpt(context.chunks[index])
    passed: dict[str, int | str] = {"read": index + 1}
    if not count_words(excerpt):
        return passed
    target = running_target(context.plan.words, index, count)
    room = int(context.plan.words * OVERFLOW)
    place = f"chunk {index + 1}/{count}"
    try:
        if state["text"]:
            summary = context.store.documents.text(state["text"])
            written = await context.writer.update(excerpt, summary, target, room, place)
        else:
            written = await context.writer.begin(excerpt, target, room, place)
        if not written.text:
            raise EmptyReply("every reply was empty", text="", usage=Usage(), place=place)
    except (ReplyError, RejectedRequest) as error:
        context.gap(index, error)
        return passed
    context.close_gap(index)
    piece = context.piece(written, 0, index, (0, index), target)
    return {**passed, "text": context.store.documents.add_text(piece.text), "words": piece.words}


async def compress(state: IncrementalState, runtime: Runtime[DraftingContext]) -> dict[str, int | str]:
    """Bring a running summary that has outgrown the limit back to its target."""
    context = runtime.context
    index, count = state["read"] - 1, len(context.chunks)
    target = running_target(context.plan.words, index, count)
    summary = context.store.documents.text(state["text"])
    place = f"compress after chunk {index + 1}/{count}"
    written = await context.writer.compress(summary, target, context.plan.words, place)
    piece = context.piece(written, 0, index, (0, index), target)
    return {"text": context.store.documents.add_text(piece.text), "words": piece.words}


async def tidy(state: IncrementalState, runtime: Runtime[DraftingContext]) -> dict[str, int | str]:
    """Remove the traces of the process, and keep the result as the run's draft."""
    context = runtime.context
    if not state["text"]:
        raise IncompleteError(
            f"none of the {len(context.chunks)} chunks could be summarized", hint="try another --model"
        )
    written = await context.writer.tidy(context.store.documents.text(state["text"]), "tidy")
    notes = (written.flaw,) if written.flaw else ()
    return {"draft": context.keep(written.text, "incremental", notes)}


def after_reading(
    state: IncrementalState, runtime: Runtime[DraftingContext]
) -> Literal["compress", "read_chunk", "tidy"]:
    """Compress what is too long before anything else is taken in."""
    if state["words"] > runtime.context.plan.words:
        return "compress"
    return after_compressing(state, runtime)


def after_compressing(state: IncrementalState, runtime: Runtime[DraftingContext]) -> Literal["read_chunk", "tidy"]:
    """Read on until nothing is left."""
    return "read_chunk" if state["read"] < len(runtime.context.chunks) else "tidy"


def incremental_graph() -> StateGraph[IncrementalState, DraftingContext, DraftingInput, DraftingOutput]:
    """The uncompiled graph; compile it with a checkpointer of your choice."""
    graph = StateGraph(
        IncrementalState,
        context_schema=DraftingContext,
        input_schema=DraftingInput,
        output_schema=DraftingOutput,
    )
    graph.add_node(start)
    graph.add_node(read_chunk)
    graph.add_node(compress)
    graph.add_node(tidy)
    graph.add_edge(START, "start")
    graph.add_edge("start", "read_chunk")
    graph.add_conditional_edges("read_chunk", after_reading)
    graph.add_conditional_edges("compress", after_compressing)
    graph.add_edge("tidy", END)
    return graph
