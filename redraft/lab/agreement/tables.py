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
    by_judge,
    has_systems,
    judged_frame,
    scored,
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
    frame = judged_frame(outcome)
    first = scored(by_judge(frame)[0][1]) if len(frame) else frame
    human, best, base = outcome.design.human, best_rating(outcome), basis(outcome)
    chance: dict[str, Any] = {"permutations": PERMUTATIONS, "least": 2 / (PERMUTATIONS + 1), "bigrams": BIGRAMS}
    yield make_table("agree", "agreement", base, _correlations(outcome, frame), human=human, **chance)
    if first["document"].duplicated().any():
        yield make_table("agree", "documents", base, _within_documents(frame))
    if has_systems(first):
        yield make_table("agree", "systems", base, _between_systems(frame))
    if best is not None:
        yield make_table("agree", "classes", base, _classes(outcome, frame), human=human, best=best)
    for name, rows in (("sentences", _sentences(outcome)), ("raters", _raters(outcome))):
        yield from (table for table in [make_table("agree", name, base, rows)] if table.rows)
    yield make_table(
        "agree", "counts", f"{len(outcome.dataset.troubles)} entries of the file could not be read.", _counts(outcome)
    )
    yield make_table("agree", "cost", base, _costs(outcome))
    troubles = list(_troubles(outcome))
    yield make_table("agree", "troubles", base, troubles, again=AGAIN if troubles else "Nothing failed.")


def basis(outcome: AgreementOutcome) -> str:
    """Return a sentence on what the tables are based on."""
    statuses = [item_outcome.status for item_outcome in outcome.outcomes]
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in _STATUSES)
    return f"Based on {_rated(outcome)} of {len(outcome.dataset.items)} items and {len(statuses)} judgments: {counts}."


def _rated(outcome: AgreementOutcome) -> int:
    return sum(outcome.design.human in item.people for item in outcome.dataset.items)


def best_rating(outcome: AgreementOutcome) -> float | None:
    """Return the rating of a summary without errors; None if people were asked something else."""
    return outcome.dataset.fields[outcome.design.human].best


def verdict_pairs(outcome: AgreementOutcome, rows: pd.DataFrame) -> tuple[list[bool], list[bool] | None]:
    """Return whether people find each summary free of errors, and the judge's verdicts by its score."""
    best = best_rating(outcome)
    labels = [best is not None and value >= best for value in rows["people"]]
    return labels, threshold_verdicts(rows["ours"], labels, rows["document"])


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


def _correlations(outcome: AgreementOutcome, frame: pd.DataFrame) -> Iterator[Row]:
    for judge, rows in by_judge(frame):
        result = summary_correlation(rows)
        yield (judge, result.n, _rated(outcome), *_figures(result), tau_b(rows["filled"].dropna(), rows["people"]))


def _within_documents(frame: pd.DataFrame) -> Iterator[Row]:
    for judge, rows in by_judge(scored(frame)):
        result = within_documents(rows["ours"], rows["people"], rows["document"])
        yield (judge, result.documents, result.of, result.tau, *interval_ends(result.interval))


def _between_systems(frame: pd.DataFrame) -> Iterator[Row]:
    for judge, rows in by_judge(frame):
        result = system_correlation(rows)
        yield (judge, result.n, *_figures(result), system_correlation(rows, "filled").tau)


def _classes(outcome: AgreementOutcome, frame: pd.DataFrame) -> Iterator[Row]:
    for judge, all_rows in by_judge(frame):
        rows = scored(all_rows)
        labels, verdicts = verdict_pairs(outcome, rows)
        separation = compare_verdicts(verdicts, labels, rows["document"]) if verdicts is not None else None
        counts = (len(labels), _rated(outcome), len(labels) - sum(labels))
        figures = _separated(separation) if separation else (None,) * 7
        yield (judge, *counts, *figures, area_under_curve(rows["ours"], labels))


def _sentences(outcome: AgreementOutcome) -> Iterator[Row]:
    for column in outcome.columns:
        if (sentences := sentence_frame(outcome.dataset, column)) is None:
            continue
        with_verdict = scored(sentences)
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
        kappa = cohens_kappa([score for score, _ in verdicts], [other_score for _, other_score in verdicts])
        yield (first.name, second.name, len(both), *_beyond_chance(both), kappa, _tau(both), None)
    for column in outcome.columns:
        times = [
            item_outcome.each
            for item_outcome in column.said
            if sum(score is not None for score in item_outcome.each) > 1
        ]
        if times:
            spread = fmean(pstdev([score for score in scores if score is not None]) for scores in times)
            tau_of_repetition = _tau(_both((scores[0], scores[1]) for scores in times))
            yield (column.name, "itself", len(times), *_beyond_chance(times), None, tau_of_repetition, spread)
    if votes := [row for item in outcome.dataset.items for row in item.votes]:
        yield (PEOPLE, "each other", len(votes), *_beyond_chance(votes), None, None, None)


def _both(pairs: Iterable[tuple[float | None, float | None]]) -> list[tuple[float, float]]:
    return [(first, second) for first, second in pairs if first is not None and second is not None]


def _tau(pairs: Sequence[tuple[float, float]]) -> float | None:
    return tau_b([first for first, _ in pairs], [second for _, second in pairs])


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


def _costs(outcome: AgreementOutcome) -> Iterator[Row]:
    for column in outcome.columns:
        if column.usage:
            setting = ", ".join(f"{name} {value}" for name, value in column.setting)
            yield (column.judge, setting, len(column.usage), *spent(column.usage).values())


def _troubles(outcome: AgreementOutcome) -> Iterator[Row]:
    for problem in outcome.dataset.troubles:
        yield (problem.place, "", "reading", "", problem.message)
    for column in outcome.columns:
        for item, item_outcome in zip(outcome.dataset.items, column.said, strict=True):
            if item_outcome.failure is not None:
                yield (
                    item.id,
                    column.name,
                    item_outcome.failure.stage,
                    item_outcome.failure.code,
                    item_outcome.failure.message,
                )
