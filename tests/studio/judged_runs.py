"""Judged summaries of islands with few keepers, so that every figure can be worked out by hand."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from redraft import DraftConfig, JudgeConfig, Session
from tests.judges import Harness, PerfectModel, ScriptedReply, Sheet, function_model, island, keeper_in, summary_of

# So many are asked about that every keeper has a question.
_ALL = {"questions": (12, 12)}


class Unsure(PerfectModel):
    """Cannot tell whether anything answers the question about the seventh keeper."""

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        said = super().answer_from_summary(sheet)
        seventh = {n for n, item in sheet.items("questions").items() if keeper_in(item["text"]) == 7}
        return {"answers": [answer for answer in said["answers"] if answer["id"] not in seventh]}


class Omittable(PerfectModel):
    """Has nothing to ask about any sentence of a summary."""

    def ask_summary(self, sheet: Sheet) -> ScriptedReply:
        return {"sentences": []}


@dataclass(frozen=True)
class JudgedRuns:
    """A database with runs, and their ids."""

    database: Path
    first: str
    """Of ten keepers it names 1, 3, 4, and wrongly 2."""
    second: str
    """It names 1, 2 and 5."""
    other_judge: str
    other_pack: str
    hole: str
    coverage_only: str
    """Judged by coverage only."""
    failed: str
    """Nobody could tell how consistent it is."""
    elsewhere: str
    plain: str
    plainer: str
    pack: str


def make_judged_runs(folder: Path) -> JudgedRuns:
    """Judge them all."""
    return asyncio.run(_stocked(folder))


async def _stocked(folder: Path) -> JudgedRuns:
    harness = Harness(folder, document=island(10))
    first = await harness.evaluate(summary_of(1, 3, 4, wrong={2: "Bob"}), **_ALL)
    second = await harness.evaluate(summary_of(1, 2, 5), **_ALL)
    other_judge = await harness.evaluate(
        summary_of(1, 2, 5), judges=[function_model(PerfectModel(), "another")], **_ALL
    )
    async with harness.session() as session:
        small = await session.build(harness.document, settings=harness.settings(), judging=JudgeConfig(questions=6))
    async with Session(harness.store, settings=DraftConfig(model="extractive", strategy="direct")) as session:
        plain, plainer = [await session.summarize(harness.document, words=words) for words in (60, 90)]
    assert small.run.judging is not None
    other_pack = await harness.evaluate(summary_of(1, 2, 5), pack=small.run.judging.pack)
    elsewhere = await harness.evaluate(summary_of(1, 2), document=island(12), metrics=("coverage",), **_ALL)
    alone = await harness.evaluate(summary_of(1, 2, 8), metrics=("coverage",), **_ALL)
    harness.script = Unsure()
    hole = await harness.evaluate(summary_of(1, 2, 6), **_ALL)
    harness.script = Omittable()
    failed = await harness.evaluate(summary_of(7, 9, 10), **_ALL)
    harness.store.close()
    ids = [one.run.id for one in (first, second, other_judge, other_pack, hole, alone, failed, elsewhere)]
    return JudgedRuns(folder / "redraft.db", *ids, plain.run.id, plainer.run.id, small.run.id)
