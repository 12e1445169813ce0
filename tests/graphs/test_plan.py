"""Plans and graphs: limits, levels, what does not fit, which strategy is chosen, and what is drawn of it."""

from __future__ import annotations

import runpy
from itertools import pairwise
from pathlib import Path

import pytest
from langgraph.graph import StateGraph

from redraft import DraftConfig
from redraft.domain import Chunk, Document, Span
from redraft.errors import PlanError
from redraft.graphs.assembly import BUILDERS, draft, refine, summarizer
from redraft.graphs.plan import Plan, Planner, fitting_words
from redraft.graphs.strategies import STRATEGIES, strategy_named
from redraft.llm.base import FunctionModel
from redraft.prompts.book import PromptBook
from redraft.runs.prepare import prepare
from redraft.text.chunks import chunk
from redraft.text.tokens import Tokenizer
from tests.support import SAMPLE, obedient, story

BOOK = PromptBook()
LONG = story(2_000)
TIDYING = 1


def plan(sentences: int = 2_000, **chosen: object) -> Plan:
    document = LONG if sentences == 2_000 else story(sentences)
    values = DraftConfig.model_validate(
        {"strategy": "hierarchical", "chunk_tokens": 512, "context_tokens": 4096, "words": 300, **chosen}
    )
    tokenizer = Tokenizer()
    chunks = chunk(document, tokenizer, values.chunk_budget)
    return strategy_named(values.strategy).plan(Planner(document, chunks, values, tokenizer, BOOK))


def test_level_limits_shrink_by_the_ratio() -> None:
    assert plan().tokens_per_word >= 1 / 0.65
    levels = plan(context_tokens=2048).levels

    assert len(levels) >= 3
    assert levels[-1].words == 300
    for below, above in pairwise(levels):
        if above is not levels[-1]:
            assert below.words == pytest.approx(0.65 * above.words, abs=1)
    # The top has the whole limit even where it lies lower than was planned for.
    assert levels[-2].words <= round(0.65 * 300)


def test_single_chunk_has_the_whole_limit() -> None:
    made = plan(20, words=50)

    assert [level.words for level in made.levels] == [50]
    assert made.calls == 1 + TIDYING


@pytest.mark.parametrize(
    ("window", "chunk_tokens", "words", "problem"),
    [(1500, 64, 1500, "cannot be merged"), (4096, 4000, 300, "a chunk with its summary needs")],
)
def test_what_does_not_fit_the_window_is_refused(window: int, chunk_tokens: int, words: int, problem: str) -> None:
    with pytest.raises(PlanError, match=problem) as caught:
        plan(context_tokens=window, chunk_tokens=chunk_tokens, words=words)
    assert "context_tokens" in caught.value.hint


def test_direct_needs_the_whole_window() -> None:
    with pytest.raises(PlanError, match="the whole document") as caught:
        plan(strategy="direct")
    needed = int(caught.value.hint.split("context_tokens=")[1].split()[0])

    assert plan(strategy="direct", context_tokens=needed).calls == 1


def test_incremental_plan_counts_compressions_and_tidying() -> None:
    made = plan(strategy="incremental")

    assert made.compressions == made.chunks
    assert made.calls == 2 * made.chunks + TIDYING


def test_the_length_fits_the_document() -> None:
    assert fitting_words(None, 100_000) == 600
    assert fitting_words(None, 300) == 100
    assert fitting_words(250, 300) == 250
    assert fitting_words(None, 20) == 10
    with pytest.raises(PlanError, match="only 19 words"):
        fitting_words(None, 19)
    with pytest.raises(PlanError, match="has 300 words"):
        fitting_words(300, 300)


@pytest.mark.parametrize(("chunks", "tokens"), [(1, [900]), (3, [900, 900]), (40, [585, 900]), (200, [380, 585, 900])])
def test_target_limits_equal_the_released_code(chunks: int, tokens: list[int]) -> None:
    """Limits of 900 tokens, chunks of 2,048, and a window of 8K; further levels have the whole limit."""
    document = story(80 * chunks)
    settings = DraftConfig(
        strategy="hierarchical", chunk_tokens=2048, context_tokens=8192, words=585, words_as="target", by_chapter=False
    )
    size = len(document.text) // chunks
    cut = [Chunk(n, Span(n * size, (n + 1) * size), 2048) for n in range(chunks)]
    levels = Planner(document, cut, settings, Tokenizer(), BOOK).hierarchical().levels
    limits = [settings.token_cap(level.words) for level in levels]
    assert limits[: len(tokens)] == tokens[: len(limits)]
    assert set(limits[len(tokens) :]) <= {900}
    assert levels[-1].pieces == 1
    assert all(level.reply_tokens >= limit for level, limit in zip(levels, limits, strict=True))


@pytest.mark.parametrize(
    ("document", "window", "strategy", "why"),
    [
        (story(60), 8192, "direct", "direct draft: the document fits the model's window ("),
        (story(200), 1024, "hierarchical", "does not fit the model's window (1,024)"),
    ],
)
async def test_what_fits_is_drafted_directly(
    tmp_path: Path, document: Document, window: int, strategy: str, why: str
) -> None:
    prepared = prepare(
        document, DraftConfig(context_tokens=window, chunk_tokens=256, words=60), FunctionModel(obedient)
    )

    assert prepared.settings.strategy == prepared.plan.strategy == strategy
    assert why in prepared.settings.chosen
    assert prepared.settings.chosen in prepared.warnings, "and it is said"


DOCS = SAMPLE.parent.parent / "docs"


def arrows(graph: StateGraph[object, object, object, object]) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in graph.compile().get_graph().edges}


def test_page_draws_every_graph() -> None:
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
def test_summarizer_has_one_shape(strategy: str) -> None:
    assert arrows(summarizer(strategy)) == arrows(summarizer())
    assert arrows(summarizer(strategy, refine=False)) == arrows(draft(strategy))


def test_refining_begins_with_judging() -> None:
    whole = arrows(summarizer())
    assert arrows(refine()) == whole - {("begin", "draft"), ("draft", "judge")} | {("begin", "judge")}
