"""Compares runs on one document: their scores, and the questions and key facts that some summaries have and others
lack. It only reads, except for storing links between texts that were not traced before.

The records are the contract of `compare-runs --format json` and of the HTTP API. Fields are added, never changed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import isclose
from statistics import fmean
from string import ascii_uppercase
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer

from redraft.builtin.facade import IDENTITY
from redraft.domain import Document, Evaluation, content_id
from redraft.errors import RunCommand, UsageError
from redraft.evaluators.metric_info import metric_named
from redraft.evaluators.statistics import Interval, interval_of_mean
from redraft.fields import list_argument
from redraft.report.dossier.contents import JudgedItem, SharedResult, items
from redraft.report.history.judges import judges_of
from redraft.report.history.lineage import GIVEN_SAID, TracedSentence, read_lineage
from redraft.report.history.results import Result, document_read, read_result
from redraft.report.tables import Entry
from redraft.settings import EXTRACTIVE, FIGURES, GIVEN_STRATEGY, JudgeConfig, PolicyName
from redraft.store.runs import Run
from redraft.store.store import Store, check_store
from redraft.text.languages import primary
from redraft.text.sanitizer import one_line, scrubbed, scrubbed_all
from redraft.text.vectors import Encoder
from redraft.text.words import count_words, spaced

FORMAT = 3
Standing = Literal["flipped", "changed", "open", "same"]
"""How an item compares. `flipped`: one summary has it and another does not; `changed`: all have it or none has, with
different verdicts; `open`: some run has no verdict on it, so that it is not counted; `same`: all have the same verdict.
"""
_ORDER: tuple[Standing, ...] = ("flipped", "changed", "open", "same")
Ends = Annotated[Interval | None, PlainSerializer(lambda interval: interval and interval._asdict())]
"""The ends of a 95% interval; None if there are too few values, or if the figure is not their mean."""
ALIGNED = ("coverage", "keyfact_recall")
"""The metrics whose items belong to the document and are the same for every summary. The items of other metrics are the
summary's own sentences and claims."""
REVISED_BY = "revised by "
_TELLING = {"words": "{} words", "query": "query {}", "refined": "{}"}
"""The settings in the labels of runs that differ in them."""
_REFINED: dict[PolicyName, str] = {
    "editor": "refined by edits",
    "agent": "refined by an agent",
    "paper": "refined as in LongSumEval",
}
_TITLE, _LABEL, _VALUE, _SHORT_ID = 60, 60, 80, 8
# These do not affect what is asked of the model, or only draw another sample of it.
_NO_MATTER = {"model", "strategy", "key_env", "price", "replies", "sample"}
# The details of an evaluation that identify the questions or key facts it used.
_YARDSTICKS = ("pack", "keyfacts")


class ScoreInterval(Entry):
    """A score by a metric, with the interval that it would have with other items drawn."""

    score: float
    interval: Ends


class ComparedRun(Entry):
    """A run with its summary."""

    letter: str
    label: str
    """What tells it apart: the name that it was given, or else its model, strategy and settings."""
    result: SharedResult
    scores: dict[str, ScoreInterval]
    """The scores by metric, for metrics that have one."""
    sentences: tuple[TracedSentence, ...]
    items: Annotated[tuple[JudgedItem, ...], Field(exclude=True)]


class ComparedItem(Entry):
    """A question or a key fact, with the verdict in each run."""

    number: int
    item: JudgedItem
    """The item as the first run has it."""
    verdicts: dict[str, JudgedItem | None]
    """The item as judged in each run, by its letter; None if the run was not judged by it."""
    standing: Standing


class ScoreDifference(Entry):
    """A paired difference of two runs by one metric: the first minus the second."""

    metric: str
    first: str
    second: str
    pairs: int
    """The number of items that both are judged by."""
    difference: float | None
    """None if nothing can be compared."""
    interval: Ends
    reason: str
    """Why nothing can be compared."""


class RunComparison(Entry):
    """A comparison of two or more runs on one document."""

    format: int = FORMAT
    title: str
    holds: str = (
        "Includes the summaries, and the questions and key facts that they were judged by, with the answers and their "
        "source passages."
    )
    """A sentence on how much of the document it contains."""
    warnings: tuple[str, ...]
    """Why scores are not comparable, and what else to know before reading them."""
    document: Annotated[
        Document,
        PlainSerializer(
            lambda document: {
                "id": document.id,
                "title": one_line(document.title),
                "words": count_words(document.text),
                "language": primary(document.language),
            }
        ),
    ]
    """In JSON without its text."""
    runs: tuple[ComparedRun, ...]
    items: tuple[ComparedItem, ...]
    """The items, flipped ones first."""
    differences: tuple[ScoreDifference, ...]
    settings: dict[str, list[Any]]
    """The settings in which the runs differ, with the value of each run."""


