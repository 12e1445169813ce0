"""Who judged a draft, and what the judges quoted from the document.

A quote counts only if it confirms its sentence and was found in the document when it was judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Literal

from redraft.domain import Document, Evaluation, Span
from redraft.errors import StoreError
from redraft.evaluators.metric_info import GOOD_VERDICTS, OFFLINE_CHECK, WITHOUT_JUDGE, metric_named, offline_checks
from redraft.llm.addresses import shown_name
from redraft.settings import EXTRACTIVE, FIGURES, DraftConfig, JudgeConfig
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.sanitizer import one_line

_CONTENT = (
    f"an {OFFLINE_CHECK} that looks for the document's key sentences in the summary; it cannot tell whether a reworded"
    " sentence says the same, or what a reader needs"
)
_TRUTH = (
    f"an {OFFLINE_CHECK} that compares names, numbers, dates, opposites and word pairs with the document; it cannot"
    " tell whether a reworded statement is true"
)
_OFFLINE = {"coverage": _CONTENT, "keyfact_recall": _CONTENT, "consistency": _TRUTH, "faithfulness": _TRUTH}
_LONGEST = 60


def judges_of(run: Run) -> tuple[str, ...]:
    """Return the names of a run's judges as configured, or the writer's if there are none."""
    return tuple(run.judging.judges if run.judging else ()) or (run.settings.model,)


def offline_checked(run: Run) -> frozenset[str]:
    """Return the metrics that only the built-in model judges by in a run."""
    return offline_checks(run.settings, run.judging, run.refinement)


def shown_names(settings: DraftConfig, judging: JudgeConfig | None) -> dict[str, str]:
    """Return the names of a run's models for people, by their names without and with the address."""
    models = [(settings.model, settings.model, settings.base_url)]
    for judge in judging.judges if judging else ():
        model_settings = judging.models.get(judge) if judging else None
        address = (model_settings and model_settings.base_url) or (judging and judging.base_url) or settings.base_url
        models.append((judge, model_settings.model if model_settings else judge, address))
    names: dict[str, str] = {}
    for name, model, address in models:
        display = shown_name(model, address)
        names.setdefault(model, display)
        if display != model:
            names.setdefault(f"{model}@{address}", display)
        names.setdefault(name, display)
    return names


def judged_by(
    run: Run, evaluations: Mapping[str, Evaluation], display_names: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Return by metric which models judged, by their `display_names` if there are any, and with which prompts; figures
    that no judge gives are left out."""
    names = judges_of(run)
    who = " and ".join(one_line(display_names.get(name, name), _LONGEST) for name in names)
    prompts = f"{who}; prompts {one_line(str(run.settings.prompts), _LONGEST)}"
    return {
        metric: f"{who}, {_OFFLINE.get(metric, f'an {OFFLINE_CHECK}')}" if names == (EXTRACTIVE,) else prompts
        for metric, evaluation in evaluations.items()
        if metric not in FIGURES
        and WITHOUT_JUDGE not in evaluation.details
        # A metric that is no longer installed had prompts, as far as anybody knows.
        and getattr(metric_named(metric), "prompts", True)
    }


MAX_PLACES = 3
"""The maximum number of quotes per sentence."""
By = Literal["judge", "words"]
"""The source of a sentence's place: a judge who quoted it, or the words that sentence and document share."""
Details = Mapping[str, Any]
_AROUND = "What is said about this: "
_YARDSTICKS = {"coverage": "pack", "keyfact_recall": "keyfacts"}
"""The detail of an evaluation that names what it judged by."""


def quotes_of(store: Store, draft: str, document: Document) -> dict[int, tuple[Span, ...]]:
    """Return by sentence the places that the judges of a draft quoted for it, best first.

    Sentences are numbered as the judges number them: those with words, from 1. Quotes for a whole sentence come first,
    then those for its claims by importance, then those for the questions it answers.
    """
    run = store.runs.get(store.runs.draft(draft).run)
    # An offline check compares words, which is no better a source than the wording itself.
    checked = offline_checked(run)
    evaluations = {metric: entry for metric, entry in store.judgments.of(draft).items() if metric not in checked}
    sentences, claims, questions = (
        [item for item in listed(evaluations, metric, name) if item.get("verdict") == GOOD_VERDICTS[metric]]
        for metric, name in (("faithfulness", "sentences"), ("consistency", "claims"), ("coverage", "questions"))
    )
    claims.sort(key=lambda claim: -int(claim.get("importance") or 0))
    places = [(item["id"], Span(*item["place"]) if item.get("place") else None) for item in sentences]
    places += [(claim["sentence"], Span(*claim["place"]) if claim.get("place") else None) for claim in claims]
    key = yardstick_of(run, evaluations, "coverage") if "coverage" in evaluations else None
    with suppress(StoreError):  # the pack may be gone
        evidence = {question.id: question.evidence.span for question in store.packs.get(key).questions} if key else {}
        for question in questions:
            places += [(number, evidence.get(int(question["id"]))) for number in question.get("sentences", ())]
    quotes: dict[int, list[Span]] = {}
    for sentence, span in places:
        if span and 0 <= span.start < span.end <= len(document.text):
            # A place is merged with those that it overlaps, at the position of the first of them.
            spans = quotes.setdefault(int(sentence), [])
            overlapping = [place for place in spans if place.overlaps(span)]
            position = spans.index(overlapping[0]) if overlapping else len(spans)
            spans[:] = [place for place in spans if place not in overlapping]
            starts, ends = zip(span, *overlapping, strict=True)
            spans.insert(position, Span(min(starts), max(ends)))
    return {sentence: tuple(spans[:MAX_PLACES]) for sentence, spans in quotes.items()}


def yardstick_of(run: Run, evaluations: Mapping[str, Evaluation], metric: str) -> str | None:
    """Return the id of the pack or key facts that a draft was or will be judged by; None if none is named."""
    part = _YARDSTICKS[metric]
    # The evaluation's own id comes first: there may be later packs or key facts.
    key = (evaluations[metric].details.get(part) if metric in evaluations else None) or getattr(run.judging, part, None)
    return str(key) if key else None


def query_in_words(query: str) -> str:
    """Return the question that a tree of key facts answers, for people. What the built-in model asks is worded anew;
    it stays as it is where it is stored and in requests."""
    rest = query.removeprefix(_AROUND)
    return query if rest == query else f"What does the document say about {rest}"


def listed(evaluations: Mapping[str, Evaluation], metric: str, name: str) -> Sequence[Details]:
    """Return what an evaluation lists under a name, such as the questions that were answered."""
    items = evaluations[metric].details.get(name) if metric in evaluations else None
    return items if isinstance(items, list | tuple) else ()


def basis(by: Mapping[int, By], what: str) -> str:
    """Return a sentence on which citations or footnotes are a judge's quotes and which match by wording; empty if there
    are none."""
    quoted = [str(number) for number, source in sorted(by.items()) if source == "judge"]
    if not quoted:
        return f"All {what}s were matched by wording, not by a judge." if by else ""
    if len(quoted) == len(by):
        return f"All {what}s are quotes by which a judge confirmed a claim."
    quotes = f"{what} {quoted[0]} is a quote" if len(quoted) == 1 else f"{what}s {', '.join(quoted)} are quotes"
    return f"{quotes.capitalize()} by which a judge confirmed a claim; the others were matched by wording."
