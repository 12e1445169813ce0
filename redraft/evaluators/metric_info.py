"""The metrics as they are known by name, the words that they report in, and whether a goal on one is met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

from redraft import plugins
from redraft.domain import Evaluation
from redraft.errors import UsageError
from redraft.settings import EXTRACTIVE, GIVEN_STRATEGY, DraftConfig, JudgeConfig, RefineConfig

ABSTAINED = "abstained"
"""The detail of an evaluation without any verdict that says whether its judges have themselves left all items open."""
PREFERENCE = "preference"
"""Under which the comparison of two summaries is on record."""
UNSUPPORTED = "unsupported"
"""A sentence about which the document says nothing."""
NONE = "none"
"""The level of a sentence that states no key fact."""
FINE: Mapping[str, str] = {
    "coverage": "answered",
    "consistency": "consistent",
    "keyfact_recall": "stated",
    "faithfulness": "none",
}
"""By metric the verdict on an item that nothing is wrong with."""
LACKING: Mapping[str, frozenset[str]] = {
    "coverage": frozenset({"unanswered", "contradicted"}),
    "keyfact_recall": frozenset({"missing"}),
}
"""By metric the verdicts on what the summary does not say, or says otherwise."""


def is_unheard(evaluation: Evaluation) -> bool:
    """Whether a metric has failed, as no judge could be heard. One that leaves things open was heard: it has no score,
    and what it has found stands."""
    return evaluation.outcome == "failed" and not evaluation.judged and not evaluation.details.get(ABSTAINED)


MetricAim = Literal["truth", "content", "form"]
"""What a metric is about: whether what is said is so, whether what matters is said, or how it is said."""


class MetricInfo(NamedTuple):
    """What can be said of a metric by its name alone."""

    place: str
    """Its module, and its class there; empty for one of an installed package."""
    aim: MetricAim | None
    prompts: tuple[str, ...] = ()
    """The names of the prompts that its judges are asked with."""


_TREES = ("keyfacts_analytical", "keyfacts_narrative", "facts_faithful", "facts_objective", "facts_significant")
_FACTUAL = (*_TREES, "query_analytical", "query_narrative", "align_facts", "verify_sentences")
_COVERAGE = ("ask_document", "rank_questions", "answer_from_summary", "compare_answers", "answer_from_document")

OWN: Mapping[str, MetricInfo] = {
    "coverage": MetricInfo("coverage:Coverage", "content", _COVERAGE),
    "consistency": MetricInfo(
        "consistency:Consistency", "truth", ("ask_summary", "answer_from_document", "compare_answers")
    ),
    "keyfact_recall": MetricInfo("keyfact_recall:KeyfactRecall", "content", _FACTUAL),
    "faithfulness": MetricInfo("faithfulness:Faithfulness", "truth", _FACTUAL),
    "booookscore": MetricInfo("booookscore:Booookscore", "form", ("find_confusion",)),
    "spread": MetricInfo("position:SpreadMetric", "content"),
    "position": MetricInfo("position:Position", None),
    "statistics": MetricInfo("statistics:Statistics", None),
}
"""redraft's own metrics, in the order in which they are listed."""


MEANINGS: Mapping[str, str] = {
    "coverage": "How many of the questions about the document the summary answers, from 0 to 1.",
    "consistency": "How much of what the summary claims agrees with the document, from 0 to 1.",
    "keyfact_recall": "How many of the document's key facts the summary states, from 0 to 1.",
    "faithfulness": "How many sentences of the summary the document supports, from 0 to 1.",
    "booookscore": "How many sentences of the summary are clear to a reader, from 0 to 1.",
    "spread": "How evenly the summary draws on all parts of the document, from 0 to 1.",
    "position": "Where in the document the sentences of the summary come from; no score.",
    "statistics": "How long the summary is, and how much it copies and repeats; no score.",
}
"""What each of them means, in a sentence for users."""


