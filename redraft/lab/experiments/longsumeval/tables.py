"""The tables of LongSumEval's refinement: by subset (III), initial score, round, threshold and order; its report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from redraft.lab.experiments.experiment import AGAIN, Experiment, table
from redraft.lab.experiments.frames import (
    ENDS,
    INTERVAL,
    Row,
    averaged,
    by_document,
    deviation,
    ends,
    number,
    records_of,
    tokens_and_price,
)
from redraft.lab.experiments.longsumeval.experiment import (
    LONGSUMEVAL,
    LongSumEvalDesign,
    Refined,
    RefinedOutcome,
    longsumeval,
)
from redraft.lab.experiments.runner import failed
from redraft.report.tables import Table, figure, mean, plain

ALL = "all"
_QUARTERS = 4
_WHO = ("drafts by", "refined by")
_HEAD = (*_WHO, "thresholds", "order", "feedback")
_INTERVAL = INTERVAL.format("", "")
_MOST_LINES = 8
Pairs = Sequence[tuple[str, float, float]]
"""Two scores for each summary, with its document."""


def basis(outcome: RefinedOutcome) -> str:
    """Return what the tables are based on, in a sentence or two."""
    status = [one.status for one in outcome.refined]
    metrics = outcome.design.metrics
    silent = sum(
        any(score is None for metric in metrics for score in (one.score(metric, 0), one.score(metric)))
        for one in outcome.refined
        if one.stands
    )
    return (
        f"Based on {status.count('done')} of {len(status)} refined summaries of {len(outcome.documents)}"
        f" document{'s' * (len(outcome.documents) != 1)}; {status.count('failed')} failed,"
        f" {status.count('not made')} were not made; {silent} have no first or last score by some metric."
    )


def _cells(outcome: RefinedOutcome) -> Iterator[tuple[Row, list[Refined]]]:
    """Yield the refinements of each system's drafts by each writer in each way, with the cells of `_HEAD`."""
    for group in outcome.groups:
        for way in outcome.design.ways:
            yield (*group, way.thresholds, way.policy, way.feedback), outcome.of(group, way)


def _pairs(refined: Sequence[Refined], metric: str, after: int | None = None) -> Pairs:
    """Return each summary's document, its first score, and its score after a round or at the end."""
    return [
        (one.document, before, then)
        for one in refined
        if (before := one.score(metric, 0)) is not None and (then := one.score(metric, after)) is not None
    ]


def _means(pairs: Pairs) -> tuple[float | None, float | None]:
    return mean([one for _, one, _ in pairs]), mean([other for _, _, other in pairs])


def _gains(pairs: Pairs) -> list[float]:
    return list(by_document((document, then - before) for document, before, then in pairs).values())


def _over_documents(values: Sequence[float]) -> Row:
    return (mean(values), *ends(values))


@table(
    "gains",
    "Gains from refining (LongSumEval, table III)",
    "Mean scores of first drafts (initial) and of the same summaries after refining (refined), over the summaries"
    " that have both, with standard deviations. Gain is the mean difference; change is the difference of the"
    " means in % of the initial one. A subset contains the first drafts that score below the stated value."
    f" {_INTERVAL}",
    (*_HEAD, "subset", "metric", "initial", "sd initial", "refined", "sd refined", "change %", "gain", *ENDS,
     "documents", "summaries", "of"),
    basis,
)  # fmt: skip
def gain_table(outcome: RefinedOutcome) -> Iterator[Row]:
    for head, refined in _cells(outcome):
        for subset, some in _subsets(refined, outcome.design.lows):
            for metric in outcome.design.metrics:
                yield (*head, subset, metric, *_gained(some, metric))


def _subsets(refined: Sequence[Refined], lows: dict[str, float]) -> Iterator[tuple[str, Sequence[Refined]]]:
    yield ALL, refined
    for metric, least in lows.items():
        low = [one for one in refined if (score := one.score(metric, 0)) is not None and score < least]
        yield f"{metric} < {least:g}", low


def change(first: float | None, last: float | None) -> float | None:
    """Return the change in % of the first score."""
    return 100 * (last - first) / first if first and last is not None else None


def _gained(refined: Sequence[Refined], metric: str) -> Row:
    pairs = _pairs(refined, metric)
    (first, last), gains = _means(pairs), _gains(pairs)
    spread = deviation([one for _, one, _ in pairs]), deviation([one for _, _, one in pairs])
    rests = (len(gains), len(pairs), len(refined))
    return (first, spread[0], last, spread[1], change(first, last), *_over_documents(gains), *rests)


