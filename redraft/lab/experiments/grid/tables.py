"""The grid's tables: scores, configurations and preferences (BooookScore, tables 2 and 4), judges, cost; its report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import fmean

from redraft.domain import Totals, record_json
from redraft.lab.agreement.measures import cohens_kappa, krippendorffs_alpha, percent_agreement, tau_b
from redraft.lab.experiments.legacy import (
    AGAIN,
    ENDS,
    INTERVAL,
    UNDECIDED,
    Experiment,
    Row,
    average_fields,
    common_pairs,
    document_means,
    interval_cells,
    more_line,
    standard_deviation,
    sum_fields,
    table,
    tokens_and_price,
    where,
    with_all,
)
from redraft.lab.experiments.grid.experiment import (
    GRID,
    GridDesign,
    GridJudgment,
    GridOutcome,
    GridPreference,
    GridSystem,
    grid,
)
from redraft.lab.experiments.runner import failure_cells
from redraft.prompts.coherence import ASPECTS, Aspect
from redraft.report.tables import Table, figure, mean, plain

ALL_JUDGES, _ALL = "mean of judges", "all"
COUNTS = ("summaries", "of", "failed", "unjudged")
"""The columns that say what a row is based on: scored summaries, of how many, failures and missing verdicts."""
# Anything smaller is not a difference at three digits.
_SEEN = 0.0005
_INTERVAL = INTERVAL.format(", each with all of its summaries", "documents ")
_TAKEN = ("calls", "prompt_tokens", "completion_tokens")
_WORTH = {"first": 1.0, "second": -1.0, "tie": 0.0}
_MAX_LINES = 8


def _scored(judged: Sequence[GridJudgment], metric: str) -> list[tuple[str, float]]:
    """Return the scores of summaries by one metric, each with its document."""
    return [(judgment.document, score) for judgment in judged if (score := judgment.score(metric)) is not None]


def _counts(judged: Sequence[GridJudgment], metric: str) -> Row:
    """Return the cells of the columns `COUNTS`."""
    found = [(judgment, judgment.scores.get(metric)) for judgment in judged]
    failed = sum(bool(judgment.failure or (it and it.outcome == "failed")) for judgment, it in found)
    unjudged = sum(it.unjudged for _, it in found if it)
    return (len(_scored(judged, metric)), len(judged), failed, unjudged)


def scores_of(outcome: GridOutcome, contestant: str, judge: str, metric: str) -> Mapping[str, float]:
    """Return a contestant's scores by document: those of one judge, or the mean of all where each judge has one."""
    if judge != ALL_JUDGES:
        return document_means(_scored(outcome.judgments_of(contestant, judge), metric))
    each = [scores_of(outcome, contestant, one, metric) for one in outcome.judges]
    shared = [one for one, _ in outcome.documents if all(one in of_one for of_one in each)]
    return {document: fmean(of_one[document] for of_one in each) for document in shared}


def _judges(outcome: GridOutcome) -> list[str]:
    return with_all(outcome.judges, ALL_JUDGES)


def basis(outcome: GridOutcome) -> str:
    """Return what the tables are based on, in a sentence or two."""
    summaries, judgments = outcome.summaries, outcome.judged
    there = sum(grid_summary.text is not None for grid_summary in summaries)
    status = [judgment.status for judgment in judgments]
    open_ = sum(score.unjudged for judgment in judgments for score in judgment.scores.values())
    given = sum(score.judged for judgment in judgments for score in judgment.scores.values())
    return (
        f"Based on {there} of {len(summaries)} summaries of {len(outcome.documents)}"
        f" document{'s' * (len(outcome.documents) != 1)}, {status.count('done')} of {len(judgments)} judged"
        f" completely; {status.count('failed')} failed; {open_:,} of {open_ + given:,} verdicts are missing."
    )


def _taken(outcome: GridOutcome, one: GridSystem) -> list[Totals]:
    """Return the usage of a contestant's summaries; existing summaries have none."""
    return [it.taken for it in where(outcome.summaries, system=one.name) if it.taken is not None]


@table(
    "scores",
    "Scores by system",
    f"Mean over documents; several summaries of one document count with their mean. {_INTERVAL} sd is the standard"
    " deviation of the scores of single summaries. Tokens and USD are means per summary, as if nothing had been"
    " cached.",
    ("metric", "system", "judge", "score", *ENDS, "sd", "documents", *COUNTS, "tokens each", "USD each"),
    basis,
)
def score_table(outcome: GridOutcome) -> Iterator[Row]:
    for metric in outcome.design.metrics:
        for system in outcome.contestants:
            for judge in outcome.judges:
                judgments = outcome.judgments_of(system.name, judge)
                scores = _scored(judgments, metric)
                values, spread = list(document_means(scores).values()), standard_deviation([it for _, it in scores])
                cells = (mean(values), *interval_cells(values), spread, len(values), *_counts(judgments, metric))
                yield (metric, system.name, judge, *cells, *tokens_and_price(_taken(outcome, system)))


