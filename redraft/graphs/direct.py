"""Direct: the whole document in one prompt, when it fits."""

from __future__ import annotations

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from redraft.errors import IncompleteError
from redraft.graphs.context import DraftingContext
from redraft.graphs.state import DraftingInput, DraftingOutput


class DirectState(TypedDict):
    """Ids only."""

    run: str
    draft: str


async def summarize(state: DirectState, runtime: Runtime[DraftingContext]) -> dict[str, str]:
    """Ask once for a summary of everything."""
    context = runtime.context
    written = await context.writer.summarize_whole(context.document.text, context.plan.words, "document")
    if not written.text:
        raise IncompleteError("every reply was empty", hint="try another --model, or another --strategy")
    context.piece(written, 0, 0, (0, len(context.chunks) - 1), context.plan.words)
    return {"draft": context.keep(written.text, "direct", (written.flaw,) if written.flaw else ())}


def direct_graph() -> StateGraph[DirectState, DraftingContext, DraftingInput, DraftingOutput]:
    """The uncompiled graph; compile it with a checkpointer of your choice."""
    graph = StateGraph(
        DirectState,
        context_schema=DraftingContext,
        input_schema=DraftingInput,
        output_schema=DraftingOutput,
    )
    graph.add_node(summarize)
    graph.add_edge(START, "summarize")
    graph.add_edge("summarize", END)
    return graph
