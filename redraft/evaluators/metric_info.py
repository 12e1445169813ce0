"""Metrics by name, the words of their reports, and whether a goal is met."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass as record

from redraft import plugins
from redraft.domain import DEFERRED, Evaluation, Finding, Ruling
from redraft.settings import EXTRACTIVE, NEWCOMER, DraftConfig, JudgeConfig, RefineConfig
from redraft.text.words import count

ABSTAINED = "abstained"
"""The detail that says, of an evaluation without verdicts, whether its judges left all items open."""
WITHOUT_JUDGE = "no judge"
"""The detail of a score that no judge gives."""
WEIGHED = "weighed"
"""The detail with the sum of the weights of the judged items, of a score whose items are weighed."""
PREFERENCE = "preference"
"""The name under which the comparison of two summaries is stored."""
UNSUPPORTED = "unsupported"
"""The kind of a sentence that the document says nothing about."""
NONE = "none"
"""The level of a sentence that states no key fact."""
GOOD_VERDICTS: Mapping[str, str] = {
    "coverage": "answered",
    "consistency": "consistent",
    "keyfact_recall": "stated",
    "faithfulness": "none",
}
"""The verdict of each metric on an item without fault."""


def got_no_reply(evaluation: Evaluation) -> bool:
    """Return whether a metric failed because no judge replied. A judge that leaves items open has replied: there is no
    score, but its findings stand."""
    return evaluation.outcome == "failed" and not evaluation.judged and not evaluation.details.get(ABSTAINED)


MetricAim = Literal["truth", "content", "form"]
"""What a metric measures: whether statements are true, whether the important content is there, or the form."""


class MetricInfo(NamedTuple):
    """What redraft knows about a metric by its name, without loading it."""

    place: str
    """Its module and class; empty for a metric of an installed package."""
    aim: MetricAim | None
    prompts: tuple[str, ...] = ()
    """The names of the prompts of its judges."""
    meaning: str = ""
    """What it measures, in a sentence for users."""
    title: str = ""
    """Its name for users, where that is not its name with spaces."""


_TREES = ("keyfacts_analytical", "keyfacts_narrative", "facts_faithful", "facts_objective", "facts_significant")
_FACTUAL = (*_TREES, "query_analytical", "query_narrative", "align_facts", "verify_sentences")

METRICS: Mapping[str, MetricInfo] = {
    "coverage": MetricInfo(
        "coverage:Coverage",
        "content",
        ("ask_document", "rank_questions", "answer_from_summary", "compare_answers", "answer_from_document"),
        "How much of what a summary needs to say of the document it says, by questions, from 0 to 1.",
    ),
    "consistency": MetricInfo(
        "consistency:Consistency",
        "truth",
        ("ask_summary", "answer_from_document", "compare_answers"),
        "How much of what the summary claims agrees with the document, from 0 to 1.",
    ),
    "keyfact_recall": MetricInfo(
        "keyfact_recall:KeyfactRecall",
        "content",
        _FACTUAL,
        "How many of the document's key facts the summary states, from 0 to 1.",
        "Key fact recall",
    ),
    "faithfulness": MetricInfo(
        "faithfulness:Faithfulness",
        "truth",
        _FACTUAL,
        "How many sentences of the summary the document supports, from 0 to 1.",
    ),
    "booookscore": MetricInfo(
        "booookscore:Booookscore",
        "form",
        ("find_confusion",),
        "How many sentences of the summary are clear to a reader, from 0 to 1.",
        "BooookScore (clarity)",
    ),
    NEWCOMER: MetricInfo(
        "newcomer:NewcomerMetric",
        None,
        ("find_stops",),
        "Where a reader who has never seen the document stops, and what they would ask; no score.",
    ),
    "spread": MetricInfo(
        "position:SpreadMetric",
        "content",
        meaning="How evenly the summary draws on all parts of the document, from 0 to 1.",
        title="Even spread",
    ),
    "position": MetricInfo(
        "position:Position", None, meaning="Where in the document the sentences of the summary come from; no score."
    ),
    "statistics": MetricInfo(
        "statistics:Statistics", None, meaning="How long the summary is, and how much it copies and repeats; no score."
    ),
}
"""redraft's own metrics in listing order: an entry registers a metric."""


