"""Builds a comparison of runs. It only reads, except for storing links between texts that were not traced before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Literal

from redraft.errors import RunCommand, UsageError
from redraft.evaluators.figures import RESAMPLES
from redraft.fields import list_argument
from redraft.report.dossier.comparison.contents import (
    ComparedContestant,
    ComparedDocument,
    ComparedItem,
    ComparedRun,
    ContestantScore,
    FifthDifference,
    RunComparison,
    RunVerdict,
    ScoreDifference,
    Standing,
)
from redraft.report.dossier.comparison.sides import (
    MIN_VALUES,
    RunGroup,
    Side,
    differing,
    group_runs,
    interval_of_mean,
    missing_parts,
    read_side,
    weighed,
)
from redraft.report.dossier.contents import JudgedItem, Range
from redraft.report.tables import figure
from redraft.store.judgments import JudgeSetup as JudgeStanding
from redraft.store.store import Store
from redraft.text.languages import primary
from redraft.text.sanitizer import one_line, scrubbed
from redraft.text.vectors import Encoder
from redraft.text.words import spaced

ALIGNED = ("coverage", "keyfact_recall")
"""The metrics whose items belong to the document and are the same for every summary. The items of other metrics are the
summary's own sentences and claims."""
HALF = 0.5
"""The value from which an item counts as stated if judges differ."""
Over = Literal["items", "documents", "summaries"]
_ORDER: tuple[Standing, ...] = ("flipped", "changed", "open", "same")


def align_items(sides: Mapping[str, Side], first: int) -> tuple[ComparedItem, ...]:
    """Return the items of the runs on one document, given by name. Items are numbered from `first`: flipped ones come
    first, then by metric and place."""
    known = {name: {item.key: item for item in side.items if item.key} for name, side in sides.items()}
    every: dict[str, JudgedItem] = {}
    for of_one in known.values():
        for key, item in of_one.items():
            every.setdefault(key, item)
    items = [
        _compared_item(item, {name: of_one.get(key) for name, of_one in known.items()}) for key, item in every.items()
    ]

    def rank(item: ComparedItem) -> tuple[int, int, int, str]:
        start = item.place.start if item.place else -1
        return (_ORDER.index(item.standing), ALIGNED.index(item.metric), start, item.key)

    items.sort(key=rank)
    return tuple(
        compared_item.model_copy(update={"number": number}) for number, compared_item in enumerate(items, first)
    )


def _compared_item(item: JudgedItem, told: Mapping[str, JudgedItem | None]) -> ComparedItem:
    none = RunVerdict(run="", verdict="", value=None, found="", sentences=())
    verdicts = tuple(RunVerdict.of(judged_item or none, run=name) for name, judged_item in told.items())
    expected = next(
        (judged_item.expected for judged_item in told.values() if judged_item and judged_item.expected), item.expected
    )
    return ComparedItem.of(item, number=0, expected=expected, verdicts=verdicts, standing=standing(verdicts))


def standing(verdicts: Sequence[RunVerdict]) -> Standing:
    """Return how the summaries compare on an item."""
    values = [verdict.value for verdict in verdicts]
    if None in values:
        return "open"
    if len({value >= HALF for value in values if value is not None}) > 1:
        return "flipped"
    return "changed" if len({verdict.verdict for verdict in verdicts}) > 1 else "same"


FIFTHS = 5


def shares_by_fifth(sides: Sequence[Side]) -> tuple[float, ...]:
    """Return the mean share of the summaries that comes from each fifth; empty if none has a traced sentence."""
    told = [side.positions.bins for side in sides if side.positions]
    if not told:
        return ()
    each = len(told[0]) // FIFTHS
    return tuple(fmean(sum(bins[at * each : (at + 1) * each]) for bins in told) for at in range(FIFTHS))


