"""The editor: what it is told of a draft, what becomes of its text, and how two drafts are compared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from redraft import ReviewQuestion
from redraft.domain import record_json
from redraft.report.history.trace import read_trace
from redraft.report.markdown.trace import trace_markdown
from redraft.settings import PolicyName
from tests.judges import (
    FixedRevision,
    Json,
    LazyReviser,
    PerfectModel,
    ScriptedReply,
    Sheet,
    keeper_in,
    name_question,
    summary_of,
)
from tests.runs.harnesses import OpenHarness
from tests.runs.test_refining import GOOD, POOR, stories


class Weighing(PerfectModel):
    """Gives the questions on the first keepers a weight, and half an answer for a keeper called half by name."""

    def ask_document(self, sheet: Sheet) -> ScriptedReply:
        questions = super().ask_document(sheet)["questions"]
        weights = {4: 3, 2: 2}
        return {
            "questions": [
                question | {"weight": weights.get(keeper_in(question["question"]), 1)} for question in questions
            ]
        }

    def compare_answers(self, sheet: Sheet) -> ScriptedReply:
        comparisons = super().compare_answers(sheet)["comparisons"]
        half = {n for n, pair in sheet.items("pairs").items() if pair["summary"] == "Tim4"}
        return {
            "comparisons": [
                comparison
                | ({"verdict": "part", "reason": "His surname is missing."} if comparison["id"] in half else {})
                for comparison in comparisons
            ]
        }


# Right; wrong; half right; a stop; on no list.
DRAFT = f"{summary_of(1, wrong={2: 'Bob', 4: 'Tim4'})} The keeper number 9 left. The sea is cold."


@pytest.mark.parametrize("policy", ["editor", "agent"])
async def test_an_editor_is_told_what_matters(harness: OpenHarness, policy: PolicyName) -> None:
    opened = harness(Weighing())
    await opened.refine(DRAFT, policy=policy, goals={"coverage": 0.9}, rounds=1)

    (sheet, *_) = opened.asked("edit")
    must_know = [
        (item["weight"], keeper_in(item["question"]), item["answer"], item["draft"], item.get("lacks", ""))
        for item in sheet.items("must_know").values()
    ]
    assert must_know == [
        ("3", 4, "Tom4", "in part", "His surname is missing."),
        ("2", 2, "Tom2", "wrongly", ""),
        *(("1", number, f"Tom{number}", "not at all", "") for number in (3, 5, 6)),
        ("1", 1, "Tom1", "in full", ""),
    ]
    (point,) = [point for point in sheet.items("points").values() if point["says"] == "Bob"]
    assert (point["task"], point["answer"]) == ("correct", "Tom2")
    assert sheet.within("stops") == f"“keeper number 9” {name_question(9)}"
    assert sheet.within("may_go") == "The keeper number 9 left.", "the opening and the ending stay"
    assert sheet.within("document") == opened.document.text.strip()
    assert not any("quote" in item for item in sheet.items("must_know").values()), "the document has them"
    assert not any(map(sheet.within, ("parts", "passages", "keep")))


@pytest.mark.slow
async def test_a_met_request_stays_in_later_edits(harness: OpenHarness) -> None:
    requests: list[Json] = [{"add": ["Say how it ends."]}, {}]

    async def reviewer(_question: ReviewQuestion) -> Json:
        return requests.pop(0)

    opened = harness(LazyReviser())
    await opened.refine(summary_of(1), review=True, reviewer=reviewer, rounds=2)

    first, second = opened.asked("edit")
    assert [point["instruction"] for point in first.items("points").values()] == ["Say how it ends."]
    assert (first.within("keep"), second.within("keep")) == ("", "Say how it ends.")
    assert not second.items("points")


class Choosing(FixedRevision):
    """Edits by what is put into its mouth, and compares two drafts by a rule."""

    def __init__(self, edit: ScriptedReply | Callable[[Sheet], ScriptedReply], choice: Callable[[Sheet], str]) -> None:
        super().__init__(edit)
        self.choice = choice

    def revise(self, sheet: Sheet) -> ScriptedReply:
        return PerfectModel.revise(self, sheet)

    def choose_draft(self, sheet: Sheet) -> ScriptedReply:
        choice = self.choice(sheet)
        return {"reason": f"The {choice} ends.", **dict.fromkeys(("clear", "content", "overall"), choice)}


def preferring(words: str) -> Callable[[Sheet], str]:
    return lambda sheet: "first" if words in sheet.within("first") else "second"


ENDING = f"{GOOD} That is all."


async def test_a_first_rewrite_needs_no_missed_goal(harness: OpenHarness) -> None:
    opened = harness(Choosing(ENDING, preferring("That is all")))
    result = await opened.refine(GOOD)
    assert stories(result) == [(0, (), True), (1, (), True)]
    assert (result.summary, result.run.stop_reason) == (ENDING, "goals_met")
    assert len(opened.asked("edit")) == 1, "nothing of weight is left"
    trace = read_trace(opened.store, result.run.id)
    comparison = record_json(trace)["rounds"][1]["round"]["comparison"]
    assert comparison == {"revision": 2, "best": 0, "neither": 0, "reasons": ["The first ends.", "The second ends."]}
    lines = trace_markdown(trace, opened.document)
    assert "The first ends." in lines
    assert "The second ends." in lines


@pytest.mark.slow
async def test_a_preferred_rewrite_may_not_lose_goals(harness: OpenHarness) -> None:
    opened = harness(Choosing(f"{summary_of(1, 2, 3)} That is all.", preferring("That is all")))
    result = await opened.refine(GOOD)

    assert result.rounds[1].reason == "coverage 0.50 misses the goal 0.9, which the best draft meets"
    assert opened.store.runs.draft(result.rounds[1].draft).text == f"{summary_of(1, 2, 3)} That is all."
    assert (result.summary, result.run.stop_reason, len(result.rounds)) == (GOOD, "goals_met", 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("choice", "votes", "accepted"),
    [
        (preferring("That is all"), (2, 0, 0), True),
        (lambda sheet: "first" if "That is all" in sheet.within("first") else "tie", (1, 0, 1), True),
        (lambda _: "first", (1, 1, 0), False),
        (lambda _: "tie", (0, 0, 2), False),
        (lambda _: "unsure", None, False),
    ],
    ids=["both orders", "one order and a tie", "split", "ties", "unsure"],
)
async def test_drafts_are_compared_in_both_orders(
    any_harness: OpenHarness, choice: Callable[[Sheet], str], votes: tuple[int, int, int] | None, accepted: bool
) -> None:
    opened = any_harness(Choosing(ENDING, choice))
    result = await opened.refine(GOOD)

    revision = result.rounds[1]
    verdicts = revision.comparison and (
        revision.comparison.revision,
        revision.comparison.best,
        revision.comparison.neither,
    )
    assert (revision.accepted, verdicts) == (accepted, votes)
    orders = {(sheet.within("first"), sheet.within("second")) for sheet in opened.asked("choose_draft")}
    assert orders == {(GOOD, ENDING), (ENDING, GOOD)}
    assert result.summary == (ENDING if accepted else GOOD)


async def test_a_comparison_sees_what_matters_and_errors(harness: OpenHarness) -> None:
    opened = harness()
    await opened.refine(POOR, settings={"query": "Who are the keepers?"}, rounds=1)

    for sheet in opened.asked("choose_draft"):
        items = sheet.items("must_know").values()
        assert {(item["weight"], item["question"], item["answer"]) for item in items} == {
            ("1", f"What is keeper number {number} called?", f"Tom{number}") for number in range(1, 7)
        }
        assert not any(item.keys() & {"draft", "lacks", "quote"} for item in items), (
            "it is not told which draft is which"
        )
        assert sheet.within("errors") == "The keeper number 2 is called Bob. (the document: Tom2)"
        assert sheet.within("query") == "Who are the keepers?"


# One right sentence more, and a wrong one.
FLAWED, MENDED = summary_of(1, 2, wrong={3: "Joe"}), summary_of(1, 2, 3)


@pytest.mark.slow
async def test_a_rewrites_errors_are_corrected_before_comparison(any_harness: OpenHarness) -> None:
    opened = any_harness(Choosing(FLAWED, preferring(MENDED)))
    result = await opened.refine(summary_of(1), rounds=1)

    ways = [sheet.prompt for sheet in opened.asked("edit", "revise", "choose_draft")]
    assert ways == ["edit", "revise", "choose_draft", "choose_draft"]
    (mending,) = opened.asked("revise")
    assert (mending.within("summary"), len(mending.items("points"))) == (FLAWED, 1)
    assert {sheet.within("first") for sheet in opened.asked("choose_draft")} == {summary_of(1), MENDED}
    assert [round_.accepted for round_ in result.rounds] == [True, True]
    assert result.summary == MENDED


@pytest.mark.slow
async def test_rewrite_with_a_lasting_error_is_refused(harness: OpenHarness) -> None:
    opened = harness(FixedRevision(FLAWED))
    result = await opened.refine(summary_of(1), rounds=1)

    assert (len(opened.asked("edit")), len(opened.asked("revise"))) == (1, 1), "it is corrected once"
    assert not opened.asked("choose_draft")
    assert result.rounds[1].reason == "1 new error: The keeper number 3 is called Joe."
    assert result.summary == summary_of(1)


@pytest.mark.slow
async def test_errors_are_corrected_after_a_refused_rewrite(harness: OpenHarness) -> None:
    opened = harness(Choosing(f"{POOR} The sea is cold.", lambda _: "tie"))
    result = await opened.refine(POOR, rounds=2)

    assert stories(result)[1:] == [(1, ("consistency", "coverage"), False), (2, ("consistency",), True)]
    assert [sheet.within("summary") for sheet in opened.asked("edit", "revise")] == [POOR, POOR]
    assert result.summary == summary_of(1, 2)