@table(
    "configurations",
    "Configurations (BooookScore, table 2)",
    lambda outcome: (
        "Scores are means over documents, the other figures means over summaries."
        + ("" if len(outcome.judges) == 1 else " Scores are means over judges, where all of them give one.")
        + " Novel trigrams are not in the document; repeated ones occur more than once; both are shares of a"
        " summary's distinct trigrams."
    ),
    lambda outcome: (
        *("system", "model", "strategy", "chunk tokens", "word limit", *outcome.design.metrics),
        *("words", "tokens", "% novel trigrams", "% repeated trigrams", "summaries", "of"),
    ),
    basis,
)
def configuration_table(outcome: GridOutcome) -> Iterator[Row]:
    for system in outcome.contestants:
        judgments = outcome.judgments_of(system.name, outcome.judges[0])
        there = [it for it in judgments if it.text is not None]
        trigrams = [[it.lengths.novel_trigrams for it in there], [it.lengths.repeated_trigrams for it in there]]
        yield (
            *(*_configured(system), *_mean_scores(outcome, system)),
            *(mean([it.words for it in there]), mean([it.lengths.tokens for it in there])),
            *(None if (share := mean(some)) is None else 100 * share for some in trigrams),
            *(len(there), len(judgments)),
        )


def _mean_scores(outcome: GridOutcome, one: GridSystem) -> list[float | None]:
    judge = _judges(outcome)[-1]
    return [mean([*scores_of(outcome, one.name, judge, metric).values()]) for metric in outcome.design.metrics]


def _configured(one: GridSystem) -> Row:
    if (it := one.settings) is None:
        return (one.name, "ready-made", None, None, None)
    return (one.name, one.model, it.strategy, None if it.strategy == "direct" else it.chunk_tokens, it.words)


@table(
    "differences",
    "Paired differences",
    "The first system's score minus the second's on the same document, as the mean over documents with a score"
    f" for both. {_INTERVAL} higher, lower and equal count the documents on which the first does better, worse or"
    " as well; documents without a score for both are left out.",
    ("metric", "first", "second", "judge", "difference", *ENDS, "documents", "higher", "lower", "equal", "left out"),
    basis,
)
def difference_table(outcome: GridOutcome) -> Iterator[Row]:
    for metric in outcome.design.metrics:
        for first, second in outcome.design.pairs:
            for judge in _judges(outcome):
                mine, other = (scores_of(outcome, name, judge, metric) for name in (first, second))
                found = [one - another for _, one, another in common_pairs(mine, other)]
                higher, lower = sum(one >= _SEEN for one in found), sum(one <= -_SEEN for one in found)
                counts = (len(found), higher, lower, len(found) - higher - lower, len(outcome.documents) - len(found))
                yield (metric, first, second, judge, mean(found), *interval_cells(found), *counts)


@table(
    "summaries",
    "Summary by summary",
    "A dash means no score: the summary was not made, the judge could not tell, or something failed.",
    lambda outcome: ("document", "system", "number", "judge", "status", "words", *outcome.design.metrics),
    basis,
)
def summary_table(outcome: GridOutcome) -> Iterator[Row]:
    for document, title in outcome.labels.items():
        for judgment in outcome.judged:
            if judgment.document == document:
                scores = (judgment.score(metric) for metric in outcome.design.metrics)
                yield (
                    title,
                    judgment.system,
                    judgment.number,
                    judgment.judge,
                    judgment.status,
                    judgment.words,
                    *scores,
                )


@table(
    "preferences",
    "Preferences (BooookScore, table 4)",
    "Every judge compares each pair twice, with either summary first. Shares are of the pairs with a verdict."
    " Ties include pairs that lean to one summary (only one order names it) and pairs in which the order decides"
    " (each order names another). balance is the first share minus the second, with the interval that contains 95"
    " % of resamples of the documents. Cannot tell: no verdict in both orders. Two identical summaries are a tie"
    " without asking.",
    ("first", "second", "judge", "aspect", "first %", "second %", "tie %", "balance", *ENDS, "verdicts", "for first",
     "for second", "ties", "lean to first", "lean to second", "order decides", "same text", "cannot tell", "failed",
     "of"),
    basis,
)  # fmt: skip
def preference_table(outcome: GridOutcome) -> Iterator[Row]:
    for first, second in outcome.design.pairs:
        for judge in outcome.judges:
            pairs = where(outcome.preferred, first=first, second=second, judge=judge)
            for aspect in ASPECTS:
                yield (first, second, judge, aspect, *_shares(pairs, aspect))


