"""The graphs as they are drawn: the page that shows them is what they are."""

from __future__ import annotations

import runpy
from itertools import pairwise

import pytest
from langgraph.graph import StateGraph

from redraft.graphs.assembly import BUILDERS, chooser, draft, refine, summarizer
from redraft.graphs.strategies import STRATEGIES
from tests.support import SAMPLE

DOCS = SAMPLE.parent.parent / "docs"


def arrows(graph: StateGraph[object, object, object, object]) -> set[tuple[str, str]]:
    """From where to where a graph goes."""
    return {(edge.source, edge.target) for edge in graph.compile().get_graph().edges}


def test_the_page_shows_every_graph_as_it_is() -> None:
    drawing = runpy.run_path(str(DOCS / "draw_graphs.py"))
    page = drawing["page"]()
    assert (DOCS / "graphs.md").read_text("utf-8") == page, "write it again: python docs/draw_graphs.py"
    pictures = {path for _, path in drawing["pictures"](page).values()}
    assert pictures == {*(DOCS / "drawings").iterdir()}, "draw them again: see docs/draw_graphs.py"
    assert len(pictures) == page.count("```mermaid")
    for name in BUILDERS:
        assert f"## `redraft.graphs.{name}(" in page
    for name in STRATEGIES:
        assert f'## `redraft.graphs.draft("{name}")`' in page


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_summarizer_is_the_same_for_every_strategy(strategy: str) -> None:
    assert arrows(summarizer(strategy)) == arrows(summarizer())
    assert arrows(summarizer(strategy, refine=False)) == arrows(draft(strategy))


def test_the_summarizer_drafts_judges_decides_revises_and_judges_again() -> None:
    drafted = ["__start__", "begin", "draft", "judge", "metric", "gather", "settle", "decide"]
    mended = ["decide", "confirm", "review", "revise", "contest", "judge"]
    assert {*pairwise(drafted), *pairwise(mended)} < arrows(summarizer())
    assert {("decide", "compare"), ("compare", "finish"), ("finish", "__end__")} < arrows(summarizer())


def test_refining_is_the_summarizer_without_a_draft_and_a_choice_one_step_more() -> None:
    """As the page says in place of two more drawings."""
    whole = arrows(summarizer())
    assert arrows(refine()) == whole - {("begin", "draft"), ("draft", "judge")} | {("begin", "judge")}
    assert arrows(chooser("direct", "refine")) == whole - {("draft", "judge")} | {
        ("draft", "choose"),
        ("choose", "judge"),
    }