@table(
    "initial",
    "Gains by initial score",
    "The summaries in four groups by the score of the first draft; a score of 1 belongs to the last group."
    f" {_INTERVAL}",
    (*_HEAD, "metric", "initial score", "initial", "refined", "gain", *ENDS, "summaries", "of"),
    basis,
)
def initial_table(outcome: RefinedOutcome) -> Iterator[Row]:
    for head, refined in _cells(outcome):
        for metric in outcome.design.metrics:
            pairs = _pairs(refined, metric)
            for quarter in range(_QUARTERS):
                own = [pair for pair in pairs if min(int(_QUARTERS * pair[1]), _QUARTERS - 1) == quarter]
                begins = f"{quarter / _QUARTERS:g} to {(quarter + 1) / _QUARTERS:g}"
                yield (*head, metric, begins, *_means(own), *_over_documents(_gains(own)), len(own), len(pairs))


@table(
    "rounds",
    "Gain by round",
    "Mean score of the best drafts after each round, over the summaries with a score both before and after; a"
    " finished summary keeps its score. Gain is since the first draft, step since the previous round. Revised:"
    f" drafts that were revised in the round; accepted: revisions that were kept. {_INTERVAL}",
    (*_HEAD, "metric", "round", "score", *ENDS, "gain", "gain from", "gain to", "step", "revised", "taken", "meet all",
     "summaries", "of"),
    basis,
)  # fmt: skip
def round_table(outcome: RefinedOutcome) -> Iterator[Row]:
    for head, found in _cells(outcome):
        refined = [one for one in found if one.stands]
        last = max((stand.round for one in refined for stand in one.stands), default=-1)
        for metric in outcome.design.metrics:
            for done in range(last + 1):
                yield (*head, metric, done, *_after(refined, metric, done))


def _after(refined: Sequence[Refined], metric: str, after: int) -> Row:
    pairs = _pairs(refined, metric, after)
    before = _pairs(refined, metric, after - 1) if after else []
    scores = list(by_document((document, then) for document, _, then in pairs).values())
    (_, then), (_, earlier) = _means(pairs), _means(before)
    step = then - earlier if then is not None and earlier is not None else None
    here = [stand for one in refined for stand in one.stands if stand.round == after]
    return (
        *(*_over_documents(scores), *_over_documents(_gains(pairs)), step),
        *(sum(stand.revised for stand in here), sum(stand.accepted for stand in here)),
        *(sum(one.meets(after) is True for one in refined), len(pairs), len(refined)),
    )


@table(
    "thresholds",
    "Refining by threshold",
    "For each metric the mean gain; how many first and final drafts meet all thresholds; open are those with a"
    " missing score. Revisions, added words, calls, tokens and USD are means per summary and include the"
    " verdicts; verdicts that an earlier setting has paid for are not paid for again.",
    lambda outcome: (
        *(*_HEAD, *(f"gain in {metric}" for metric in outcome.design.metrics)),
        *("met at first", "met at last", "open", "revisions", "words gained", "calls", "tokens", "USD"),
        *("summaries", "of"),
    ),
    basis,
)
def threshold_table(outcome: RefinedOutcome) -> Iterator[Row]:
    for head, found in _cells(outcome):
        refined = [one for one in found if one.stands]
        start, end = [one.meets(0) for one in refined], [one.meets() for one in refined]
        taken = [one.taken for one in refined]
        yield (
            *(*head, *(mean(_gains(_pairs(refined, metric))) for metric in outcome.design.metrics)),
            *(start.count(True), end.count(True), end.count(None), mean([one.revisions for one in refined])),
            mean([one.words[1] - one.words[0] for one in refined if one.words]),
            *(averaged(taken, ("calls",))[0], *tokens_and_price(taken), len(refined), len(found)),
        )


@table(
    "orders",
    "The order of the goals, and what the reviser is told",
    "Final score in the first way minus that in the second, for the same first draft, as the mean over documents."
    " `paper` fixes coverage first and accepts every revision; the other orders reject revisions that lower another"
    " goal's score. The reviser is told findings (with answers and places), as in the paper questions, or, as in"
    f" Self-Refine, its own criticism (generic). {_INTERVAL}",
    (*_WHO, "thresholds", "first", "second", "metric", "final, first", "final, second", "difference", *ENDS,
     "documents", "summaries", "of"),
    basis,
)  # fmt: skip
def order_table(outcome: RefinedOutcome) -> Iterator[Row]:
    design = outcome.design
    for group in outcome.groups:
        for goals in design.thresholds:
            for first, second in combinations([way for way in design.ways if way.goals == goals], 2):
                mine, other = (outcome.of(group, way) for way in (first, second))
                names = [f"{way.policy}, {way.feedback}" for way in (first, second)]
                for metric in design.metrics:
                    yield (*group, first.thresholds, *names, metric, *_apart(mine, other, metric))


