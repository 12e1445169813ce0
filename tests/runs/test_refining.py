"""The refinement from its first draft to each of its ends, by every policy, with and without a wire."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from redraft import Finding, Limits, RefineConfig, ReviewQuestion
from redraft.errors import ModelError, PromptError, ProviderError, RunError, TransientError
from redraft.events import Event, Notice
from redraft.llm import budget
from redraft.report.dossier.contents import read_dossier
from redraft.report.history.results import Result
from redraft.settings import PolicyName
from redraft.text.words import count_words
from tests.chatserver import Answer
from tests.judges import (
    FixedRevision,
    Harness,
    Json,
    LazyReviser,
    PerfectModel,
    ScriptedReply,
    Sheet,
    complete_point,
    island,
    keepers_in,
    summary_of,
)
from tests.runs.harnesses import OpenHarness

pytestmark = pytest.mark.slow

POLICIES: tuple[PolicyName, ...] = ("editor", "agent", "paper")
# Of the first six keepers, whom the pack asks about, it tells one rightly and one wrongly.
POOR = summary_of(1, wrong={2: "Bob"})
GOOD = summary_of(1, 2, 3, 4, 5, 6)
TIGHT = {"words": count_words(GOOD)}

FOLLOWING_OR_NOT = pytest.mark.parametrize("policy", ["paper", "editor"])
"""The policy that takes every revision, and one of those that do not."""


def stories(result: Result) -> list[tuple[int, tuple[str, ...], bool | None]]:
    """Each round: its number, what it was for, and whether it was taken."""
    return [(round_.number, round_.aims, round_.accepted) for round_ in result.rounds]


def mended_in(result: Result) -> list[set[str]]:
    return [set(round_.findings) for round_ in result.rounds[1:]]


@pytest.mark.parametrize("policy", POLICIES)
async def test_every_policy_meets_the_goals(harness: OpenHarness, policy: PolicyName) -> None:
    result = await harness().refine(POOR, policy=policy, settings=TIGHT)

    aims = [("coverage",), ("consistency",)] if policy == "paper" else [("consistency", "coverage")]
    assert [round_.aims for round_ in result.rounds[1:]] == aims
    assert (result.run.status, result.run.stop_reason) == ("done", "goals_met")
    assert result.complete
    assert result.initial_scores == {"coverage": 1 / 6, "consistency": 1 / 2}
    assert result.scores == {"coverage": 1.0, "consistency": 1.0}
    assert keepers_in(result.summary or "") == keepers_in(GOOD)


@pytest.mark.parametrize(("draft", "reason"), [(GOOD, "goals_met"), (POOR, "rounds")])
async def test_without_rounds_a_draft_is_only_judged(harness: OpenHarness, draft: str, reason: str) -> None:
    opened = harness()
    result = await opened.refine(draft, rounds=0)

    assert (result.summary, result.run.stop_reason) == (draft, reason)
    assert opened.asked("find_stops")
    assert not opened.asked("edit", "revise", "rule_on_findings", "choose_draft")


@FOLLOWING_OR_NOT
async def test_errors_alone_are_corrected_in_place(harness: OpenHarness, policy: PolicyName) -> None:
    opened = harness()
    draft = summary_of(1, 3, 4, 5, 6, wrong={2: "Bob"})
    result = await opened.refine(draft, policy=policy, goals={"coverage": 0.8, "consistency": 0.8}, settings=TIGHT)

    assert result.run.stop_reason == "goals_met"
    if policy == "paper":
        assert result.summary == draft
        return
    assert stories(result) == [(0, (), True), (1, ("consistency",), True)]
    assert result.rounds[1].reason == "1 error fewer"
    assert keepers_in(result.summary or "") == keepers_in(GOOD)
    assert not opened.asked("edit", "choose_draft")


async def test_it_ends_when_no_rewrite_is_preferred(harness: OpenHarness) -> None:
    wordy = FixedRevision(lambda sheet: f"{sheet.within('summary')} The sea is cold.")
    opened = harness(wordy)
    result = await opened.refine(summary_of(1))

    assert result.run.stop_reason == "no_progress"
    assert [(round_.accepted, round_.reason) for round_ in result.rounds[1:]] == [(False, "neither draft is preferred")]
    assert (result.summary, len(opened.asked("edit"))) == (summary_of(1), 1)


async def test_budget_stops_it_another_continues_it(any_harness: OpenHarness) -> None:
    result = await any_harness().refine(POOR)
    calls = result.usage.calls

    opened = any_harness()
    stopped = await opened.refine(POOR, limits=Limits(max_calls=calls - 1))
    assert (stopped.run.status, stopped.run.stop_reason) == ("stopped", "budget")
    assert keepers_in(stopped.summary or "")
    done = await opened.resume(stopped.run.id, Limits())

    assert done.run.stop_reason == "goals_met"
    assert (done.summary, done.scores, stories(done)) == (result.summary, result.scores, stories(result))
    assert done.usage.calls == calls


async def test_cancelled_run_keeps_its_best_draft(any_harness: OpenHarness) -> None:
    opened = any_harness()
    working: list[asyncio.Task[Result]] = []

    def interrupt(sheet: Sheet) -> ScriptedReply:
        if sheet.prompt == "edit" and "called Tom3" in sheet.within("summary"):
            working[0].get_loop().call_soon_threadsafe(working[0].cancel)
            return Answer(GOOD, latency=1) if opened.server else GOOD
        return LazyReviser()(sheet)

    opened.script = interrupt
    working.append(asyncio.create_task(opened.refine(POOR, settings=TIGHT)))
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await working[0]
    run = opened.store.runs.latest(1)[0]
    assert vars(cancelled.value)["run"] == run.id
    assert (run.status, run.stop_reason) == ("interrupted", "cancelled")
    assert run.draft is not None
    assert keepers_in(opened.store.runs.draft(run.draft).text) == {1: "Tom1", 2: "Bob", 3: "Tom3"}

    opened.script = PerfectModel()
    done = await opened.resume(run.id)
    assert done.run.stop_reason == "goals_met"
    assert keepers_in(done.summary or "") == keepers_in(GOOD)


async def test_paper_policy_returns_the_last_draft(harness: OpenHarness) -> None:
    worse = [POOR, summary_of(4), summary_of(5)]
    revisions = iter(worse)
    opened = harness(FixedRevision(lambda sheet: next(revisions)))
    result = await opened.refine(POOR, policy="paper", rounds=3)

    assert result.run.stop_reason == "rounds"
    assert result.summary == worse[-1]
    assert [round_.accepted for round_ in result.rounds] == [True] * 4
    drafts = [round_.draft for round_ in result.rounds]
    assert [round_.base for round_ in result.rounds] == [None, *drafts[:-1]]


async def test_revision_keeps_to_the_word_limit(harness: OpenHarness) -> None:
    opened = harness()
    result = await opened.refine(POOR, settings={"words": 33})

    assert len(keepers_in(result.summary or "")) < 6
    assert all(draft.words <= 33 for draft in opened.store.runs.drafts(result.run.id))
    assert opened.asked("edit")[0].limit(r"at most (\d+) words") == 33


async def test_fitting_document_is_shown_to_the_writer(harness: OpenHarness) -> None:
    opened = harness(document=island(60))
    await opened.refine(POOR, rounds=1)
    await opened.refine(POOR, rounds=1, settings={"context_tokens": 3200, "sample": 1})

    fits, does_not = opened.asked("edit")
    assert fits.within("document") == opened.document.text.strip()
    assert not does_not.within("document")


class Mute(PerfectModel):
    """Has nothing to say of what a summary answers."""

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        return "I would rather not."


async def test_the_paper_revises_nothing_without_verdicts(harness: OpenHarness) -> None:
    opened = harness(Mute())
    result = await opened.refine(POOR, goals={"coverage": 0.8}, policy="paper")

    assert (result.status, result.run.stop_reason, result.summary) == ("incomplete", "unsure", POOR)
    assert (result.goals["coverage"]["met"], result.complete, len(result.rounds)) == (None, False, 1)
    assert result.evaluations["coverage"].outcome == "failed"
    assert "no JSON object" in result.unscored["coverage"]
    assert not opened.asked("revise")

    opened.script = PerfectModel()
    assert (await opened.resume(result.run.id)).run.stop_reason == "goals_met"


@pytest.mark.parametrize("gone", [ProviderError("no such key"), TransientError("nobody answers")])
async def test_provider_lost_while_judging_is_an_error(
    harness: OpenHarness, monkeypatch: pytest.MonkeyPatch, gone: ModelError
) -> None:
    monkeypatch.setattr(budget, "FIRST_PAUSE", 0.001)

    class Away(PerfectModel):
        def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
            return gone

    with pytest.raises(type(gone)):
        await harness(Away()).refine(POOR)


async def test_unjudgeable_revision_is_refused(harness: OpenHarness) -> None:
    class Shy(PerfectModel):
        def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
            answers_ = super().answer_from_summary(sheet)
            return answers_ if "called Bob" in sheet.text else {"answers": []}

    result = await harness(Shy()).refine(POOR, rounds=1)

    assert (result.rounds[1].accepted, result.rounds[1].reason) == (False, "coverage could not be judged")
    assert result.evaluations["coverage"].outcome == "scored"


def answers(*review_answers: Json) -> Callable[[ReviewQuestion], Any]:
    """A reviewer with these answers, one a round, and nothing to say after them."""
    remaining = iter(review_answers)

    async def reviewer(_question: ReviewQuestion) -> Json:
        return next(remaining, {})

    return reviewer


async def test_reviewer_sees_findings_before_each_revision(harness: OpenHarness) -> None:
    review_questions: list[ReviewQuestion] = []

    async def nod(question: ReviewQuestion) -> Json:
        review_questions.append(question)
        return {}

    result = await harness(LazyReviser()).refine(POOR, review=True, reviewer=nod, settings=TIGHT, rounds=2)

    assert [question["round"] for question in review_questions] == [1, 2]
    assert [{finding["id"] for finding in question["findings"]} for question in review_questions] == mended_in(result)
    assert [question["draft"] for question in review_questions] == [round_.base for round_ in result.rounds[1:]]


async def test_dropped_finding_is_never_fixed(harness: OpenHarness) -> None:
    opened = harness()

    async def spare_bob(question: ReviewQuestion) -> Json:
        dropped = ("Bob", "Tom5")
        return {
            "drop": [
                number
                for number, finding in enumerate(question["findings"], 1)
                if finding["found"] in dropped or finding["expected"] in dropped
            ]
        }

    result = await opened.refine(POOR, review=True, reviewer=spare_bob)

    assert keepers_in(result.summary or "") == keepers_in(summary_of(1, 3, 4, 6, wrong={2: "Bob"}))
    assert result.run.stop_reason == "nothing_to_fix"


async def test_refused_rounds_request_stays_on_record(harness: OpenHarness) -> None:
    requests = answers({"add": ["Say more."]}, {"add": ["Say less."]})
    opened = harness(FixedRevision(f"{POOR} {summary_of(wrong={3: 'Joe'})}"))
    result = await opened.refine(POOR, review=True, reviewer=requests, rounds=2)

    requests_on_record = opened.store.judgments.of(result.rounds[0].draft)["review"].findings
    assert [finding.explanation for finding in requests_on_record] == ["Say more.", "Say less."]
    assert [requests_on_record[0].id in round_.findings for round_ in result.rounds[1:]] == [True, False]


class Refusing(PerfectModel):
    """Leaves a person's requests, and corrects the rest."""

    def edit(self, sheet: Sheet) -> ScriptedReply:
        points, text = sheet.items("points"), sheet.within("summary")
        changes = {n for n, point in points.items() if point["task"] == "change"}
        for n in points.keys() - changes:
            text = self.mended(text, complete_point(points[n], text, sheet.shown))
        lines = [f"{n}: {'left: not in the passages' if n in changes else 'fixed'}" for n in points]
        return "\n".join(("<points>", *lines, "</points>", "<revision>", text, "</revision>"))


