"""What a revision and the editor are told, what they read, how long a text may be, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from redraft import ReviewQuestion
from redraft.cli.views.outcome import print_outcome
from redraft.domain import Usage, record_json
from redraft.errors import EmptyReply, RefusedReply, RejectedRequest
from redraft.report.history.results import Result
from redraft.report.history.trace import read_trace
from redraft.report.markdown.trace import trace_markdown
from redraft.settings import PolicyName
from redraft.text.words import count_words
from tests.judges import (
    FixedRevision,
    Json,
    LazyReviser,
    PerfectModel,
    ScriptedReply,
    Sheet,
    fact_of,
    island,
    keeper_in,
    keepers_in,
    name_question,
    summary_of,
)
from tests.runs.harnesses import OpenHarness
from tests.runs.test_refining import GOOD, POOR, stories


def replies(*revisions: ScriptedReply | Callable[[Sheet], ScriptedReply]) -> FixedRevision:
    """A writer who revises by these, one a request, and by the last of them for ever."""
    remaining = list(revisions)

    def revised(sheet: Sheet) -> ScriptedReply:
        revision = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        return revision(sheet) if callable(revision) else revision

    return FixedRevision(revised)


@pytest.mark.parametrize("metric", ["consistency", "faithfulness"])
async def test_unsupported_claim_is_removed_not_corrected(harness: OpenHarness, metric: str) -> None:
    opened = harness()
    result = await opened.refine(summary_of(1, wrong={2: "Bob", 77: "Jim"}), goals={metric: 1.0})

    (sheet,) = opened.asked("revise")
    points = {point["sentence"]: point for point in sheet.items("points").values()}
    wrong, invented = points[fact_of(2, "Bob")], points[fact_of(77, "Jim")]
    assert (wrong["task"], invented["task"]) == ("correct", "remove")
    assert "Tom2" in wrong["evidence"] + wrong.get("answer", "")
    assert "evidence" not in invented
    if metric == "consistency":
        assert (invented["question"], invented["says"]) == (name_question(77), "Jim")
        assert "answer" not in invented
    assert result.run.stop_reason == "goals_met"
    assert keepers_in(result.summary or "") == {1: "Tom1", 2: "Tom2"}


async def test_unsupported_wrong_sentence_loses_the_claim(harness: OpenHarness) -> None:
    class Vague(PerfectModel):
        def verify_sentences(self, sheet: Sheet) -> ScriptedReply:
            verdicts = super().verify_sentences(sheet)
            return {"sentences": [sentence | {"quote": "nobody ever wrote this"} for sentence in verdicts["sentences"]]}

    opened = harness(Vague())
    # Keeper 9 is in no question of the pack.
    result = await opened.refine(summary_of(1, wrong={9: "Bob"}), goals={"faithfulness": 1.0})

    (point,) = opened.asked("revise")[0].items("points").values()
    assert (point["task"], point["instruction"]) == ("remove", "A name, number or pronoun differs from the document.")
    assert keepers_in(result.summary or "") == {1: "Tom1"}


@pytest.mark.nightly
async def test_passages_are_ordered_and_fit_the_window(harness: OpenHarness) -> None:
    opened = harness(document=island(400))
    summary = summary_of(1, wrong={380: "Bob", 120: "Jim", 121: "Jon", 250: "Joe"})
    await opened.refine(summary, settings={"context_tokens": 3600}, goals={"consistency": 1.0}, rounds=1)

    (sheet,) = opened.asked("revise")
    passages = [item["text"] for item in sheet.items("passages").values()]
    starts = [opened.document.text.index(passage) for passage in passages]
    assert starts == sorted(starts)
    assert [set(keepers_in(passage)) & {120, 121, 250, 380} for passage in passages] == [{120, 121}, {250}, {380}]


@pytest.mark.slow
async def test_small_window_has_fewer_passages_and_points(harness: OpenHarness) -> None:
    opened = harness(document=island(120))
    summary = summary_of(wrong=dict.fromkeys(range(1, 41), "Bob"))
    settings = {"context_tokens": 3000, "words": 300}
    result = await opened.refine(summary, settings=settings, goals={"consistency": 1.0}, policy="paper", rounds=1)

    (sheet,) = opened.asked("revise")
    points = len(sheet.items("points"))
    assert 1 < points < 40
    assert len(sheet.text) / 3 + sheet.wanted < 3000
    # What it had no room to read it was not to mend, which is on record.
    revision = result.rounds[1]
    assert len(revision.findings) == points
    notes = opened.store.runs.draft(revision.draft).notes
    assert notes == (f"the reviser had no room for {40 - points} of 40 findings",)


@pytest.mark.slow
async def test_persons_request_is_looked_up(harness: OpenHarness) -> None:
    async def reviewer(question: ReviewQuestion) -> Json:
        return {"drop": [*range(1, len(question["findings"]) + 1)], "add": ["Tell of keeper number 150."]}

    opened = harness(document=island(200))
    settings = {"context_tokens": 3500, "words": 100}
    await opened.refine(POOR, settings=settings, review=True, reviewer=reviewer, rounds=1)

    (sheet,) = opened.asked("edit")
    assert any(150 in keepers_in(item["text"]) for item in sheet.items("passages").values())


USELESS = {
    "empty": EmptyReply("the reply is empty", text="", usage=Usage()),
    "refused": RefusedReply("the model declined", text="", usage=Usage(), finish_reason="content_filter"),
    "broken off": "The keeper number 1 is called",
    "much too long": f"{GOOD} It{' goes' * 60} on.",
    "something else": "I would gladly do so, but please send me whatever it is that you want to have shortened.",
}


def again_by(result: Result) -> str:
    rounds = ", ".join(map(str, result.lost))
    return f"no usable revision in round {rounds}\nTry again: redraft resume {result.run.id}"


LOST = {
    "empty": EmptyReply("the reply is empty", text="", usage=Usage()),
    "refused": RefusedReply("the model declined", text="", usage=Usage(), finish_reason="content_filter"),
    "rejected": RejectedRequest("the request was not to the provider's liking"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LOST)
async def test_lost_revision_is_asked_again_on_resume(
    harness: OpenHarness, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    replies_left: list[ScriptedReply] = [LOST[kind]]
    opened = harness(FixedRevision(lambda sheet: replies_left[0]))
    lost = await opened.refine(POOR, settings={"words": 60}, goals={"coverage": 0.9})

    assert (lost.run.status, lost.run.stop_reason, lost.summary) == ("done", "no_progress", POOR)
    assert lost.lost == (1, 2), "neither a new text nor a correction"
    print_outcome(lost, None)
    assert again_by(lost) in capsys.readouterr().err

    # As often as it takes, and never what is known.
    counts = [len(opened.asked(prompt)) for prompt in ("answer_from_summary", "ask_document")]
    result = await opened.resume(lost.run.id)
    assert (result.run.stop_reason, result.lost) == ("no_progress", (1, 2))
    assert [len(opened.asked(prompt)) for prompt in ("answer_from_summary", "ask_document")] == counts

    replies_left[0] = GOOD
    done = await opened.resume(lost.run.id)
    assert stories(done) == [(0, (), True), (1, ("consistency", "coverage"), True)]
    assert (done.run.stop_reason, done.summary, done.lost) == ("goals_met", GOOD, ())
    calls = len(opened.sheets)
    assert (await opened.resume(lost.run.id)).summary == GOOD
    assert len(opened.sheets) == calls


@pytest.mark.parametrize("kind", ["much too long", "something else"])
async def test_unchanged_revision_is_not_asked_again(harness: OpenHarness, kind: str) -> None:
    opened = harness(FixedRevision(USELESS[kind]))
    result = await opened.refine(POOR, settings={"words": 60}, goals={"coverage": 0.9})
    calls = len(opened.sheets)

    assert (result.run.stop_reason, result.lost) == ("no_progress", ())
    await opened.resume(result.run.id)
    assert len(opened.sheets) == calls


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("empty", "empty"),
        ("refused", "declined"),
        ("broken off", "ends in the middle of a sentence"),
        ("much too long", "over the limit of 60"),
        ("something else", ""),
    ],
)
async def test_useless_revision_is_never_accepted(harness: OpenHarness, kind: str, reason: str) -> None:
    noted: list[str] = []

    def revised(sheet: Sheet) -> ScriptedReply:
        return GOOD if any("could not be used" in note for note in noted) else USELESS[kind]

    opened = harness(FixedRevision(revised))
    options: dict[str, Any] = {"goals": {"coverage": 0.9}, "policy": "paper", "rounds": 3}
    async with opened.session(observer=lambda event: noted.append(getattr(event, "message", ""))) as session:
        result = await session.refine(opened.document, POOR, settings=opened.settings({"words": 60}), **options)
    assert stories(result) == [(0, (), True), (1, ("coverage",), False), (2, ("coverage",), True)]
    assert result.rounds[1].reason.startswith("the revision could not be used: ")
    assert reason in result.rounds[1].reason
    assert result.rounds[2].base == result.rounds[0].draft
    assert result.rounds[2].findings == result.rounds[1].findings
    assert result.summary == GOOD


# Forty words is the limit: this is five per cent over it, and says what the next says in 37.
LONG = GOOD
SHORT = f"{GOOD[:34]}{''.join(f', keeper number {n} is called Tom{n}' for n in range(2, 7))}."
FORTY = {"words": 40}


def shortens(sheet: Sheet) -> bool:
    return sheet.prompt == "revise" and not sheet.items("points")


@pytest.mark.slow
async def test_a_long_rewrite_is_shortened_before_judging(any_harness: OpenHarness) -> None:
    opened = any_harness(replies(LONG, SHORT))
    result = await opened.refine(POOR, settings=FORTY, rounds=1)

    first, second = opened.asked("edit", "revise")
    assert (first.prompt, shortens(second)) == ("edit", True)
    assert (second.within("summary"), second.limit(r"at most (\d+) words")) == (LONG, 40)
    assert not any(map(second.within, ("document", "passages", "outline")))
    assert stories(result) == [(0, (), True), (1, ("consistency", "coverage"), True)]
    assert (result.summary, result.run.stop_reason) == (SHORT, "goals_met")
    assert {LONG, SHORT} & {sheet.within("summary") for sheet in opened.asked("find_stops")} == {SHORT}


async def test_excess_over_the_limit_is_reported_back(harness: OpenHarness) -> None:
    opened = harness(replies(f"{GOOD} It goes on.", f"{GOOD} It goes.", SHORT))
    result = await opened.refine(POOR, settings=FORTY, rounds=1)

    assert opened.model is not None
    edit_requests = [request for request in opened.model.asked if request.prompt.name == "edit"]
    told_of = [request.complaint.reason for request in edit_requests if request.complaint]
    assert [complaint.partition(",")[0] for complaint in told_of] == ["it has 45 words", "it has 44 words"]
    assert (result.summary, result.rounds[1].accepted) == (SHORT, True)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["editor", "paper"])
async def test_what_no_model_shortens_loses_sentences(harness: OpenHarness, policy: PolicyName) -> None:
    script = replies(LONG) if policy == "editor" else replies(LONG, USELESS["something else"])
    result = await harness(script).refine(POOR, settings=FORTY, policy=policy, rounds=1)
    assert result.rounds[1].accepted
    assert count_words(result.summary or "") <= 40
    assert len(keepers_in(result.summary or "")) == 5
    assert set((result.summary or "")[:-1].split(". ")) < set(LONG[:-1].split(". "))


@pytest.mark.slow
async def test_long_summary_is_shortened_despite_met_goals(harness: OpenHarness) -> None:
    opened = harness(replies(SHORT))
    result = await opened.refine(LONG, settings=FORTY)

    assert [shortens(sheet) for sheet in opened.asked("revise")] == [True]
    assert (result.summary, result.run.stop_reason) == (SHORT, "goals_met")


async def test_persons_draft_may_be_long(harness: OpenHarness) -> None:
    async def reviewer(_question: ReviewQuestion) -> Json:
        return {"edited": LONG}

    opened = harness()
    result = await opened.refine(POOR, settings=FORTY, review=True, reviewer=reviewer)

    assert (result.summary, result.run.stop_reason) == (LONG, "goals_met")
    assert not opened.asked("revise")


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