def _apart(mine: Sequence[Refined], other: Sequence[Refined], metric: str) -> Row:
    pairs = [
        (one.document, a, b)
        for one, two in zip(mine, other, strict=True)
        if (a := one.score(metric)) is not None and (b := two.score(metric)) is not None
    ]
    found = list(by_document((document, a - b) for document, a, b in pairs).values())
    return (*_means(pairs), *_over_documents(found), len(found), len(pairs), len(mine))


@table("failures", "What failed", AGAIN, ("document", *_HEAD, "stage", "code", "message"), basis)
def failure_table(outcome: RefinedOutcome) -> Iterator[Row]:
    for title, lost in outcome.troubles:
        yield (title, *[""] * len(_HEAD), *failed(lost))
    for one in outcome.refined:
        if one.failure is not None:
            way = one.way
            head = (one.title, one.system, one.writer, way.thresholds, way.policy, way.feedback)
            yield (*head, *failed(one.failure))


def _tables(outcome: RefinedOutcome) -> Iterable[Table]:
    """Return the tables, without the table of orders if there is only one order and one feedback."""
    tables = [gain_table(outcome), initial_table(outcome), round_table(outcome), threshold_table(outcome)]
    tables += [order_table(outcome)] if len(outcome.design.ways) > len(outcome.design.thresholds) else []
    return [*tables, failure_table(outcome)]


def _settings(outcome: RefinedOutcome) -> Mapping[str, object]:
    design, used = outcome.design, outcome.whole
    return {
        "writers": {one.name: one.to_json() for one in design.writers},
        "judge": design.judge.name,
        "judging": design.judging.model_dump(mode="json", exclude={"judges", "models", "base_url"}),
        "thresholds": [dict(goals) for goals in design.thresholds],
        "orders": list(design.orders),
        "feedback": list(dict.fromkeys(way.feedback for way in design.ways)),
        "free_length": design.free_length,
        "rounds": design.rounds,
        "low": design.lows,
        "documents": [{"id": document, "title": title} for document, title in outcome.documents],
        "taken": {name: getattr(used, name) for name in ("calls", "prompt_tokens", "completion_tokens", "cost_usd")},
    }


def _about(outcome: RefinedOutcome) -> Iterator[str]:
    design, used = outcome.design, outcome.whole
    systems = "; ".join(plain(system) for system in dict.fromkeys(system for system, _ in outcome.groups))
    yield f"first drafts by: {systems}"
    yield f"refined by: {'; '.join(plain(one.name) for one in design.writers)}"
    yield f"judged by: {plain(design.judge.name)}"
    yield f"thresholds: {'; '.join(dict.fromkeys(way.thresholds for way in design.ways))}"
    yield f"order of the goals: {', '.join(design.orders)}"
    yield f"the reviser is told: {', '.join(dict.fromkeys(way.feedback for way in design.ways))}"
    yield f"revisions: {'as long as they need' if design.free_length else 'within the word limit'}"
    yield f"documents: {', '.join(plain(title) for _, title in outcome.documents)}"
    if strangers := design.ready.strangers:
        yield f"ready-made summaries of documents that are not part of the experiment: {strangers}"
    cost = "" if used.cost_usd is None else f", {figure(used.cost_usd)} USD"
    yield (
        f"used, each answer counted once: {used.calls:,} calls, {used.prompt_tokens + used.completion_tokens:,}"
        f" tokens{cost}"
    )
    yield basis(outcome)


def _headline(outcome: RefinedOutcome, tables: Sequence[Table]) -> Iterator[str]:
    for one in [one for one in records_of(tables[0]) if one["subset"] == ALL][:_MOST_LINES]:
        first, last, change = (figure(number(one[name])) for name in ("initial", "refined", "change %"))
        who = f"{plain(str(one['drafts by']))}, {one['thresholds']}, {one['order']}, {one['feedback']}"
        yield f"{who}: {one['metric']} {first} → {last} ({change} %)"
    yield basis(outcome)


EXPERIMENT: Experiment[LongSumEvalDesign, RefinedOutcome] = Experiment(
    LONGSUMEVAL,
    "LongSumEval: refining by questions and answers",
    run=longsumeval,
    is_some=lambda outcome: any(one.status == "done" for one in outcome.refined),
    about=_about,
    settings=_settings,
    tables=_tables,
    items=lambda outcome: [one.to_json() for one in outcome.refined],
    headline=_headline,
    who=lambda outcome: ([one.name for one in outcome.design.writers], [outcome.design.judge.name]),
)
