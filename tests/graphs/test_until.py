"""Drafts of the first tokens of a document: what is read, where it ends, and what stays the whole document's."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft import JudgeConfig, RefineConfig, read_lineage
from redraft.errors import UsageError
from redraft.runs.prepare import prepare
from redraft.settings import DraftConfig
from redraft.text.chunks import beginning, chunk
from redraft.text.tokens import EstimatingTokenizer
from tests.support import Desk, story

COUNTER = EstimatingTokenizer()


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["direct", "hierarchical", "incremental"])
async def test_no_strategy_reads_further_and_offsets_stay_those_of_the_document(tmp_path: Path, strategy: str) -> None:
    document = story(60)
    end = beginning(document.text, COUNTER, 400)
    desk = Desk(tmp_path)
    result = await desk.summarize(document, strategy=strategy, until=400)

    fields = ("document", "excerpt")
    read = [text for one in desk.asked for name in fields if (text := getattr(one.given, name, None))]
    assert "".join(sorted(read, key=document.text.index)) == document.text[:end]
    assert document.text[:end].rstrip().endswith(".")
    assert COUNTER.count(document.text[:end]) <= 400 < COUNTER.count(document.text)
    # Of several chunks each is rounded up.
    assert COUNTER.count(document.text[:end]) <= result.tokens <= 400
    assert result.run.document == document.id
    lineage = read_lineage(desk.store, result.run.id)
    assert lineage.document.text == document.text
    assert all(place.span.end <= end for one in lineage.sentences for place in (*one.origins, *one.direct))


@pytest.mark.slow
async def test_the_same_beginning_is_drafted_once(tmp_path: Path) -> None:
    document, desk = story(60), Desk(tmp_path)
    first, longer = await desk.summarize(document, until=400), await desk.summarize(document, until=800)
    asked = len(desk.asked)
    again = await desk.summarize(document, until=400)
    assert len(desk.asked) == asked
    assert first.run.identity == again.run.identity != longer.run.identity
    assert longer.chunks == len(chunk(document, COUNTER, 128, beginning(document.text, COUNTER, 800)))


def test_a_document_that_is_no_longer_is_read_whole_and_says_so() -> None:
    document = story(60)
    more, plain = (prepare(document, DraftConfig(words=50, until=until)) for until in (100_000, None))
    assert (more.settings, more.chunks) == (plain.settings, plain.chunks)
    assert more.warnings == ("the document has no more than 100,000 tokens, so all of it is read",)


def test_how_far_was_read_is_part_of_what_a_run_is() -> None:
    settings = DraftConfig(words=50)
    assert settings.identity("d", "t", {}) == DraftConfig(words=50, until=None).identity("d", "t", {})
    assert settings.identity("d", "t", {}) != DraftConfig(words=50, until=400).identity("d", "t", {})


async def test_a_beginning_is_not_refined_by_the_whole(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    async with desk.session() as session:
        with pytest.raises(UsageError, match="only its beginning"):
            await session.summarize(
                story(60),
                settings=DraftConfig(words=50, until=400),
                judging=JudgeConfig(metrics=("coverage",)),
                refinement=RefineConfig(goals={"coverage": 0.5}, allow_self_check=True),
            )
