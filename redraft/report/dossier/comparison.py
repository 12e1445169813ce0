"""Compares runs: their scores, and the questions and key facts that some summaries have and others lack. It only reads,
except for storing links between texts that were not traced before.

The records are the contract of `compare-runs --format json` and of the HTTP API. Fields are added, never changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import isclose
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, field_serializer

from redraft.domain import Document, Evaluation
from redraft.errors import RunCommand, UsageError
from redraft.evaluators.figures import Interval, interval_of_mean
from redraft.fields import list_argument
from redraft.report.dossier.build import items, without_false_origins
from redraft.report.dossier.contents import JudgedItem, SharedResult
from redraft.report.entry import Entry
from redraft.report.history.certificates import judge_setup_of
from redraft.report.history.lineage import TracedSentence, read_lineage
from redraft.report.history.results import document_read, read_result
from redraft.report.history.texts import GIVEN_SAID
from redraft.report.pages.formatting import setting
from redraft.settings import FIGURES, GIVEN_STRATEGY
from redraft.store.store import Store, check_store
from redraft.text.languages import primary
from redraft.text.sanitizer import one_line, scrubbed, scrubbed_all
from redraft.text.vectors import Encoder
from redraft.text.words import count_words, spaced

FORMAT = 2
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
HALF = 0.5
"""The value from which an item counts as stated if judges differ."""
_TITLE, _LABEL, _OPENING, _VALUE, _NAMES = 60, 60, 40, 80, 80
# These do not affect what is asked of the model, or only draw another sample of it.
_NO_MATTER = {"model", "strategy", "key_env", "price", "replies", "sample"}
# The details of an evaluation that identify the questions or key facts it used.
_YARDSTICKS = ("pack", "keyfacts")
_ASPECTS = {
    "judge": "the judges differ",
    "version": "the versions of the metric differ",
    "prompts": "the prompts differ",
    "terms": "the ways of judging differ",
}


class ComparedRun(Entry):
    """A run with its summary."""

    name: str
    """Its name in the comparison: A, or A2 if a contestant has several runs."""
    contestant: str
    """The letter of its contestant."""
    result: SharedResult
    sentences: tuple[TracedSentence, ...]
    items: Annotated[tuple[JudgedItem, ...], Field(exclude=True)]
    document: Annotated[Document, Field(exclude=True)]

    @property
    def judges(self) -> list[str]:
        """The models that judged; empty if none did."""
        return self.result.judges if self.result.run.judging else []

    @property
    def scores(self) -> Mapping[str, float]:
        """The scores by metric, for metrics that have one."""
        return {name: score for name, score in self.result.scores.items() if score is not None and name not in FIGURES}


class ComparedItem(Entry):
    """A question or a key fact, with the verdict in each run."""

    number: int
    item: JudgedItem
    """The item as the first run has it."""
    verdicts: dict[str, JudgedItem | None]
    """The item as judged in each run, by its name; None if the run was not judged by it."""
    standing: Standing


class ComparedDocument(Entry):
    """A document with its runs."""

    document: Document
    runs: tuple[str, ...]
    """The names of the runs."""
    items: tuple[ComparedItem, ...]
    """The items, flipped ones first."""

    @field_serializer("document")
    def _without_text(self, document: Document) -> dict[str, Any]:
        title, words = one_line(document.title), count_words(document.text)
        return {"id": document.id, "title": title, "words": words, "language": primary(document.language)}


class ContestantScore(Entry):
    """A contestant's mean score by a metric."""

    mean: float
    interval: Ends
    """With other documents drawn, or with other items for a single document."""
    documents: int


class ComparedContestant(Entry):
    """A contestant: one run, or all runs on several documents that share model, strategy and settings."""

    letter: str
    label: str
    runs: tuple[str, ...]
    """The names of the runs."""
    scores: dict[str, ContestantScore]


class ScoreDifference(Entry):
    """A paired difference of two contestants by one metric: the first minus the second."""

    metric: str
    first: str
    second: str
    over: Literal["items", "documents"]
    pairs: int
    """The number of items, or documents, that both are judged by."""
    difference: float | None
    """None if nothing can be compared."""
    interval: Ends
    reason: str
    """Why nothing can be compared."""


