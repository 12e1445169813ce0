"""The experiment on the size of chunks: its table by hand, its samples, and that it goes on and may fail."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redraft import Limits, Session, Store
from redraft.domain import Document, Totals
from redraft.errors import BudgetError, RunError, UsageError
from redraft.lab.experiments.chunk_size import EXPERIMENT, ChunkSizeDesign, ChunkSizeOutcome, MarkedChunk, chunk_sizes
from redraft.llm.budget import PriceTable
from redraft.prompts.factual import ChunkRating
from redraft.readers.documents import parse
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.settings import ModelSettings, Price
from tests.chatserver import Answer, ChatServer, Fault, Seen
from tests.judges import island, keepers_in, seen_on
from tests.lab.experiments.made import LOST, rows
from tests.lab.experiments.world import answer, sent, serving

DESIGN = ChunkSizeDesign(("openai:x", "openai:y"), (128, 256), sample=3)


def marked(size: int, chunk: int, judge: str, *marks: int, tokens: int = 100, **other: Any) -> MarkedChunk:
    given = dict(zip(("validity", "coherence", "cross_content"), marks, strict=True)) if marks else {}
    said = ChunkRating(major_facts=10 * marks[0], connections=marks[2], explanation="", **given) if marks else None
    return MarkedChunk("d", "A Book", size, chunk, tokens, judge, "run", said, **other)


def test_marks_are_means_over_chunks_of_means_over_judges() -> None:
    found = (
        marked(128, 0, "x", 1, 2, 3, tokens=90),
        marked(128, 0, "y", 3, 4, 3, tokens=90),
        marked(128, 1, "x", 5, 5, 1, tokens=110),
        marked(128, 1, "y", failure=LOST),
        marked(256, 0, "x", 4, 4, 4),
        marked(256, 0, "y"),
    )
    document = Document("d", "A Book", "")
    usage = ((128, Totals(calls=3, cost_usd=0.5)), (256, Totals(calls=1, cost_usd=None)))
    stopped = BudgetError("the limit of 4 calls is used up")
    report = EXPERIMENT.report(ChunkSizeOutcome(replace(DESIGN, judges=("x", "y")), (document,), found, usage, stopped))
    table, cost, failures = report.tables
    names = ("validity", "coherence", "cross content", "major facts", "tokens", "chunks", "of", "failed")
    assert rows(table, *names, size=128, judge="x") == [(3, 3.5, 2, 30, 100, 2, 2, 0)]
    assert rows(table, *names, size=128, judge="y") == [(3, 4, 3, 30, 90, 1, 2, 1)]
    assert rows(table, *names[:4], *names[5:], size=128, judge="all judges") == [
        ((2 + 5) / 2, (3 + 5) / 2, (3 + 1) / 2, (20 + 50) / 2, 2, 2, 1)
    ]
    assert rows(table, *names, size=256, judge="y") == [(None,) * 5 + (0, 1, 0)]
    assert table.basis.startswith("Based on 4 of 6 items (one chunk and one judge each); 1 failed.")
    assert rows(cost, "marked", "calls", "USD", size=128) == [(3, 3, 0.5)]
    assert rows(cost, "marked", "calls", "USD", size=256) == [(1, 1, None)]
    assert rows(failures, "size", "chunk", "judge", "code") == [(128, 1, "y", "rejected")]
    assert "4 done, 1 failed, 1 not made" in report.to_markdown()
    assert "stopped: the limit of 4 calls is used up" in report.to_markdown()


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as running:
        yield running


class Lab:
    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.design = replace(DESIGN, base_url=url)
        self.documents = [island(40)]

    async def run(self, limits: Limits | None = None, **changes: Any) -> ChunkSizeOutcome:
        with Store(self.folder / "redraft.db") as store:
            return await chunk_sizes(
                self.documents, replace(self.design, **changes), ExperimentRunner(store, limits or Limits())
            )


def places(outcome: ChunkSizeOutcome) -> list[tuple[int, int, str]]:
    return [(one.size, one.chunk, one.judge) for one in outcome.marked]


@pytest.mark.slow
async def test_each_judge_marks_each_chosen_chunk_of_each_size(tmp_path: Path, server: ChatServer) -> None:
    outcome = await Lab(tmp_path, server.base_url).run()
    assert outcome.complete
    assert Counter((one.size, one.judge) for one in outcome.marked) == {
        (size, judge): 3 for size in (128, 256) for judge in ("openai:x", "openai:y")
    }
    for one in outcome.marked:
        assert one.marks is not None
        assert 0.5 * one.size <= one.tokens <= one.size
        assert one.marks.major_facts in (one.tokens // 29, one.tokens // 29 + 1, one.tokens // 29 - 1)
    seen = Counter(seen.model for seen in server.seen)
    assert seen == {"x": 6, "y": 6}
    report = EXPERIMENT.report(outcome)
    for name in "xy":
        said = (
            rf"- marks are by openai:{name}; prompts standard \w{{8}}; 0% without a verdict; not checked against people"
        )
        assert re.search(said, report.to_markdown())
    behind: Any = report.settings["certificates"]
    assert [(one["judges"], one["metric"], one["unjudged_share"]) for one in behind] == [
        ([f"openai:{name}"], "chunk_marks", 0.0) for name in "xy"
    ]


@pytest.mark.slow
async def test_a_repetition_asks_nothing_and_comes_out_the_same_to_the_byte(tmp_path: Path, server: ChatServer) -> None:
    lab = Lab(tmp_path, server.base_url)
    first = EXPERIMENT.report(await lab.run()).files()
    asked = len(server.seen)
    assert EXPERIMENT.report(await lab.run()).files() == first
    assert len(server.seen) == asked
    with Store(tmp_path / "redraft.db") as store:
        assert [run.kind for run in store.runs.latest(9)] == ["chunk-size"] * 2
        assert {run.status for run in store.runs.latest(9)} == {"done"}


@pytest.mark.slow
async def test_the_seed_decides_on_the_sample(tmp_path: Path, server: ChatServer) -> None:
    lab = Lab(tmp_path, server.base_url)
    one = {"judges": ("openai:x",), "sizes": (64,), "sample": 5}
    chosen = [places(await lab.run(seed=seed, **one)) for seed in (0, 1, 2)]
    assert len({tuple(found) for found in chosen}) > 1
    assert all(found == sorted(found) for found in chosen)
    assert places(await lab.run(seed=1, **one)) == chosen[1]
    everything = await lab.run(judges=("openai:x",), sizes=(64,), sample=1000)
    assert {place[1] for found in chosen for place in found} <= {one.chunk for one in everything.marked}
    assert max(sent(server).values()) == 1


@pytest.mark.slow
async def test_the_rest_at_the_end_is_left_out_where_it_is_short(tmp_path: Path, server: ChatServer) -> None:
    lab = Lab(tmp_path, server.base_url)
    outcome = await lab.run(judges=("openai:x",), sizes=(64, 1000), sample=100)
    tokens = [one.tokens for one in outcome.marked if one.size == 1000]
    assert len(tokens) == 1, "of some 1,160 tokens the rest is too short"
    lab.documents = [island(4)]
    outcome = await lab.run(judges=("openai:x",), sizes=(1000,), sample=100)
    assert len(outcome.marked) == 1, "but a document is never without a chunk"


@pytest.mark.slow
async def test_the_sample_is_drawn_from_all_documents(tmp_path: Path, server: ChatServer) -> None:
    lab = Lab(tmp_path, server.base_url)
    lab.documents = [island(40), island(60)]
    outcome = await lab.run(judges=("openai:x",), sizes=(64,), sample=20)
    assert len(outcome.marked) == 20
    assert len({one.document for one in outcome.marked}) == 2


@pytest.mark.slow
async def test_what_fails_is_recorded_and_tried_again(tmp_path: Path) -> None:
    broken = True

    def script(seen: Seen) -> str | Answer | Fault:
        lost = broken and seen.model == "y" and 1 in keepers_in(seen_on(seen).within("excerpt"))
        return '{"validity": 9}' if lost else answer(seen)

    with serving(script) as server:
        lab = Lab(tmp_path, server.base_url)
        outcome = await lab.run(sample=100)
        lost = [one for one in outcome.marked if one.failure]
        assert [(one.size, one.chunk, one.judge) for one in lost] == [(128, 0, "openai:y"), (256, 0, "openai:y")]
        assert {one.failure.code for one in lost if one.failure} == {"unreadable"}
        assert not outcome.complete
        broken = False
        before = len(server.seen)
        assert (await lab.run(sample=100)).complete
        assert len(server.seen) == before + 2


@pytest.mark.slow
async def test_the_budget_holds_over_all_sizes_and_judges(tmp_path: Path, server: ChatServer) -> None:
    lab = Lab(tmp_path, server.base_url)
    outcome = await lab.run(Limits(max_calls=5))
    assert outcome.stopped is not None
    assert len(server.seen) == 5
    assert sum(one.marks is not None for one in outcome.marked) == 5
    assert not any(one.failure for one in outcome.marked)
    assert len((await lab.run(Limits(max_calls=5))).marked) == 12
    assert len(server.seen) == 5
    assert (await lab.run()).complete
    assert max(sent(server).values()) == 1
    items = json.loads(EXPERIMENT.report(outcome).files()["items.json"])
    assert sum(item["marks"] is None for item in items) == 7


async def test_a_window_that_is_too_small_is_refused(tmp_path: Path, server: ChatServer) -> None:
    lab = Lab(tmp_path, server.base_url)
    with pytest.raises(UsageError, match="chunks of 256 tokens need a larger window than 1,024") as error:
        await lab.run(context_tokens=1024)
    assert "context_tokens=2048" in error.value.hint
    assert ChunkSizeDesign(("x",)).window == 10240
    assert server.seen == []


async def test_a_part_of_it_is_not_resumed_by_itself(tmp_path: Path, server: ChatServer) -> None:
    outcome = await Lab(tmp_path, server.base_url).run()
    async with Session(tmp_path / "redraft.db") as session:
        with pytest.raises(RunError, match="part of an experiment"):
            await session.resume(outcome.marked[0].run)


def test_a_model_that_thinks_may_use_its_room() -> None:
    """One chunk before a model that may think 1,000 tokens, at a dollar for a million of either kind."""
    document = parse(b"The keeper kept the light all night. " * 40, name="x.txt")
    own = ModelSettings(model="openai:x", reasoning_tokens=1000, price=Price(prompt=0, completion=1))
    design = ChunkSizeDesign(judges=("thinker",), sizes=(2048,), own={"thinker": own})
    row, _ = EXPERIMENT.plan([document], design, PriceTable({}, {})).rows
    # A reply and 1,000 tokens of thinking at most.
    reply = row[6]
    assert isinstance(reply, int)
    assert 20 < reply < 150
    assert row[7] == pytest.approx((reply + 1000) / 1e6)