def _shares(pairs: Sequence[GridPreference], aspect: Aspect) -> Row:
    votes = [preference.votes[aspect] for preference in pairs if aspect in preference.votes]
    said = [sum(vote.winner == winner for vote in votes) for winner in _WORTH]
    worth, status = [_WORTH[vote.winner] for vote in votes], [preference.status for preference in pairs]
    leaning = [vote.leaning for vote in votes]
    ties = (leaning.count("first"), leaning.count("second"), sum(vote.order_decides for vote in votes))
    return (
        *(100 * number / len(votes) if votes else None for number in said),
        *(mean(worth), *interval_cells(worth), len(votes), *said, *ties, sum(preference.same for preference in pairs)),
        *(status.count("done") - len(votes), status.count("failed"), len(pairs)),
    )


@table(
    "judges",
    "Agreement between judges",
    "Scores, over the summaries scored by both judges: the mean of the first judge's score minus the second's,"
    " Kendall's tau-b, and Krippendorff's alpha (interval). Preferences, over the pairs judged by both: the share"
    " of equal verdicts, Cohen's kappa, and Krippendorff's alpha (nominal). The rows for all judges show alpha"
    " over items judged by at least two.",
    ("of", "judge", "other judge", "items", "difference", "tau-b", "equal", "kappa", "alpha"),
    basis,
)
def agreement_table(outcome: GridOutcome) -> Iterator[Row]:
    for metric in outcome.design.metrics:
        told = {judge: _scores(outcome, judge, metric) for judge in outcome.judges}
        for one, other in combinations(outcome.judges, 2):
            pairs = common_pairs(told[one], told[other])
            yield (metric, one, other, len(pairs), *_of_scores([(a, b) for _, a, b in pairs]))
        yield from _of_all(metric, list(told.values()), nominal=False)
    for aspect in ASPECTS if outcome.design.prefers else ():
        said = {judge: _winners(outcome, judge, aspect) for judge in outcome.judges}
        for one, other in combinations(outcome.judges, 2):
            both = common_pairs(said[one], said[other])
            yield (f"preference: {aspect}", one, other, len(both), *_of_votes([(a, b) for _, a, b in both]))
        yield from _of_all(f"preference: {aspect}", list(said.values()), nominal=True)


def _scores(outcome: GridOutcome, judge: str, metric: str) -> dict[object, float]:
    judgments = where(outcome.judged, judge=judge)
    return {judgment.key: score for judgment in judgments if (score := judgment.score(metric)) is not None}


def _winners(outcome: GridOutcome, judge: str, aspect: Aspect) -> dict[object, str]:
    """Return a judge's winners of the pairs that were not the same text."""
    preferences = [
        preference for preference in where(outcome.preferred, judge=judge, same=False) if aspect in preference.votes
    ]
    return {
        (preference.document, preference.first, preference.second): preference.votes[aspect].winner
        for preference in preferences
    }


def _of_scores(pairs: Sequence[tuple[float, float]]) -> Row:
    if not pairs:
        return (None, None, None, None, None)
    one, other = zip(*pairs, strict=True)
    apart = fmean(a - b for a, b in pairs)
    return (apart, tau_b(one, other), None, None, krippendorffs_alpha(pairs, "interval"))


def _of_votes(pairs: Sequence[tuple[str, str]]) -> Row:
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    return (None, None, percent_agreement(pairs), cohens_kappa(one, other), krippendorffs_alpha(pairs))


def _of_all(what: str, told: Sequence[Mapping[object, float | str]], *, nominal: bool) -> Iterator[Row]:
    """Yield alpha over all judges, if there are more than the two of a row above."""
    if len(told) > 2:
        keys = dict.fromkeys(key for of_one in told for key in of_one)
        rated = [[of_one.get(key) for of_one in told] for key in keys]
        items = sum(sum(value is not None for value in row) > 1 for row in rated)
        equal = percent_agreement(rated) if nominal else None
        alpha = krippendorffs_alpha(rated, "nominal" if nominal else "interval")
        yield (what, _ALL, _ALL, items, None, None, equal, None, alpha)


