"""Hierarchical merging: chunks are summarized, and their summaries merged, until one is left."""

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


async def keep_draft(state: TreeState, job: Job) -> Update:
    """Make the top of the tree the run's draft."""
    return {"draft": await job.keep(await job.text(state["text"]), "hierarchical")}


def hierarchical_graph(shop: Shop | None = None) -> StateGraph[TreeState, Any, TreeState, Tree]:
    """The uncompiled graph; its nodes work for a run that has begun."""
    graph = StateGraph(TreeState, output_schema=Tree)
    graph.add_node("build_tree", node(build_tree, shop))
    graph.add_node("keep_draft", node(keep_draft, shop))
    graph.add_edge(START, "build_tree")
    graph.add_edge("build_tree", "keep_draft")
    return graph
