"""A summary by chapter from Python: what is streamed, what a graph refuses, what is found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft import Session
from redraft.domain import Document
from redraft.errors import UsageError
from redraft.events import PartDone, RunDone, RunStarted
from redraft.graphs import summarizer
from redraft.settings import DraftConfig
from tests.readers.test_corpus import trees


def book() -> Document:
    told = [f"## {title}\n\n" + "\n\n".join(texts) for title, texts in trees("alder", 3)]
    return Document.from_text("\n\n".join(["# All about the alder", *told]))


@pytest.mark.nightly
async def test_chapters_are_results_and_the_events_are_those_of_the_whole(tmp_path: Path) -> None:
    async with Session(tmp_path / "redraft.db") as session:
        seen = [event async for event in session.stream(book(), words=60, by_chapter=True)]
        assert isinstance(seen[0], RunStarted)
        assert isinstance(seen[-1], RunDone)
        result = await session.result(seen[0].run)
        assert [one.result.summary is not None for one in result.chapters if one.result] == [True] * 3
        assert [event.run for event in seen if isinstance(event, RunStarted | RunDone)] == [seen[0].run] * 2
        assert sorted(event.number for event in seen if isinstance(event, PartDone)) == [1, 2, 3]
        judged = await session.summarize(book(), words=60, by_chapter=True, metrics=["coverage"])
        assert all(one.result and one.result.run.kind == "evaluate" for one in judged.chapters)
        assert judged.summary == result.summary
        # What is handed over has no chapters to be drafted.
        given = await session.refine(
            book(),
            "The alder was seen.",
            goals={"coverage": 0.1},
            allow_self_check=True,
            settings=DraftConfig(by_chapter=True),
        )
        assert given.chapters == ()


@pytest.mark.slow
async def test_several_documents_are_one_source(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("The birch was seen by a farmer in the wood. " * 60, "utf-8")
    async with Session(tmp_path / "redraft.db") as session:
        result = await session.summarize([book(), tmp_path / "other.md"], words=60)
        found = {origin.document for one in (await session.lineage(result.run.id)).sentences for origin in one.origins}
        assert found == {"All about the alder", "other.md"}
        key = await session.add(book())
        again = await session.summarize([key, tmp_path / "other.md"], words=60)
        assert again.run.document == result.run.document


async def test_a_graph_drafts_no_chapters(tmp_path: Path) -> None:
    async with Session(tmp_path / "redraft.db") as session:
        graph = summarizer(refine=False).compile()
        with pytest.raises(UsageError, match="a graph drafts no chapters"):
            await graph.ainvoke({"source": "book.md", "by_chapter": True}, context=session)


def test_a_run_that_goes_by_chapter_is_another_one() -> None:
    plain, chapters = (DraftConfig(by_chapter=by).identity("d", "t", {}) for by in (False, True))
    assert plain != chapters