@pytest.mark.parametrize(
    ("script", "rounds", "state"),
    [
        (PerfectModel, [(1, ("review", "consistency", "coverage"), True)], "fixed"),
        (Refusing, [(1, ("review", "consistency", "coverage"), False), (2, ("consistency",), True)], "open"),
    ],
)
async def test_errors_and_requests_are_corrected_together(
    harness: OpenHarness, script: type[PerfectModel], rounds: list[tuple[int, tuple[str, ...], bool]], state: str
) -> None:
    opened = harness(script())
    request = Finding("review", "request", "change", "Say how it ends.")
    goals = RefineConfig(goals={"coverage": 0.1, "consistency": 1.0})
    async with opened.session() as session:
        result = await session.refine(
            opened.document, POOR, settings=opened.settings(), refinement=goals, findings=[request]
        )

    assert stories(result)[1:] == rounds
    assert result.scores["consistency"] == 1.0
    outcomes = read_dossier(opened.store, result.run.id).findings
    assert {outcome.state for outcome in outcomes if outcome.finding.metric == "review"} == {state}
    assert {outcome.state for outcome in outcomes if outcome.finding.found == "Bob"} == {"fixed"}


async def test_draft_edited_by_the_reviewer_is_judged(harness: OpenHarness) -> None:
    opened = harness()
    result = await opened.refine(POOR, review=True, reviewer=answers({"edited": summary_of(1, 3)}), rounds=1)

    assert stories(result) == [(0, (), True), (1, (), True)]
    assert result.rounds[1].reason == "edited by hand"
    assert (result.summary, result.scores) == (summary_of(1, 3), {"coverage": 2 / 6, "consistency": 1.0})
    assert not opened.asked("revise")