def read_comparison(store: Store, keys: Sequence[str], *, encoder: Encoder | None = None) -> RunComparison:
    """Return the comparison of runs on one document, given their ids or prefixes of them; `NAME=RUN` names a run.

    Raises a `UsageError` if there is nothing to compare: a single run, the same run twice, or runs of different
    documents.
    """
    keys = list_argument(keys, "runs")
    if len(keys) > len(ascii_uppercase):
        raise UsageError(f"at most {len(ascii_uppercase)} runs are compared", hint="leave some out")
    if len(keys) < 2:
        fix = ("give at least two runs: ", RunCommand("compare-runs", more=("RUN", "RUN")))
        raise UsageError("there is nothing to compare: you gave only one run", fix=fix)
    check_store(store)
    names, stored_runs = [], []
    for name, _, key in (key.rpartition("=") for key in keys):
        names.append(one_line(name))
        stored_runs.append(store.runs.get(key.strip()))
    for run in stored_runs:
        run.drafted()
    if twice := next((key for key, times in Counter(run.id for run in stored_runs).items() if times > 1), None):
        raise UsageError(f"run {twice} is given twice", fix=(RunCommand("runs"), " lists them"))
    results = [read_result(store, run.id) for run in stored_runs]
    if len({run.document for run in stored_runs}) > 1:
        outlines = [result.outline for result in results]
        titles = [f"{one_line(outline.title, _TITLE) or 'Untitled'} ({outline.id[:_SHORT_ID]})" for outline in outlines]
        list_runs = RunCommand("runs", more=("--document", outlines[0].id[:_SHORT_ID])), " lists the runs on the first"
        problem = f"these runs are of different documents: {', '.join(dict.fromkeys(titles))}"
        raise UsageError(problem, fix=list_runs)
    document = document_read(store, stored_runs[0])
    differing = _differing(results)
    runs = list(_compared_runs(store, document, results, names, differing, encoder))
    metrics = tuple(dict.fromkeys(metric for run in runs for metric in run.scores))
    return RunComparison(
        title=one_line(document.title) or "Untitled",
        warnings=tuple(_warnings(metrics, runs)),
        document=document,
        runs=tuple(runs),
        items=_align(runs),
        differences=tuple(
            _difference(metric, pair)
            for pair in combinations(runs, 2)
            for metric in metrics
            if all(metric in run.scores for run in pair)
        ),
        settings=differing,
    )


def _compared_runs(
    store: Store,
    document: Document,
    results: Sequence[Result],
    names: Sequence[str],
    differing: Mapping[str, Sequence[Any]],
    encoder: Encoder | None,
) -> Iterator[ComparedRun]:
    """Yield the runs, labelled by their names, or by model and strategy with the limit, query and refinement in which
    they differ."""
    for at, (result, name) in enumerate(zip(results, names, strict=True)):
        settings = result.settings
        parts = [settings.model, settings.strategy]
        if settings.strategy == GIVEN_STRATEGY:
            parts = [GIVEN_SAID, *([f"{REVISED_BY}{settings.model}"] if result.run.refinement else [])]
        told_apart = ((form, differing[setting][at]) for setting, form in _TELLING.items() if setting in differing)
        parts += [form.format(value) for form, value in told_apart if value is not None]
        scores = {
            metric: ScoreInterval(score=score, interval=interval_of_mean(item_values(result.evaluations[metric])))
            for metric, score in result.scores.items()
            if score is not None and metric not in FIGURES
        }
        yield ComparedRun(
            letter=ascii_uppercase[at],
            label=scrubbed(one_line(name, _LABEL) or ", ".join(one_line(part, _LABEL) for part in parts)),
            result=result,
            scores=scores,
            sentences=read_lineage(store, result.run.id, encoder=encoder).sentences,
            items=tuple(items(store, result, document)),
        )


def item_values(evaluation: Evaluation) -> Sequence[float]:
    """Return the item values that the score is the mean of, each as large as its weight; empty if it is not the mean of
    any."""
    for details in evaluation.details.values() if evaluation.score is not None else ():
        if isinstance(details, list | tuple):
            scored = [
                item for item in details if isinstance(item, Mapping) and isinstance(item.get("value"), int | float)
            ]
            values = _weighed([(float(item["value"]), item.get("weight", 1)) for item in scored])
            if values and len(values) == evaluation.judged and isclose(fmean(values), evaluation.score or 0):
                return values
    return ()


