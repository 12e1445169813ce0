"""Hierarchical merging, fault by fault, and the whole document in one prompt; each reply is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft import Limits, Session
from redraft.domain import Usage
from redraft.errors import IncompleteError, ModelError, PlanError, RefusedReply, RunError, UsageError
from redraft.graphs.plan import CONTEXT_SHARE
from redraft.llm.base import FunctionModel, Line, Request
from redraft.text.words import count_words
from tests.support import Desk, betraying, obedient, prose, story


def refused() -> RefusedReply:
    return RefusedReply("the model declined", text="I cannot.", usage=Usage(10, 3))


def untidied(desk: Desk) -> list[Request[Any, Any]]:
    return [request for request in desk.asked if request.prompt.name != "tidy"]


async def test_chunks_are_summarized_and_merged(tmp_path: Path) -> None:
    desk = Desk(tmp_path)

    result = await desk.summarize(story(200))

    leaves = desk.asked_for("summarize_chunk")
    assert len(leaves) == result.chunks
    leaves.sort(key=lambda request: int(request.label.split()[1].split("/")[0]))
    assert "".join(request.given.excerpt for request in leaves) == story(200).text
    assert result.complete
    assert 85 <= count_words(result.summary or "") <= 100


@pytest.mark.slow
async def test_merge_sees_a_fifth_of_its_predecessor(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    result = await desk.summarize(story(400), context_tokens=700)
    merged = [piece for piece in desk.store.runs.pieces(result.run.id) if piece.level == 1]
    onward = [request for request in desk.asked_for("merge_onward") if request.label.startswith("level 1")]

    assert next(request.given.context for request in onward) in merged[0].text
    assert len(onward) == len(merged) - 1
    for request in onward:
        assert request.given.context.endswith(".")
        assert count_words(request.given.context) * 1.2 <= CONTEXT_SHARE * 700


async def test_pieces_may_exceed_limits_but_results_not(tmp_path: Path) -> None:
    over: dict[str, int] = {}

    def wordy(request: Request[Any, Any]) -> Line:
        if request.prompt.name == "tidy" or "try" in request.label:
            return obedient(request)
        share = 114 if request.prompt.name == "summarize_chunk" else 109
        over[request.label] = request.given.words * share // 100
        return prose(over[request.label])

    desk = Desk(tmp_path, wordy)
    result = await desk.summarize(story(200))

    again = [request.label for request in desk.asked if "try" in request.label]
    pieces = desk.store.runs.pieces(result.run.id)
    assert any(piece.words > piece.limit for piece in pieces)
    assert again == ["level 2 merge 1 try 2"]
    assert count_words(result.summary or "") <= 100


async def test_the_top_of_the_tree_is_tidied(tmp_path: Path) -> None:
    def traced(request: Request[Any, Any]) -> Line:
        if request.prompt.name == "tidy":
            return str(request.given.summary).replace("In this excerpt it is so. ", "")
        return f"In this excerpt it is so. {prose(int(request.given.words * 0.8))}"

    desk = Desk(tmp_path, traced)
    result = await desk.summarize(story(200))

    assert desk.asked[-1].prompt.name == "tidy"
    assert desk.asked[-1].given.summary.startswith("In this excerpt")
    assert "excerpt" not in (result.summary or "")


async def test_refused_tidying_leaves_the_summary(tmp_path: Path) -> None:
    desk = Desk(tmp_path, lambda request: refused() if request.prompt.name == "tidy" else betraying(request))
    result = await desk.summarize(story(100))

    assert result.complete
    assert result.summary == desk.asked[-1].given.summary
    assert "the untidied text is kept" in (result.draft.notes[0] if result.draft else "")


async def test_empty_replies_are_a_gap(tmp_path: Path) -> None:
    desk = Desk(tmp_path, lambda request: "" if request.label.startswith("chunk 2/") else obedient(request))

    result = await desk.summarize(story(100))

    assert [(gap.chunk, gap.reason) for gap in result.gaps] == [(1, "every reply was empty")]


async def test_unsummarized_document_fails_the_run(tmp_path: Path) -> None:
    desk = Desk(tmp_path, lambda request: refused())

    with pytest.raises(IncompleteError, match="none of the"):
        await desk.summarize(story(100))

    assert desk.store.runs.latest(1)[0].status == "failed"


@pytest.mark.slow
async def test_failing_chunk_waits_for_the_others(tmp_path: Path) -> None:
    broken = True

    def answer(request: Request[Any, Any]) -> Line:
        failing = broken and request.label.startswith("chunk 1/")
        return ModelError("the server has a bug with this text") if failing else obedient(request)

    desk = Desk(tmp_path, answer)
    with pytest.raises(ModelError, match="bug with this text"):
        await desk.summarize(story(100))
    run = desk.store.runs.latest(1)[0]
    leaves = len({request.label for request in desk.asked_for("summarize_chunk")})
    assert leaves == len(desk.store.chunks(run))

    broken = False
    before = len(desk.asked)
    await desk.resume(run.id)
    assert [request.label.split("/")[0] for request in desk.asked[before:] if "chunk" in request.label] == ["chunk 1"]


@pytest.mark.parametrize(("grows", "problem"), [("leaves", "the document"), ("merges", "the summaries below")])
async def test_growing_texts_end_in_the_best_one(tmp_path: Path, grows: str, problem: str) -> None:
    def growing(request: Request[Any, Any]) -> Line:
        if grows == "leaves":
            return prose(400, f"m{request.label}")
        if request.prompt.name == "summarize_chunk":
            return obedient(request)
        return prose(4 * sum(count_words(text) for text in request.given.summaries))

    result = await Desk(tmp_path, growing).summarize(story(30))
    assert result.draft is not None
    assert 0 < result.draft.words <= (result.settings.words or 0)
    assert "merging did not make it shorter" in result.draft.notes[0]
    assert f"no fewer than {problem}" in result.draft.notes[0]
    assert (result.run.status, result.complete) == ("done", False)


@pytest.mark.slow
async def test_budget_stop_keeps_the_best_text(tmp_path: Path) -> None:
    whole = Desk(tmp_path / "whole")
    complete = await whole.summarize(story(200))

    desk = Desk(tmp_path / "cut")
    stopped = await desk.summarize(story(200), Limits(max_calls=8, concurrency=2))
    assert stopped.run.status == "stopped"
    assert stopped.run.stop_reason == "budget"
    assert len(desk.asked) == 8
    assert 0 < count_words(stopped.summary or "") <= 100
    assert "chunks are covered" in (stopped.draft.notes[0] if stopped.draft else "")

    done = await desk.resume(stopped.run.id, Limits(max_calls=1000))
    assert done.complete
    assert done.summary == complete.summary
    assert done.usage.calls == complete.usage.calls == len(desk.asked)


async def test_run_requires_its_original_model(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    stopped = await desk.summarize(story(100), Limits(max_calls=2))
    assert stopped.settings.model == "function"
    assert stopped.usage.cost_usd is None

    desk.model = FunctionModel(obedient, identity="another")
    with pytest.raises(RunError, match="begun with the model function"):
        await desk.resume(stopped.run.id)
    with pytest.raises(UsageError, match="no model 'function'"):
        async with Session(desk.store) as session:
            await session.resume(stopped.run.id)


@pytest.mark.slow
async def test_bug_leaves_a_resumable_run(tmp_path: Path) -> None:
    def broken(request: Request[Any, Any]) -> Line:
        raise ZeroDivisionError("a bug")

    desk = Desk(tmp_path, broken)
    with pytest.raises(ZeroDivisionError):
        await desk.summarize(story(100))
    run = desk.store.runs.latest(1)[0]
    assert (run.status, run.stop_reason) == ("failed", "bug")
    assert run.error is not None
    assert "a bug" in run.error["message"]

    desk.model = FunctionModel(obedient)
    assert (await desk.resume(run.id)).complete


@pytest.mark.slow
async def test_target_counts_tokens_instead_of_words(tmp_path: Path) -> None:
    """Of a limit of words it is asked for once more; the cap in tokens is the paper's."""

    def longer(request: Request[Any, Any]) -> Line:
        again = 1.04 if request.complaint is None else 1.0
        return prose(int(request.given.words * again))

    for words_as, tries in (("target", {1}), ("limit", {1, 2})):
        desk = Desk(tmp_path / words_as, longer)
        result = await desk.summarize(story(100), words_as=words_as)
        assert {piece.attempts for piece in desk.store.runs.pieces(result.run.id)} == tries
        assert (count_words(result.summary or "") > 100) is (words_as == "target")

    def far_over(request: Request[Any, Any]) -> Line:
        return prose(2 * request.given.words if request.complaint is None else request.given.words)

    desk = Desk(tmp_path / "over", far_over)
    result = await desk.summarize(story(100), words_as="target")
    assert {piece.attempts for piece in desk.store.runs.pieces(result.run.id)} == {2}


async def test_one_call_with_the_whole_document(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    result = await desk.summarize(story(30), strategy="direct", context_tokens=4096, query="Who?")

    assert [request.given.document for request in desk.asked] == [story(30).text]
    assert desk.asked[0].given.query == "Who?"
    assert result.complete
    assert result.chunks == 1


async def test_document_beyond_the_window_is_refused(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    with pytest.raises(PlanError, match="the whole document"):
        await desk.summarize(story(300), strategy="direct")

    assert desk.store.runs.latest(5) == []