def fifth_of(percent: int) -> int:
    """Return the fifth for a percentage, from 0."""
    return min(FIFTHS - 1, percent * FIFTHS // 100)


_LONGEST = 80
_MAX_NAMES = 8
_ASPECTS: tuple[tuple[str, Callable[[JudgeStanding], object]], ...] = (
    ("the judges differ", lambda one: one.judge),
    ("the versions of the metric differ", lambda one: one.version),
    ("the prompts differ", lambda one: one.prompts),
    ("the ways of judging differ", lambda one: one.terms),
)


def incomparable_reason(metric: str, sides: Sequence[Side]) -> str:
    """Return why scores by a metric are not comparable; empty if they are. Which questions or key facts were used
    matters only among runs on one document."""
    return "; ".join(what for what, _ in _differing(metric, {str(n): side for n, side in enumerate(sides)}))


def warnings(metrics: Sequence[str], sides: Mapping[str, Side]) -> Iterator[str]:
    """Yield sentences on what makes scores not comparable."""
    for metric in metrics:
        judged = {name: side for name, side in sides.items() if metric in side.scored}
        name = spaced(metric)
        for what, values in _differing(metric, judged):
            yield f"Scores of {name} are not comparable: {what} ({_told(values)})."
        yield from _lacking(metric, {name: side for name, side in sides.items() if metric not in side.scored})


def _lacking(metric: str, sides: Mapping[str, Side]) -> Iterator[str]:
    """Yield which runs have no score, and the reason if it is known."""
    by_reason: dict[str, list[str]] = {}
    for name, side in sides.items():
        told = next(
            (score.reason for score in side.scores if score.metric == metric), "it was not judged by this metric"
        )
        by_reason.setdefault(one_line(told) or "no reason is on record", []).append(name)
    for reason, names in by_reason.items():
        yield f"No {metric.replace('_', ' ')} score for {_listed(names)}: {reason}."


def _differing(metric: str, sides: Mapping[str, Side]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield what differs, with its value by run."""
    standings = {name: side.standing(metric) for name, side in sides.items()}
    for what, aspect in _ASPECTS:
        values = {name: str(aspect(setup)) for name, setup in standings.items()}
        if len(set(values.values())) > 1:
            yield what, values
    documents = dict.fromkeys(side.run.document for side in sides.values())
    for document in documents:
        values = {name: side.yardstick(metric) for name, side in sides.items() if side.run.document == document}
        if len(set(values.values())) > 1:
            yield "the questions or key facts differ", values
            return


def _listed(names: Sequence[str]) -> str:
    """Return some of the names, and the number of others."""
    more = len(names) - _MAX_NAMES
    said = [*names[:_MAX_NAMES], *([f"{more:,} more"] if more > 0 else [])]
    return " and ".join(", ".join(said).rsplit(", ", 1))


def _told(values: Mapping[str, str]) -> str:
    """Return the values with the names of the runs that have them."""
    by_value: dict[str, list[str]] = {}
    for name, value in values.items():
        by_value.setdefault(value, []).append(name)
    return "; ".join(
        f"{_listed(names)}: {one_line(scrubbed(value), _LONGEST) or 'none'}" for value, names in by_value.items()
    )


SHARE = "share"
SEEN = 0.0005
"""Smaller differences round to zero at three decimals."""


@dataclass(frozen=True, slots=True)
class RunPair:
    """Two contestants on one or several documents."""

    first: RunGroup
    second: RunGroup
    documents: tuple[str, ...]

    @property
    def shared(self) -> tuple[str, ...]:
        """The documents for which both have summaries."""
        return tuple(document for document in self.documents if self.first.on(document) and self.second.on(document))

    @property
    def resamples_items(self) -> bool:
        """Whether there is only one document, so that only its items can be resampled."""
        return len(self.documents) == 1

    def judged(self, metric: str) -> list[tuple[list[Side], list[Side]]]:
        """Return, for each shared document, the runs of both that are comparable by a metric."""
        found = []
        for document in self.shared:
            mine, other = ([side for side in group.on(document) if metric in side.scored] for group in self.both)
            if mine and other and not incomparable_reason(metric, [*mine, *other]):
                found.append((mine, other))
        return found

    @property
    def both(self) -> tuple[RunGroup, RunGroup]:
        """Both contestants, in order."""
        return self.first, self.second


def pairs(groups: Sequence[RunGroup], documents: Sequence[str]) -> Iterator[RunPair]:
    """Yield each pair of contestants that share a document."""
    for first, second in combinations(groups, 2):
        pair = RunPair(first, second, tuple(documents))
        if pair.shared:
            yield pair


def differences(pair: RunPair, metrics: Sequence[str]) -> Iterator[ScoreDifference]:
    """Yield the difference of two contestants by metric. For a single document, only the document's own items can be
    paired."""
    for metric in metrics:
        if not all(any(metric in side.scored for side in group.sides) for group in pair.both):
            continue
        if pair.resamples_items:
            yield _over_items(pair, metric)
        else:
            yield _over_documents(pair, metric)


def _over_items(pair: RunPair, metric: str) -> ScoreDifference:
    judged = pair.judged(metric)
    if not judged:
        sides = [side for group in pair.both for side in group.sides]
        return _difference(pair, metric, [], 0, f"Not compared: {incomparable_reason(metric, sides)}.")
    (mine,), (other,) = judged[0]
    if metric not in ALIGNED:
        told = f"{_of_scores(pair, metric, mine.scored[metric] - other.scored[metric])} It judges each summary's own "
        told += "sentences, which cannot be paired, so there is no interval."
        return _difference(pair, metric, [], 0, told, mine.scored[metric] - other.scored[metric])
    one, two = ({item.key: item for item in side.items if item.metric == metric} for side in (mine, other))
    both = [(one[key], two[key]) for key in one.keys() & two.keys()]
    found = weighed([(a.value - b.value, a.weight) for a, b in both if a.value is not None and b.value is not None])
    return _difference(pair, metric, found, len(one.keys() | two.keys()) - len(found))


def _over_documents(pair: RunPair, metric: str) -> ScoreDifference:
    judged = pair.judged(metric)
    found = [_mean(mine, metric) - _mean(other, metric) for mine, other in judged]
    left_out = len(pair.documents) - len(judged)
    if found:
        return _difference(pair, metric, found, left_out)
    sides = [side for document in pair.shared for group in pair.both for side in group.on(document)]
    reason = (
        incomparable_reason(metric, [side for side in sides if metric in side.scored])
        or "no document is judged for both"
    )
    return _difference(pair, metric, [], left_out, f"Not compared: {reason}.")


def _mean(sides: Sequence[Side], metric: str) -> float:
    """Return the mean over a contestant's runs on one document, which are samples of the same."""
    return fmean(side.scored[metric] for side in sides)


def _difference(
    pair: RunPair, metric: str, found: Sequence[float], left_out: int, says: str = "", value: float | None = None
) -> ScoreDifference:
    value = fmean(found) if found else value
    interval = interval_of_mean(found)
    return ScoreDifference(
        metric=metric,
        first=pair.first.letter,
        second=pair.second.letter,
        over="items" if pair.resamples_items else "documents",
        pairs=len(found),
        left_out=left_out,
        difference=value,
        interval=interval,
        says=says or _says(pair, metric, found, interval),
    )


def _says(pair: RunPair, metric: str, found: Sequence[float], interval: Range | None) -> str:
    what = "item" if pair.resamples_items else "document"
    if not found:
        return f"Not compared: no {what} is judged for both."
    over = f"over {len(found):,} {what}{'s' if len(found) > 1 else ''} judged for both"
    told = _of_scores(pair, metric, fmean(found), f", {over}")
    if interval is None:
        return f"{told} An interval needs at least {MIN_VALUES}."
    if interval.low == interval.high == 0:
        return f"{told} They are equal in every one."
    between = f"The 95% interval is {signed(interval.low)} to {signed(interval.high)}"
    if interval.has_zero:
        return f"{told} {between}. It includes 0, so there may be no difference."
    return f"{told} {between}. It excludes 0."


def _of_scores(pair: RunPair, metric: str, difference: float, over: str = "") -> str:
    name, one, other = spaced(metric), pair.first.letter, pair.second.letter
    if abs(difference) < SEEN:
        return f"{name} is the same for {one} and {other}{over}."
    more = "higher" if difference > 0 else "lower"
    return f"{name} is {figure(abs(difference), 2)} {more} for {one} than for {other}{over}."


def signed(value: float) -> str:
    """Return a difference with its sign."""
    return "0" if abs(value) < SEEN else f"{'+' if value > 0 else '−'}{figure(abs(value), 2)}"


def differences_by_fifth(pair: RunPair, metrics: Sequence[str]) -> Iterator[FifthDifference]:
    """Yield where in the document two contestants differ: in their sources, and in the items they state."""
    yield from _shares(pair)
    for metric in metrics:
        if metric in ALIGNED:
            for fifth in range(FIFTHS):
                yield from _scores_in(pair, metric, fifth)


def _shares(pair: RunPair) -> Iterator[FifthDifference]:
    told = []
    for document in pair.shared:
        mine, other = (shares_by_fifth(group.on(document)) for group in pair.both)
        if mine and other:
            told.append((mine, other))
    for fifth in range(FIFTHS):
        if told:
            both = [(mine[fifth], other[fifth]) for mine, other in told]
            yield _by_fifth(pair, SHARE, fifth, both, "summaries" if pair.resamples_items else "documents")


def _scores_in(pair: RunPair, metric: str, fifth: int) -> Iterator[FifthDifference]:
    both: list[tuple[float, float]] = []
    for mine, other in pair.judged(metric):
        one, two = (_values(sides, metric, fifth) for sides in (mine, other))
        shared = sorted(one.keys() & two.keys())
        if shared and pair.resamples_items:
            both += [(one[key], two[key]) for key in shared]
        elif shared:
            both.append((fmean(one[key] for key in shared), fmean(two[key] for key in shared)))
    if both:
        yield _by_fifth(pair, metric, fifth, both, "items" if pair.resamples_items else "documents")


def _values(sides: Sequence[Side], metric: str, fifth: int) -> Mapping[str, float]:
    """Return a contestant's value for each item in a fifth; items without a verdict in one of its runs are left out."""
    told = [
        {
            item.key: item.value
            for item in side.items
            if item.metric == metric and item.value is not None and item.place and fifth_of(item.place.percent) == fifth
        }
        for side in sides
    ]
    shared = set.intersection(*(set(one) for one in told))
    return {key: fmean(one[key] for one in told) for key in shared}


def _by_fifth(
    pair: RunPair, measure: str, fifth: int, both: Sequence[tuple[float, float]], over: Over
) -> FifthDifference:
    found = [one - other for one, other in both]
    return FifthDifference(
        measure=measure,
        first=pair.first.letter,
        second=pair.second.letter,
        fifth=fifth + 1,
        over=over,
        pairs=len(found),
        values=(fmean(one for one, _ in both), fmean(other for _, other in both)),
        difference=fmean(found),
        interval=interval_of_mean(found),
    )


_LIST_RUNS = (RunCommand("runs"), " lists them")
_HOLDS = (
    "Includes the summaries, and the questions and key facts that they were judged by, with the answers and their "
    "source passages."
)
_NAMES = ("give at least two runs: ", RunCommand("compare-runs", more=("RUN", "RUN")))


def read_comparison(store: Store, keys: Sequence[str], *, encoder: Encoder | None = None) -> RunComparison:
    """Return the comparison of runs, given their ids or prefixes of them; `NAME=RUN` names a contestant.

    Raises a `UsageError` if there is nothing to compare: a single run, the same run twice, or runs of different
    documents none of which has two contestants.
    """
    if len(keys := list_argument(keys, "runs")) < 2:
        raise UsageError("there is nothing to compare: you gave only one run", fix=_NAMES)
    sides = [read_side(store, run, named, encoder) for named, run in map(_parted, keys)]
    twice = [run for run, times in Counter(side.run.id for side in sides).items() if times > 1]
    if twice:
        raise UsageError(f"run {twice[0]} is given twice", fix=_LIST_RUNS)
    return _beside(sides)


def _parted(key: str) -> tuple[str, str]:
    named, _, run = key.rpartition("=")
    return named.strip(), run.strip()


def _beside(sides: Sequence[Side]) -> RunComparison:
    documents = tuple(dict.fromkeys(side.run.document for side in sides))
    if len(documents) == len(sides):
        titles = [one_line(side.document.title, 60) or "Untitled" for side in sides]
        raise UsageError(
            f"no two of these runs are of the same document: {', '.join(titles)}",
            fix=(RunCommand("runs", more=("--document", "ID|WORDS")), " lists the runs of a document"),
        )
    metrics = tuple(dict.fromkeys(metric for side in sides for metric in side.scored))
    groups = group_runs(sides)
    named = {name: side for group in groups for name, side in group.named}
    run_pairs = tuple(pairs(groups, documents))
    if not run_pairs:
        raise UsageError("no document has summaries by two systems", hint="compare runs on the same documents")
    return RunComparison(
        title=_title(sides, groups, documents),
        holds=_HOLDS,
        warnings=tuple(_warnings(metrics, groups, documents)),
        contestants=tuple(_contestant(group, metrics, documents) for group in groups),
        runs=tuple(_run(name, group, side) for group in groups for name, side in group.named),
        documents=tuple(_documents(named, documents)),
        differences=tuple(difference for pair in run_pairs for difference in differences(pair, metrics)),
        fifths=tuple(difference for pair in run_pairs for difference in differences_by_fifth(pair, metrics)),
        settings=tuple(differing(groups)),
        cautions=tuple(_cautions(groups, documents)),
    )


def _title(sides: Sequence[Side], groups: Sequence[RunGroup], documents: Sequence[str]) -> str:
    if len(documents) == 1:
        return one_line(sides[0].document.title) or "Untitled"
    return f"{len(groups)} systems, {len(documents):,} documents"


def _warnings(metrics: Sequence[str], groups: Sequence[RunGroup], documents: Sequence[str]) -> Iterator[str]:
    sides = {name: side for group in groups for name, side in group.named}
    times = Counter(metric for side in sides.values() for metric in side.scored)
    if all(number < 2 for number in times.values()):
        yield ("No metric has scored two of these runs. Evaluate each summary, and compare those runs.")
    yield from warnings(metrics, sides)
    for group in groups:
        for metric in metrics:
            scores = [score for side in group.sides for score in side.scores if score.metric == metric]
            if unjudged := sum(score.unjudged for score in scores):
                items = f"{unjudged:,} of {sum(score.judged for score in scores) + unjudged:,} items"
                have, have_not = ("has", "is not") if unjudged == 1 else ("have", "are not")
                yield f"{group.letter}: {items} of {metric.replace('_', ' ')} {have} no verdict and {have_not} counted."
    alone = sum(1 for document in documents if sum(1 for group in groups if group.on(document)) < 2)
    if alone:
        yield f"{alone:,} of {len(documents):,} documents have runs of one system only: left out of the differences."
    for first, second in combinations(groups, 2):
        if not any(first.on(document) and second.on(document) for document in documents):
            yield f"{first.letter} and {second.letter} have no document in common."
    if any(side.used.cached for side in sides.values()):
        yield "Some answers were cached from earlier runs, so those runs cost less here than they would alone."


def _contestant(group: RunGroup, metrics: Sequence[str], documents: Sequence[str]) -> ComparedContestant:
    totals = [side.used for side in group.sides]
    costs = [total.cost_usd for total in totals]
    return ComparedContestant(
        letter=group.letter,
        label=scrubbed(group.label),
        runs=group.names,
        scores=tuple(one for metric in metrics if (one := _score(group, metric, documents))),
        cost_usd=None if None in costs else fmean(cost for cost in costs if cost is not None),
        tokens=fmean(total.prompt_tokens + total.completion_tokens for total in totals),
        seconds=fmean(total.seconds for total in totals),
        words=fmean(side.result.draft.words if side.result.draft else 0 for side in group.sides),
        fifths=shares_by_fifth(group.sides),
    )


def _score(group: RunGroup, metric: str, documents: Sequence[str]) -> ContestantScore | None:
    told = [[side.scored[metric] for side in group.on(document) if metric in side.scored] for document in documents]
    means = [fmean(values) for values in told if values]
    if not means:
        return None
    alone = next(score for side in group.sides for score in side.scores if score.metric == metric)
    interval = interval_of_mean(means) if len(documents) > 1 else alone.interval
    return ContestantScore(metric=metric, mean=fmean(means), interval=interval, documents=len(means))


def _run(name: str, group: RunGroup, side: Side) -> ComparedRun:
    run, draft = side.run, side.result.draft
    return ComparedRun.of(
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
        left_out=tuple(missing_parts(side)),
        language="" if run.settings.language else primary(side.document.language),
    )


def _documents(named: Mapping[str, Side], documents: Sequence[str]) -> Iterator[ComparedDocument]:
    first = 1
    for document in documents:
        sides = {name: side for name, side in named.items() if side.run.document == document}
        items = align_items(sides, first)
        first += len(items)
        side = next(iter(sides.values()))
        yield ComparedDocument(
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
        f"would vary with other {drawn}, not how good the judges are. An interval needs at least {MIN_VALUES} {drawn}."
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