async def test_without_anybody_to_review_the_run_waits(harness: OpenHarness) -> None:
    opened = harness()
    waiting = await opened.refine(POOR, review=True)
    assert (waiting.run.status, waiting.run.stop_reason, waiting.run.error) == ("waiting", "review", None)
    assert waiting.summary == POOR
    done = await opened.resume(waiting.run.id, reviewer=answers())

    assert done.run.stop_reason == "goals_met"


async def test_finished_refinement_is_not_repeated(harness: OpenHarness) -> None:
    opened = harness()
    done = await opened.refine(POOR)
    opened.clear_sheets()

    events: list[Event] = []
    async with opened.session(observer=events.append) as session:
        assert (await session.resume(done.run.id)).summary == done.summary
    notices = [event.message for event in events if isinstance(event, Notice)]
    assert notices == [f"run {done.run.id} is finished; nothing was left to do"]
    result = await opened.refine(POOR)
    assert (result.summary, result.scores, stories(result)) == (done.summary, done.scores, stories(done))
    assert result.run.identity == done.run.identity
    assert not opened.sheets


async def test_fork_begins_with_a_rounds_draft(tmp_path: Path) -> None:
    opened = Harness(tmp_path, LazyReviser())
    first = await opened.refine(summary_of(1), rounds=2)
    opened.clear_sheets()
    async with opened.session() as session:
        forked = await session.fork(first.run.id, 1, refinement=RefineConfig(goals={"coverage": 0.5}))

    assert forked.run.parent == first.run.id
    assert forked.initial_scores == {"coverage": 2 / 6, "consistency": 1.0}
    assert {sheet.prompt for sheet in opened.sheets} == {"edit"}
    with pytest.raises(RunError, match="no draft of round 9") as caught:
        async with opened.session() as session:
            await session.fork(first.run.id, 9)
    assert "0, 1, 2" in caught.value.hint


async def test_old_prompts_need_a_fork(tmp_path: Path) -> None:
    opened = Harness(tmp_path, LazyReviser())
    result = await opened.refine(POOR, rounds=2)
    other_harness = Harness(tmp_path / "other", LazyReviser())
    result = await other_harness.refine(POOR, rounds=2, limits=Limits(max_calls=result.usage.calls - 1))
    with sqlite3.connect(other_harness.store.path) as raw:
        raw.execute("UPDATE runs SET body = json_set(body, '$.prompt_hashes.revise', 'of before')")
    raw.close()
    with pytest.raises(PromptError, match="have changed since it began: revise") as caught:
        await other_harness.resume(result.run.id, Limits())
    assert f"the code that began it (redraft {version('redraft')})" in caught.value.hint
    assert f"`await session.fork({result.run.id!r}, 1)`" in caught.value.hint
    async with other_harness.session() as session:
        forked = await session.fork(result.run.id, 1)
    assert (forked.run.status, forked.initial_scores) == ("done", {"coverage": 2 / 6, "consistency": 2 / 3})
