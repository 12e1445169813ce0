"""The decisions of the refinement, one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.domain import REVIEW, DraftComparison, Evaluation, Evidence, Finding, PointAnswer, Span
from redraft.evaluators.metric_info import MetricAim
from redraft.graphs.policy import (
    DraftFindings,
    RevisionPlan,
    acceptance,
    all_requests_refused,
    errors_in,
    missed_metrics,
    must_know_in,
    new_errors,
    plan_revision,
    reason_to_stop,
    reviser_feedback,
    with_same_errors,
)
from redraft.settings import RefineConfig

COVERAGE, CONSISTENCY, NEWCOMER = "coverage", "consistency", "newcomer"
AIMS: dict[str, MetricAim | None] = {COVERAGE: "content", CONSISTENCY: "truth", NEWCOMER: None}
GOALS: dict[str, float] = {COVERAGE: 0.8, CONSISTENCY: 0.8}


def error(name: str, metric: str = CONSISTENCY) -> Finding:
    return Finding(metric, "inconsistent", "correct", "Correct it.", f"{name} came.", found=name, expected="Ann")


def missing(weight: int = 0, name: str = "the ship") -> Finding:
    return Finding(COVERAGE, "unanswered", "add", "Say it.", question=f"What became of {name}?", weight=weight)


def stop(metric: str = NEWCOMER) -> Finding:
    return Finding(metric, "entity omission", "clarify", "Say who.", "He came.", question="Who?")


def request(text: str = "Say how it ends.") -> Finding:
    return Finding(REVIEW, "request", "change", text)


def judged(
    *findings: Finding,
    coverage: float | None = 0.9,
    consistency: float | None = 0.9,
    verdicts: int = 6,
    silent: int = 0,
) -> dict[str, Evaluation]:
    scores = {COVERAGE: coverage, CONSISTENCY: consistency, NEWCOMER: None, REVIEW: None}
    return {
        metric: Evaluation(
            metric,
            1,
            "scored" if score is not None else "failed" if metric in GOALS else "measured",
            score,
            verdicts,
            silent,
            tuple(finding for finding in findings if finding.metric == metric),
        )
        for metric, score in scores.items()
    }


def plan(draft: dict[str, Evaluation], policy: Any = "editor", **options: Any) -> RevisionPlan | None:
    return plan_revision(policy, draft, GOALS, AIMS, **options)


def test_a_metric_without_score_misses_its_goal() -> None:
    assert missed_metrics(judged(coverage=0.8, consistency=None), GOALS) == [CONSISTENCY]
    assert missed_metrics({COVERAGE: judged(coverage=0.79)[COVERAGE]}, GOALS) == [COVERAGE, CONSISTENCY]


def test_findings_are_sorted_by_what_editors_do() -> None:
    draft = judged(missing(1), missing(3, "Bob"), error("Bob"), stop(), request(), error("Joe"))
    findings = DraftFindings.of(draft, GOALS, AIMS, [error("Joe").id])

    assert findings.points == (request(), error("Bob"))
    assert findings.stops == (stop(),)
    assert findings.missing == (missing(3, "Bob"), missing(1))
    assert findings.of_weight() == (request(), error("Bob"), missing(3, "Bob"))


def test_what_readers_must_know_is_weightiest_first() -> None:
    questions = [
        {"weight": weight, "verdict": verdict, "question": f"Who is {name}?", "expected": name}
        for weight, verdict, name in ((1, "answered", "Ann"), (3, "unanswered", "Bob"), (2, "contradicted", "Joe"))
    ]
    bob = Finding(COVERAGE, "unanswered", "add", "Say it.", question="Who is Bob?")
    draft = {COVERAGE: Evaluation(COVERAGE, 1, "scored", 0.5, 3, findings=(bob,), details={"questions": questions})}

    known = [(item.weight, item.answer, item.draft) for item in must_know_in(draft)]
    assert known == [(3, "Bob", "not at all"), (2, "Joe", "wrongly"), (1, "Ann", "in full")]
    assert [item.answer for item in must_know_in(draft, [bob.id])] == ["Joe", "Ann"], "a person has dropped Bob"


@pytest.mark.parametrize(
    ("other", "errors"),
    [
        (error("bob", COVERAGE), 1),  # the same answer
        (error("Joe"), 2),
        (replace(error("Bob"), sentence="Bob left.", expected="Joe"), 2),  # the same answer about something else
        (replace(error("Joe"), evidence=Evidence("x", Span(5, 9))), 1),  # the same words of the document
        (replace(error("Joe"), evidence=Evidence("x", Span(9, 12))), 2),
        (replace(error("Bob"), metric=REVIEW), 1),  # a request accuses nobody
    ],
)
def test_an_error_is_counted_once(other: Finding, errors: int) -> None:
    first = replace(error("Bob"), evidence=Evidence("x", Span(2, 8)))
    assert len(errors_in(judged(first, other), AIMS)) == errors
    gone = with_same_errors([first.id], judged(first, other))
    assert len(errors_in(judged(first, other), AIMS, gone)) == errors - 1, "what is dropped is dropped for good"


EVERYTHING = (missing(1), missing(2, "Joe"), stop(), error("Bob"))


@pytest.mark.parametrize(
    ("draft", "options", "way", "findings"),
    [
        (judged(*EVERYTHING), {}, "edit", (error("Bob"), stop(), missing(2, "Joe"), missing(1))),
        # Stops alone are solved in the first round.
        (judged(stop()), {"is_first": True}, "edit", (stop(),)),
        (judged(stop()), {}, None, ()),
        (judged(missing(3)), {}, "edit", (missing(3),)),
        (judged(missing(2)), {}, None, ()),
        (judged(missing(1), coverage=0.7), {}, "edit", (missing(1),)),
        (judged(), {"is_first": True}, "edit", ()),
        (judged(stop(), verdicts=0), {"is_first": True}, None, ()),  # nobody could judge the new text
        (judged(), {}, None, ()),
        # Errors alone are corrected in place.
        (judged(error("Bob")), {"is_first": True}, "correct", (error("Bob"),)),
        (judged(error("Bob"), missing(2)), {}, "correct", (error("Bob"),)),
        (judged(error("Bob"), missing(3)), {}, "edit", (error("Bob"), missing(3))),
        (judged(error("Bob"), missing(2), coverage=0.7), {}, "edit", (error("Bob"), missing(2))),
        # After a refusal only errors and requests are left.
        (judged(*EVERYTHING), {"is_refused": True}, "correct", (error("Bob"),)),
        (judged(stop(), request()), {"is_refused": True}, "edit", (request(),)),
        (judged(stop(), coverage=0.7), {"is_refused": True}, None, ()),
        # Without a comparison a round is made while a goal is missed.
        (judged(), {"is_first": True, "can_compare": False}, None, ()),
        (judged(*EVERYTHING), {"can_compare": False}, "correct", (error("Bob"),)),
        (judged(missing(1), stop(), coverage=0.7), {"can_compare": False}, "edit", (stop(), missing(1))),
        (judged(*EVERYTHING), {"gone": [stop().id, missing(2, "Joe").id]}, "correct", (error("Bob"),)),
        (judged(error("Bob")), {"gone": [error("Bob").id]}, None, ()),
    ],
)
@pytest.mark.parametrize("policy", ["editor", "agent"])
def test_a_round_is_planned_for_what_weighs(
    policy: str, draft: dict[str, Evaluation], options: dict[str, Any], way: str | None, findings: tuple[Finding, ...]
) -> None:
    chosen = plan(draft, policy, **options)
    assert (chosen and chosen.way, chosen.findings if chosen else ()) == (way, findings)


@pytest.mark.parametrize(
    ("coverage", "consistency", "gone", "findings"),
    [
        (0.7, 0.1, [], (missing(1), missing(3, "Joe"))),
        (0.8, 0.1, [], (error("Bob"),)),
        (0.8, 0.8, [], ()),
        (0.7, 0.1, [missing(1).id, missing(3, "Joe").id], (error("Bob"),)),
    ],
)
def test_the_paper_raises_coverage_first(
    coverage: float, consistency: float, gone: list[str], findings: tuple[Finding, ...]
) -> None:
    draft = judged(missing(1), missing(3, "Joe"), error("Bob"), stop(), coverage=coverage, consistency=consistency)
    chosen = plan(draft, "paper", gone=gone, is_first=True)
    assert chosen == (RevisionPlan("correct", findings) if findings else None)


def test_the_papers_questions_leave_contradictions_out() -> None:
    wrong = Finding(COVERAGE, "contradicted", "correct", "Mend it.", "Bob came.", "Who?", found="Bob", expected="Ann")
    draft = judged(wrong, missing(), error("Bob"))

    assert reviser_feedback(draft, "questions")[COVERAGE].findings == (missing(),)
    assert reviser_feedback(draft, "questions")[CONSISTENCY].findings == (error("Bob"),)
    assert reviser_feedback(draft, "findings") == draft


def comparison(revision: int, best: int, neither: int) -> DraftComparison:
    return DraftComparison(revision, best, neither, ("It reads better.",))


@pytest.mark.parametrize(
    ("votes", "preferred", "description"),
    [
        ((2, 0, 0), True, "the revision is preferred in both orders"),
        ((1, 0, 1), True, "the revision is preferred in 1 of 2 readings"),
        ((1, 1, 0), False, "neither draft is preferred"),
        ((0, 0, 2), False, "neither draft is preferred"),
        ((0, 1, 1), False, "the earlier draft is preferred in 1 of 2 readings"),
        ((0, 2, 0), False, "the earlier draft is preferred in both orders"),
        ((4, 0, 0), True, "the revision is preferred in all 4 readings"),
    ],
)
def test_a_rewrite_is_accepted_where_preferred(votes: tuple[int, int, int], preferred: bool, description: str) -> None:
    ruling = acceptance(GOALS, AIMS, judged(), judged(), "edit", comparison(*votes), compared=True)
    assert ruling == (preferred, description)


PREFERRED = comparison(2, 0, 0)
BY_BOTH = "the revision is preferred in both orders"
LOST_GOAL = "coverage 0.79 misses the goal 0.8, which the best draft meets"


@pytest.mark.parametrize(
    ("before", "after", "way", "accepted", "reason"),
    [
        # A goal that is still met may fall; one that is lost may not.
        (judged(coverage=0.99), judged(coverage=0.8), "edit", True, BY_BOTH),
        (judged(), judged(coverage=0.79), "edit", False, LOST_GOAL),
        (judged(coverage=0.5), judged(coverage=0.4), "edit", True, BY_BOTH),
        (judged(), judged(coverage=None), "edit", False, "coverage could not be judged"),
        (judged(coverage=None), judged(coverage=None), "edit", True, BY_BOTH),
        (judged(), judged(error("Joe")), "edit", False, "1 new error: Joe came."),
        (judged(), judged(error("Joe"), error("Jim")), "edit", False, "2 new errors: Joe came."),
        (judged(error("Bob")), judged(error("Bob", COVERAGE)), "edit", True, BY_BOTH),
        # A correction in place has to leave fewer errors.
        (judged(error("Bob"), error("Joe")), judged(error("Bob")), "correct", True, "1 error fewer"),
        (judged(error("Bob"), error("Joe")), judged(), "correct", True, "2 errors fewer"),
        (judged(error("Bob")), judged(error("Joe")), "correct", False, "1 new error: Joe came."),
        (judged(error("Bob")), judged(error("Bob")), "correct", False, "no gain on coverage and consistency"),
        (judged(coverage=0.5), judged(coverage=0.6), "correct", True, "coverage rose from 0.50 to 0.60"),
    ],
)
def test_a_revision_is_accepted_for_its_gain(
    before: dict[str, Evaluation], after: dict[str, Evaluation], way: Any, accepted: bool, reason: str
) -> None:
    ruling = acceptance(GOALS, AIMS, before, after, way, PREFERRED, compared=True)
    assert ruling == (accepted, reason)


@pytest.mark.parametrize(
    ("after", "compared", "accepted", "reason"),
    [
        (judged(coverage=0.6), False, True, "coverage rose from 0.50 to 0.60"),
        (judged(coverage=0.501), False, True, "coverage rose by less than 0.01"),
        (judged(coverage=0.5, consistency=1.0), False, False, "no gain on coverage and consistency"),
        (judged(error("Bob"), coverage=0.9), False, False, "1 new error: Bob came."),
        # Nothing is accepted by a comparison that cannot be read.
        (judged(), True, False, "no judge could compare it with the best draft"),
    ],
)
def test_without_comparisons_the_goals_decide(
    after: dict[str, Evaluation], compared: bool, accepted: bool, reason: str
) -> None:
    ruling = acceptance(GOALS, AIMS, judged(coverage=0.5), after, "edit", None, compared=compared)
    assert ruling == (accepted, reason)


SCORES = st.one_of(st.none(), st.floats(0, 1))
ERRORS = st.lists(st.sampled_from([error(name) for name in ("Bob", "Joe", "Jim")]), unique=True)
DRAFTS = st.builds(
    lambda errors, coverage, consistency: judged(*errors, coverage=coverage, consistency=consistency),
    ERRORS, SCORES, SCORES,
)  # fmt: skip


@given(before=DRAFTS, after=DRAFTS, way=st.sampled_from(["edit", "correct"]), compared=st.booleans())
def test_no_accepted_revision_breaks_what_was_right(before: Any, after: Any, way: Any, compared: bool) -> None:
    accepted, reason = acceptance(GOALS, AIMS, before, after, way, PREFERRED if compared else None, compared=compared)
    assert reason
    if accepted:
        assert not new_errors(before, after, AIMS)
        assert {*missed_metrics(after, GOALS)} <= {*missed_metrics(before, GOALS)}


NEXT = RevisionPlan("edit", (stop(),))


@pytest.mark.parametrize(
    ("draft", "number", "chosen", "refused", "reason"),
    [
        (judged(), 0, NEXT, False, ""),
        (judged(), 3, NEXT, False, "goals_met"),
        (judged(), 1, None, True, "goals_met"),
        (judged(coverage=0.1), 2, NEXT, True, ""),
        (judged(coverage=0.1), 3, NEXT, False, "rounds"),
        (judged(coverage=0.1), 1, None, True, "no_progress"),
        (judged(coverage=0.1), 1, None, False, "nothing_to_fix"),
        (judged(verdicts=7, silent=3), 1, None, False, "unsure"),
        (judged(coverage=None), 3, NEXT, False, "unsure"),
        (judged(coverage=0.1, consistency=None), 3, None, False, "nothing_to_fix"),
    ],
)
def test_it_stops_for_the_first_reason(
    draft: dict[str, Evaluation], number: int, chosen: RevisionPlan | None, refused: bool, reason: str
) -> None:
    assert reason_to_stop(draft, RefineConfig(goals=GOALS), number, chosen, is_refused=refused) == reason


def test_requests_are_refused_only_all_together() -> None:
    draft, answers = judged(request(), request("Name the ship.")), [PointAnswer(request().id, "left", "no room")]
    assert all_requests_refused(draft, answers)
    assert not all_requests_refused(draft, [*answers, PointAnswer(request("Name the ship.").id, "fixed", "")])
    assert not all_requests_refused(draft, [])
