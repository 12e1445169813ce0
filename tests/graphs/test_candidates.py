"""Several drafts: each is judged, the best is refined; where nobody judges, or scores are equal, they are compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from redraft import DraftConfig, JudgeConfig, RefineConfig
from redraft.domain import record_json
from redraft.errors import ProviderError, UsageError
from redraft.graphs.evaluation import attainment
from redraft.llm.base import Line, Request
from redraft.llm.budget import PriceTable
from redraft.prompts.coherence import PreferenceReply
from redraft.report.history.trace import read_trace
from redraft.report.markdown.trace import trace_markdown
from redraft.runs.dry_run import plan_run
from redraft.runs.prepare import RunSpec
from redraft.settings import Evaluate
from tests.judges import Court, Keepers, Said, Sheet, told
from tests.support import Desk, obedient, prose, story

SAMPLED = {"strategy": "direct", "context_tokens": 16_000, "words": 100}


def sampled(request: Request[Any, Any]) -> Line:
    """A writer whose direct drafts tell which sample they are, and a judge who likes the second best."""
    if request.prompt.name == "summarize_whole":
        return prose(90, f"draft{request.sampling.sample // 6}")
    if request.prompt.name == "prefer_summary":
        found = [re.search(r"draft(\d)", one, re.IGNORECASE) for one in (request.given.first, request.given.second)]
        first, second = (int(one[1]) if one else 9 for one in found)
        choice = "first" if abs(first - 1) < abs(second - 1) else "second"
        return PreferenceReply(reason="It is.", detail=choice, structure=choice, logic=choice, overall=choice)
    return obedient(request)


@pytest.mark.nightly
async def test_unjudged_drafts_are_compared_by_reading(tmp_path: Path) -> None:
    desk = Desk(tmp_path, sampled)
    result = await desk.summarize(story(200), drafts=3, **SAMPLED)

    assert result.summary is not None
    assert result.summary.startswith("Draft1 ")
    candidates = desk.store.candidates.of(result.run.id)
    assert [candidate.chosen for candidate in candidates] == [False, True, False]
    assert [desk.store.runs.draft(candidate.draft).text.split()[0] for candidate in candidates] == [
        "Draft0",
        "Draft1",
        "Draft2",
    ]
    assert len(desk.asked_for("summarize_whole")) == 3
    assert len(desk.asked_for("prefer_summary")) == 4

    asked = len(desk.asked)
    again = await desk.summarize(story(200), drafts=3, **SAMPLED)
    assert again.summary == result.summary
    assert len(desk.asked) == asked


async def test_candidates_belong_to_their_run(tmp_path: Path) -> None:
    desk = Desk(tmp_path, sampled)
    result = await desk.summarize(story(200), drafts=2, **SAMPLED)
    _, other = desk.store.candidates.of(result.run.id)

    assert desk.store.parents_of([other.run]) == {other.run: result.run.id}
    assert set(desk.store.forget([result.run.id]).runs) == {result.run.id, other.run}


@pytest.mark.slow
async def test_automatic_strategy_tries_the_other_way(tmp_path: Path) -> None:
    desk = Desk(tmp_path, sampled)
    result = await desk.summarize(story(200), drafts=2, **{**SAMPLED, "strategy": "auto"})
    _, other = desk.store.candidates.of(result.run.id)

    ways = {result.run.settings.strategy, desk.store.runs.get(other.run).settings.strategy}
    assert ways == {"direct", "hierarchical"}


class DraftOutput(Keepers):
    """Judges without a fault, and writes drafts of which the second tells most; it may fail once."""

    def __init__(self, drafts: Sequence[str], *, fails: str = "") -> None:
        self.drafts, self.fails, self.failed = [*drafts], fails, False

    def __call__(self, sheet: Sheet) -> Said:
        if sheet.prompt == self.fails and not self.failed:
            self.failed = True
            raise ProviderError("the server is on fire")
        return super().__call__(sheet)

    def summarize_whole(self, sheet: Sheet) -> Said:
        return self.drafts.pop(0)


GOALS = {"coverage": 0.9, "consistency": 1.0}
DIRECT = {"strategy": "direct", "words": 120, "drafts": 3}
TEXTS = (told(1, 2), told(1, 2, 3, 4, 5, 6, 7, 8), told(1, 2, 3))


@pytest.mark.parametrize(
    "fails", ["", "summarize_whole", "prefer_summary", "answer_from_document", "answer_from_summary", "revise"]
)
async def test_best_draft_is_refined_without_repeats(tmp_path: Path, fails: str) -> None:
    court = Court(tmp_path, DraftOutput(TEXTS, fails=fails))
    failed = False
    async with court.session() as session:
        try:
            settings = court.settings(DIRECT)
            result = await session.summarize(court.document, settings=settings, refinement=RefineConfig(goals=GOALS))
        except ProviderError:
            failed = True
    if failed:
        (run,) = [run for run in court.store.runs.latest(9) if not court.store.parents_of([run.id])]
        result = await court.resume(run.id)

    first = court.store.runs.draft(result.rounds[0].draft)
    assert first.text == TEXTS[1]
    chosen = {candidate.draft: candidate.chosen for candidate in result.candidates}
    assert [key for key, its in chosen.items() if its] == [first.id]
    (best,) = [candidate for candidate in result.candidates if candidate.chosen]
    assert best.reason == "by its scores"
    assert best.scores["coverage"] == max(candidate.scores["coverage"] or 0 for candidate in result.candidates)
    assert result.initial_scores["coverage"] == best.scores["coverage"]
    # What a fault has kept from being answered is asked once more, and nothing else; three drafts have one prompt.
    texts = Counter(sheet.text for sheet in court.sheets if sheet.prompt != "summarize_whole")
    drafting = fails == "summarize_whole"
    assert sum(texts.values()) - len(texts) == int(failed and not drafting)
    assert len(court.asked("summarize_whole")) == 3 + drafting


async def test_evaluation_continues_with_the_best(tmp_path: Path) -> None:
    court = Court(tmp_path, DraftOutput(TEXTS))
    async with court.session() as session:
        result = await session.summarize(court.document, settings=court.settings(DIRECT), metrics=["coverage"])
    assert result.summary == TEXTS[1]
    shown = result.record().model_dump(mode="json")["candidates"]
    assert isinstance(shown, list)
    assert sorted(item["chosen"] for item in shown) == [False, False, True]
    said = [item.line(3) for item in result.candidates]
    assert any(re.match(r"candidate \d of 3: direct, coverage 0\.\d\d, not chosen$", item) for item in said)


@pytest.mark.slow
def test_dry_run_counts_all_drafts() -> None:
    settings = DraftConfig(model="openai:gpt-5-mini", strategy="direct", words=100, context_tokens=16_000)
    three = settings.model_copy(update={"drafts": 3})
    document = story(200)
    one = plan_run(document, settings, RunSpec(), PriceTable({}, {}))
    several = plan_run(document, three, RunSpec(), PriceTable({}, {}))
    assert (one.calls, several.calls) == (1, 3 + 2 * 2)
    judged = RunSpec(Evaluate(judging=JudgeConfig(metrics=("coverage",))))
    stages = {stage.name: stage.calls for stage in plan_run(document, settings, judged, PriceTable({}, {})).stages}
    more = {stage.name: stage.calls for stage in plan_run(document, three, judged, PriceTable({}, {})).stages}
    assert more["coverage"] == 3 * stages["coverage"]


async def test_chapters_exclude_several_drafts(tmp_path: Path) -> None:
    desk = Desk(tmp_path, sampled)
    with pytest.raises(UsageError, match="several drafts"):
        await desk.summarize(story(200), drafts=2, by_chapter=True)


def test_attainment_counts_shared_scores_only() -> None:
    goals = {"coverage": 0.8, "consistency": 1.0}
    judged = {1: {"coverage": 0.8, "consistency": 0.5}, 2: {"coverage": 1.0, "consistency": 0.9}}
    assert attainment(judged, goals) == {1: 0.75, 2: 0.95}
    unscored = {**judged, 3: {"coverage": 0.4, "consistency": None}}
    assert attainment(unscored, goals) == {1: 1.0, 2: 1.0, 3: 0.5}
    assert attainment({1: {"coverage": None, "consistency": None}}, goals) == {}


@pytest.mark.slow
async def test_automatic_choice_is_explained(tmp_path: Path) -> None:
    desk = Desk(tmp_path, sampled)
    result = await desk.summarize(story(200), drafts=2, **{**SAMPLED, "strategy": "auto"})
    named = await desk.summarize(story(200), **SAMPLED)

    told = result.record().model_dump(mode="json")
    assert told["strategy"] == result.settings.strategy
    assert str(told["strategy_reason"]).startswith(("direct draft", "draft in parts"))
    assert named.record().strategy_reason == ""
    trace = read_trace(desk.store, result.run.id)
    assert record_json(trace)["result"]["strategy_reason"] == told["strategy_reason"]
    lines = trace_markdown(trace, story(200)).splitlines()
    assert any(line.startswith(("- direct draft", "- draft in parts")) for line in lines)
    assert any(line.startswith("- candidate 2 of 2: ") for line in lines)