def _weighed(values: Sequence[tuple[float, int]]) -> list[float]:
    """Return values whose mean is the weighted mean of these, which have a weight each."""
    total = sum(weight for _, weight in values)
    return [value * weight * len(values) / total for value, weight in values]


def _differing(results: Sequence[Result]) -> dict[str, list[Any]]:
    """Return the settings in which the runs differ, and whatever else may affect summaries and scores."""
    described: list[dict[str, Any]] = []
    for result in results:
        run, settings, refinement = result.run, result.settings, result.run.refinement
        facts: dict[str, Any] = {"strategy": settings.strategy}
        if settings.strategy != GIVEN_STRATEGY or refinement:
            # Otherwise the models named in the run did not write this summary.
            facts = {"model": settings.model, **facts, **settings.model_dump(mode="json", exclude=_NO_MATTER)}
        facts["refined"] = _REFINED[refinement.policy] if refinement else "not refined"
        facts |= refinement.model_dump(mode="json", include={"rounds", "goals"}) if refinement else {}
        judges = result.judges if result.has_judges else []
        facts |= {"sample": settings.sample, "judges": judges, "version": run.version}
        facts |= {f"prompt {one_line(name)}": digest for name, digest in run.prompt_hashes.items()}
        described.append({name: scrubbed_all(value) for name, value in facts.items()})
    names = dict.fromkeys(name for facts in described for name in facts)
    columns = {name: [facts.get(name) for facts in described] for name in names}
    return {name: values for name, values in columns.items() if len(set(map(repr, values))) > 1}


def _align(runs: Sequence[ComparedRun]) -> tuple[ComparedItem, ...]:
    """Return the items of the runs: flipped ones come first, then by metric and place."""
    by_run = {run.letter: {item.key: item for item in run.items if item.key} for run in runs}
    ranked = []
    for key in dict.fromkeys(key for by_key in by_run.values() for key in by_key):
        verdicts = {letter: by_key.get(key) for letter, by_key in by_run.items()}
        answers = [item for item in verdicts.values() if item]
        expected = next((item.expected for item in answers if item.expected), "")
        item = replace(answers[0], expected=expected)
        span, order = item.evidence.span if item.evidence else None, standing(verdicts.values())
        rank = _ORDER.index(order), ALIGNED.index(item.metric), span.start if span else -1, key
        ranked.append((rank, ComparedItem(number=0, item=item, verdicts=verdicts, standing=order)))
    ranked.sort(key=lambda entry: entry[0])
    return tuple(item.model_copy(update={"number": number}) for number, (_, item) in enumerate(ranked, 1))


def standing(verdicts: Iterable[JudgedItem | None]) -> Standing:
    """Return how the summaries compare on an item."""
    answers = [item for item in verdicts if item and item.value is not None]
    if len(answers) < len(list(verdicts)):
        return "open"
    if len({item.is_stated for item in answers}) > 1:
        return "flipped"
    return "changed" if len({item.verdict for item in answers}) > 1 else "same"


