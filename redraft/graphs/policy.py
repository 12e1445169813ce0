"""The decisions of the refinement, as pure functions: what the next round does, whether its draft is accepted, why it
ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from pydantic import ConfigDict, Field, ValidationError

from redraft.domain import REVIEW, DraftComparison, Evaluation, Finding, PointAnswer, ReviewQuestion
from redraft.evaluators.base import ACCUSING, is_same_error
from redraft.evaluators.metric_info import MetricAim, goal_status
from redraft.fields import Settings, error_text
from redraft.prompts.revision import DraftHas, MustKnow
from redraft.settings import FIGURES, NEWCOMER, FeedbackName, PolicyName, RefineConfig
from redraft.text.sanitizer import clean, one_line
from redraft.text.words import count, has_words, score, spaced

Goals = Mapping[str, float]
Judged = Mapping[str, Evaluation]
"""The evaluations of a draft by metric."""
Aims = Mapping[str, MetricAim | None]
"""What each metric measures."""
Way = Literal["edit", "correct"]
"""How a round revises: it writes the whole text anew, or corrects single sentences."""

# With more points at once, people and models skip the last of them.
FINDINGS_AT_ONCE = 6
# With more to say, a text of any length is crammed.
MOST_NEEDED = 12
# The weight of what a metric without weights misses.
_USUAL_WEIGHT = 2
_DRAFT_HAS: Mapping[str, DraftHas] = {
    "answered": "in full",
    "partly answered": "in part",
    "unanswered": "not at all",
    "contradicted": "wrongly",
}
_ESSENTIAL = 3
"""The weight of what nobody understands the whole without."""
_WRONG_ANSWER = ("coverage", "contradicted")
# The paper raises coverage first, then consistency (Algorithm 2).
_PAPER_ORDER: tuple[MetricAim, ...] = ("content", "truth", "form")


class RevisionPlan(NamedTuple):
    """What the next round does, and the findings that it is given."""

    way: Way
    findings: tuple[Finding, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the metrics of the findings."""
        return tuple(dict.fromkeys(finding.metric for finding in self.findings))


@dataclass(frozen=True, slots=True)
class DraftFindings:
    """What is known of a draft, by what an editor does about it."""

    errors: tuple[Finding, ...]
    """What the document contradicts or does not support."""
    requests: tuple[Finding, ...]
    """What a person, or a metric of the user's own, asks for."""
    stops: tuple[Finding, ...]
    """Where a reader stops."""
    missing: tuple[Finding, ...]
    """What the draft lacks, weightiest first."""
    missed: frozenset[str] = frozenset()
    """The metrics that miss their goals."""

    @classmethod
    def of(cls, evaluations: Judged, goals: Goals, aims: Aims, gone: Sequence[str] = ()) -> DraftFindings:
        """Sort the findings of a draft; those in `gone`, by id, do not count."""
        findings = [finding for finding in findings_of(evaluations) if finding.id not in gone]
        form = {NEWCOMER, *(metric for metric, aim in aims.items() if aim == "form")}
        stops = [finding for finding in findings if finding.metric in form]
        rest = [finding for finding in findings if finding.metric not in form]
        requests = [finding for finding in rest if finding.metric == REVIEW or finding.task == "change"]
        missing = [finding for finding in rest if finding.task == "add" and finding not in requests]
        return cls(
            tuple(errors_in(evaluations, aims, gone)),
            tuple(requests),
            tuple(stops),
            tuple(sorted(missing, key=lambda finding: -finding.weight)),
            frozenset(missed_metrics(evaluations, goals)),
        )

    @property
    def points(self) -> tuple[Finding, ...]:
        """Return what must be dealt with: a person's requests, then the errors."""
        return (*self.requests, *self.errors)

    def of_weight(self) -> tuple[Finding, ...]:
        """Return what another round is made for: errors, requests, and what is missing that is essential or keeps a
        goal from being met. Stops alone are solved in the first round: to write a whole text anew for a few more costs
        as much as it gains."""
        stops = [stop for stop in self.stops if stop.metric in self.missed]
        missing = [finding for finding in self.missing if finding.weight >= _ESSENTIAL or finding.metric in self.missed]
        return (*self.points, *stops, *missing)


