"""The outline: made once of the summaries of all parts, and shown to the merge that comes last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Usage
from redraft.errors import RefusedReply
from redraft.llm.base import Line, Request
from redraft.prompts.qa import DocumentQuestion, DocumentQuestions, Ranking
from redraft.prompts.summarization import MOST_POINTS, Outline, Term, outline_text
from redraft.settings import DraftConfig
from tests.support import Desk, obedient, story

OUTLINE = Outline(
    kind="narrative",
    line="The keeper tends the lamp, and it goes out.",
    turning_points=["The lamp goes out."],
    cast=[Term(name="the keeper", phrase="who tends it")],
)
ROOMY = {"context_tokens": 4096, "chunk_tokens": 128}


def outlining(request: Request[Any, Any]) -> Line:
    """An obedient writer that outlines when it is asked to."""
    return OUTLINE if request.prompt.name == "outline" else obedient(request)


@pytest.mark.slow
async def test_the_last_merge_is_given_the_outline_of_all_parts_and_its_kind(tmp_path: Path) -> None:
    desk = Desk(tmp_path, outlining)
    result = await desk.summarize(story(200), **ROOMY)

    (asked,) = desk.asked_for("outline")
    leaves = [piece for piece in desk.store.runs.pieces(result.run.id) if piece.level == 0]
    assert asked.given.summaries == [piece.text for piece in leaves]
    merges = [request for request in desk.asked if request.prompt.name.startswith("merge")]
    assert [request.given.outline for request in merges] == [None] * (len(merges) - 1) + [outline_text(OUTLINE)]
    assert merges[-1].given.kind == "narrative"
    assert "the keeper: who tends it" in merges[-1].text
    async with desk.session() as session, session.at_work(result.run.id) as job:
        assert await job.outline() == OUTLINE


@pytest.mark.nightly
async def test_an_outline_is_made_once_for_a_document(tmp_path: Path) -> None:
    desk = Desk(tmp_path, outlining)
    await desk.summarize(story(200), **ROOMY)
    await desk.summarize(story(200), words=90, **ROOMY)

    assert len(desk.asked_for("outline")) == 1


@pytest.mark.slow
async def test_a_summary_is_none_the_worse_where_no_outline_comes(tmp_path: Path) -> None:
    def refusing(request: Request[Any, Any]) -> Line:
        refused = RefusedReply("the model declined", text="I cannot.", usage=Usage())
        return refused if request.prompt.name == "outline" else obedient(request)

    desk = Desk(tmp_path, refusing)
    result = await desk.summarize(story(200), **ROOMY)

    assert result.complete
    assert not any(getattr(request.given, "outline", None) for request in desk.asked)


@pytest.mark.slow
async def test_nobody_is_asked_where_it_would_not_be_of_use(tmp_path: Path) -> None:
    for name, settings in {
        "a small window": {"context_tokens": 1024, "chunk_tokens": 128},
        "one part": {"context_tokens": 4096, "chunk_tokens": 3000},
        "a question": {**ROOMY, "query": "Who tends the lamp?"},
    }.items():
        desk = Desk(tmp_path / name.replace(" ", "-"), outlining)
        result = await desk.summarize(story(100), **settings)
        assert result.complete
        assert not desk.asked_for("outline"), name


@pytest.mark.slow
async def test_it_is_no_longer_than_was_asked(tmp_path: Path) -> None:
    long = OUTLINE.model_copy(update={"turning_points": [f"Point {at}." for at in range(30)]})

    def wordy(request: Request[Any, Any]) -> Line:
        return long if request.prompt.name == "outline" else obedient(request)

    desk = Desk(tmp_path, wordy)
    result = await desk.summarize(story(200), **ROOMY)
    async with desk.session() as session, session.at_work(result.run.id) as job:
        outline = await job.outline()
    assert outline is not None
    assert len(outline.turning_points) == MOST_POINTS


@pytest.mark.slow
async def test_questions_are_asked_and_ranked_with_the_outline_in_view(tmp_path: Path) -> None:
    def judging(request: Request[Any, Any]) -> Line:
        if request.prompt.name == "ask_document":
            said = DocumentQuestion(question=f"Who is {request.label}?", kind="who", answer="Ann", quote="Sentence")
            return DocumentQuestions(questions=[said])
        return Ranking(order=[]) if request.prompt.name == "rank_questions" else outlining(request)

    desk = Desk(tmp_path, judging)
    document = story(200)
    await desk.summarize(document, **{**ROOMY, "context_tokens": 32_000})
    settings = DraftConfig(strategy="hierarchical", words=100, chunk_tokens=128, context_tokens=32_000)
    async with desk.session(settings=settings) as session:
        await session.build(document, stretch_tokens=512)

    asked = [*desk.asked_for("ask_document"), *desk.asked_for("rank_questions")]
    assert len(asked) > 4
    assert {request.given.outline for request in asked} == {outline_text(OUTLINE)}


def asking(request: Request[Any, Any]) -> Line:
    """A judge that outlines, asks one question of each stretch, and does not mind their order."""
    if request.prompt.name == "ask_document":
        said = DocumentQuestion(question=f"Who is {request.label}?", kind="who", answer="Ann", quote="Sentence")
        return DocumentQuestions(questions=[said])
    return Ranking(order=[]) if request.prompt.name == "rank_questions" else outlining(request)
