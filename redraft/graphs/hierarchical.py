"""Hierarchical merging: chunks are summarized, and their summaries merged, until one is left, which is tidied."""

from __future__ import annotations

from typing import Any

from langgraph.graph import START, StateGraph

from redraft.graphs.job import Job
from redraft.graphs.state import Drafting, Update
from redraft.graphs.tree import SummaryTree
from redraft.graphs.working import Shop, node


class Tree(Drafting, total=False):
    """What is shown of the tree: the text at its top, by its id."""

    text: str


class TreeState(Tree, total=False):
    """What the nodes know; little, because all of it is in every checkpoint."""

    run: str


async def build_tree(state: TreeState, job: Job) -> Update:
    """Summarize the chunks and merge the summaries, every level at once."""
    tree = SummaryTree(job)
    top = await tree.build()
    return {"text": await job.keep_text(top.text), "pieces": tree.pieces}


async def tidy(state: TreeState, job: Job) -> Update:
    """Remove the traces of the process from the top of the tree, and keep the result as the run's draft."""
    written = await job.writer.tidy(await job.text(state["text"]), "tidy")
    top = await job.as_parent(state["text"])
    return {"draft": await job.keep(written.text, "hierarchical", (written.flaw,) if written.flaw else (), [top])}


def hierarchical_graph(shop: Shop | None = None) -> StateGraph[TreeState, Any, TreeState, Tree]:
    """The uncompiled graph; its nodes work for a run that has begun."""
    graph = StateGraph(TreeState, output_schema=Tree)
    graph.add_node("build_tree", node(build_tree, shop))
    graph.add_node("tidy", node(tidy, shop))
    graph.add_edge(START, "build_tree")
    graph.add_edge("build_tree", "tidy")
    return graph