@table(
    "cost",
    "Cost",
    "Cost of a summary on its own, as if nothing had been cached: means per summary, then sums. Verdicts shared by two"
    " summaries are counted once. Prices are in USD; where a price is unknown, so is the cost.",
    ("what", "summaries", "calls each", "prompt tokens each", "reply tokens each", "USD each", "calls",
     "prompt tokens", "reply tokens", "USD"),
    basis,
)  # fmt: skip
def cost_table(outcome: GridOutcome) -> Iterator[Row]:
    for system in outcome.contestants:
        if system.settings is not None:
            own = _taken(outcome, system)
            yield (f"summaries by {system.name}", len(own), *average_fields(own, _TAKEN), *sum_fields(own, _TAKEN))
    others = {"questions and key facts": outcome.built} if outcome.built is not None else {}
    others |= {f"verdicts by {judge}": totals for judge, totals in outcome.judging.items()}
    for what, taken in {**others, "all, each answer once": outcome.whole}.items():
        yield (what, None, None, None, None, None, *sum_fields([taken], _TAKEN))


def _failure_basis(outcome: GridOutcome) -> str:
    status = [judgment.status for judgment in outcome.judged] + [preference.status for preference in outcome.preferred]
    return f"{basis(outcome)} {status.count('not made')} were not made."


@table(
    "failures",
    "What failed",
    f"{AGAIN} A metric has no score where too many verdicts are missing; a judge that is undecided stays so.",
    ("document", "system", "judge", "stage", "code", "message"),
    _failure_basis,
)
def failure_table(outcome: GridOutcome) -> Iterator[Row]:
    for title, lost in outcome.troubles:
        yield (title, "", "", *failure_cells(lost))
    for it in outcome.summaries:
        if it.text is None and it.failure is not None:
            yield (it.title, it.system, "", *failure_cells(it.failure))
    for judgment in outcome.judged:
        who = (judgment.title, judgment.system, judgment.judge)
        if judgment.text is not None and judgment.failure is not None:
            yield (*who, *failure_cells(judgment.failure))
        for metric, score in judgment.scores.items():
            if score.outcome == "failed":
                yield (*who, metric, UNDECIDED if score.undecided else "no score", score.reason)
    for pair in outcome.preferred:
        if pair.failure is not None:
            yield (pair.title, f"{pair.first} or {pair.second}", pair.judge, *failure_cells(pair.failure))


def _tables(outcome: GridOutcome) -> Iterable[Table]:
    """Yield the tables, without those that must be empty for this outcome."""
    design = outcome.design
    tables = [score_table(outcome), configuration_table(outcome)]
    tables += [difference_table(outcome)] if design.pairs else []
    tables += [preference_table(outcome)] if design.prefers and design.pairs else []
    tables += [agreement_table(outcome)] if len(outcome.judges) > 1 else []
    return [*tables, summary_table(outcome), cost_table(outcome), failure_table(outcome)]


def _settings(outcome: GridOutcome) -> Mapping[str, object]:
    documents = [{"id": document, "title": title} for document, title in outcome.documents]
    return {**record_json(outcome.design), "documents": documents}


def _about(outcome: GridOutcome) -> Iterator[str]:
    design = outcome.design
    yield f"systems: {'; '.join(plain(system.name) for system in design.contestants)}"
    yield f"judges: {', '.join(map(plain, outcome.judges))}"
    yield f"documents: {', '.join(plain(title) for _, title in outcome.documents)}"
    yield f"metrics: {', '.join(design.metrics)}"
    if strangers := design.ready.strangers:
        yield f"ready-made summaries of documents that are not part of the experiment: {strangers}"
    yield basis(outcome)


def _headline(outcome: GridOutcome, _: Sequence[Table]) -> Iterator[str]:
    for system in outcome.contestants[:_MAX_LINES]:
        scores = zip(outcome.design.metrics, _mean_scores(outcome, system), strict=True)
        yield f"{plain(system.name)}: {', '.join(f'{metric} {figure(score, 2)}' for metric, score in scores)}"
    yield from more_line(len(outcome.contestants), _MAX_LINES, "systems")
    yield basis(outcome)


EXPERIMENT: Experiment[GridDesign, GridOutcome] = Experiment(
    GRID,
    "Grid: systems on documents, by metric",
    run=grid,
    is_some=lambda outcome: any(
        grid_score.score is not None for judgment in outcome.judged for grid_score in judgment.scores.values()
    ),
    about=_about,
    settings=_settings,
    tables=_tables,
    items=lambda outcome: (*outcome.judged, *outcome.preferred),
    headline=_headline,
    who=lambda outcome: ([system.model for system in outcome.contestants if system.settings], outcome.judges),
)
