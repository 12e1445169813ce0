"""The experiment on the size of chunks: its table by hand, its samples, and that what fails is tried again."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from redraft import DraftConfig, Limits, Session
from redraft.errors import RunError, UsageError
from redraft.lab.experiments.chunk_size import ChunkSizeDesign, MarkedChunk, size_frame
from redraft.lab.experiments.experiment import Outcome
from redraft.lab.experiments.orders import NamedModel
from redraft.prompts.factual import ChunkRating
from tests.chatserver import ChatServer
from tests.judges import island
from tests.lab.experiments.made import LOST, rows
from tests.lab.experiments.world import run_in, sent


def seats(*models: str, **settings: Any) -> tuple[NamedModel, ...]:
    return tuple(NamedModel(model, DraftConfig(model=model, **settings)) for model in models)


DESIGN = ChunkSizeDesign(judges=seats("openai:x", "openai:y"), chunk_sizes=(128, 256), sample_size=3)


def marked(size: int, chunk: int, judge: str, *marks: int, tokens: int = 100, **other: Any) -> MarkedChunk:
    values = dict(zip(("validity", "coherence", "cross_content"), marks, strict=True)) if marks else {}
    rating = ChunkRating(major_facts=10 * marks[0], connections=marks[2], explanation="", **values) if marks else None
    return MarkedChunk("d", "A Book", size, chunk, tokens, judge, rating, **other)


def test_marks_average_judges_then_chunks() -> None:
    items = (
        marked(128, 0, "x", 1, 2, 3, tokens=90),
        marked(128, 0, "y", 3, 4, 3, tokens=90),
        marked(128, 1, "x", 5, 5, 1, tokens=110),
        marked(128, 1, "y", failure=LOST),
        marked(256, 0, "x", 4, 4, 4),
        marked(256, 0, "y"),
    )
    table = size_frame(items, (128, 256))
    names = ("validity", "coherence", "cross content", "major facts", "tokens", "chunks", "of", "failed")
    assert rows(table, *names, size=128, judge="x") == [(3, 3.5, 2, 30, 100, 2, 2, 0)]
    assert rows(table, *names, size=128, judge="y") == [(3, 4, 3, 30, 90, 1, 2, 1)]
    assert rows(table, *names[:4], *names[5:], size=128, judge="all judges") == [
        ((2 + 5) / 2, (3 + 5) / 2, (3 + 1) / 2, (20 + 50) / 2, 2, 2, 1)
    ]
    assert rows(table, *names, size=256, judge="y") == [(None,) * 5 + (0, 1, 0)]
    report = Outcome(DESIGN.model_copy(update={"judges": seats("x", "y")}), (), items).report()
    assert report.tables[0].basis.startswith(
        "Based on 4 of 6 items (one chunk and one judge each); 1 failed, 1 not made."
    )
    assert report.tables[-1].rows == (("A Book", "chunk 2 of 128 tokens by y", "drafting", *LOST_CELLS),)
    assert "4 done, 1 failed, 1 not made" in report.to_markdown()


LOST_CELLS = (LOST.code, LOST.message)


class Lab:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.design = DESIGN.model_copy(update={"judges": seats("openai:x", "openai:y", base_url=url)})
        self.alone: dict[str, Any] = {"judges": self.design.judges[:1]}
        self.documents = [island(40)]

    async def run(self, limits: Limits | None = None, **changes: Any) -> Outcome[Any, MarkedChunk]:
        design = self.design.model_copy(update=changes)
        outcome: Outcome[Any, MarkedChunk] = await run_in(self.folder, self.documents, design, limits)
        return outcome


@pytest.mark.slow
async def test_each_judge_marks_each_chosen_chunk(tmp_path: Path, server: ChatServer) -> None:
    outcome = await Lab(tmp_path, server.base_url).run()
    assert outcome.complete
    assert Counter((item.size, item.judge) for item in outcome.items) == {
        (size, judge): 3 for size in (128, 256) for judge in ("openai:x", "openai:y")
    }
    for item in outcome.items:
        assert item.marks is not None
        assert 0.5 * item.size <= item.tokens <= item.size
        assert abs(item.marks.major_facts - item.tokens // 29) <= 1
    assert Counter(request.model for request in server.seen) == {"x": 6, "y": 6}
    report = outcome.report()
    for name in "xy":
        line = rf"- chunk_marks is judged by openai:{name}; prompts standard"
        assert re.search(line, report.to_markdown())
    async with Session(tmp_path / "redraft.db") as session:
        with pytest.raises(RunError, match="part of an experiment"):
            await session.resume(outcome.cells[0].runs["marking"])


@pytest.mark.slow
async def test_the_sample_is_always_the_same(tmp_path: Path, server: ChatServer) -> None:
    lab = Lab(tmp_path, server.base_url)
    small = {**lab.alone, "chunk_sizes": (64,), "sample_size": 5}
    chosen, again = [[item.chunk for item in (await lab.run(**small)).items] for _ in range(2)]
    assert chosen == sorted(chosen) == again
    assert max(sent(server).values()) == 1
    lab.documents = [island(40), island(60)]
    outcome = await lab.run(**{**small, "sample_size": 20})
    assert (len(outcome.items), len({item.document for item in outcome.items})) == (20, 2)


@pytest.mark.slow
async def test_short_last_chunks_are_left_out(tmp_path: Path, server: ChatServer) -> None:
    lab = Lab(tmp_path, server.base_url)
    outcome = await lab.run(**lab.alone, chunk_sizes=(64, 1000), sample_size=100)
    assert [item.size for item in outcome.items].count(1000) == 1, "of some 1,160 tokens the rest is too short"
    lab.documents = [island(4)]
    assert len((await lab.run(**lab.alone, chunk_sizes=(1000,), sample_size=100)).items) == 1, (
        "no document is without a chunk"
    )


async def test_too_small_windows_are_refused(tmp_path: Path, server: ChatServer) -> None:
    with pytest.raises(UsageError, match="chunks of 256 tokens need a larger window than 1,024") as error:
        await Lab(tmp_path, server.base_url).run(judges=seats("openai:x", context_tokens=1024))
    assert "context_tokens=2048" in error.value.hint
    assert ChunkSizeDesign(judges=seats("x")).window == 10240
    assert server.seen == []
