"""The words of metrics and of their reports, and whether a goal is met. Metrics are loaded when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pkgutil import resolve_name
from typing import Any, Literal

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass as record

from redraft.domain import DEFERRED, Evaluation, Finding, Ruling
from redraft.prompts.contract import Prompt
from redraft.settings import EXTRACTIVE, NEWCOMER, DraftConfig, JudgeConfig, PackPart, RefineConfig
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


METRICS: Mapping[str, str] = {
    "coverage": "coverage:Coverage",
    "consistency": "consistency:Consistency",
    "keyfact_recall": "factual:KeyfactRecall",
    "faithfulness": "factual:Faithfulness",
    "booookscore": "coherence:Booookscore",
    NEWCOMER: "coherence:NewcomerMetric",
    "spread": "statistics:SpreadMetric",
    "position": "statistics:Position",
    "statistics": "statistics:Statistics",
}
"""redraft's own metrics in listing order, with module and class: an entry registers a metric."""


class MetricFacts:
    """What a metric says of itself."""

    name: str
    """The name for requests, reports and the store: letters, digits, hyphens and underscores."""
    title: str = ""
    """The name for users, where that is not the name with spaces."""
    meaning: str = ""
    """What it measures, in a sentence for users."""
    version: int = 1
    """Stored with every score. Raise it when the metric changes its scores."""
    prompts: Sequence[Prompt[Any, Any]] = ()
    """The prompts of its judges. Their hashes are stored with a run, which cannot be resumed with other prompts."""
    item: str = "item"
    """What it gives verdicts on, in the singular."""
    aim: MetricAim | None = None
    """What it measures, which decides its place in a refinement; None for figures that cannot be a goal."""
    needs: PackPart | None = None
    """The part of the document's pack that is built for it if missing; never built for an empty draft."""
    uses: PackPart | None = None
    """The part of the pack that it uses if available."""
    begins_without: bool = False
    """Whether it begins before the part that it uses is there; it waits for it with `await case.with_part()`."""
    heeds_query: bool = False
    """Whether its result depends on the question that the summary answers."""


def metric_named(name: str) -> MetricFacts | None:
    """Return the metric of a stored run, which is loaded only now; None if it is no longer installed."""
    evaluator: MetricFacts | None = resolve_name("redraft.evaluators.catalog:stored_metric")(name)
    return evaluator


OFFLINE_CHECK = "offline check"
"""The label for figures of the built-in model, which compares words and understands nothing."""
COMPARES_WORDS = f"An {OFFLINE_CHECK} by the built-in model compares words; it does not measure quality."
MIN_SHARE = 0.5
"""A score needs verdicts on at least this share of its items."""


def offline_checks(
    settings: DraftConfig, judging: JudgeConfig | None, refinement: RefineConfig | None
) -> frozenset[str]:
    """Return the metrics that only the built-in model judges by; those without prompts ask no judge."""
    if judging is None or {*(judging.judges or (settings.model,))} != {EXTRACTIVE}:
        return frozenset()
    metrics = (*judging.metrics, *(refinement.goals if refinement else ()))
    return frozenset(name for name in metrics if (metric := metric_named(name)) is not None and metric.prompts)


def goal_status(evaluation: Evaluation | None, goal: float, share: float) -> Literal["met", "missed", "unsure"]:
    """Return whether an evaluation meets a goal; `unsure` without verdicts on at least this share of its items."""
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