def errors_in(evaluations: Judged, aims: Aims, gone: Sequence[str] = ()) -> list[Finding]:
    """Return what the document contradicts or does not support in a draft, each error once."""
    others = {REVIEW, *(metric for metric, aim in aims.items() if aim == "form")}
    errors: list[Finding] = []
    for finding in findings_of(evaluations):
        counts = finding.task in ACCUSING and finding.metric not in others and finding.id not in gone
        if counts and not any(is_same_error(finding, earlier) for earlier in errors):
            errors.append(finding)
    return errors


def with_same_errors(ids: Sequence[str], evaluations: Judged) -> list[str]:
    """Return the ids of findings, and of all others that object to the same claims."""
    errors = [finding for finding in findings_of(evaluations) if finding.task in ACCUSING]
    chosen = [error for error in errors if error.id in ids]
    same = (error.id for error in errors if any(is_same_error(error, chosen_error) for chosen_error in chosen))
    return [*dict.fromkeys([*ids, *same])]


def missed_metrics(evaluations: Judged, goals: Goals) -> list[str]:
    """Return the metrics that miss their goals, in the order of the goals; no score misses a goal."""
    scores = _scores(evaluations)
    return [metric for metric, goal in goals.items() if (score := scores.get(metric)) is None or score < goal]


def undecided_metrics(evaluations: Judged, goals: Goals, share: float) -> list[str]:
    """Return the metrics with too few verdicts to tell whether their goals are met."""
    return [metric for metric, goal in goals.items() if goal_status(evaluations.get(metric), goal, share) == "unsure"]


def plan_revision(
    policy: PolicyName,
    evaluations: Judged,
    goals: Goals,
    aims: Aims,
    *,
    gone: Sequence[str] = (),
    is_first: bool = False,
    is_refused: bool = False,
    can_compare: bool = True,
) -> RevisionPlan | None:
    """Return what the next round does, or None if nothing is left.

    The first round is made even if every goal is met, where judges `can_compare` its draft with the best one. After a
    draft that was not preferred only errors and requests are left. `gone` are the findings that a person has dropped,
    or that a correction has failed to fix.
    """
    if policy == "paper":
        # All findings of the first metric that misses its goal and has any (LongSumEval, Algorithm 2); a person's
        # requests come before them.
        missed = missed_metrics(evaluations, goals)
        in_order = sorted(missed, key=lambda metric: (_PAPER_ORDER.index(aims.get(metric) or "form"), metric))
        for metric in (REVIEW, *in_order):
            findings_of_metric = evaluations[metric].findings if metric in evaluations else ()
            if due_findings := tuple(finding for finding in findings_of_metric if finding.id not in gone):
                return RevisionPlan("correct", due_findings)
        return None
    findings = DraftFindings.of(evaluations, goals, aims, gone)
    unjudged = not any(
        evaluation.judged for name, evaluation in evaluations.items() if aims.get(name) in ("truth", "content")
    )
    if unjudged or (not can_compare and not missed_metrics(evaluations, goals)):
        # Without a verdict nobody can tell that a new text is true, and without a comparison, that it is better.
        findings = replace(findings, stops=(), missing=())
    elif not is_refused:
        due = findings.of_weight()
        # Errors alone are corrected in place.
        errors_alone = bool(findings.errors) and due == findings.errors and not findings.stops
        if not errors_alone and (due or (is_first and can_compare)):
            return RevisionPlan("edit", (*findings.points, *findings.stops, *findings.missing))
    if findings.requests:
        return RevisionPlan("edit", findings.points)
    return RevisionPlan("correct", findings.errors) if findings.errors else None


def reviser_feedback(evaluations: Judged, feedback: FeedbackName) -> Judged:
    """Return the evaluations with the findings that are passed to the reviser. LongSumEval's feedback on coverage holds
    unanswered questions only: an answer that the document contradicts is an answer."""
    if feedback != "questions":
        return evaluations
    passed_on: dict[str, Evaluation] = {}
    for metric, evaluation in evaluations.items():
        findings = (finding for finding in evaluation.findings if (finding.metric, finding.kind) != _WRONG_ANSWER)
        passed_on[metric] = replace(evaluation, findings=tuple(findings))
    return passed_on


def all_requests_refused(evaluations: Judged, answers: Sequence[PointAnswer]) -> bool:
    """Return whether the reviser says of every request that it tried that it did not meet it."""
    requests = {finding.id for finding in evaluations[REVIEW].findings} if REVIEW in evaluations else set()
    outcomes = [answer.became for answer in answers if answer.finding in requests]
    return bool(outcomes) and all(outcome == "left" for outcome in outcomes)


