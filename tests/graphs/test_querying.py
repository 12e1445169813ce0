"""What is beside a text: a question, an outline, the source in view; and what stands in place of a summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Span, Usage
from redraft.errors import IncompleteError, RefusedReply
from redraft.llm.base import Line, Request
from redraft.prompts.summarization import DocumentOutline, Outline, Term, outline_text
from redraft.runs.session import runner_of
from tests.support import Desk, obedient, story
from tests.torture.refusals import refusals

QUERY = "Who tends the lamp at station 40?"
READERS = ("summarize_chunk", "begin", "update", "summarize_whole")


def knowing(*chunks: int) -> Any:
    """A writer that finds something on the question in some chunks, counted from 1, and says so in others."""

    def answer(request: Request[Any, Any]) -> Line:
        number = request.label.split("/")[0].removeprefix("chunk ")
        silent = request.prompt.name in READERS and not (number.isdigit() and int(number) in chunks)
        return "Nothing." if silent else obedient(request)

    return answer


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["hierarchical", "incremental"])
async def test_silent_chunk_leaves_no_gap(tmp_path: Path, strategy: str) -> None:
    desk = Desk(tmp_path, knowing(2, 5, 6))
    result = await desk.summarize(story(100), strategy=strategy, query=QUERY)

    assert result.complete
    assert result.gaps == ()
    assert result.chunks > 8
    assert {request.given.query for request in desk.asked if request.prompt.name != "tidy"} == {QUERY}
    pieces = [piece for piece in desk.store.runs.pieces(result.run.id) if piece.level == 0]
    assert [piece.index for piece in pieces] == [1, 4, 5]
    for request in desk.asked:
        texts = (*getattr(request.given, "summaries", ()), getattr(request.given, "summary", ""))
        assert "Nothing" not in " ".join(map(str, texts))
    assert len(desk.asked) == len({request.label for request in desk.asked}), "nothing is asked again"


@pytest.mark.parametrize("merge", [1, 2])
async def test_silent_merge_is_dropped(tmp_path: Path, merge: int) -> None:
    def answer(request: Request[Any, Any]) -> Line:
        return "NOTHING" if request.label == f"level 1 merge {merge}" else obedient(request)

    desk = Desk(tmp_path, answer)
    result = await desk.summarize(story(100), query=QUERY)

    assert result.complete
    assert result.gaps == ()
    assert result.summary is not None
    assert "NOTHING" not in result.summary
    labels = [request.label for request in desk.asked]
    assert len(labels) == len(set(labels)), "nothing is asked again"
    texts = [getattr(request.given, "context", "") for request in desk.asked]
    texts += [str(text) for request in desk.asked for text in getattr(request.given, "summaries", ())]
    assert not any("NOTHING" in text for text in texts)
    # The others of the level are there.
    merged = [piece for piece in desk.store.runs.pieces(result.run.id) if piece.level == 1]
    assert len(merged) == len([label for label in labels if label.startswith("level 1 merge")]) - 1 > 0


@pytest.mark.parametrize("strategy", ["hierarchical", "incremental", "direct"])
async def test_document_without_answer_is_named(tmp_path: Path, strategy: str) -> None:
    desk = Desk(tmp_path, knowing())

    with pytest.raises(IncompleteError, match="nothing in the document helps to answer the question") as caught:
        await desk.summarize(story(40), strategy=strategy, query=QUERY, context_tokens=4096)
    assert "`query`" in caught.value.hint


@pytest.mark.parametrize("strategy", ["hierarchical", "incremental"])
async def test_lost_chunks_are_not_called_silence(tmp_path: Path, strategy: str) -> None:
    silent = knowing()

    def refusing(request: Request[Any, Any]) -> Line:
        refused = RefusedReply("the model declined", text="I cannot.", usage=Usage())
        return refused if request.label.startswith("chunk 2/") else silent(request)

    with pytest.raises(IncompleteError, match=r"1 of the .* chunks could not be summarized, and the others"):
        await Desk(tmp_path, refusing).summarize(story(40), strategy=strategy, query=QUERY)


async def test_nothing_is_a_word_without_a_question(tmp_path: Path) -> None:
    text = "Nothing is told but of the keeper and of the lamp at his station, number by number. Nothing."
    desk = Desk(tmp_path, lambda request: obedient(request) if request.label == "tidy" else text)
    result = await desk.summarize(story(20), chunk_tokens=1024, context_tokens=4096)

    assert result.summary == text


@pytest.mark.parametrize("strategy", ["hierarchical", "incremental", "direct"])
async def test_language_is_in_every_writing_prompt(tmp_path: Path, strategy: str) -> None:
    desk = Desk(tmp_path)
    await desk.summarize(story(60), strategy=strategy, context_tokens=4096, language="German")

    asked = [request for request in desk.asked if request.prompt.name != "tidy"]
    assert {request.given.language for request in asked} == {"German"}
    assert all("Write in German" in request.text for request in asked)


SAID = [text for text, _ in refusals(80, seed=9)]


class Refusing:
    """Writes as it is told, but for the requests whose labels begin so: these it refuses, so many times each."""

    def __init__(self, label: str, times: int = 9) -> None:
        self.label, self.times = label, times
        self.refused: list[Request[Any, Any]] = []

    def __call__(self, request: Request[Any, Any]) -> Line:
        place = request.label.partition(" try ")[0]
        before = sum(one.label.partition(" try ")[0] == place for one in self.refused)
        if not place.startswith(self.label) or before >= self.times:
            return obedient(request)
        self.refused.append(request)
        return SAID[len(self.refused) % len(SAID)]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["hierarchical", "incremental"])
async def test_refused_chunk_is_retried_on_resume(tmp_path: Path, strategy: str) -> None:
    answer = Refusing("chunk 3/")
    desk = Desk(tmp_path, answer)
    result = await desk.summarize(story(100), strategy=strategy)

    (gap,) = result.gaps
    assert (gap.chunk, gap.code, len(answer.refused)) == (2, RefusedReply.code, 2)
    assert gap.reason.startswith("the model wrote something other than a summary: ")
    assert answer.refused[1].complaint is not None
    assert "not a summary of the text" in answer.refused[1].complaint.reason
    pieces = desk.store.runs.pieces(result.run.id)
    assert not {result.summary, *(piece.text for piece in pieces)} & set(SAID)

    answer.label = "nothing"
    before = len(desk.asked)
    mended = await desk.resume(result.run.id)
    if strategy == "hierarchical":
        assert mended.complete
        assert desk.asked[before].label.startswith("chunk 3/")


@pytest.mark.parametrize("strategy", ["hierarchical", "incremental", "direct"])
async def test_second_try_follows_a_refusal(tmp_path: Path, strategy: str) -> None:
    answer = Refusing("", times=1)
    settings = {"chunk_tokens": 256, "context_tokens": 4096} if strategy == "direct" else {}
    result = await Desk(tmp_path / "once", answer).summarize(story(40), strategy=strategy, **settings)
    assert result.complete
    assert len(answer.refused) >= 1
    assert result.summary not in SAID

    desk = Desk(tmp_path / "always", Refusing(""))
    with pytest.raises((IncompleteError, RefusedReply), match="something other than a summary"):
        await desk.summarize(story(40), strategy=strategy, **settings)
    (run,) = desk.store.runs.latest(1)
    assert (run.status, desk.store.runs.pieces(run.id), desk.store.runs.drafts(run.id)) == ("failed", [], [])


OUTLINE = Outline(
    kind="narrative",
    line="The keeper tends the lamp, and it goes out.",
    turning_points=["The lamp goes out."],
    cast=[Term(name="the keeper", phrase="who tends it")],
    central=[1],
    important=[],
    unneeded=[0],
)
ROOMY = {"context_tokens": 4096, "chunk_tokens": 128}


def outlining(request: Request[Any, Any]) -> Line:
    return OUTLINE if request.prompt.name == "outline" else obedient(request)


@pytest.mark.slow
async def test_last_merge_sees_outline_and_kind(tmp_path: Path) -> None:
    desk = Desk(tmp_path, outlining)
    result = await desk.summarize(story(200), **{**ROOMY, "context_tokens": 6000})

    (asked,) = desk.asked_for("outline")
    leaves = [piece for piece in desk.store.runs.pieces(result.run.id) if piece.level == 0]
    assert [part.summary for part in asked.given.summaries] == [piece.text for piece in leaves]
    merges = [request for request in desk.asked if request.prompt.name.startswith("merge")]
    assert [request.given.outline for request in merges] == [None] * (len(merges) - 1) + [outline_text(OUTLINE)]
    assert merges[-1].given.kind == "narrative"
    assert "the keeper: who tends it" in merges[-1].text
    async with desk.session() as session, runner_of(session).at_work(result.run.id) as job:
        outline = await job.outliner.outline() if job.outliner else None
    assert outline is not None
    assert outline_text(outline) == outline_text(OUTLINE)
    # Its parts are known by their places.
    spans = {at: chunk.span for at, chunk in enumerate(job.chunks)}
    assert outline == DocumentOutline(**OUTLINE.model_dump(), places=spans)
    assert outline.importance(Span(spans[0].start, spans[1].end)) == 3 * (spans[1].end - spans[1].start)


@pytest.mark.slow
async def test_missing_outline_harms_nothing(tmp_path: Path) -> None:
    def refusing(request: Request[Any, Any]) -> Line:
        refused = RefusedReply("the model declined", text="I cannot.", usage=Usage())
        return refused if request.prompt.name == "outline" else obedient(request)

    desk = Desk(tmp_path, refusing)
    result = await desk.summarize(story(200), **ROOMY)

    assert result.complete
    assert not any(getattr(request.given, "outline", None) for request in desk.asked)
