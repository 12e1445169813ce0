"""Incremental updating, compression and tidying."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft import DraftConfig, Limits
from redraft.domain import Usage
from redraft.errors import ModelError, RefusedReply, RejectedRequest
from redraft.llm.base import Line, Request
from redraft.runs.prepare import prepare
from redraft.text.words import count_words
from tests.support import Desk, betraying, obedient, prose, story


def growing(request: Request[Any, Any]) -> Line:
    """A writer that adds forty words a chunk, whatever it is asked, and compresses obediently."""
    given, name = request.given, request.prompt.name
    if name in ("begin", "update"):
        return prose(40 + count_words(getattr(given, "summary", "")), f"m{len(given.excerpt)}")
    return obedient(request)


async def run(desk: Desk, sentences: int = 100, **settings: Any) -> Any:
    return await desk.summarize(story(sentences), strategy="incremental", **settings)


@pytest.mark.slow
async def test_one_summary_takes_in_chunk_after_chunk(tmp_path: Path) -> None:
    desk = Desk(tmp_path, betraying)
    result = await run(desk)

    names = [request.prompt.name for request in desk.asked]
    assert names == ["begin", *["update"] * (result.chunks - 1), "tidy"]
    read = [request.given.excerpt for request in desk.asked[:-1]]
    assert "".join(read) == story(100).text
    replies = [piece.text for piece in desk.store.runs.pieces(result.run.id)]
    assert [request.given.summary for request in desk.asked[1:-1]] == replies[:-1]
    assert desk.asked[-1].given.summary == replies[-1] == result.summary


@pytest.mark.slow
async def test_the_target_grows_with_the_share_that_was_read(tmp_path: Path) -> None:
    desk = Desk(tmp_path, betraying)
    result = await run(desk)

    targets = [request.given.words for request in desk.asked[:-1]]
    assert targets == [max(15, int(100 * (index + 1) / result.chunks)) for index in range(result.chunks)]


@pytest.mark.slow
async def test_a_summary_over_the_limit_is_compressed_to_its_target_at_a_temperature_of_its_own(tmp_path: Path) -> None:
    desk = Desk(tmp_path, growing)
    result = await run(desk)

    compressions = desk.asked_for("compress")
    assert compressions
    for request in compressions:
        assert request.given.current_words > 100
        assert request.given.words < 100 or request.label.startswith(f"compress after chunk {result.chunks}/")
        assert request.sampling.temperature == 1.0
    assert all(request.sampling.temperature == 0.5 for request in desk.asked_for("update"))
    assert count_words(result.summary or "") <= 100


@pytest.mark.slow
async def test_no_more_is_asked_than_was_planned_where_every_chunk_makes_the_summary_outgrow_its_limit(
    tmp_path: Path,
) -> None:
    def brimming(request: Request[Any, Any]) -> Line:
        return prose(140, request.label) if request.prompt.name in ("begin", "update") else obedient(request)

    desk = Desk(tmp_path, brimming)
    plan = prepare(
        story(100), DraftConfig(strategy="incremental", chunk_tokens=128, context_tokens=1024, words=100)
    ).plan
    result = await run(desk)

    assert len(desk.asked_for("compress")) == result.chunks == plan.compressions
    assert len(desk.asked) == plan.calls - 1, "there is nothing to tidy"
    assert result.usage.prompt_tokens <= plan.prompt_tokens
    assert result.usage.completion_tokens <= plan.completion_tokens


@pytest.mark.slow
async def test_a_temperature_of_the_user_holds_for_compression_too(tmp_path: Path) -> None:
    desk = Desk(tmp_path, growing)
    await run(desk, temperature=0)

    assert {request.sampling.temperature for request in desk.asked} == {0.0}


@pytest.mark.slow
async def test_a_refused_chunk_leaves_the_summary_as_it_was(tmp_path: Path) -> None:
    def answer(request: Request[Any, Any]) -> Line:
        if request.label.startswith("chunk 4/"):
            return RefusedReply("the model declined", text="No.", usage=Usage(1, 1))
        return obedient(request)

    desk = Desk(tmp_path, answer)
    result = await run(desk)

    assert [gap.chunk for gap in result.gaps] == [3]
    by_label = {request.label.split("/")[0]: request for request in desk.asked}
    assert by_label["chunk 5"].given.summary == by_label["chunk 4"].given.summary


@pytest.mark.slow
async def test_a_failure_half_way_goes_on_where_it_stopped(tmp_path: Path) -> None:
    broken = True

    def answer(request: Request[Any, Any]) -> Line:
        failing = broken and request.label.startswith("chunk 5/")
        return ModelError("down") if failing else obedient(request)

    desk = Desk(tmp_path, answer)
    with pytest.raises(ModelError):
        await run(desk)
    broken = False
    before = len(desk.asked)
    result = await desk.resume(desk.store.runs.latest(1)[0].id)

    assert result.complete
    assert desk.asked[before].label.startswith("chunk 5/")
    labels = [request.label for request in desk.asked if not request.label.startswith("chunk 5/")]
    assert len(labels) == len(set(labels))


@pytest.mark.slow
async def test_the_budget_keeps_the_running_summary(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    stopped = await desk.summarize(story(100), Limits(max_calls=5), strategy="incremental")

    assert stopped.run.stop_reason == "budget"
    assert stopped.summary == desk.store.runs.pieces(stopped.run.id)[-1].text
    assert (await desk.resume(stopped.run.id, Limits())).complete


@pytest.mark.slow
async def test_the_query_goes_into_every_prompt_but_the_tidying(tmp_path: Path) -> None:
    desk = Desk(tmp_path, growing)
    await run(desk, query="Who keeps the lamp?")

    assert {request.given.query for request in desk.asked if request.prompt.name != "tidy"} == {"Who keeps the lamp?"}


@pytest.mark.nightly
async def test_a_compression_does_not_hide_the_gap_before_it(tmp_path: Path) -> None:
    def answer(request: Request[Any, Any]) -> Line:
        if request.prompt.name == "tidy":
            return str(request.given.summary)
        if request.label.startswith("chunk 4/"):
            return RefusedReply("the model declined", text="No.", usage=Usage(1, 1))
        return prose(150, f"m{len(request.label)}")

    result = await run(Desk(tmp_path, answer))

    assert [gap.chunk for gap in result.gaps] == [3]


@pytest.mark.slow
async def test_a_request_that_the_provider_rejects_is_a_gap(tmp_path: Path) -> None:
    def answer(request: Request[Any, Any]) -> Line:
        rejected = request.label.startswith("chunk 4/")
        return RejectedRequest("HTTP 400") if rejected else obedient(request)

    for strategy in ("incremental", "hierarchical"):
        desk = Desk(tmp_path / strategy, answer)
        result = await desk.summarize(story(100), strategy=strategy)
        assert [gap.code for gap in result.gaps] == ["rejected"]
        assert result.summary


@pytest.mark.slow
async def test_with_a_target_compression_begins_at_the_cap_in_tokens(tmp_path: Path) -> None:
    """100 words are asked for and 154 tokens allowed: 102 words are no reason to compress, and 200 are."""

    def writing(words: int) -> Desk:
        def answer(request: Request[Any, Any]) -> Line:
            return prose(words) if request.prompt.name in ("begin", "update") else obedient(request)

        return Desk(tmp_path / str(words), answer)

    above = writing(102)
    kept = await run(above, words_as="target")
    assert not above.asked_for("compress")
    assert count_words(kept.summary or "") == 102
    over = writing(200)
    result = await run(over, words_as="target")
    assert len(over.asked_for("compress")) > result.chunks / 2
    limited = writing(103)
    await run(limited)
    assert limited.asked_for("compress")