def takes_case(loaded: object) -> bool:
    """Return whether the object of an entry point is a metric itself, a function of a case, and does not make one."""
    if not inspect.isfunction(loaded):
        return False
    parameters = inspect.signature(loaded).parameters.values()
    return any(parameter.default is parameter.empty for parameter in parameters)


def metric_info(name: str) -> MetricInfo | None:
    """Return the information on a stored run's metric; None if the metric is no longer installed."""
    if name in METRICS or name not in plugins.names("metrics"):
        return METRICS.get(name)
    try:
        loaded = plugins.load("metrics", name)
        if takes_case(loaded):
            return MetricInfo("", "form")
        metric = loaded()
        return MetricInfo("", metric.aim, tuple(prompt.name for prompt in metric.prompts))
    except Exception:  # noqa: BLE001  (a faulty plugin, reported where its metric is used)
        return None


OFFLINE_CHECK = "offline check"
"""The label for figures of the built-in model, which compares words and understands nothing."""
COMPARES_WORDS = f"An {OFFLINE_CHECK} by the built-in model compares words; it does not measure quality."
GoalStatus = Literal["met", "missed", "unsure"]
"""Whether a draft meets a goal; `unsure` where too few items have a verdict."""

MIN_SHARE = 0.5
"""A score needs verdicts on at least this share of its items."""


def offline_checks(
    settings: DraftConfig, judging: JudgeConfig | None, refinement: RefineConfig | None
) -> frozenset[str]:
    """Return the metrics that only the built-in model judges by; those without prompts ask no judge."""
    if judging is None or {*(judging.judges or (settings.model,))} != {EXTRACTIVE}:
        return frozenset()
    metrics = (*judging.metrics, *(refinement.goals if refinement else ()))
    return frozenset(name for name in metrics if (info := metric_info(name)) is not None and info.prompts)


def goal_status(evaluation: Evaluation | None, goal: float, share: float) -> GoalStatus:
    """Return whether an evaluation meets a goal, given verdicts on at least this share of its items."""
    if evaluation is None or evaluation.outcome in ("not_applicable", "measured"):
        return "missed"
    judged_share = evaluation.judged_share
    if evaluation.score is None or (judged_share is not None and judged_share < share):
        return "unsure"
    return "met" if evaluation.score >= goal else "missed"


def with_enough_verdicts(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation, without its score if fewer than half of the items have a verdict; its findings stand."""
    judged_share = evaluation.judged_share
    if evaluation.outcome != "scored" or judged_share is None or judged_share >= MIN_SHARE:
        return evaluation
    reason = f"only {evaluation.judged:,} of {evaluation.judged + evaluation.unjudged:,} items have a verdict"
    if trouble := evaluation.details.get("trouble"):
        reason = f"{reason}: {trouble}"
    return replace(evaluation, outcome="failed", score=None, reason=reason)


WITHDRAWN = "withdrawn"
"""The key of withdrawn findings in an evaluation's details."""


@record(frozen=True, slots=True, config=DEFERRED)
class WithdrawnFinding:
    """A finding that a second look overruled, because the document does say what it objects to."""

    finding: Finding
    ruling: Ruling


_WITHDRAWN: TypeAdapter[list[WithdrawnFinding]] = TypeAdapter(list[WithdrawnFinding], config=DEFERRED)


def withdrawn(evaluation: Evaluation) -> list[WithdrawnFinding]:
    """Return the findings of an evaluation that were withdrawn."""
    return _WITHDRAWN.validate_python(evaluation.details.get(WITHDRAWN, ()))


def stops_in_words(evaluation: Evaluation) -> str:
    """Return how often a newcomer stops, and how much of the summary could not be read."""
    stops = len(evaluation.findings)
    text = count(stops, "stop") if stops else "nothing stops a newcomer"
    return f"{text}; {count(evaluation.unjudged, 'sentence')} not read" if evaluation.unjudged else text
