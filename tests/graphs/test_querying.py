"""A summary that is to answer a question: parts that have nothing to say to it are dropped, and leave no gap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Usage
from redraft.errors import IncompleteError, RefusedReply
from redraft.llm.base import Line, Request
from tests.support import Desk, obedient, story

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
async def test_a_chunk_that_has_nothing_to_say_is_dropped_without_a_gap(tmp_path: Path, strategy: str) -> None:
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
        assert "Nothing" not in " ".join(texts)
    assert len(desk.asked) == len({request.label for request in desk.asked}), "nothing is asked again"


async def test_one_chunk_that_has_something_to_say_is_the_summary(tmp_path: Path) -> None:
    desk = Desk(tmp_path, knowing(3))
    result = await desk.summarize(story(100), query=QUERY)

    (piece,) = desk.store.runs.pieces(result.run.id)
    assert result.summary == piece.text
    assert result.complete


@pytest.mark.parametrize("merge", [1, 2])
async def test_a_merge_that_has_nothing_to_say_is_dropped_as_a_chunk_is(tmp_path: Path, merge: int) -> None:
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
    texts += [text for request in desk.asked for text in getattr(request.given, "summaries", ())]
    assert not any("NOTHING" in text for text in texts)
    # The others of the level are there.
    merged = [piece for piece in desk.store.runs.pieces(result.run.id) if piece.level == 1]
    assert len(merged) == len([label for label in labels if label.startswith("level 1 merge")]) - 1 > 0


@pytest.mark.slow
async def test_where_no_merge_has_anything_to_say_the_document_has_no_answer(tmp_path: Path) -> None:
    def answer(request: Request[Any, Any]) -> Line:
        return "The text does not say." if request.label.startswith("level") else obedient(request)

    with pytest.raises(IncompleteError, match="nothing in the document helps to answer the question"):
        await Desk(tmp_path, answer).summarize(story(90), query=QUERY)


async def test_until_something_is_found_the_running_summary_is_to_be_begun(tmp_path: Path) -> None:
    desk = Desk(tmp_path, knowing(3, 4))
    await desk.summarize(story(100), strategy="incremental", query=QUERY)

    assert [request.prompt.name for request in desk.asked[:5]] == ["begin", "begin", "begin", "update", "update"]


@pytest.mark.parametrize("strategy", ["hierarchical", "incremental", "direct"])
async def test_a_document_without_an_answer_is_told_as_such(tmp_path: Path, strategy: str) -> None:
    desk = Desk(tmp_path, knowing())

    with pytest.raises(IncompleteError, match="nothing in the document helps to answer the question") as caught:
        await desk.summarize(story(40), strategy=strategy, query=QUERY, context_tokens=4096)
    assert "`query`" in caught.value.hint


@pytest.mark.parametrize("strategy", ["hierarchical", "incremental"])
async def test_where_some_chunks_are_lost_it_is_not_said_that_there_is_no_answer(tmp_path: Path, strategy: str) -> None:
    silent = knowing()

    def refusing(request: Request[Any, Any]) -> Line:
        refused = RefusedReply("the model declined", text="I cannot.", usage=Usage())
        return refused if request.label.startswith("chunk 2/") else silent(request)

    with pytest.raises(IncompleteError, match=r"1 of the .* chunks could not be summarized, and the others"):
        await Desk(tmp_path, refusing).summarize(story(40), strategy=strategy, query=QUERY)


async def test_without_a_question_nothing_is_a_word_like_any_other(tmp_path: Path) -> None:
    said = "Nothing is told but of the keeper and of the lamp at his station, number by number. Nothing."
    desk = Desk(tmp_path, lambda request: obedient(request) if request.label == "tidy" else said)
    result = await desk.summarize(story(20), chunk_tokens=1024, context_tokens=4096)

    assert result.summary == said


@pytest.mark.parametrize("strategy", ["hierarchical", "incremental", "direct"])
async def test_the_language_that_is_asked_for_is_in_every_prompt_that_writes(tmp_path: Path, strategy: str) -> None:
    desk = Desk(tmp_path)
    await desk.summarize(story(60), strategy=strategy, context_tokens=4096, language="German")

    asked = [request for request in desk.asked if request.prompt.name != "tidy"]
    assert {request.given.language for request in asked} == {"German"}
    assert all("Write in German" in request.text for request in asked)
