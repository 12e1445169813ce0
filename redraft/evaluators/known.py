"""The metrics as they are known by name: what each is about and asks with, without loading how it judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from redraft import plugins

MetricAim = Literal["truth", "content", "form"]
"""What a metric is about: whether what is said is so, whether what matters is said, or how it is said."""


class Known(NamedTuple):
    """What can be said of a metric by its name alone."""

    place: str
    """Its module, and its class there; empty for one of an installed package."""
    aim: MetricAim | None
    prompts: tuple[str, ...] = ()
    """The names of the prompts that its judges are asked with."""


_TREES = ("keyfacts_analytical", "keyfacts_narrative", "facts_faithful", "facts_objective", "facts_significant")
_FACTUAL = (*_TREES, "query_analytical", "query_narrative", "align_facts", "verify_sentences")
_COVERAGE = ("ask_document", "rank_questions", "answer_from_summary", "compare_answers", "answer_from_document")

OWN: Mapping[str, Known] = {
    "coverage": Known("coverage:Coverage", "content", _COVERAGE),
    "consistency": Known(
        "consistency:Consistency", "truth", ("ask_summary", "answer_from_document", "compare_answers")
    ),
    "keyfact_recall": Known("keyfact_recall:KeyfactRecall", "content", _FACTUAL),
    "faithfulness": Known("faithfulness:Faithfulness", "truth", _FACTUAL),
    "booookscore": Known("booookscore:Booookscore", "form", ("find_confusion",)),
    "spread": Known("spread:Spread", "content"),
    "position": Known("position:Position", None),
    "statistics": Known("statistics:Statistics", None),
}
"""redraft's own metrics, in the order in which they are listed."""


def known(name: str) -> Known | None:
    """What there is to say of a metric by a name that a stored run has; None where it is not installed any more."""
    if name in OWN or name not in plugins.names("metrics"):
        return OWN.get(name)
    try:
        made = plugins.load("metrics", name)()
        return Known("", made.aim, tuple(prompt.name for prompt in made.prompts))
    except Exception:  # noqa: BLE001  (somebody else's fault, which is told where the metric is asked for)
        return None


def aim_of(name: str) -> MetricAim | None:
    """What a metric is about, as far as that is known."""
    found = known(name)
    return found.aim if found else None