def _scores(evaluations: Judged) -> dict[str, float | None]:
    """Return the scores by metric; None where a draft could not be scored."""
    return {metric: evaluation.score for metric, evaluation in evaluations.items()}


def findings_of(evaluations: Judged) -> list[Finding]:
    """Return the findings of all metrics."""
    return [finding for _, evaluation in sorted(evaluations.items()) for finding in evaluation.findings]


def new_errors(before: Judged, after: Judged, aims: Aims) -> list[Finding]:
    """Return the errors of a revision that the draft before it does not have."""
    earlier, later = errors_in(before, aims), errors_in(after, aims)
    return [error for error in later if not any(is_same_error(error, earlier_error) for earlier_error in earlier)]


def acceptance(
    goals: Goals,
    aims: Aims,
    before: Judged,
    after: Judged,
    way: Way,
    comparison: DraftComparison | None,
    *,
    compared: bool,
) -> tuple[bool, str]:
    """Return whether a revision is accepted, and why: it has no new error, misses no goal that the draft before it
    meets, and is preferred to it.

    A correction need not be preferred, but has to have fewer errors. Where no judge can compare drafts (`compared` is
    False), the goals decide.
    """
    if errors := new_errors(before, after, aims):
        return False, f"{count(len(errors), 'new error')}: {errors[0].sentence}".removesuffix(": ")
    had, has = _scores(before), _scores(after)
    if unscored := [metric for metric in goals if has.get(metric) is None and had.get(metric) is not None]:
        return False, f"{spaced(unscored[0])} could not be judged"
    missed_before, missed_after = missed_metrics(before, goals), missed_metrics(after, goals)
    if lost := [metric for metric in missed_after if metric not in missed_before]:
        figure, goal = score(has[lost[0]]), goals[lost[0]]
        return False, f"{spaced(lost[0])} {figure} misses the goal {goal:g}, which the best draft meets"
    fewer = len(errors_in(before, aims)) - len(errors_in(after, aims))
    if way == "correct" and fewer > 0:
        return True, f"{count(fewer, 'error')} fewer"
    if way == "edit" and compared:
        if comparison is None:
            return False, "no judge could compare it with the best draft"
        return comparison.is_preferred, comparison.description
    # More than the goal does not count.
    gains = {name: min(has.get(name) or 0.0, goal) - min(had.get(name) or 0.0, goal) for name, goal in goals.items()}
    if sum(gains.values()) > _LEAST_GAIN:
        rises = [
            f"{spaced(name)} rose from {score(had.get(name) or 0.0)} to {score(has[name])}"
            if gain >= _SEEN
            else f"{spaced(name)} rose by less than 0.01"
            for name, gain in gains.items()
            if gain > 0
        ]
        return True, ", ".join(rises)
    return False, f"no gain on {' and '.join(map(spaced, goals))}" if goals else "nothing gained"


_LEAST_GAIN = 1e-9
# A smaller difference is none at two digits.
_SEEN = 0.005


def reason_to_stop(
    evaluations: Judged, settings: RefineConfig, number: int, plan: RevisionPlan | None, *, is_refused: bool = False
) -> str:
    """Return why the refinement ends after round `number` with this plan for the next one; empty if it goes on."""
    if plan is not None and number < settings.rounds:
        return ""
    missed = missed_metrics(evaluations, settings.goals)
    unsure = undecided_metrics(evaluations, settings.goals, settings.judged_share)
    if set(missed) <= set(unsure):
        return "unsure" if unsure else "goals_met"
    if plan is not None:
        return "rounds"
    return "no_progress" if is_refused else "nothing_to_fix"


def draft_status(evaluations: Judged, settings: RefineConfig) -> dict[str, Any]:
    """Return the `scores` of a draft, and its `standings`: whether they meet its goals."""
    share, goals = settings.judged_share, settings.goals.items()
    standings = {name: goal_status(evaluations.get(name), goal, share) for name, goal in goals}
    return {"scores": metric_scores(evaluations), "standings": standings}


def metric_scores(evaluations: Judged) -> dict[str, float | None]:
    """Return the scores without measurements and a person's requests."""
    return {metric: score for metric, score in _scores(evaluations).items() if metric not in {REVIEW, *FIGURES}}


