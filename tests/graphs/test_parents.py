"""What every text was made from is on record as soon as it is: exactly what its prompt has shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redraft import Limits, Store
from redraft.domain import Parent, Span
from redraft.llm.base import Line, Request
from redraft.text.words import count_words
from tests.judges import Harness, summary_of
from tests.support import Desk, prose, story

Writes = Callable[[Request[Any, Any]], Line]


def told_apart(request: Request[Any, Any]) -> Line:
    """A writer whose every reply names what it was asked for, so that no two pieces have the same text."""
    if request.prompt.name == "tidy":
        return str(request.given.summary).replace("keeper", "tidied", 1)
    return prose(max(3, int(request.given.words * 0.9)), request.label.replace("/", " of ").replace(" ", "-"))


def growing(request: Request[Any, Any]) -> Line:
    """A writer that adds forty words a chunk, so that what it writes has to be shortened."""
    if request.prompt.name in ("begin", "update"):
        return prose(40 + count_words(getattr(request.given, "summary", "")), request.label.replace(" ", "-"))
    return told_apart(request)


def shown(store: Store, parents: tuple[Parent, ...]) -> list[tuple[str, str]]:
    return [(parent.kind, store.documents.text(parent.text)[parent.span.start : parent.span.end]) for parent in parents]


def by_reply(desk: Desk, run: str) -> dict[str, list[tuple[str, str]]]:
    """What each piece of a run was made from, by its text."""
    known = desk.store.runs.parents(run)
    return {piece.text: shown(desk.store, known[piece.name]) for piece in desk.store.runs.pieces(run)}


def given_to(request: Request[Any, Any]) -> list[tuple[str, str]]:
    given = request.given
    match request.prompt.name:
        case "summarize_chunk" | "begin":
            return [("excerpt", given.excerpt)]
        case "merge":
            return [("piece", text) for text in given.summaries]
        case "merge_onward":
            return [("context", given.context), *(("piece", text) for text in given.summaries)]
        case "update":
            return [("running", given.summary), ("excerpt", given.excerpt)]
        case "compress":
            return [("running", given.summary)]
        case "summarize_whole":
            return [("excerpt", given.document)]
        case name:
            raise AssertionError(name)


async def expect_recorded(desk: Desk, answer: Writes = told_apart, **settings: Any) -> list[Request[Any, Any]]:
    """A run whose every text has on record what it was given; returns what was asked before the tidying."""
    result = await desk.summarize(story(400), **settings)
    known = by_reply(desk, result.run.id)
    asked = [request for request in desk.asked if request.prompt.name != "tidy"]
    assert known == {str(answer(request)): given_to(request) for request in asked}
    assert result.draft is not None
    (top,) = desk.store.runs.parents(result.run.id)[result.draft.id]
    assert desk.store.documents.text(top.text) == desk.store.runs.pieces(result.run.id)[-1].text
    return asked


@pytest.mark.slow
async def test_tree_records_excerpts_pieces_and_context(tmp_path: Path) -> None:
    def learned(request: Request[Any, Any]) -> Line:
        text = str(told_apart(request))
        return (
            text.replace("keeper", "keeper-keeper-keeper-keeper-keeper-keeper")
            if request.label.startswith("level 1")
            else text
        )

    asked = await expect_recorded(Desk(tmp_path, learned), learned, context_tokens=700)

    contexts = [request.given.context for request in asked if request.prompt.name == "merge_onward"]
    replies = {learned(request) for request in asked}
    assert contexts
    assert any(context not in replies for context in contexts), "no context had to be shortened"


async def test_direct_summary_records_the_document(tmp_path: Path) -> None:
    await expect_recorded(Desk(tmp_path, told_apart), strategy="direct", context_tokens=30_000)


async def test_budget_draft_records_its_pieces(tmp_path: Path) -> None:
    desk = Desk(tmp_path, growing)
    stopped = await desk.summarize(story(400), Limits(max_calls=4), strategy="incremental")

    assert stopped.draft is not None
    parents = desk.store.runs.parents(stopped.run.id)[stopped.draft.id]
    last = desk.store.runs.pieces(stopped.run.id)[-1]
    assert last.step == 1
    assert shown(desk.store, parents) == [("piece", last.text)]
    assert stopped.summary == last.text


async def test_excerpt_is_a_place_of_the_document(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    result = await desk.summarize(story(100))

    known = desk.store.runs.parents(result.run.id)
    chunks = desk.store.chunks(result.run)
    assert [known[f"0/{chunk.index}/0"] for chunk in chunks] == [
        (Parent("excerpt", result.run.document, Span(*chunk.span)),) for chunk in chunks
    ]


async def test_revision_records_base_and_evidence(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    result = await harness.refine(summary_of(1, wrong={2: "Bob"}))

    known = harness.store.runs.parents(result.run.id)
    drafts = harness.store.runs.drafts(result.run.id)
    assert [bool(known.get(draft.id)) for draft in drafts] == [False, *[True] * (len(drafts) - 1)]
    first, second = drafts[:2]
    base, evidence = known[second.id]
    assert base == Parent.of_draft(first)
    assert evidence == Parent("evidence", harness.document.id, Span(0, len(harness.document.text)))
