"""What stands in place of a summary is asked for again, and then it is left out by name: it is never handed out."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from redraft.errors import IncompleteError, RedraftError, RefusedReply
from redraft.llm.base import Line, Request
from tests.support import Desk, obedient, story
from tests.torture.refusals import refusals

SAID = [text for text, _ in refusals(80, seed=9)]
STRATEGIES = pytest.mark.parametrize("strategy", ["hierarchical", "incremental", "direct"])


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
async def test_a_chunk_that_is_refused_twice_is_a_gap_that_a_resumed_run_asks_about_anew(
    tmp_path: Path, strategy: str
) -> None:
    answer = Refusing("chunk 3/")
    desk = Desk(tmp_path, answer)
    result = await desk.summarize(story(100), strategy=strategy)

    (gap,) = result.gaps
    assert (gap.chunk, gap.code, len(answer.refused)) == (2, RefusedReply.code, 2)
    assert gap.reason.startswith("the model wrote something other than a summary: ")
    assert answer.refused[1].complaint is not None
    assert "not a summary of the text" in answer.refused[1].complaint.reason
    pieces = desk.store.runs.pieces(result.run.id)
    assert not {result.summary, *(one.text for one in pieces)} & set(SAID)

    answer.label = "nothing"
    before = len(desk.asked)
    mended = await desk.resume(result.run.id)
    if strategy == "hierarchical":
        assert mended.complete
        assert desk.asked[before].label.startswith("chunk 3/")


@STRATEGIES
async def test_what_is_refused_once_is_written_at_the_second_asking(tmp_path: Path, strategy: str) -> None:
    answer = Refusing("", times=1)
    settings = {"chunk_tokens": 256, "context_tokens": 4096} if strategy == "direct" else {}
    result = await Desk(tmp_path, answer).summarize(story(40), strategy=strategy, **settings)
    assert result.complete
    assert len(answer.refused) >= 1
    assert result.summary not in SAID


@STRATEGIES
async def test_a_run_of_which_every_piece_is_refused_fails(tmp_path: Path, strategy: str) -> None:
    settings = {"chunk_tokens": 256, "context_tokens": 4096} if strategy == "direct" else {}
    desk = Desk(tmp_path, Refusing(""))
    with pytest.raises((IncompleteError, RefusedReply), match="something other than a summary"):
        await desk.summarize(story(40), strategy=strategy, **settings)
    (run,) = desk.store.runs.latest(1)
    assert (run.status, desk.store.runs.pieces(run.id), desk.store.runs.drafts(run.id)) == ("failed", [], [])


@pytest.mark.slow
async def test_a_merge_that_is_refused_ends_the_run_and_a_resumed_run_merges(tmp_path: Path) -> None:
    answer = Refusing("level 1")
    desk = Desk(tmp_path, answer)
    with pytest.raises(RedraftError, match="something other than a summary"):
        await desk.summarize(story(100))
    answer.label = "nothing"
    assert (await desk.resume(desk.store.runs.latest(1)[0].id)).complete


async def test_no_refusal_of_many_is_handed_out(tmp_path: Path) -> None:
    said = refusals(10_000, seed=3)
    numbers = count()

    def answer(request: Request[Any, Any]) -> Line:
        return next(said)[0] if next(numbers) % 3 else obedient(request)

    desk = Desk(tmp_path, answer)
    result = await desk.summarize(story(100), chunk_tokens=192)
    everything = [str(result.summary), *(one.text for one in desk.store.runs.pieces(result.run.id))]
    assert [text for text in everything if "eeper" not in text] == []
