"""The tables of a grid about scores: means, configurations (BooookScore, table 2), paired differences, summaries."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

from redraft.dossier.beside.sides import LEAST
from redraft.evaluators.resampling import RESAMPLES
from redraft.experiments.grid.counting import COUNTS, ENDS, basis, by_document, ends, judges_of, labels, series
from redraft.experiments.grid.design import Contestant
from redraft.experiments.grid.records import GridOutcome, Judged
from redraft.reports.tables import Cell, Table, mean

_READY = "ready-made"
# What is less than that is no difference at three digits.
_SEEN = 0.0005
_INTERVAL = (
    f"The interval holds 95 % of the means of {RESAMPLES:,} resamples of the documents, each with all of its summaries;"
    f" from fewer than {LEAST} documents there is none."
)


def score_table(outcome: GridOutcome) -> Table:
    """What each contestant comes to by each metric and each judge."""
    rows: list[tuple[Cell, ...]] = []
    for metric in outcome.design.metrics:
        for one in outcome.contestants:
            for judge in outcome.judges:
                found = series(outcome, one.name, judge, metric)
                values, scores = list(found.by_document.values()), found.scores
                spread = stdev(scores) if len(scores) > 1 else None
                cells = (mean(values), *ends(values), spread, len(values))
                rows.append((metric, one.name, judge, *cells, *found.counts, *_taken(outcome, one)))
    return Table(
        "scores",
        "Scores by contestant",
        f"The mean over documents; of several summaries of one document their mean counts. {_INTERVAL} sd is the"
        " standard deviation of the summaries' own scores. The tokens that a model reads and writes for a summary, and"
        " the USD that it costs, are means over summaries, as if nothing had been known before.",
        basis(outcome),
        ("metric", "contestant", "judge", "score", *ENDS, "sd", "documents", *COUNTS, "tokens each", "USD each"),
        tuple(rows),
    )


def _taken(outcome: GridOutcome, one: Contestant) -> tuple[Cell, Cell]:
    """The tokens and the money that a summary takes; nothing is known of those that were there already."""
    taken = [it.taken for it in outcome.summaries if it.contestant == one.name and it.taken is not None]
    priced = all(it.cost_usd is not None for it in taken)
    tokens = mean([it.prompt_tokens + it.completion_tokens for it in taken])
    return tokens, mean([it.cost_usd for it in taken]) if priced else None


def configuration_table(outcome: GridOutcome) -> Table:
    """Table 2 of BooookScore: what each configuration comes to, with lengths, novelty and repetition."""
    rows: list[tuple[Cell, ...]] = []
    judge = judges_of(outcome)[-1]
    for one in outcome.contestants:
        judged = outcome.of(one.name, outcome.judges[0])
        scores = [
            mean(list(by_document(outcome, one.name, judge, metric).values())) for metric in outcome.design.metrics
        ]
        there = [it for it in judged if it.summary.text is not None]
        figures = (
            mean([it.summary.words for it in there]),
            mean([it.lengths.tokens for it in there]),
            _percent([it.lengths.novel_trigrams for it in there]),
            _percent([it.lengths.repeated_trigrams for it in there]),
        )
        rows.append((*_configured(one), *scores, *figures, len(there), len(judged)))
    of = "" if len(outcome.judges) == 1 else " Scores are the mean of the judges, where all give one."
    return Table(
        "configurations",
        "Configurations (BooookScore, table 2)",
        f"Means over documents for scores, over summaries for the rest.{of} Of a summary's different trigrams those are"
        " novel that the document does not have, and those repeated that occur more than once.",
        basis(outcome),
        (
            *("contestant", "model", "strategy", "chunk tokens", "word limit", *outcome.design.metrics),
            *("words", "tokens", "% novel trigrams", "% repeated trigrams", "summaries", "of"),
        ),
        tuple(rows),
    )


def _configured(one: Contestant) -> tuple[Cell, ...]:
    if one.settings is None:
        return (one.name, _READY, None, None, None)
    it = one.settings
    strategy = it.strategy if one.refines is None else f"{it.strategy}, refined"
    return (one.name, one.model, strategy, None if it.strategy == "direct" else it.chunk_tokens, it.words)


def _percent(values: Sequence[float | None]) -> float | None:
    found = mean(values)
    return None if found is None else 100 * found


def difference_table(outcome: GridOutcome) -> Table:
    """What two contestants differ by, document by document."""
    rows: list[tuple[Cell, ...]] = []
    for metric in outcome.design.metrics:
        for first, second in outcome.design.pairs:
            for judge in judges_of(outcome):
                mine, other = (by_document(outcome, name, judge, metric) for name in (first, second))
                found = [mine[document] - other[document] for document, _ in outcome.documents
                         if document in mine and document in other]  # fmt: skip
                rows.append((metric, first, second, judge, *_paired(found), len(outcome.documents) - len(found)))
    return Table(
        "differences",
        "Paired differences",
        "The score of the first less that of the second on the same document, the mean over documents that both have a"
        f" score on. {_INTERVAL} higher, lower and equal are how many documents the first does better, worse or as well"
        " on; left out are those without a score of one of the two.",
        basis(outcome),
        (
            *("metric", "first", "second", "judge", "difference", *ENDS),
            *("documents", "higher", "lower", "equal", "left out"),
        ),
        tuple(rows),
    )


def _paired(found: Sequence[float]) -> tuple[Cell, ...]:
    higher, lower = sum(one >= _SEEN for one in found), sum(one <= -_SEEN for one in found)
    value = fmean(found) if found else None
    return (value, *ends(found), len(found), higher, lower, len(found) - higher - lower)


def summary_table(outcome: GridOutcome) -> Table:
    """Every summary with its scores, and the holes where there is none."""
    rows: list[tuple[Cell, ...]] = []
    for document, title in labels(outcome).items():
        rows += [
            (title, *_row(one), *(one.score(metric) for metric in outcome.design.metrics))
            for one in outcome.judged
            if one.summary.document == document
        ]
    return Table(
        "summaries",
        "Summary by summary",
        "A dash is what has no score: the summary was not made, a judge could not tell, or something failed.",
        basis(outcome),
        ("document", "contestant", "number", "judge", "status", "words", *outcome.design.metrics),
        tuple(rows),
    )


def _row(one: Judged) -> tuple[Cell, ...]:
    it = one.summary
    return (it.contestant, it.number, one.judge, one.status, it.words)