def known(name: str) -> MetricInfo | None:
    """What there is to say of a metric by a name that a stored run has; None where it is not installed any more."""
    if name in OWN or name not in plugins.names("metrics"):
        return OWN.get(name)
    try:
        made = plugins.load("metrics", name)()
        return MetricInfo("", made.aim, tuple(prompt.name for prompt in made.prompts))
    except Exception:  # noqa: BLE001  (somebody else's fault, which is told where the metric is asked for)
        return None


def aim_of(name: str) -> MetricAim | None:
    """What a metric is about, as far as that is known."""
    found = known(name)
    return found.aim if found else None


SELF_CHECK = "self-check"
"""What the scores are called that the built-in model gives to what it has written itself."""
NOT_QUALITY = f"A {SELF_CHECK}, which the built-in model gives to what it has written itself, measures no quality."
Standing = Literal["met", "missed", "unsure"]
"""How a draft stands to a goal; `unsure` where nobody has said enough of it to tell."""

LEAST_SHARE = 0.5
"""A score on less than this share of its items is no score."""


def judges_itself(settings: DraftConfig, judging: JudgeConfig | None) -> bool:
    """Whether the built-in model writes, and nobody but the built-in model judges."""
    if judging is None or settings.model != EXTRACTIVE:
        return False
    return set(judging.judges or (settings.model,)) == {EXTRACTIVE}


def self_checks(settings: DraftConfig, judging: JudgeConfig | None, refinement: RefineConfig | None) -> frozenset[str]:
    """The metrics by which the built-in model judges what it writes itself. A summary that is only judged it has not
    written, and by a metric without a prompt it is not asked."""
    writes = refinement is not None or settings.strategy != GIVEN_STRATEGY
    if judging is None or not writes or not judges_itself(settings, judging):
        return frozenset()
    metrics = (*judging.metrics, *(refinement.goals if refinement else ()))
    return frozenset(name for name in metrics if (one := known(name)) is not None and one.prompts)


def refuse_self_check(settings: DraftConfig, judging: JudgeConfig | None, refinement: RefineConfig | None) -> None:
    """Refuse goals that the built-in model would call met in its own work, unless that is what is wanted."""
    if refinement is None or refinement.allow_self_check:
        return
    goals = sorted(self_checks(settings, judging, refinement) & refinement.goals.keys())
    if goals:
        raise UsageError(
            f"the built-in model would judge what it has written itself: that is a {SELF_CHECK} and tells nothing of"
            f" quality, so {' and '.join(goals)} can be no goal",
            hint="name a judge, such as --judge openai:gpt-5-mini; or take it for what it is with --allow-self-check"
            " (allow_self_check=True in Python)",
        )


def standing(evaluation: Evaluation | None, least: float, share: float) -> Standing:
    """How an evaluation stands to a goal, which takes verdicts on at least this share of the items."""
    if evaluation is None or evaluation.outcome in ("not_applicable", "measured"):
        return "missed"
    judged = evaluation.judged_share
    if evaluation.score is None or (judged is not None and judged < share):
        return "unsure"
    return "met" if evaluation.score >= least else "missed"


def founded(evaluation: Evaluation) -> Evaluation:
    """The evaluation, with its score only if that is of half of the items at least; what was found stands."""
    judged = evaluation.judged_share
    if evaluation.outcome != "scored" or judged is None or judged >= LEAST_SHARE:
        return evaluation
    trouble = evaluation.details.get("trouble")
    said = f": {trouble}" if trouble else ""
    reason = f"only {evaluation.judged:,} of {evaluation.judged + evaluation.unjudged:,} items have a verdict{said}"
    return replace(evaluation, outcome="failed", score=None, reason=reason)


WITHDRAWN = "withdrawn"
"""Under this name the details of an evaluation hold the findings that were withdrawn."""


def withdrawn(evaluation: Evaluation) -> list[Mapping[str, object]]:
    """The findings of an evaluation that were withdrawn, as its details have them."""
    known = evaluation.details.get(WITHDRAWN)
    return [one for one in known if isinstance(one, Mapping)] if isinstance(known, list | tuple) else []