class RunComparison(Entry):
    """A comparison of two or more runs."""

    format: int = FORMAT
    title: str
    holds: str = (
        "Includes the summaries, and the questions and key facts that they were judged by, with the answers and their "
        "source passages."
    )
    """A sentence on how much of the documents it contains."""
    warnings: tuple[str, ...]
    """Why scores are not comparable, and what else to know before reading them."""
    contestants: tuple[ComparedContestant, ...]
    runs: tuple[ComparedRun, ...]
    documents: tuple[ComparedDocument, ...]
    differences: tuple[ScoreDifference, ...]
    settings: dict[str, list[list[Any]]]
    """The settings in which the contestants differ: for each contestant, all values that its runs have."""


def read_comparison(store: Store, keys: Sequence[str], *, encoder: Encoder | None = None) -> RunComparison:
    """Return the comparison of runs, given their ids or prefixes of them; `NAME=RUN` names a contestant.

    Raises a `UsageError` if there is nothing to compare: a single run, the same run twice, or runs of different
    documents none of which has two contestants.
    """
    keys = list_argument(keys, "runs")
    if len(keys) < 2:
        fix = ("give at least two runs: ", RunCommand("compare-runs", more=("RUN", "RUN")))
        raise UsageError("there is nothing to compare: you gave only one run", fix=fix)
    check_store(store)
    parted = [key.rpartition("=") for key in keys]
    runs = [_read(store, run.strip(), one_line(name), encoder) for name, _, run in parted]
    ids = Counter(run.result.run.id for run in runs)
    if twice := next((key for key, times in ids.items() if times > 1), None):
        raise UsageError(f"run {twice} is given twice", fix=(RunCommand("runs"), " lists them"))
    texts = {run.document.id: run.document for run in runs}
    documents = list(texts)
    if len(documents) == len(runs):
        titles = ", ".join(one_line(run.document.title, _TITLE) or "Untitled" for run in runs)
        list_runs = (RunCommand("runs", more=("--document", "ID|WORDS")), " lists the runs of a document")
        raise UsageError(f"no two of these runs are of the same document: {titles}", fix=list_runs)
    groups, labels = _group(runs, several=len(documents) > 1)
    if not any(len(_on(groups, document)) > 1 for document in documents):
        raise UsageError("no document has summaries by two systems", hint="compare runs on the same documents")
    runs = [run for group in groups for run in group]
    metrics = tuple(dict.fromkeys(metric for run in runs for metric in run.scores))
    aligned, number = list[ComparedDocument](), 1
    for document in texts.values():
        sides = [run for run in runs if run.document.id == document.id]
        compared = _align(sides, number)
        number += len(compared)
        aligned.append(ComparedDocument(document=document, runs=tuple(run.name for run in sides), items=compared))
    alone = one_line(runs[0].document.title) or "Untitled"
    return RunComparison(
        title=alone if len(documents) == 1 else f"{len(groups)} systems, {len(documents):,} documents",
        warnings=tuple(_warnings(metrics, groups, documents)),
        contestants=tuple(
            _contestant(group, label, metrics, several=len(documents) > 1)
            for group, label in zip(groups, labels, strict=True)
        ),
        runs=tuple(runs),
        documents=tuple(aligned),
        differences=tuple(_differences(metrics, groups, documents)),
        settings=_differing(groups),
    )


Group = Sequence[ComparedRun]
"""The runs of one contestant."""