def must_know_in(evaluations: Judged, dropped: Sequence[str] = ()) -> list[MustKnow]:
    """Return what a reader must come away with, and how far a draft has it: the document's questions, and what other
    metrics miss, weightiest first. The findings in `dropped`, by id, do not count."""
    coverage = evaluations.get("coverage")
    questions: Any = coverage.details.get("questions", ()) if coverage else ()
    findings = {finding.question: finding for finding in coverage.findings} if coverage else {}
    # A missing key sentence has no question.
    not_asked = {finding.question or finding.expected for finding in findings_of(evaluations) if finding.id in dropped}
    items = [
        MustKnow(
            weight=item["weight"],
            draft=_DRAFT_HAS.get(item["verdict"], ""),
            question=item["question"],
            answer=item["expected"],
            lacks=finding.missing if finding else "",
            quote=finding.evidence.text if finding and finding.evidence else "",
        )
        for item in questions
        for finding in [findings.get(item["question"])]
        if not not_asked & {item["question"], item["expected"]}
    ]
    questions_listed = {item.question for item in items}
    missing = [finding for finding in findings_of(evaluations) if finding.task == "add" and finding.answer]
    items += [
        MustKnow(
            weight=_USUAL_WEIGHT,
            draft="not at all",
            question=finding.question,
            answer=finding.answer,
            quote=finding.evidence.text if finding.evidence else "",
        )
        for finding in missing
        if finding.question not in questions_listed and finding.id not in dropped
    ]
    return sorted(items, key=lambda item: -item.weight)


def findings_in(evaluations: Mapping[str, Evaluation], ids: Sequence[str]) -> list[Finding]:
    """Return the findings with these ids, in their order."""
    by_id = {finding.id: finding for evaluation in evaluations.values() for finding in evaluation.findings}
    return [by_id[key] for key in ids if key in by_id]


_LONGEST_ANSWER = 2_000_000


class ReviewAnswer(Settings):
    """What the person says. All of it may be left out, which lets the revision go ahead as planned."""

    model_config = ConfigDict(extra="forbid", strict=True)

    drop: list[int | str] = Field(default=[], max_length=1000)
    """Findings that should not be fixed, by number or id."""
    add: list[str] = Field(default=[], max_length=100)
    """Requests in the person's own words."""
    edited: str | None = Field(default=None, max_length=_LONGEST_ANSWER)
    """The text of a draft that the person has edited, to be judged instead of a revision."""
    stop: bool = False
    """Leave it at the best draft."""
    go: bool = True
    """Continue; an answer must not be empty, and this is the value to send if there is nothing else."""


def answered(reply: Any, review_question: ReviewQuestion) -> ReviewAnswer | str:
    """Return the answer with the findings it names by their ids, or what is wrong with it."""
    try:
        answer = ReviewAnswer.model_validate(reply)
    except ValidationError as error:
        first = error.errors()[0]
        where = str(first["loc"][0]) if first["loc"] else ""
        example = "give an object such as {'drop': [1, 3], 'add': ['...'], 'edited': 'text', 'stop': false}"
        if not where:
            return f"an answer cannot be of the type {type(reply).__name__}; {example}"
        return f"{where}: {error_text(first)}; {example}"
    ids = {
        key: item["id"] for number, item in enumerate(review_question["findings"], 1) for key in (number, item["id"])
    }
    if unknown := [item for item in answer.drop if item not in ids or isinstance(item, bool)]:
        number = len(review_question["findings"])
        available = f"they are numbered from 1 to {number}" if number else "there is none"
        return f"drop: there is no finding {one_line(str(unknown[0]), 40)!r}; {available}"
    edited = None if answer.edited is None else clean(answer.edited).strip()
    if edited is not None and not has_words(edited):
        return "edited: the draft is empty; leave it out, or give the text"
    if any(not text.strip() for text in answer.add):
        return "add: a request is empty; leave it out, or say what to change"
    return answer.model_copy(update={"drop": list(dict.fromkeys(ids[item] for item in answer.drop)), "edited": edited})


def requests(texts: Sequence[str]) -> tuple[Finding, ...]:
    """Return a person's requests as findings."""
    return tuple(Finding(REVIEW, "request", "change", text.strip()) for text in texts)


def reviewed(earlier: Evaluation | None, added: Sequence[Finding], requests_met: Sequence[str] = ()) -> Evaluation:
    """Return everything that a person has asked for on one draft; `held` are the requests that it meets."""
    earlier_findings = earlier.findings if earlier else ()
    findings = (*earlier_findings, *(finding for finding in added if finding not in earlier_findings))
    met = tuple(dict.fromkeys((*(earlier.held if earlier else ()), *requests_met)))
    reason = "requests by a person"
    return Evaluation(REVIEW, 1, "not_applicable", findings=findings, held=met, reason=reason)
