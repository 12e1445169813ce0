"""The decisions of the refinement, as pure functions: what to fix next, whether to accept a revision, when to stop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from redraft.domain import REVIEW, Evaluation, Finding, PointAnswer
from redraft.evaluators.metric_info import MetricAim, goal_status
from redraft.settings import FIGURES, FeedbackName, PolicyName, RefineConfig

Scores = Mapping[str, float | None]
"""The scores of a draft by metric; None if it could not be scored."""
Goals = Mapping[str, float]
Judged = Mapping[str, Evaluation]
"""The evaluations of a draft by metric."""
Aims = Mapping[str, MetricAim | None]
"""The aim of each metric; unknown ones come last."""

# With more points at once, people and models skip the last of them.
FINDINGS_AT_ONCE = 6
MAX_MISSING_ITEMS = 12
"""How many missing points are shown along with a person's requests."""
ACCUSING = ("remove", "correct")
"""The tasks of findings that say that the document does not support the draft."""
_STALLS = 2
_WRONG_ANSWER = ("coverage", "contradicted")
# The share of the limit that must be free to add content, and the usual words of an answer.
_FREE_SHARE, _FREE_WORDS = 0.1, 15
# A smaller difference is none at two digits.
_SEEN = 0.005


@dataclass(frozen=True, slots=True)
class RevisionPlan:
    """The aim of the next revision: the metrics to raise, and the findings to fix."""

    metrics: tuple[str, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class AcceptanceDecision:
    """Whether a revision is accepted, and why."""

    accepted: bool
    reason: str


def missed_metrics(scores: Scores, goals: Goals) -> list[str]:
    """Return the metrics that miss their goals, in the order of the goals; no score misses a goal."""
    return [metric for metric, least in goals.items() if (score := scores.get(metric)) is None or score < least]


def undecided_metrics(judged: Judged, goals: Goals, share: float) -> list[str]:
    """Return the metrics with too few verdicts to tell whether their goals are met."""
    return [metric for metric, least in goals.items() if goal_status(judged.get(metric), least, share) == "unsure"]


@dataclass(frozen=True, slots=True)
class Policy:
    """A way of refining; one that `follows` accepts every revision, and fixes all findings at once."""

    by_aim: tuple[MetricAim, ...] = ()
    """The order of the metrics by what they judge; without it, the one furthest from its goal is first."""
    takes_all: bool = False
    follows: bool = False

    def next_metrics(self, missed: Sequence[str], scores: Scores, goals: Goals, aims: Aims) -> list[str]:
        """Return the metrics to raise next, of those that miss their goals."""
        if self.takes_all:
            return list(missed)
        if not self.by_aim:
            return [min(missed, key=lambda metric: (scores.get(metric) or 0.0) / max(goals[metric], 1e-9))]
        places: dict[MetricAim | None, int] = {aim: place for place, aim in enumerate(self.by_aim)}
        return [min(missed, key=lambda metric: (places.get(aims.get(metric), len(places)), metric))]


POLICIES: dict[PolicyName, Policy] = {
    # Wrong content before missing content (the paper's conclusion, V-B).
    "consistency-first": Policy(("truth", "content", "form")),
    # Coverage, else consistency (Algorithm 2).
    "paper": Policy(("content", "truth", "form"), follows=True),
    "weakest-first": Policy(),
    "all": Policy(takes_all=True),
    # The fallback if the deciding model gives no valid decision.
    "agent": Policy(),
}


def plan_revision(
    policy: Policy, judged: Judged, goals: Goals, tried: Sequence[str], aims: Aims, free: int = 0
) -> RevisionPlan | None:
    """Return the findings to fix next, or None without any.

    A person's requests come first, together with what is known to be false; then the untried findings of the first
    metric that misses its goal and has any; strictly as in the paper, only of the first. What is known to be false is
    corrected as well where that goal is met, with half of the places kept for it, and `free` is how many missing
    answers may be added, whether or not their goals are met. With every goal met, only what the document contradicts is
    left to correct.
    """
    scores = scores_of(judged)
    if asked := open_requests(judged, tried):
        wanted = asked if policy.follows else asked[:FINDINGS_AT_ONCE]
        false = [] if policy.follows else _more_findings(wanted, judged, goals, goals, tried, aims)
        return RevisionPlan(tuple(dict.fromkeys(one.metric for one in (*wanted, *false))), (*wanted, *false))
    missed = missed_metrics(scores, goals)
    met = [metric for metric in goals if metric not in missed]
    while missed:
        metrics = policy.next_metrics(missed, scores, goals, aims)
        offered = [[f for f in judged[metric].findings if f.id not in tried] for metric in metrics if metric in judged]
        findings = [finding for of_one in offered for finding in of_one]
        if findings:
            if policy.follows:
                return RevisionPlan(tuple(metrics), tuple(findings))
            false = _more_findings((), judged, goals, met, tried, aims)[: FINDINGS_AT_ONCE // 2]
            chosen = interleaved(offered)[: FINDINGS_AT_ONCE - len(false)]
            return RevisionPlan(
                tuple(metrics), (*chosen, *_more_findings(chosen, judged, goals, met, tried, aims, free))
            )
        if policy.follows:
            return None
        missed = [metric for metric in missed if metric not in metrics]
    wrong = [] if policy.follows or missed_metrics(scores, goals) else _contradicted(judged, goals, tried, aims)
    return RevisionPlan(tuple(dict.fromkeys(one.metric for one in wrong)), tuple(wrong)) if wrong else None


def _contradicted(judged: Judged, goals: Goals, tried: Sequence[str], aims: Aims) -> list[Finding]:
    """Return the findings that say that the document says something else than the draft."""
    about = [metric for metric in goals if metric in judged and aims.get(metric) in ("truth", "content")]
    findings = interleaved([judged[metric].findings for metric in about])
    return [finding for finding in findings if finding.task == "correct" and finding.id not in tried][:FINDINGS_AT_ONCE]


def reviser_feedback(judged: Judged, feedback: FeedbackName) -> Judged:
    """Return the evaluations with the findings that are passed to the reviser. LongSumEval's feedback on coverage holds
    unanswered questions only: an answer that the document contradicts is an answer."""
    if feedback != "questions":
        return judged
    return {
        metric: replace(
            evaluation,
            findings=tuple(
                finding for finding in evaluation.findings if (finding.metric, finding.kind) != _WRONG_ANSWER
            ),
        )
        for metric, evaluation in judged.items()
    }


def room_for_more(words: int, limit: int | None) -> int:
    """Return how many answers fit into a draft of this many words under its limit."""
    if limit is None:
        return FINDINGS_AT_ONCE
    left = limit - words
    return left // _FREE_WORDS if left >= max(_FREE_WORDS, _FREE_SHARE * limit) else 0


def _more_findings(
    chosen: Sequence[Finding],
    judged: Judged,
    goals: Goals,
    correcting: Iterable[str],
    tried: Sequence[str],
    aims: Aims,
    free: int = 0,
) -> list[Finding]:
    """Return what else a revision can handle: what the metrics in `correcting` know to be false; then what the draft
    lacks and has room for, most important first."""

    def of(aim: MetricAim, tasks: Sequence[str]) -> list[Finding]:
        among = goals if aim == "content" else correcting
        about = [one for one in among if aims.get(one) == aim and one in judged]
        findings = interleaved(
            [[finding for finding in judged[metric].findings if finding.task in tasks] for metric in about]
        )
        return [finding for finding in findings if finding.id not in tried and finding not in chosen]

    missing = of("content", ("add",))[: max(0, free - sum(finding.task == "add" for finding in chosen))]
    return [*of("truth", ACCUSING), *missing][: max(0, FINDINGS_AT_ONCE - len(chosen))]


def missing_content(judged: Judged) -> list[str]:
    """Return what the draft lacks, most important first: questions with the document's answers, or facts."""
    findings = interleaved(
        [
            [finding for finding in evaluation.findings if finding.task == "add"]
            for _, evaluation in sorted(judged.items())
        ]
    )
    return [f"{finding.question} {finding.answer}".strip() for finding in findings if finding.answer][
        :MAX_MISSING_ITEMS
    ]


def open_requests(judged: Judged, tried: Sequence[str]) -> list[Finding]:
    """Return a person's requests that no revision has tried to fix yet."""
    return [finding for finding in judged[REVIEW].findings if finding.id not in tried] if REVIEW in judged else []


def all_requests_refused(judged: Judged, answers: Sequence[PointAnswer]) -> bool:
    """Return whether the reviser says of every request that it tried that it did not meet it."""
    asked = {finding.id for finding in judged[REVIEW].findings} if REVIEW in judged else set()
    became = [answer.became for answer in answers if answer.finding in asked]
    return bool(became) and all(one == "left" for one in became)


def sentences_to_keep(judged: Judged, aims: Aims, dropped: Sequence[str] = ()) -> list[str]:
    """Return the sentences that a revision should keep: those that support what matters and have no findings, and those
    that a person asked for. Findings that a person has `dropped` do not count."""
    faulty = {
        finding.sentence
        for evaluation in judged.values()
        for finding in evaluation.findings
        if finding.id not in dropped
    }
    sound = (
        metric
        for metric, evaluation in judged.items()
        if aims.get(metric) == "content" and evaluation.outcome != "failed"
    )
    about_content = sorted({*sound, *({REVIEW} & judged.keys())})
    held = dict.fromkeys(sentence for metric in about_content for sentence in judged[metric].held)
    return [sentence for sentence in held if sentence not in faulty]


def interleaved(offered: Sequence[Sequence[Finding]]) -> list[Finding]:
    """Return one finding of each metric, then the next of each."""
    longest = max((len(of_one) for of_one in offered), default=0)
    return [of_one[at] for at in range(longest) for of_one in offered if at < len(of_one)]


def scores_of(judged: Judged) -> dict[str, float | None]:
    """Return the scores by metric."""
    return {metric: evaluation.score for metric, evaluation in judged.items()}


def acceptance(
    policy: Policy,
    wanted: Sequence[str],
    goals: Goals,
    aims: Aims,
    before: Judged,
    start: Judged,
    after: Judged,
    tolerance: float,
) -> AcceptanceDecision:
    """Accept a revision only if it gains on what is `wanted`, and no goal's metric falls by more than the tolerance.

    A fall is measured from the better of the revised draft and the first one, so that small falls do not add up.
    Without a score, the certain verdicts are counted.
    """
    if policy.follows:
        return AcceptanceDecision(True, "the policy accepts every revision")
    had, first, has = scores_of(before), scores_of(start), scores_of(after)
    known = {metric for one in (had, first) for metric, score in one.items() if score is not None}
    if unscored := [metric for metric in goals if has.get(metric) is None and metric in known]:
        return AcceptanceDecision(False, f"{unscored[0]} could not be judged")
    for metric in goals:
        if has.get(metric) is None:
            if _certain_score(after, metric, aims) < max(
                _certain_score(draft, metric, aims) for draft in (before, start)
            ):
                return AcceptanceDecision(False, f"{metric}, which has no score, is certainly worse")
            continue
        floor = max((score for one in (had, first) if (score := one.get(metric)) is not None), default=0.0)
        fall = floor - (has.get(metric) or 0.0)
        if fall > tolerance + 1e-9:
            return AcceptanceDecision(False, f"{metric} fell by {_difference(fall)}")
    if REVIEW in wanted:
        return AcceptanceDecision(True, "requested by a person")
    return _gain(wanted, aims, before, after)


def _gain(wanted: Sequence[str], aims: Aims, before: Judged, after: Judged) -> AcceptanceDecision:
    """Return a revision's gain on the metrics it was made for."""
    had, has = scores_of(before), scores_of(after)
    gains: dict[str, float] = {}
    scored: list[str] = []
    for metric in wanted:
        was, now = had.get(metric), has.get(metric)
        if was is not None and now is not None:
            gains[metric] = now - was
        elif _certain_score(after, metric, aims) > _certain_score(before, metric, aims):
            scored.append(f"{metric}, which had no score, is certainly better")
    gained = [f"{metric} gained {_difference(gain)}" for metric, gain in gains.items() if gain > 1e-9]
    if scored or (sum(gains.values()) > 1e-9 and gained):
        return AcceptanceDecision(True, ", ".join(gained + scored))
    return AcceptanceDecision(False, f"no gain on {' and '.join(wanted)}")


def _difference(by: float) -> str:
    return f"{by:.2f}" if by >= _SEEN else "less than 0.01"


def _certain_score(judged: Judged, metric: str, aims: Aims) -> int:
    """Return what is certain about a draft with few verdicts, higher being better: how much content is present, or how
    few errors are known."""
    evaluation = judged.get(metric)
    if evaluation is None:
        return 0
    return evaluation.judged - len(evaluation.findings) if aims.get(metric) == "content" else -len(evaluation.findings)


def reason_to_stop(
    policy: Policy,
    scores: Scores,
    goals: Goals,
    *,
    rounds_left: int,
    refused_in_a_row: int,
    next_aim: RevisionPlan | None,
    unsure: Sequence[str] = (),
) -> str | None:
    """Return why the refinement ends here; None when it goes on."""
    missed = missed_metrics(scores, goals)
    if next_aim is not None and REVIEW in next_aim.metrics:
        # Each request is tried once, whether goals are met or not.
        return None if rounds_left > 0 else "rounds"
    if not missed and (next_aim is None or rounds_left <= 0 or refused_in_a_row >= _STALLS):
        return "unsure" if unsure else "goals_met"
    if rounds_left <= 0:
        return "rounds"
    if refused_in_a_row >= _STALLS and not policy.follows:
        return "no_progress"
    if next_aim is None:
        return "unsure" if set(missed) <= set(unsure) else "nothing_to_fix"
    return None


class DraftStatus(TypedDict):
    """The scores of a draft, and whether they meet its goals."""

    scores: dict[str, float | None]
    standings: dict[str, str]


def draft_status(judged: Mapping[str, Evaluation], settings: RefineConfig) -> DraftStatus:
    """Return the scores of a draft, and whether they meet its goals."""
    goals: dict[str, str] = {
        name: goal_status(judged.get(name), least, settings.judged_share) for name, least in settings.goals.items()
    }
    return {"scores": metric_scores(scores_of(judged)), "standings": goals}


def metric_scores(scores: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return the scores without measurements and a person's requests."""
    return {metric: score for metric, score in scores.items() if metric not in {REVIEW, *FIGURES}}


def findings_in(judged: Mapping[str, Evaluation], wanted: Sequence[str]) -> list[Finding]:
    """Return the findings with these ids, in their order."""
    known = {finding.id: finding for evaluation in judged.values() for finding in evaluation.findings}
    return [known[key] for key in wanted if key in known]
