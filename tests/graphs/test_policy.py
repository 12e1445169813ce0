"""The decisions of the refinement, one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.domain import Evaluation, Finding
from redraft.evaluators.metric_info import MetricAim
from redraft.graphs.policy import (
    MAX_MISSING_ITEMS,
    POLICIES,
    AcceptanceDecision,
    RevisionPlan,
    acceptance,
    missed_metrics,
    missing_content,
    plan_revision,
    reason_to_stop,
    room_for_more,
    sentences_to_keep,
)
from redraft.graphs.review import REVIEW

COVERAGE, CONSISTENCY = "coverage", "consistency"
AIMS: dict[str, MetricAim | None] = {COVERAGE: "content", CONSISTENCY: "truth"}
GOALS: dict[str, float] = {COVERAGE: 0.8, CONSISTENCY: 0.8}
STRICT = [policy for policy in POLICIES.values() if not policy.follows]
PAPER = POLICIES["paper"]

SCORES = st.one_of(st.none(), st.floats(0, 1))
DRAFTS = st.fixed_dictionaries({COVERAGE: SCORES, CONSISTENCY: SCORES})
Draft = Mapping[str, float | None]
NAMES = st.sampled_from(sorted(POLICIES))


def findings(metric: str, count: int) -> tuple[Finding, ...]:
    return tuple(Finding(metric, "wrong", "correct", f"Mend point {n}.") for n in range(count))


def judged(coverage: float | None, consistency: float | None, found: int = 3) -> dict[str, Evaluation]:
    """A draft with these scores, and with so many findings of each metric."""
    return {
        metric: Evaluation(metric, 1, "failed" if score is None else "scored", score, findings=findings(metric, found))
        for metric, score in ((COVERAGE, coverage), (CONSISTENCY, consistency))
    }


def ruled(
    policy: Any, wanted: list[str], goals: Any, before: Draft, start: Draft, after: Draft, tolerance: float
) -> AcceptanceDecision:
    """What is ruled on drafts of which only the scores are known."""
    known = [{metric: _scored(metric, score) for metric, score in one.items()} for one in (before, start, after)]
    return acceptance(policy, wanted, goals, AIMS, known[0], known[1], known[2], tolerance)


def _scored(metric: str, score: float | None) -> Evaluation:
    return Evaluation(metric, 1, "failed" if score is None else "scored", score)


def metrics_of(chosen: RevisionPlan | None) -> tuple[str, ...]:
    return chosen.metrics if chosen else ()


def test_what_has_no_score_misses_its_goal_and_what_just_reaches_it_does_not() -> None:
    assert missed_metrics({COVERAGE: 0.8, CONSISTENCY: None}, GOALS) == [CONSISTENCY]
    assert missed_metrics({COVERAGE: 0.8}, GOALS) == [CONSISTENCY]


@pytest.mark.parametrize(
    ("policy", "coverage", "consistency", "metrics"),
    [
        ("consistency-first", 0.1, 0.7, (CONSISTENCY,)),
        ("consistency-first", 0.1, 0.8, (COVERAGE,)),
        ("paper", 0.7, 0.1, (COVERAGE,)),
        ("paper", 0.8, 0.1, (CONSISTENCY,)),
        ("weakest-first", 0.5, 0.4, (CONSISTENCY,)),
        ("weakest-first", 0.4, 0.5, (COVERAGE,)),
        ("weakest-first", 0.1, None, (CONSISTENCY,)),
        ("all", 0.1, 0.7, (COVERAGE, CONSISTENCY)),
        ("all", 0.8, 0.7, (CONSISTENCY,)),
    ],
)
def test_each_policy_chooses(policy: Any, coverage: float, consistency: float | None, metrics: tuple[str, ...]) -> None:
    assert metrics_of(plan_revision(POLICIES[policy], judged(coverage, consistency), GOALS, (), AIMS)) == metrics


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        ("consistency-first", ["faithfulness", "names", COVERAGE, "keyfact_recall", "style", "luck"]),
        ("paper", [COVERAGE, "keyfact_recall", "faithfulness", "names", "style", "luck"]),
        ("weakest-first", ["style", COVERAGE, "luck", "names", "faithfulness", "keyfact_recall"]),
    ],
)
def test_metrics_that_nobody_knew_of_have_their_turn_by_what_they_are_about(policy: Any, order: list[str]) -> None:
    about: dict[str, MetricAim | None] = {
        "style": "form",
        COVERAGE: "content",
        "names": "truth",
        "faithfulness": "truth",
        "keyfact_recall": "content",
    }
    scores = {"style": 0.1, COVERAGE: 0.2, "luck": 0.3, "names": 0.4, "faithfulness": 0.5, "keyfact_recall": 0.6}
    draft = {name: Evaluation(name, 1, "scored", score, findings=findings(name, 1)) for name, score in scores.items()}
    goals, tried, turns = dict.fromkeys(scores, 1.0), list[str](), list[str]()
    while chosen := plan_revision(replace(POLICIES[policy], follows=False), draft, goals, tried, about):
        turns += chosen.metrics
        tried += [finding.id for finding in chosen.findings]

    assert turns == order
    assert metrics_of(plan_revision(POLICIES["all"], draft, goals, (), about)) == tuple(scores)


def test_what_carries_the_content_is_to_be_kept_whichever_metric_says_so() -> None:
    aims: dict[str, MetricAim | None] = {"events": "content", COVERAGE: "content", CONSISTENCY: "truth"}
    held = {"gone": ("x",), "events": ("b", "a"), CONSISTENCY: ("c",), COVERAGE: ("a", "d")}
    draft = {name: Evaluation(name, 1, "scored", 0.5, held=sentences) for name, sentences in held.items()}

    assert sentences_to_keep(draft, aims) == ["a", "d", "b"]


def test_a_sentence_with_an_open_finding_of_any_metric_is_not_to_be_kept() -> None:
    wrong = Finding("style", "salience", "drop", "Leave it out.", sentence="b")
    missing = Finding(COVERAGE, "unanswered", "add", "Say it.", question="Who?")
    draft = {
        COVERAGE: Evaluation(COVERAGE, 1, "scored", 0.5, held=("a", "b", "c"), findings=(missing,)),
        "style": Evaluation("style", 1, "scored", 0.5, findings=(wrong,)),
    }

    assert sentences_to_keep(draft, AIMS) == ["a", "c"]
    assert sentences_to_keep(draft, AIMS, dropped=[wrong.id]) == ["a", "b", "c"]


def test_the_weakest_is_the_furthest_from_its_goal_in_proportion() -> None:
    goals: dict[str, float] = {COVERAGE: 0.4, CONSISTENCY: 1.0}

    assert metrics_of(plan_revision(POLICIES["weakest-first"], judged(0.3, 0.5), goals, (), AIMS)) == (CONSISTENCY,)


def test_a_goal_of_nothing_is_never_missed_by_a_score() -> None:
    said = judged(0.0, 0.9, found=0)
    said[COVERAGE] = replace(said[COVERAGE], findings=_adding(COVERAGE, 1))
    assert plan_revision(POLICIES["weakest-first"], said, {COVERAGE: 0.1, CONSISTENCY: 0.5}, (), AIMS) is not None
    assert plan_revision(POLICIES["weakest-first"], said, {COVERAGE: 0.0, CONSISTENCY: 0.5}, (), AIMS) is None


@pytest.mark.parametrize("policy", STRICT)
def test_six_findings_at_once_half_of_them_for_what_is_false(policy: Any) -> None:
    draft = judged(0.5, 0.9, found=8)
    many, tried = {COVERAGE: findings(COVERAGE, 8), CONSISTENCY: findings(CONSISTENCY, 8)}, list[str]()
    for these in (slice(0, 3), slice(3, 6), slice(6, 8)):
        chosen = plan_revision(policy, draft, GOALS, tried, AIMS)
        assert chosen == RevisionPlan((COVERAGE,), (*many[COVERAGE][these], *many[CONSISTENCY][these]))
        tried += [finding.id for finding in chosen.findings]
    assert plan_revision(policy, draft, GOALS, tried, AIMS) is None


@pytest.mark.parametrize("policy", STRICT)
def test_what_the_document_contradicts_is_corrected_although_every_goal_is_met(policy: Any) -> None:
    draft = judged(0.9, 0.9, found=2)
    silent = replace(findings(CONSISTENCY, 1)[0], task="remove", explanation="Not found.")
    draft[CONSISTENCY] = replace(draft[CONSISTENCY], findings=(silent, *findings(CONSISTENCY, 1)))
    draft[COVERAGE] = replace(draft[COVERAGE], findings=(*findings(COVERAGE, 1), *_adding(COVERAGE, 1)))
    draft["style"] = Evaluation("style", 1, "scored", 0.9, findings=findings("style", 1))
    goals, about = {**GOALS, "style": 0.5}, {**AIMS, "style": "form"}
    false = (*findings(COVERAGE, 1), *findings(CONSISTENCY, 1))

    assert plan_revision(policy, draft, goals, (), about) == RevisionPlan((COVERAGE, CONSISTENCY), false)
    assert plan_revision(policy, draft, goals, [one.id for one in false], about) is None
    assert plan_revision(PAPER, draft, goals, (), about) is None


def test_all_metrics_take_turns_at_the_six() -> None:
    chosen = plan_revision(POLICIES["all"], judged(0.5, 0.5, found=8), GOALS, (), AIMS)

    assert chosen is not None
    assert [finding.metric for finding in chosen.findings] == [COVERAGE, CONSISTENCY] * 3


def test_the_paper_takes_all_findings() -> None:
    chosen = plan_revision(PAPER, judged(0.5, 0.5, found=30), GOALS, (), AIMS)

    assert chosen is not None
    assert chosen.findings == findings(COVERAGE, 30)


def test_a_metric_without_anything_more_to_try_gives_its_turn_away_but_not_in_the_paper() -> None:
    draft = judged(0.5, 0.5)
    tried = {metric: [finding.id for finding in findings(metric, 3)] for metric in draft}

    assert metrics_of(plan_revision(POLICIES["consistency-first"], draft, GOALS, tried[CONSISTENCY], AIMS)) == (
        COVERAGE,
    )
    assert plan_revision(PAPER, draft, GOALS, tried[COVERAGE], AIMS) is None


@given(name=NAMES, coverage=SCORES, consistency=SCORES, tried=st.sets(st.integers(0, 7)))
def test_an_aim_is_a_metric_that_misses_its_goal_and_findings_not_yet_tried(
    name: Any, coverage: float | None, consistency: float | None, tried: set[int]
) -> None:
    draft = judged(coverage, consistency, found=4)
    every = [finding.id for evaluation in draft.values() for finding in evaluation.findings]
    gone = [every[n] for n in tried]
    chosen = plan_revision(POLICIES[name], draft, GOALS, gone, AIMS)

    missed = missed_metrics({COVERAGE: coverage, CONSISTENCY: consistency}, GOALS)
    if chosen is None:
        left = [finding for metric in missed for finding in draft[metric].findings if finding.id not in gone]
        assert POLICIES[name].follows or not left
        return
    assert chosen.findings
    assert set(chosen.metrics) <= set(missed or draft)
    assert not {finding.id for finding in chosen.findings} & set(gone)
    besides = {finding.metric for finding in chosen.findings} - set(chosen.metrics)
    assert not besides or (besides == {CONSISTENCY} and CONSISTENCY not in missed)


# Met by so little that there is nothing to give away.
CLOSE: dict[str, float] = {COVERAGE: 0.8, CONSISTENCY: 0.87}
BEFORE: Draft = {COVERAGE: 0.5, CONSISTENCY: 0.9}


@pytest.mark.parametrize(
    ("after", "accepted", "reason"),
    [
        ({COVERAGE: 0.6, CONSISTENCY: 0.9}, True, "coverage gained 0.10"),
        ({COVERAGE: 0.6, CONSISTENCY: 0.88}, True, "coverage gained 0.10"),
        ({COVERAGE: 0.9, CONSISTENCY: 0.87}, False, "consistency fell by 0.03"),
        ({COVERAGE: 0.501, CONSISTENCY: 0.9}, True, "coverage gained less than 0.01"),
        ({COVERAGE: 0.5, CONSISTENCY: 1.0}, False, "no gain on coverage"),
        ({COVERAGE: 0.49, CONSISTENCY: 1.0}, False, "no gain on coverage"),
        ({COVERAGE: 0.6, CONSISTENCY: None}, False, "consistency could not be judged"),
    ],
)
def test_a_revision_is_taken_for_what_it_gains(after: Draft, accepted: bool, reason: str) -> None:
    ruling = ruled(STRICT[0], [COVERAGE], CLOSE, BEFORE, BEFORE, after, 0.02)

    assert (ruling.accepted, ruling.reason) == (accepted, reason)


def test_small_falls_do_not_add_up() -> None:
    start = {COVERAGE: 0.5, CONSISTENCY: 0.92}
    after = {COVERAGE: 0.7, CONSISTENCY: 0.885}

    assert ruled(STRICT[0], [COVERAGE], CLOSE, BEFORE, BEFORE, after, 0.02).accepted
    assert not ruled(STRICT[0], [COVERAGE], CLOSE, BEFORE, start, after, 0.02).accepted


@pytest.mark.parametrize(
    ("consistency", "accepted"), [(0.98, True), (0.97, True), (0.96, False), (0.83, False), (0.7, False)]
)
def test_a_goal_that_is_met_falls_by_no_more_than_the_tolerance_either(consistency: float, accepted: bool) -> None:
    before, start = {COVERAGE: 0.5, CONSISTENCY: 0.95}, {COVERAGE: 0.5, CONSISTENCY: 0.99}
    after = {COVERAGE: 0.6, CONSISTENCY: consistency}

    ruling = ruled(STRICT[0], [COVERAGE], GOALS, before, start, after, 0.02)
    assert ruling.accepted is accepted
    assert accepted or ruling.reason == f"consistency fell by {0.99 - consistency:.2f}"


def test_a_metric_without_a_goal_may_fall() -> None:
    after = {COVERAGE: 0.6, CONSISTENCY: 0.1}

    assert ruled(STRICT[0], [COVERAGE], {COVERAGE: 0.8}, BEFORE, BEFORE, after, 0.02).accepted


def test_what_a_person_asked_for_needs_no_gain_but_must_not_cost_a_goal() -> None:
    same, worse = dict(BEFORE), {COVERAGE: 0.1, CONSISTENCY: 0.9}

    assert ruled(STRICT[0], [REVIEW], GOALS, BEFORE, BEFORE, same, 0.02).accepted
    assert not ruled(STRICT[0], [REVIEW], GOALS, BEFORE, BEFORE, worse, 0.02).accepted


def few(metric: str, right: int, wrong: int, score: float | None = None) -> dict[str, Evaluation]:
    """A draft on which a metric has so many verdicts."""
    outcome = "failed" if score is None else "scored"
    return {metric: Evaluation(metric, 1, outcome, score, right + wrong, 20, findings(metric, wrong))}


@pytest.mark.parametrize(
    ("metric", "before", "after", "accepted", "reason"),
    [
        (CONSISTENCY, (3, 2), (3, 1), True, "consistency, which had no score, is certainly better"),
        (CONSISTENCY, (3, 2), (3, 2), False, "no gain on consistency"),
        (CONSISTENCY, (3, 2), (9, 3), False, "consistency, which has no score, is certainly worse"),
        (COVERAGE, (3, 2), (4, 1), True, "coverage, which had no score, is certainly better"),
        # Of what is no longer known to be missing nobody knows whether it is there.
        (COVERAGE, (3, 2), (3, 0), False, "no gain on coverage"),
        (COVERAGE, (3, 2), (2, 0), False, "coverage, which has no score, is certainly worse"),
    ],
)
@pytest.mark.parametrize("policy", STRICT)
def test_without_a_score_it_is_ruled_by_what_is_sure(
    policy: Any, metric: str, before: tuple[int, int], after: tuple[int, int], accepted: bool, reason: str
) -> None:
    was, now = few(metric, *before), few(metric, *after)
    ruling = acceptance(policy, [metric], {metric: 0.8}, AIMS, was, was, now, 0.02)
    assert (ruling.accepted, ruling.reason) == (accepted, reason)


def test_what_is_sure_of_the_first_draft_is_not_lost_bit_by_bit() -> None:
    known = {wrong: {**few(CONSISTENCY, 3, wrong), **few(COVERAGE, 0, 0, score=0.1 * wrong)} for wrong in (1, 2)}
    assert not acceptance(STRICT[0], [COVERAGE], GOALS, AIMS, known[1], known[1], known[2], 0.02).accepted
    assert not acceptance(
        STRICT[0], [COVERAGE], GOALS, AIMS, known[2], known[1], {**known[2], **few(COVERAGE, 0, 0, 0.9)}, 0.02
    ).accepted


def test_a_score_where_there_was_none_is_no_gain_by_itself() -> None:
    was, now = few(CONSISTENCY, 3, 2), few(CONSISTENCY, 10, 2, score=0.83)
    assert not acceptance(STRICT[0], [CONSISTENCY], GOALS, AIMS, was, was, now, 0.02).accepted
    better = few(CONSISTENCY, 10, 1, score=0.9)
    assert acceptance(STRICT[0], [CONSISTENCY], GOALS, AIMS, was, was, better, 0.02).accepted


def test_several_aims_may_trade_within_the_tolerance_for_a_gain_on_the_whole() -> None:
    gained, lost = {COVERAGE: 0.6, CONSISTENCY: 0.89}, {COVERAGE: 0.505, CONSISTENCY: 0.89}

    assert ruled(POLICIES["all"], [COVERAGE, CONSISTENCY], GOALS, BEFORE, BEFORE, gained, 0.02).accepted
    assert not ruled(POLICIES["all"], [COVERAGE, CONSISTENCY], GOALS, BEFORE, BEFORE, lost, 0.02).accepted


@given(
    name=NAMES,
    before=DRAFTS,
    start=DRAFTS,
    after=DRAFTS,
    tolerance=st.floats(0, 0.1),
    aimed=st.sampled_from(sorted(GOALS)),
)
def test_no_revision_that_is_taken_costs_a_goal_more_than_the_tolerance_be_it_met_or_not(
    name: Any, before: Draft, start: Draft, after: Draft, tolerance: float, aimed: str
) -> None:
    policy = POLICIES[name]
    ruling = ruled(policy, [aimed], GOALS, before, start, after, tolerance)

    assert ruling.reason
    if policy.follows:
        assert ruling.accepted
        return
    if ruling.accepted:
        assert (after[aimed] or 0.0) > (before[aimed] or 0.0)
        for metric in GOALS:
            for earlier in (before, start):
                assert (after[metric] or 0.0) >= (earlier[metric] or 0.0) - tolerance - 1e-6


MET: Draft = {COVERAGE: 0.8, CONSISTENCY: 1.0}
NEXT = RevisionPlan((COVERAGE,), findings(COVERAGE, 1))


@pytest.mark.parametrize(
    ("scores", "rounds", "refused", "next_aim", "reason"),
    [
        (MET, 0, 2, None, "goals_met"),
        (MET, 1, 1, NEXT, None),
        (MET, 0, 0, NEXT, "goals_met"),
        (MET, 1, 2, NEXT, "goals_met"),
        (BEFORE, 0, 2, None, "rounds"),
        (BEFORE, 1, 2, None, "no_progress"),
        (BEFORE, 1, 1, None, "nothing_to_fix"),
        (BEFORE, 1, 1, NEXT, None),
    ],
)
def test_it_stops_for_the_first_of_these_reasons(
    scores: Draft, rounds: int, refused: int, next_aim: RevisionPlan | None, reason: str | None
) -> None:
    stop = reason_to_stop(STRICT[0], scores, GOALS, rounds_left=rounds, refused_in_a_row=refused, next_aim=next_aim)

    assert stop == reason


def test_the_paper_does_not_stop_for_want_of_progress() -> None:
    assert reason_to_stop(PAPER, BEFORE, GOALS, rounds_left=1, refused_in_a_row=9, next_aim=NEXT) is None


@pytest.mark.parametrize("policy", POLICIES.values())
def test_what_somebody_has_asked_for_comes_first_though_all_goals_are_met(policy: Any) -> None:
    wanted = findings(REVIEW, 7)
    draft = {**judged(0.9, 0.9, 0), REVIEW: Evaluation(REVIEW, 1, "not_applicable", findings=wanted)}
    chosen = plan_revision(policy, draft, GOALS, [wanted[0].id], AIMS)
    assert chosen == RevisionPlan((REVIEW,), wanted[1:])
    scores: Draft = {COVERAGE: 0.9, CONSISTENCY: 0.9}
    for refused in (0, 5):
        going = reason_to_stop(policy, scores, GOALS, rounds_left=1, refused_in_a_row=refused, next_aim=chosen)
        assert going is None
    assert reason_to_stop(policy, scores, GOALS, rounds_left=0, refused_in_a_row=0, next_aim=chosen) == "rounds"
    tried = [one.id for one in wanted]
    assert plan_revision(policy, draft, GOALS, tried, AIMS) is None
    assert plan_revision(policy, {**draft, **judged(0.1, 0.9)}, GOALS, tried, AIMS) is not None


def test_what_is_there_because_somebody_has_asked_for_it_is_to_be_kept() -> None:
    asked = Evaluation(REVIEW, 1, "not_applicable", held=("It rained.",))
    assert sentences_to_keep({REVIEW: asked}, AIMS) == ["It rained."]


def _adding(metric: str, count: int) -> tuple[Finding, ...]:
    return tuple(Finding(metric, "missing", "add", "Say it.", question=f"What of {metric} {n}?") for n in range(count))


@pytest.mark.parametrize(
    ("words", "limit", "answers"),
    [(385, 400, 0), (361, 400, 0), (360, 400, 2), (86, 100, 0), (85, 100, 1), (10, 100, 6), (110, 100, 0)],
)
def test_there_is_room_for_more_where_a_tenth_of_the_limit_and_a_sentence_are_free(
    words: int, limit: int, answers: int
) -> None:
    assert room_for_more(words, limit) == answers


@pytest.mark.parametrize("coverage", [0.5, 0.9])
@pytest.mark.parametrize(("free", "added"), [(0, 0), (2, 2), (9, 3)])
def test_free_words_go_to_what_is_missing_beside_what_the_revision_is_for(
    coverage: float, free: int, added: int
) -> None:
    said = judged(coverage, 0.5)
    said[COVERAGE] = replace(said[COVERAGE], findings=_adding(COVERAGE, 8))
    chosen = plan_revision(POLICIES["consistency-first"], said, GOALS, [], AIMS, free)

    assert chosen is not None
    assert chosen.metrics == (CONSISTENCY,)
    assert chosen.findings == (*findings(CONSISTENCY, 3), *_adding(COVERAGE, 8)[:added])


def test_what_is_known_to_be_false_is_corrected_beside_whatever_a_revision_is_for() -> None:
    said = judged(0.5, 0.9)
    said[COVERAGE] = replace(said[COVERAGE], findings=_adding(COVERAGE, 2))
    asked = tuple(Finding(REVIEW, "request", "change", text) for text in ("Say how it ends.", "Name the ship."))
    false = findings(CONSISTENCY, 3)

    for policy in STRICT:
        chosen = plan_revision(policy, said, GOALS, [false[0].id], AIMS)
        assert chosen == RevisionPlan((COVERAGE,), (*_adding(COVERAGE, 2), *false[1:])), (
            "the goal of consistency is met"
        )
    wanted = {**said, REVIEW: Evaluation(REVIEW, 1, "not_applicable", findings=asked)}
    for consistency in (0.9, 0.5):
        both = {**wanted, CONSISTENCY: judged(0.5, consistency)[CONSISTENCY]}
        chosen = plan_revision(STRICT[0], both, GOALS, [], AIMS, 9)
        assert chosen == RevisionPlan((REVIEW, CONSISTENCY), (*asked, *false)), "nothing is added"
    assert plan_revision(PAPER, wanted, GOALS, [], AIMS, 9) == RevisionPlan((REVIEW,), asked)
    assert plan_revision(PAPER, said, GOALS, [], AIMS, 9) == RevisionPlan((COVERAGE,), _adding(COVERAGE, 2))


def test_what_a_draft_lacks_is_told_with_its_answers_and_what_is_false_is_not() -> None:
    fact = Finding("keyfact_recall", "missing", "add", "Say it.", expected="It rained.")
    asked = Finding(COVERAGE, "unanswered", "add", "Say it.", question="Who came?", expected="Ann")
    said = judged(0.5, 0.5, 3)
    said[COVERAGE] = replace(said[COVERAGE], findings=(asked, replace(asked, expected="")))
    said["keyfact_recall"] = replace(said[COVERAGE], metric="keyfact_recall", findings=(fact,) * 20)
    assert missing_content(said)[:3] == ["Who came? Ann", "It rained.", "It rained."]
    assert len(missing_content(said)) == MAX_MISSING_ITEMS


def test_free_words_never_take_the_place_of_what_misses_its_goal_and_the_paper_knows_none() -> None:
    said = judged(0.9, 0.5, 7)
    said[COVERAGE] = replace(said[COVERAGE], findings=_adding(COVERAGE, 8))
    for policy, many in ((STRICT[0], 6), (PAPER, 7)):
        chosen = plan_revision(policy, said, GOALS, [], AIMS, 9)
        assert chosen is not None
        assert chosen.findings == findings(CONSISTENCY, 7)[:many]
    said[CONSISTENCY] = judged(0.9, 0.9, 0)[CONSISTENCY]
    assert plan_revision(STRICT[0], said, GOALS, [], AIMS, 9) is None