def _incomparable(metric: str, runs: Sequence[ComparedRun]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield what makes scores by a metric not comparable, with its value by run."""
    evaluations = {run.letter: run.result.evaluations[metric] for run in runs}
    terms = {run.letter: judging_terms(run.result.run, metric, evaluations[run.letter].version) for run in runs}
    for what in dict.fromkeys(what for parts in terms.values() for what in parts):
        values = {letter: parts[what] for letter, parts in terms.items()}
        if len(set(values.values())) > 1:
            yield what, values
    packs = {
        letter: str(next((evaluation.details[key] for key in _YARDSTICKS if evaluation.details.get(key)), ""))
        for letter, evaluation in evaluations.items()
    }
    if len(set(packs.values())) > 1:
        yield "the questions or key facts differ", packs


def _warnings(metrics: Sequence[str], runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Yield why scores are not comparable, which are missing, and what costs do not show."""
    if all(sum(metric in run.scores for run in runs) < 2 for metric in metrics):
        yield (
            "No metric has scored two of these runs. Evaluate each summary, and compare those runs:"
            " redraft evaluate SOURCE RUN"
        )
    for metric in metrics:
        for what, values in _incomparable(metric, [run for run in runs if metric in run.scores]):
            listed = [f"{letter}: {one_line(scrubbed(value), _VALUE) or 'none'}" for letter, value in values.items()]
            yield f"Scores of {spaced(metric)} are not comparable: {what} ({'; '.join(listed)})."
        for run in runs:
            evaluation = run.result.evaluations.get(metric)
            if metric not in run.scores and evaluation:
                reason = one_line(scrubbed(evaluation.reason)) or "no reason is on record"
                yield f"No {spaced(metric)} score for {run.letter}: {reason}."
            elif metric not in run.scores:
                yield f"{run.letter} has not been judged for {spaced(metric)}."
            if evaluation and evaluation.unjudged:
                total, have = evaluation.judged + evaluation.unjudged, "have no verdict and are"
                have = "has no verdict and is" if evaluation.unjudged == 1 else have
                which = f"{run.letter}: {evaluation.unjudged:,} of {total:,} items of {spaced(metric)}"
                yield f"{which} {have} not counted."
    if any(run.result.usage.cached for run in runs):
        yield "Some answers were cached from earlier runs, so those runs cost less here than they would alone."


def _difference(metric: str, pair: tuple[ComparedRun, ComparedRun]) -> ScoreDifference:
    """Return the difference of two runs: of the items that both are judged by, or of their scores."""
    first, second = pair
    reason = "; ".join(what for what, _ in _incomparable(metric, pair))
    is_paired, values = metric in ALIGNED, list[float]()
    if not reason and not is_paired:
        values = [first.scores[metric].score - second.scores[metric].score]
    elif not reason:
        items_a, items_b = ({item.key: item for item in run.items if item.metric == metric} for run in pair)
        both = [(items_a[key], items_b[key]) for key in items_a.keys() & items_b.keys()]
        values = _weighed(
            [(a.value - b.value, a.weight) for a, b in both if a.value is not None and b.value is not None]
        )
    return ScoreDifference(
        metric=metric,
        first=first.letter,
        second=second.letter,
        pairs=len(values) if is_paired else 0,
        difference=fmean(values) if values else None,
        interval=interval_of_mean(values) if is_paired else None,
        reason="" if values else reason or "no item is judged for both",
    )


# The judging settings that affect a metric. For an unknown metric, any of them may.
_ALWAYS = ("repeat", "confirm")
_TERMS: Mapping[str, tuple[str, ...]] = {
    "coverage": ("questions", "stretch_tokens", "top_k", "formula", "evidence", "second_look", "embeddings", *_ALWAYS),
    "consistency": ("similarity", "threshold", "claims", "top_k", "evidence", "second_look", "embeddings", *_ALWAYS),
    "keyfact_recall": ("perspective", "validator", "keyfact_chunks", "keyfact_overlap", "embeddings", *_ALWAYS),
    "faithfulness": ("evidence", "verify_against", "embeddings", *_ALWAYS),
    "booookscore": ("batch", *_ALWAYS),
}
_NEVER = {"metrics", "judges", "models", "base_url", "pack", "keyfacts", "reference"}


def judging_terms(run: Run, metric: str, version: int) -> dict[str, str]:
    """Return what scores by a metric depend on besides the summary, by the sentence to say of runs that differ in it:
    the judges with their addresses, the version, the prompts and the settings that matter to the metric."""
    judging, names, evaluator = run.judging or JudgeConfig(), judges_of(run), metric_named(metric)
    own_prompts = {prompt.name for prompt in evaluator.prompts} if evaluator else set()
    prompts = sorted(
        f"{name} {digest}"
        for name, digest in run.prompt_hashes.items()
        # A name followed by brackets is a prompt of the user's own set.
        if evaluator is None or name.partition(" (")[0] in own_prompts
    )
    # The settings that differ from the defaults and affect the metric.
    terms = judging.model_dump(mode="json", exclude=_NEVER, exclude_defaults=True)
    terms = {name: value for name, value in terms.items() if name in _TERMS.get(metric, terms)}
    return {
        "the judges differ": " + ".join(_identity(name, run, judging) for name in names),
        "the versions of the metric differ": str(version),
        "the prompts differ": "" if names == (EXTRACTIVE,) else content_id("\n".join(prompts))[:8],
        "the ways of judging differ": json.dumps(terms, sort_keys=True) if terms else "",
    }


def _identity(name: str, run: Run, judging: JudgeConfig) -> str:
    """Return an identity of a judge that is stable between reads of a run: the model's name and address."""
    settings = judging.models.get(name)
    model = settings.model if settings else name
    if model == EXTRACTIVE:
        return IDENTITY
    writer = run.settings.base_url if name == run.settings.model else None
    address = settings.base_url if settings else judging.base_url or writer
    return f"{model}@{address}" if address else model
