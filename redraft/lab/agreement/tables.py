"""The tables of an agreement report: judges against people, against each other, and against themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from statistics import fmean, pstdev
from typing import Any

import pandas as pd

from redraft.evaluators.figures import Interval
from redraft.evaluators.reference.keyfacts import share
from redraft.lab.agreement.frames import (
    BIGRAMS,
    has_systems,
    judged_frame,
    sentence_frame,
    sentence_separation,
    summary_correlation,
    system_correlation,
)
from redraft.lab.agreement.measures import (
    PERMUTATIONS,
    ClassSeparation,
    Correlation,
    area_under_curve,
    class_scores,
    cohens_kappa,
    compare_verdicts,
    gwets_ac1,
    krippendorffs_alpha,
    percent_agreement,
    tau_b,
    threshold_verdicts,
    within_documents,
)
from redraft.lab.agreement.people import Ratings
from redraft.lab.agreement.trial import AgreementOutcome
from redraft.lab.declared import Row, make_table
from redraft.lab.experiments.experiment import AGAIN
from redraft.lab.experiments.frames import spent
from redraft.report.tables import Cell, Table

_STATUSES = ("unjudged", "not applicable", "failed", "not made")
PEOPLE = "people"
SUMMARIES, SYSTEMS = "summaries", "systems"
_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def agreement_tables(outcome: AgreementOutcome) -> Iterator[Table]:
    """Yield the tables that there is data for; the last ones describe that data."""
    statuses = [item_outcome.status for item_outcome in outcome.outcomes]
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in _STATUSES)
    rated, items = sum(outcome.design.human in item.people for item in outcome.dataset.items), outcome.dataset.items
    base = f"Based on {rated} of {len(items)} items and {len(statuses)} judgments: {counts}."
    yield from _score_tables(outcome, rated, base)
    for name, rows in (("sentences", _sentences(outcome)), ("raters", _raters(outcome))):
        yield from (table for table in [make_table("agree", name, base, rows)] if table.rows)
    unread = f"{len(outcome.dataset.troubles)} entries of the file could not be read."
    yield make_table("agree", "counts", unread, _counts(outcome))
    costs: list[Row] = []
    for column in outcome.columns:
        if column.usage:
            setting = ", ".join(f"{name} {value}" for name, value in column.setting)
            costs.append((column.judge, setting, len(column.usage), *spent(column.usage).values()))
    yield make_table("agree", "cost", base, costs)
    troubles: list[Row] = [(problem.place, "", "reading", "", problem.message) for problem in outcome.dataset.troubles]
    for column in outcome.columns:
        for item, item_outcome in zip(items, column.said, strict=True):
            if (failure := item_outcome.failure) is not None:
                troubles.append((item.id, column.name, failure.stage, failure.code, failure.message))
    yield make_table("agree", "troubles", base, troubles, again=AGAIN if troubles else "Nothing failed.")


def _score_tables(outcome: AgreementOutcome, rated: int, base: str) -> Iterator[Table]:
    """Yield the tables of scores beside people's figures: over all summaries, within documents and by system, and, if
    people say which summaries have no errors, as verdicts."""
    human = outcome.design.human
    best = outcome.dataset.fields[human].best
    rows: dict[str, list[Row]] = {name: [] for name in ("agreement", "documents", "systems", "classes")}
    several_documents = several_systems = None
    for judge, with_people in judged_frame(outcome).groupby("judge", sort=False):
        of_judge = with_people.dropna(subset="ours")
        if several_documents is None:
            several_documents, several_systems = bool(of_judge["document"].duplicated().any()), has_systems(of_judge)
        result, filled_tau = (
            summary_correlation(with_people),
            tau_b(with_people["filled"].dropna(), with_people["people"]),
        )
        rows["agreement"].append((judge, result.n, rated, *_figures(result), filled_tau))
        if len(of_judge):
            within = within_documents(of_judge["ours"], of_judge["people"], of_judge["document"])
            span = interval_ends(within.interval)
            rows["documents"].append((judge, within.documents, within.of, within.tau, *span))
        result = system_correlation(with_people)
        rows["systems"].append((judge, result.n, *_figures(result), system_correlation(with_people, "filled").tau))

        labels = [best is not None and value >= best for value in of_judge["people"]]
        verdicts = threshold_verdicts(of_judge["ours"], labels, of_judge["document"])
        separated: Row = (None,) * 7
        if verdicts is not None:
            separated = _separated(compare_verdicts(verdicts, labels, of_judge["document"]))
        wrong, area = len(labels) - sum(labels), area_under_curve(of_judge["ours"], labels)
        rows["classes"].append((judge, len(labels), rated, wrong, *separated, area))
    words: dict[str, Any] = {"permutations": PERMUTATIONS, "least": 2 / (PERMUTATIONS + 1), "bigrams": BIGRAMS}
    has = {"agreement": True, "documents": several_documents, "systems": several_systems, "classes": best is not None}
    for name in (name for name, is_there in has.items() if is_there):
        yield make_table("agree", name, base, rows[name], human=human, best=best, **words)


def interval_ends(interval: Interval | None) -> tuple[float | None, float | None]:
    """Return the ends of an interval; None for both if there is none."""
    return (interval.low, interval.high) if interval else (None, None)


def _figures(result: Correlation) -> Row:
    return (result.tau, *interval_ends(result.interval), result.p, result.p_by, result.spearman, result.pearson)


def _separated(result: ClassSeparation) -> Row:
    """Return balanced accuracy with its interval, then precision and recall of the wrong and the right class."""
    classes = (result.wrong.precision, result.wrong.recall, result.right.precision, result.right.recall)
    return (result.balanced, *interval_ends(result.interval), *classes)


def _beyond_chance(ratings: Ratings) -> tuple[float | None, ...]:
    return percent_agreement(ratings), gwets_ac1(ratings), krippendorffs_alpha(ratings, "interval")


def _sentences(outcome: AgreementOutcome) -> Iterator[Row]:
    for column in outcome.columns:
        if (sentences := sentence_frame(outcome.dataset, column)) is None:
            continue
        with_verdict = sentences.dropna(subset="ours")
        ours, labels = with_verdict["ours"].astype(bool).tolist(), with_verdict["people"].astype(bool).tolist()
        wrong = [not label for label in sentences["people"]]
        found_of_all = class_scores([verdict is False for verdict in sentences["ours"]], wrong).recall
        pairs = list(zip(labels, ours, strict=True))
        beyond_chance = (cohens_kappa(labels, ours), gwets_ac1(pairs), krippendorffs_alpha(pairs))
        separated = _separated(sentence_separation(sentences))
        yield (column.name, len(with_verdict), len(sentences), sum(wrong), *separated, found_of_all, *beyond_chance)


def _raters(outcome: AgreementOutcome) -> Iterator[Row]:
    for first, second in combinations([column for column in outcome.columns if not column.setting], 2):
        both = _both(zip(first.scores, second.scores, strict=True))
        verdicts = [
            pair
            for score, other_score in zip(first.said, second.said, strict=True)
            for pair in _both(zip(score.sentences, other_score.sentences, strict=False))
        ]
        kappa = cohens_kappa(*_sides(verdicts))
        yield (first.name, second.name, len(both), *_beyond_chance(both), kappa, tau_b(*_sides(both)), None)
    for column in outcome.columns:
        times = [
            item_outcome.each
            for item_outcome in column.said
            if sum(score is not None for score in item_outcome.each) > 1
        ]
        if times:
            spread = fmean(pstdev([score for score in scores if score is not None]) for scores in times)
            tau_of_repetition = tau_b(*_sides(_both((scores[0], scores[1]) for scores in times)))
            yield (column.name, "itself", len(times), *_beyond_chance(times), None, tau_of_repetition, spread)
    if votes := [row for item in outcome.dataset.items for row in item.votes]:
        yield (PEOPLE, "each other", len(votes), *_beyond_chance(votes), None, None, None)


def _both(pairs: Iterable[tuple[float | None, float | None]]) -> list[tuple[float, float]]:
    return [(first, second) for first, second in pairs if first is not None and second is not None]


def _sides(pairs: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [first for first, _ in pairs], [second for _, second in pairs]


def with_stars(result: Correlation) -> Cell:
    """Return tau-b with its stars; None where it is undefined."""
    if result.tau is None or result.p is None:
        return None
    p = result.p
    return f"{result.tau:.3f}" + next((stars for limit, stars in _STARS if p < limit), "")


def _counts(outcome: AgreementOutcome) -> Iterator[Row]:
    field = outcome.design.human
    figures = [item.people[field] for item in outcome.dataset.items if field in item.people]
    yield (PEOPLE, len(outcome.dataset.items), len(figures), *[None] * 5, _ties(figures))
    for column in outcome.columns:
        statuses = [item_outcome.status for item_outcome in column.said]
        counts = [statuses.count(status) for status in ("scored", *_STATUSES)]
        unjudged, judged_count = (
            sum(getattr(item_outcome, name) for item_outcome in column.said) for name in ("unjudged", "judged")
        )
        scores = [score for score in column.scores if score is not None]
        yield (column.name, len(statuses), *counts, share(unjudged, unjudged + judged_count), _ties(scores))


def _ties(values: Sequence[float]) -> float | None:
    counts = pd.Series(values, dtype=float).value_counts()
    pairs = len(values) * (len(values) - 1)
    return float((counts * (counts - 1)).sum() / pairs) if pairs else None
