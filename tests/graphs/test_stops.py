"""A stop at every single write of a checkpoint, then a resumption: the same text, and nothing is asked twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from redraft import Limits, Result, Settings, Workshop, graphs
from redraft.events import Event, StageStarted
from redraft.models.testing import FunctionModel
from tests.judges import Court, Keepers, Said, Sheet, told
from tests.runs.test_refining import stories
from tests.support import Desk, story

Moment = Literal["before", "after"]
POOR = told(1, wrong={2: "Bob"})
STORY = story(40)
SETTINGS = {"chunk_tokens": 128, "context_tokens": 2048, "words": 60}
GOALS = {"coverage": 0.9, "consistency": 1.0}


class Stop(Exception):
    """Whatever stops it: a full disk, a bug in a saver."""


class Writes:
    """Counts the writes of checkpoints, and stops one of them, at its beginning or at its end."""

    def __init__(self, patch: pytest.MonkeyPatch, saver: type) -> None:
        self.count = self.at = 0
        self.moment: Moment = "before"
        for name in ("aput", "aput_writes"):
            patch.setattr(saver, name, self._counted(getattr(saver, name)))

    def stop(self, at: int, moment: Moment) -> None:
        self.count, self.at, self.moment = 0, at, moment

    def _counted(self, write: Callable[..., Any]) -> Callable[..., Any]:
        async def counted(saver: Any, *given: Any, **named: Any) -> Any:
            self.count += 1
            mine = self.count == self.at
            if mine and self.moment == "before":
                raise Stop
            written = await write(saver, *given, **named)
            if mine:
                raise Stop
            return written

        return counted


class Author(Keepers):
    """Drafts, too."""

    def summarize_whole(self, sheet: Sheet) -> Said:
        return POOR


class Work:
    """One way of working on one document, by a model whose every request is kept."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.model, self.document = self._parts()
        self.judged: list[int] = []

    def _parts(self) -> tuple[FunctionModel, Any]:
        if self.kind == "refine":
            court = Court(self.folder, Author())
            self.store = court.store
            assert court.model is not None
            return court.model, court.document
        desk = Desk(self.folder)
        self.store = desk.store
        return desk.model, STORY

    def shop(self) -> Workshop:
        settings, limits = Settings(**self.settings), Limits(concurrency=2)
        return Workshop(self.store, model=self.model, limits=limits, settings=settings, observer=self.observe)

    def observe(self, event: Event) -> None:
        if isinstance(event, StageStarted) and event.name.startswith("judging draft"):
            self.judged.append(int(event.name.split()[-1]))

    @property
    def settings(self) -> dict[str, Any]:
        return {"strategy": "direct", "words": 100} if self.kind == "refine" else {**SETTINGS, "strategy": self.kind}

    async def begin(self) -> Result:
        async with self.shop() as shop:
            return await shop.summarize(self.document, **({"goals": GOALS} if self.kind == "refine" else {}))

    async def resume(self) -> Result:
        """Go on; what has been done is not done over again, either, though it would cost nothing."""
        run = self.store.runs.latest(1)[0].id
        reached = max((made.number for made in self.store.judgments.rounds(run)), default=0)
        self.judged.clear()
        async with self.shop() as shop:
            result = await shop.resume(run)
        assert all(number >= reached for number in self.judged)
        return result

    @property
    def asked(self) -> Counter[str]:
        return Counter(f"{one.prompt.name} {one.label} {one.given}" for one in self.model.asked)


def outcome(result: Result) -> tuple[Any, ...]:
    return result.run.status, result.run.stop_reason, result.summary, result.scores, stories(result)


KINDS = pytest.mark.parametrize("kind", ["direct", "hierarchical", "incremental", "refine"])


@pytest.mark.slow
@KINDS
async def test_a_stop_after_any_write_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    writes = Writes(monkeypatch, AsyncSqliteSaver)
    whole = Work(kind, tmp_path / "whole")
    expected = outcome(await whole.begin())
    total = writes.count
    assert total > 5
    assert max(whole.asked.values()) == 1
    for at in range(1, total + 1):
        work = Work(kind, tmp_path / str(at))
        writes.stop(at, "after")
        with pytest.raises(Stop):
            await work.begin()
        writes.stop(0, "after")
        assert outcome(await work.resume()) == expected, at
        assert work.asked == whole.asked, at
        work.store.close()
    whole.store.close()


class Saver(InMemorySaver):
    """A saver of somebody else's."""


@pytest.mark.slow
@KINDS
async def test_nor_does_one_before_it_where_somebody_else_drives_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    writes = Writes(monkeypatch, Saver)
    build = graphs.summarizer if kind == "refine" else graphs.draft
    strategy = "direct" if kind == "refine" else kind

    async def driven(work: Work, saver: Saver) -> tuple[Any, ...]:
        graph = build(strategy).compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "theirs"}}
        async with work.shop() as shop:
            begun = (await graph.aget_state(config)).created_at is not None
            task = {"source": await shop.add(work.document), **({"goals": GOALS} if kind == "refine" else {})}
            left = await graph.ainvoke(None if begun else task, config, context=shop, durability="sync")
            return outcome(await shop.result(left["run"]))

    whole = Work(kind, tmp_path / "whole")
    expected = await driven(whole, Saver())
    total = writes.count
    for at in range(1, total + 1):
        work, saver = Work(kind, tmp_path / str(at)), Saver()
        writes.stop(at, "before")
        with pytest.raises(Stop):
            await driven(work, saver)
        writes.stop(0, "before")
        assert await driven(work, saver) == expected, at
        assert work.asked == whole.asked, at
        work.store.close()
    whole.store.close()
