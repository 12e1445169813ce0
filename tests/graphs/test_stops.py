"""A stop at every single write of a checkpoint, one after the other: the same outcome, and nothing is asked twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from redraft import Limits, Result, Session
from redraft.agents.reviser import read_reply
from redraft.domain import ReviewQuestion
from redraft.events import Event, StageStarted
from redraft.settings import DraftConfig
from tests.judges import Harness, Json, PerfectModel, ScriptedReply, Sheet, summary_of
from tests.runs.test_refining import stories
from tests.support import Desk, story

pytestmark = pytest.mark.slow

POOR = summary_of(1, wrong={2: "Bob"})
STORY = story(20)
GOALS = {"coverage": 0.9, "consistency": 1.0}
DRAFTED = ("direct", "hierarchical", "incremental")
# More stops than any of the runs has writes: what comes to them goes round in circles.
_MOST_STOPS = 300


class Stop(Exception):
    """Whatever stops it: a full disk, a bug in a saver."""


class Writes:
    """Counts the writes of checkpoints, and stops after one of them."""

    def __init__(self, patch: pytest.MonkeyPatch, saver: type) -> None:
        self.count = self.at = 0
        for name in ("aput", "aput_writes"):
            patch.setattr(saver, name, self._counted(getattr(saver, name)))

    def stop(self, at: int) -> None:
        self.count, self.at = 0, at

    def _counted(self, write: Callable[..., Any]) -> Callable[..., Any]:
        async def counted(saver: Any, *given: Any, **named: Any) -> Any:
            self.count += 1
            mine = self.count == self.at
            written = await write(saver, *given, **named)
            if mine:
                raise Stop
            return written

        return counted

    async def at_each(self, work: Work, begin: Callable[[], Awaitable[Result]]) -> Result:
        """What comes of a work that is stopped after each of its writes, and goes on from there in a new workshop."""
        for stops in range(_MOST_STOPS):
            # Of those that go on each comes past one more write than the last.
            self.stop(1)
            try:
                result = await (work.resume() if stops else begin())
            except Stop:
                continue
            if result.status != "waiting":
                self.stop(0)
                return result
        raise AssertionError("it does not get on")


class Author(PerfectModel):
    """Drafts, too, and in the end always the same."""

    def summarize_whole(self, sheet: Sheet) -> ScriptedReply:
        return POOR

    def summarize_chunk(self, sheet: Sheet) -> ScriptedReply:
        """The chunk's beginning, as a chunk that is left out would be asked for again by each resume."""
        return " ".join(sheet.within("excerpt").split()[:30])

    merge = merge_onward = begin = update = compress = summarize_whole

    def tidy(self, sheet: Sheet) -> ScriptedReply:
        return sheet.within("summary")


class Slipping(Author):
    """Adds an error to each new text, so that it is corrected before it is compared."""

    def edit(self, sheet: Sheet) -> ScriptedReply:
        return f"{read_reply(super().edit(sheet))[0]} {summary_of(wrong={9: 'Joe'})}"


async def agree(question: ReviewQuestion) -> Json:
    """A reviewer who asks for something in the first round, and has nothing to say to the others."""
    return {"add": ["The sea is cold."]} if question["round"] == 1 else {}


class Work:
    """One way of working on one document, by a model whose every request is kept."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, _, manner = kind.partition(" ")
        self.manner, self.strategy = manner, manner if manner in DRAFTED else "given"
        author = Slipping() if manner == "mending" else Author()
        self.harness = Harness(folder, author) if self.kind != "draft" else Desk(folder)
        self.store = self.harness.store
        self.judged: list[int] = []

    def session(self) -> Session:
        reviewer = agree if self.manner == "reviewed" else None
        limits = Limits(concurrency=2)
        people = {"reviewer": reviewer, "observer": self.observe, "settings": self.settings, "limits": limits}
        return self.harness.session(**people)

    def observe(self, event: Event) -> None:
        if isinstance(event, StageStarted) and event.name.startswith("judging draft"):
            self.judged.append(int(event.name.split()[-1]))

    @property
    def settings(self) -> DraftConfig:
        words = 60 if self.kind == "draft" else 100
        return DraftConfig(strategy=self.strategy, chunk_tokens=128, context_tokens=3200, words=words)

    @property
    def task(self) -> dict[str, Any]:
        if self.kind != "refine":
            return {"metrics": list(GOALS)} if self.kind == "evaluate" else {}
        policy = {"policy": "agent"} if self.manner == "agent" else {}
        return {"goals": GOALS, "review": self.manner in ("reviewed", "waiting"), **policy}

    @property
    def document(self) -> Any:
        return self.harness.document if isinstance(self.harness, Harness) else STORY

    async def begin(self) -> Result:
        async with self.session() as session:
            if self.strategy != "given":
                return await session.summarize(self.document, **self.task)
            verb = session.refine if self.kind == "refine" else session.evaluate
            return await verb(self.document, POOR, **self.task)

    async def resume(self) -> Result:
        """Go on; what has been done is not done over again, either, though it would cost nothing."""
        run = self.store.runs.latest(1)[0]
        answer = {"drop": [1]} if (run.status, self.manner) == ("waiting", "waiting") else None
        reached = max((round_.number for round_ in self.store.rounds.of(run.id)), default=0)
        self.judged.clear()
        try:
            async with self.session() as session:
                return await session.resume(run.id, answer=answer)
        finally:
            assert all(number >= reached for number in self.judged)

    @property
    def asked(self) -> Counter[str]:
        model = self.harness.model
        assert model is not None
        return Counter(f"{request.prompt.name} {request.label} {request.given}" for request in model.asked)


def outcome(result: Result) -> tuple[Any, ...]:
    return result.status, result.run.stop_reason, result.summary, result.scores, stories(result), result.run.why


def ancestry(work: Work) -> Counter[tuple[Any, ...]]:
    """What each text of the run was made from. The names of drafts depend on the run."""
    known = work.store.runs.parents(work.store.runs.latest(1)[0].id)
    return Counter(tuple((parent.kind, parent.text, parent.span) for parent in parents) for parents in known.values())


KINDS = [
    *(f"draft {strategy}" for strategy in DRAFTED),
    *(f"{kind} {strategy}" for kind in ("evaluate", "refine") for strategy in ("given", *DRAFTED)),
    *(f"refine {manner}" for manner in ("reviewed", "waiting", "agent", "mending")),
]


async def whole(work: Work, begin: Callable[[], Awaitable[Result]]) -> Result:
    """What comes of a work that nobody stops, except to ask a person."""
    result = await begin()
    while result.status == "waiting":
        result = await work.resume()
    return result


@pytest.mark.parametrize("kind", KINDS)
async def test_a_stop_after_every_write_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    writes = Writes(monkeypatch, AsyncSqliteSaver)
    undisturbed, work = Work(kind, tmp_path / "whole"), Work(kind, tmp_path / "stopped")
    expected = outcome(await whole(undisturbed, undisturbed.begin))
    assert expected[0] == "done"
    assert writes.count > 5
    assert max(undisturbed.asked.values()) == 1

    assert outcome(await writes.at_each(work, work.begin)) == expected
    assert work.asked == undisturbed.asked
    assert ancestry(work) == ancestry(undisturbed)
