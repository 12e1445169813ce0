"""Builds a comparison of runs. It only reads, except for storing links between texts that were not traced before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean

from redraft.errors import UsageError
from redraft.evaluators.consensus import RESAMPLES
from redraft.report.dossier.comparison.contents import (
    ComparedRuns,
    ContestantScore,
    DocumentBeside,
    RunBeside,
    RunsBeside,
)
from redraft.report.dossier.comparison.pairs import (
    ALIGNED,
    aligned,
    differences,
    differences_by_fifth,
    pairs,
    shares_by_fifth,
    warnings,
)
from redraft.report.dossier.comparison.sides import (
    LEAST,
    RunGroup,
    Side,
    differing,
    grouped,
    interval_of_mean,
    left_out,
    read_side,
)
from redraft.store.store import Store
from redraft.text.languages import primary
from redraft.text.sanitizer import one_line, scrubbed
from redraft.text.vectors import Encoder
from redraft.text.words import spaced

_LIST_RUNS = "`redraft runs` lists them"
_HOLDS = (
    "Includes the summaries, and the questions and key facts that they were judged by, with the answers and their "
    "source passages."
)
_NAMES = "give at least two runs: redraft compare-runs RUN RUN"


def read_beside(store: Store, keys: Sequence[str], *, encoder: Encoder | None = None) -> RunsBeside:
    """Return the comparison of runs, given their ids or prefixes of them; `NAME=RUN` names a contestant.

    Raises a `UsageError` if there is nothing to compare: a single run, the same run twice, or runs of different
    documents none of which has two contestants.
    """
    if len(keys) < 2:
        raise UsageError("there is nothing to compare: you gave only one run", hint=_NAMES)
    sides = [read_side(store, run, named, encoder) for named, run in map(_parted, keys)]
    twice = [run for run, times in Counter(side.run.id for side in sides).items() if times > 1]
    if twice:
        raise UsageError(f"run {twice[0]} is given twice", hint=_LIST_RUNS)
    return _beside(sides)


def _parted(key: str) -> tuple[str, str]:
    named, _, run = key.rpartition("=")
    return named.strip(), run.strip()


def _beside(sides: Sequence[Side]) -> RunsBeside:
    documents = tuple(dict.fromkeys(side.run.document for side in sides))
    _check_pairs(sides, documents)
    metrics = _metrics(sides)
    groups = grouped(sides)
    named = {name: side for group in groups for name, side in group.named}
    found = tuple(pairs(groups, documents))
    if not found:
        raise UsageError("no document has summaries by two systems", hint="compare runs on the same documents")
    return RunsBeside(
        title=_title(sides, groups, documents),
        holds=_HOLDS,
        warnings=tuple(_warnings(metrics, groups, documents)),
        contestants=tuple(_contestant(group, metrics, documents) for group in groups),
        runs=tuple(_run(name, group, side) for group in groups for name, side in group.named),
        documents=tuple(_documents(named, documents)),
        differences=tuple(one for pair in found for one in differences(pair, metrics)),
        fifths=tuple(one for pair in found for one in differences_by_fifth(pair, metrics)),
        settings=tuple(differing(groups)),
        cautions=tuple(_cautions(groups, documents)),
    )


def _check_pairs(sides: Sequence[Side], documents: Sequence[str]) -> None:
    if len(documents) == len(sides):
        titles = [one_line(side.document.title, 60) or "Untitled" for side in sides]
        raise UsageError(
            f"no two of these runs are of the same document: {', '.join(titles)}",
            hint="`redraft runs --document ID|WORDS` lists the runs of a document",
        )


def _metrics(sides: Sequence[Side]) -> tuple[str, ...]:
    """Return the metrics that score any of the runs."""
    return tuple(dict.fromkeys(metric for side in sides for metric in side.scored))


def _title(sides: Sequence[Side], groups: Sequence[RunGroup], documents: Sequence[str]) -> str:
    if len(documents) == 1:
        return one_line(sides[0].document.title) or "Untitled"
    return f"{len(groups)} systems, {len(documents):,} documents"


def _warnings(metrics: Sequence[str], groups: Sequence[RunGroup], documents: Sequence[str]) -> Iterator[str]:
    sides = {name: side for group in groups for name, side in group.named}
    times = Counter(metric for side in sides.values() for metric in side.scored)
    if all(number < 2 for number in times.values()):
        yield (
            "No metric has scored two of these runs. Score each summary with `redraft evaluate SOURCE SUMMARY`, and"
            " compare those runs."
        )
    yield from warnings(metrics, sides)
    for group in groups:
        for metric in metrics:
            scores = [one for side in group.sides for one in side.scores if one.metric == metric]
            if unjudged := sum(one.unjudged for one in scores):
                items = f"{unjudged:,} of {sum(one.judged for one in scores) + unjudged:,} items"
                have, have_not = ("has", "is not") if unjudged == 1 else ("have", "are not")
                yield f"{group.letter}: {items} of {metric.replace('_', ' ')} {have} no verdict and {have_not} counted."
    alone = sum(1 for one in documents if sum(1 for group in groups if group.on(one)) < 2)
    if alone:
        yield f"{alone:,} of {len(documents):,} documents have runs of one system only: left out of the differences."
    for first, second in combinations(groups, 2):
        if not any(first.on(one) and second.on(one) for one in documents):
            yield f"{first.letter} and {second.letter} have no document in common."
    if any(side.used.cached for side in sides.values()):
        yield "Some answers were cached from earlier runs, so those runs cost less here than they would alone."


def _contestant(group: RunGroup, metrics: Sequence[str], documents: Sequence[str]) -> ComparedRuns:
    used = [side.used for side in group.sides]
    costs = [one.cost_usd for one in used]
    return ComparedRuns(
        letter=group.letter,
        label=scrubbed(group.label),
        runs=group.names,
        scores=tuple(one for metric in metrics if (one := _score(group, metric, documents))),
        cost_usd=None if None in costs else fmean(cost for cost in costs if cost is not None),
        tokens=fmean(one.prompt_tokens + one.completion_tokens for one in used),
        seconds=fmean(one.seconds for one in used),
        words=fmean(side.result.draft.words if side.result.draft else 0 for side in group.sides),
        fifths=shares_by_fifth(group.sides),
    )


def _score(group: RunGroup, metric: str, documents: Sequence[str]) -> ContestantScore | None:
    told = [[side.scored[metric] for side in group.on(one) if metric in side.scored] for one in documents]
    means = [fmean(values) for values in told if values]
    if not means:
        return None
    alone = next(one for side in group.sides for one in side.scores if one.metric == metric)
    interval = interval_of_mean(means) if len(documents) > 1 else alone.interval
    return ContestantScore(metric=metric, mean=fmean(means), interval=interval, documents=len(means))


def _run(name: str, group: RunGroup, side: Side) -> RunBeside:
    run, draft = side.run, side.result.draft
    return RunBeside.of(
        run,
        name=name,
        run=run.id,
        status=side.result.status,
        contestant=group.letter,
        model=one_line(scrubbed(run.settings.model)),
        judges=tuple(one_line(scrubbed(judge)) for judge in side.result.judges) if run.judging else (),
        strategy=one_line(run.settings.strategy),
        words=draft.words if draft else 0,
        used=side.used,
        summary=draft.text if draft else "",
        sentences=side.sentences,
        scores=side.scores,
        positions=side.positions,
        left_out=tuple(left_out(side)),
        language="" if run.settings.language else primary(side.document.language),
    )


def _documents(named: Mapping[str, Side], documents: Sequence[str]) -> Iterator[DocumentBeside]:
    first = 1
    for document in documents:
        sides = {name: side for name, side in named.items() if side.run.document == document}
        items = aligned(sides, first)
        first += len(items)
        side = next(iter(sides.values()))
        yield DocumentBeside(
            id=document,
            title=one_line(side.document.title) or "Untitled",
            language=primary(side.document.language),
            words=side.document_words,
            runs=tuple(sides),
            items=items,
        )


def _cautions(groups: Sequence[RunGroup], documents: Sequence[str]) -> Iterator[str]:
    drawn = "documents" if len(documents) > 1 else "items"
    yield (
        f"Intervals are 95% bootstrap intervals ({RESAMPLES:,} resamples of the {drawn}). They show how much a figure "
        f"would vary with other {drawn}, not how good the judges are. An interval needs at least {LEAST} {drawn}."
    )
    if len(documents) > 1:
        yield "With few documents, intervals are too narrow: they miss the true value more often than 5% of the time."
        yield "Several runs of one system on the same document count as one, by their mean."
    else:
        paired = " and ".join(spaced(name) for name in ALIGNED)
        yield (
            f"Differences are paired by item for {paired}. The other metrics judge each summary's own sentences. One "
            "document says little about the model that wrote the better summary: compare several documents."
        )
    if len(groups) > 2:
        yield "Even without any real difference, one interval in twenty excludes 0: among many, expect a few."
    yield (
        "The cost of a run covers drafting, judging and revising, and the document's questions and key facts if this "
        "run was the first to need them."
    )
