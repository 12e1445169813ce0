"""Writes docs/graphs.md, which shows every public graph as it is: python docs/draw_graphs.py"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langgraph.graph import StateGraph

import redraft
from redraft.graphs.assembly import chooser

PAGE = Path(__file__).with_name("graphs.md")
STRATEGIES = {
    "hierarchical": "Chunks are summarized and their summaries merged, all levels at once, in one step: each piece is\n"
    "streamed as an event, and counted in the state.",
    "incremental": "One running summary takes in the document chunk by chunk, and is compressed where it is too long.",
    "direct": "The whole document is summarized at once, where it fits into the window.",
}
HEAD = """\
# The graphs

Written by `python docs/draw_graphs.py` out of the graphs themselves; a test holds this page to them. Solid arrows are
always taken, dotted ones are decided on. `metric` stands for as many steps as there are metrics, side by side. How to
embed them is told in [embedding.md](embedding.md).
"""


def page() -> str:
    """The page as it ought to be."""
    graphs = redraft.graphs
    strategies = [
        section(
            f'`redraft.graphs.draft("{name}")`',
            f'{what}\nWithin `summarizer("{name}")` all this is the step `draft`.',
            graphs.draft(name),
            xray=True,
        )
        for name, what in STRATEGIES.items()
    ]
    parts = [
        HEAD,
        section(
            "`redraft.graphs.summarizer(strategy)`",
            "Draft, judge, decide, let a person look where that was asked for, revise, and judge again, until the\n"
            "goals are met or nothing more can be done. Strategies differ in what is within `draft`.",
            graphs.summarizer(),
        ),
        *strategies,
        section(
            "`redraft.graphs.refine()`",
            "The same for a summary that there is already.",
            graphs.refine(),
        ),
        section(
            "A run with `--drafts K`",
            "The other drafts are made by runs of their own before, side by side; `choose` judges all of them, and\n"
            "compares those that are equal. A run that only drafts, or judges, ends where it always does.",
            chooser("direct", "refine"),
        ),
        section(
            "`redraft.graphs.judge()`",
            "A summary is judged by every metric, and stays as it is.",
            graphs.judge(),
        ),
    ]
    return "\n".join(parts)


def section(title: str, what: str, graph: StateGraph[Any, Any, Any, Any], *, xray: bool = False) -> str:
    """One graph."""
    drawn = graph.compile().get_graph(xray=xray).draw_mermaid()
    return f"## {title}\n\n{what}\n\n```mermaid\n{drawn.strip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