def _read(store: Store, key: str, name: str, encoder: Encoder | None) -> ComparedRun:
    """Return a run with its summary; for the time being its contestant is the name that the user gave it. Raises a
    `RunError` if it has no summary."""
    run = store.runs.get(key)
    run.drafted()
    result, document = read_result(store, run.id), document_read(store, run)
    return ComparedRun(
        name="",
        contestant=name,
        result=result,
        sentences=tuple(map(without_false_origins, read_lineage(store, run.id, encoder=encoder).sentences)),
        items=tuple(items(store, result, document)),
        document=document,
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


def _group(runs: Group, *, several: bool) -> tuple[list[Group], list[str]]:
    """Return the contestants with their labels, in the order of their first runs. Raises a `UsageError` if there is
    only one."""
    telling: list[str] = []
    # The settings besides model and strategy that tell runs of the same document apart. Settings that follow from
    # others are left out, and so are those that depend only on the document, such as the number of words.
    for name in dict.fromkeys(name for run in runs for name in settings_of(run)):
        values = defaultdict[tuple[str, ...], set[str]](set)
        for run in runs:
            values[run.document.id, *_key(run, telling)].add(repr(settings_of(run).get(name)))
        if any(len(different) > 1 for different in values.values()) and name not in ("model", "strategy"):
            telling.append(name)
    members = defaultdict[tuple[str, ...], list[ComparedRun]](list)
    for run in runs:
        # With a single document, every run is a contestant of its own.
        members[_key(run, telling) if several else (run.result.run.id,)].append(run)
    firsts = [group[0] for group in members.values()]
    plain = [_label(run, telling) for run in firsts]
    openings = [one_line(run.sentences[0].text, _OPENING) if run.sentences else "" for run in firsts]
    labels = []
    for run, label, opening in zip(firsts, plain, openings, strict=True):
        if plain.count(label) > 1:
            label += f": “{opening}”" if openings.count(opening) == 1 else f" ({run.result.run.id})"
        labels.append(scrubbed(label))
    if len(labels) == 1:
        raise UsageError(
            f"all of these runs belong to one system: {labels[0]}",
            hint="add runs with another model, strategy or setting, or name the systems: NAME=RUN",
        )
    groups: list[Group] = []
    for at, group in enumerate(members.values()):
        names = [f"{letters(at)}{number if len(group) > 1 else ''}" for number in range(1, len(group) + 1)]
        pairs = zip(group, names, strict=True)
        groups.append([run.model_copy(update={"name": name, "contestant": letters(at)}) for run, name in pairs])
    return groups, labels


def letters(number: int) -> str:
    """Return the letters for an index from 0: A, B, ..., Z, AA, AB, ..."""
    name = ""
    while number >= 0:
        number, at = divmod(number, 26)
        name, number = chr(ord("A") + at) + name, number - 1
    return name


def settings_of(run: ComparedRun) -> Mapping[str, Any]:
    """Return the settings that a summary was made with, except for those that do not affect it."""
    settings, refinement = run.result.settings, run.result.run.refinement
    refined: dict[str, Any] = {"refined": f"refined {refinement.policy}" if refinement else "not refined"}
    refined |= refinement.model_dump(mode="json", include={"rounds", "goals"}) if refinement else {}
    if settings.strategy == GIVEN_STRATEGY and not refinement:
        # The models named in the run did not write this summary.
        return {"strategy": GIVEN_STRATEGY} | refined
    drafting = {"model": settings.model, "strategy": settings.strategy}
    drafting |= settings.model_dump(mode="json", exclude=_NO_MATTER)
    return {name: scrubbed_all(value) for name, value in (drafting | refined).items()}


def _key(run: ComparedRun, telling: Sequence[str]) -> tuple[str, ...]:
    if run.contestant:
        return ("named", run.contestant)
    settings = settings_of(run)
    return tuple(repr(settings.get(name)) for name in ("model", "strategy", *telling))


def _label(run: ComparedRun, telling: Sequence[str]) -> str:
    if run.contestant:
        return one_line(run.contestant, _LABEL)
    settings = settings_of(run)
    is_given = settings["strategy"] == GIVEN_STRATEGY
    parts = [settings.get("model", ""), GIVEN_SAID if is_given else settings["strategy"]]
    for name in telling:
        if settings.get(name) is not None:
            plain = {"words": "{} words", "refined": "{}"}.get(name, f"{spaced(name)} {{}}")
            parts.append(plain.format(setting(settings[name])))
    return ", ".join(one_line(part, _LABEL) for part in parts if part)


def _differing(groups: Sequence[Group]) -> dict[str, list[list[Any]]]:
    """Return the settings in which the contestants differ, and whatever else may affect summaries and scores."""

    def about(run: ComparedRun) -> dict[str, Any]:
        stored = run.result.run
        software = {"sample": stored.settings.sample, "judges": scrubbed_all(run.judges), "version": stored.version}
        prompts = {f"prompt {one_line(name)}": digest for name, digest in stored.prompt_hashes.items()}
        return {**settings_of(run), **software, **prompts}

    described = [[about(run) for run in group] for group in groups]
    differing = {}
    for name in dict.fromkeys(name for group in described for run in group for name in run):
        values = [list({repr(run.get(name)): run.get(name) for run in group}.values()) for group in described]
        if len(set(map(repr, values))) > 1:
            differing[name] = values
    return differing


def _contestant(group: Group, label: str, metrics: Sequence[str], *, several: bool) -> ComparedContestant:
    scores = {}
    for metric in metrics:
        by_document = defaultdict[str, list[float]](list)
        for run in group:
            if metric in run.scores:
                by_document[run.document.id].append(run.scores[metric])
        # Several runs on a document are samples of the same.
        if means := [fmean(values) for values in by_document.values()]:
            interval = interval_of_mean(means if several else item_values(group[0].result.evaluations[metric]))
            scores[metric] = ContestantScore(mean=fmean(means), interval=interval, documents=len(means))
    names = tuple(run.name for run in group)
    return ComparedContestant(letter=group[0].contestant, label=label, runs=names, scores=scores)


def _align(runs: Group, first: int) -> tuple[ComparedItem, ...]:
    """Return the items of the runs on one document, numbered from `first`: flipped ones come first, then by metric and
    place."""
    by_run = {run.name: {item.key: item for item in run.items if item.key} for run in runs}
    compared = []
    for key in dict.fromkeys(key for by_key in by_run.values() for key in by_key):
        verdicts = {name: by_key.get(key) for name, by_key in by_run.items()}
        answers = [item for item in verdicts.values() if item]
        expected = next((item.expected for item in answers if item.expected), "")
        item = answers[0].model_copy(update={"expected": expected})
        compared.append(ComparedItem(number=0, item=item, verdicts=verdicts, standing=standing(verdicts.values())))

    def rank(compared: ComparedItem) -> tuple[int, int, int, str]:
        span = compared.item.evidence.span if compared.item.evidence else None
        order, metric = _ORDER.index(compared.standing), ALIGNED.index(compared.item.metric)
        return order, metric, span.start if span else -1, compared.item.key

    compared.sort(key=rank)
    return tuple(item.model_copy(update={"number": number}) for number, item in enumerate(compared, first))


def standing(verdicts: Iterable[JudgedItem | None]) -> Standing:
    """Return how the summaries compare on an item."""
    answers = [item for item in verdicts if item and item.value is not None]
    if len(answers) < len(list(verdicts)):
        return "open"
    if len({item.value >= HALF for item in answers if item.value is not None}) > 1:
        return "flipped"
    return "changed" if len({item.verdict for item in answers}) > 1 else "same"


def _incomparable(metric: str, runs: Group) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield what makes scores by a metric not comparable, with its value by run. Which questions or key facts were used
    matters only among runs on one document."""
    evaluations = {run.name: run.result.evaluations[metric] for run in runs}
    setups = {run.name: judge_setup_of(run.result.run, metric, evaluations[run.name].version) for run in runs}
    for aspect, what in _ASPECTS.items():
        values = {name: str(getattr(setup, aspect)) for name, setup in setups.items()}
        if len(set(values.values())) > 1:
            yield what, values
    for document in dict.fromkeys(run.document.id for run in runs):
        names = [run.name for run in runs if run.document.id == document]
        details = {name: evaluations[name].details for name in names}
        packs = {
            name: str(next((part[key] for key in _YARDSTICKS if part.get(key)), "")) for name, part in details.items()
        }
        if len(set(packs.values())) > 1:
            yield "the questions or key facts differ", packs
            return


def _by_value(values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each value with the names of the runs that have it."""
    names = defaultdict[str, list[str]](list)
    for name, value in values.items():
        names[value].append(name)
    yield from (
        (value, one_line(" and ".join(", ".join(having).rsplit(", ", 1)), _NAMES)) for value, having in names.items()
    )


def _warnings(metrics: Sequence[str], groups: Sequence[Group], documents: Sequence[str]) -> Iterator[str]:
    runs = [run for group in groups for run in group]
    if all(sum(metric in run.scores for run in runs) < 2 for metric in metrics):
        yield "No metric has scored two of these runs. Evaluate each summary, and compare those runs."
    for metric in metrics:
        yield from _warnings_of(metric, runs)
        for group in groups:
            evaluations = [run.result.evaluations[metric] for run in group if metric in run.result.evaluations]
            if unjudged := sum(evaluation.unjudged for evaluation in evaluations):
                total = sum(evaluation.judged for evaluation in evaluations) + unjudged
                have = "has no verdict and is" if unjudged == 1 else "have no verdict and are"
                which = f"{group[0].contestant}: {unjudged:,} of {total:,} items of {spaced(metric)}"
                yield f"{which} {have} not counted."
    if alone := sum(len(_on(groups, document)) < 2 for document in documents):
        number = f"{alone:,} of {len(documents):,} documents"
        yield f"{number} have runs of one system only: left out of the differences."
    if any(run.result.usage.cached for run in runs):
        yield "Some answers were cached from earlier runs, so those runs cost less here than they would alone."


def _warnings_of(metric: str, runs: Group) -> Iterator[str]:
    """Yield why scores by a metric are not comparable, and which runs have none."""
    for what, values in _incomparable(metric, [run for run in runs if metric in run.scores]):
        values_said = [f"{names}: {one_line(scrubbed(value), _VALUE) or 'none'}" for value, names in _by_value(values)]
        yield f"Scores of {spaced(metric)} are not comparable: {what} ({'; '.join(values_said)})."
    reasons = {}
    for run in runs:
        if metric not in run.scores:
            evaluation = run.result.evaluations.get(metric)
            reason = scrubbed(evaluation.reason) if evaluation else "it was not judged by this metric"
            reasons[run.name] = one_line(reason) or "no reason is on record"
    for reason, names in _by_value(reasons):
        yield f"No {spaced(metric)} score for {names}: {reason}."


def _on(groups: Sequence[Group], document: str) -> list[Group]:
    """Return the runs of each contestant on a document, of those that have any."""
    on_it = ([run for run in group if run.document.id == document] for group in groups)
    return [group for group in on_it if group]


def _differences(
    metrics: Sequence[str], groups: Sequence[Group], documents: Sequence[str]
) -> Iterator[ScoreDifference]:
    """Yield the difference of each two contestants by metric, on the documents that both have summaries of."""
    for first, second in combinations(groups, 2):
        shared = [pair for document in documents if len(pair := _on((first, second), document)) == 2]
        for metric in metrics:
            if all(any(metric in run.scores for run in group) for group in (first, second)):
                yield _difference(metric, (first, second), shared, several=len(documents) > 1)


def _difference(
    metric: str, pair: tuple[Group, Group], shared: Sequence[Sequence[Group]], *, several: bool
) -> ScoreDifference:
    scored = [[[run for run in group if metric in run.scores] for group in both] for both in shared]
    comparable = [both for both in scored if all(both) and not any(_incomparable(metric, [*both[0], *both[1]]))]
    values = [
        fmean(run.scores[metric] for run in first) - fmean(run.scores[metric] for run in second)
        for first, second in comparable
    ]
    is_paired = several or metric in ALIGNED
    if comparable and is_paired and not several:
        by_key = [{item.key: item for item in run.items if item.metric == metric} for (run,) in comparable[0]]
        both = [(by_key[0][key], by_key[1][key]) for key in by_key[0].keys() & by_key[1].keys()]
        values = _weighed(
            [(a.value - b.value, a.weight) for a, b in both if a.value is not None and b.value is not None]
        )
    differing = _incomparable(metric, [run for groups in scored for group in groups for run in group])
    over: Literal["items", "documents"] = "documents" if several else "items"
    reason = "; ".join(aspect for aspect, _ in differing) or f"no {over[:-1]} is judged for both"
    return ScoreDifference(
        metric=metric,
        first=pair[0][0].contestant,
        second=pair[1][0].contestant,
        over=over,
        pairs=len(values) if is_paired else 0,
        difference=fmean(values) if values else None,
        interval=interval_of_mean(values) if is_paired else None,
        reason="" if values else reason,
    )
