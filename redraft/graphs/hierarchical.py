"""Hierarchical merging: chunks are summarized, and their summaries merged, until one is left."""

from __future__ import annotations

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from redraft.graphs.context import DraftingContext
from redraft.graphs.state import DraftingInput, DraftingOutput
from redraft.graphs.tree import SummaryTree


class HierarchicalState(TypedDict):
    """Ids and small values; the texts are in the store."""

    run: str
    text: str
    draft: str


async def build_tree(state: HierarchicalState, runtime: Runtime[DraftingContext]) -> dict[str, str]:
    """Summarize the chunks and merge the summaries, every level at once."""
    top = await SummaryTree(runtime.context).build()
    return {"text": runtime.context.store.documents.add_text(top.text)}


async def keep_draft(state: HierarchicalState, runtime: Runtime[DraftingContext]) -> dict[str, str]:
    """Make the top of the tree the run's draft."""
    context = runtime.context
    draft = context.keep(context.store.documents.text(state["text"]), "hierarchical")
    return {"draft": draft}


def hierarchical_graph() -> StateGraph[HierarchicalState, DraftingContext, DraftingInput, DraftingOutput]:
    """The uncompiled graph; compile it with a checkpointer of your choice."""
    graph = StateGraph(
        HierarchicalState,
        context_schema=DraftingContext,
        input_schema=DraftingInput,
        output_schema=DraftingOutput,
    )
    graph.add_node(build_tree)
    graph.add_node(keep_draft)
    graph.add_edge(START, "build_tree")
    graph.add_edge("build_tree", "keep_draft")
    graph.add_edge("keep_draft", END)
    return graph
