"""Writes docs/graphs.md, which shows every public graph as it is: python docs/draw_graphs.py"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langgraph.graph import StateGraph

import redraft

PAGE = Path(__file__).with_name("graphs.md")
STRATEGIES = {
    "hierarchical": "One step summarizes the chunks and merges their summaries, all levels at once. Each piece is\n"
    "streamed as an event and counted in the state.",
    "incremental": "One running summary takes in the document chunk by chunk and is compressed when it is too long.",
    "direct": "The whole document is summarized in one call, if it fits into the window.",
}
HEAD = """\
# The graphs

`redraft.graphs` has these LangGraph state machines; [embedding.md](embedding.md#the-graphs) shows how to use them.
Solid arrows are always taken, dotted ones depend on the state. `metric` is one step for each metric, side by side. This
page is written by `python docs/draw_graphs.py`.
"""
REFINE = """\
## `redraft.graphs.refine()`

The summarizer without `draft`: `begin` leads to `judge`. A run with `--drafts K` has one step more, `choose`, between
`draft` and `judge`: it judges the drafts, each made by a run of its own, and goes on with the best.
"""


def page() -> str:
    """The page as it ought to be."""
    graphs = redraft.graphs
    strategies = [
        section(
            f'`redraft.graphs.draft("{name}")`',
            what,
            graphs.draft(name),
            xray=True,
        )
        for name, what in STRATEGIES.items()
    ]
    parts = [
        HEAD,
        section(
            "`redraft.graphs.summarizer(strategy)`",
            "Draft, judge, decide, ask a person where `review` is set, revise, and judge again, until the goals are\n"
            "met or no revision helps. Strategies differ only within the step `draft`.",
            graphs.summarizer(),
        ),
        *strategies,
        REFINE,
        section(
            "`redraft.graphs.judge()`",
            "Every metric judges a summary, which stays as it is.",
            graphs.judge(),
        ),
    ]
    return "\n".join(parts)


def section(title: str, what: str, graph: StateGraph[Any, Any, Any, Any], *, xray: bool = False) -> str:
    """One graph."""
    drawn = graph.compile().get_graph(xray=xray).draw_mermaid(with_styles=xray)
    return f"## {title}\n\n{what}\n\n```mermaid\n{drawn.strip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
