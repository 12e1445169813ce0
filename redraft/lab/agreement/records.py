"""Putting figures on record: how far each judge agrees with people, for the certificates of its scores to come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from redraft.evaluators.bootstrap import Interval
from redraft.lab.agreement.correlation import between_systems, correlate, told, verdicts_by_cut
from redraft.lab.agreement.series import sentence_series, series
from redraft.lab.agreement.trial import AgreementOutcome, Column
from redraft.report.history.certificates import standing_of
from redraft.settings import Evaluate
from redraft.store.agreements import Agreement
from redraft.store.documents import now
from redraft.store.store import Store

TAU, BALANCED = "tau-b", "balanced accuracy"
SUMMARIES, SYSTEMS, SENTENCES = "summaries", "systems", "sentences"


def saved(outcome: AgreementOutcome, store: Store) -> list[Agreement]:
    """Keep every figure that there is of every judge; nothing of what was stopped before it was done."""
    if outcome.stopped is not None:
        return []
    found = [one for column in outcome.columns for one in agreements(outcome, column, store)]
    with store.at_once():
        for one in found:
            store.agreements.keep(one)
    return found


def agreements(outcome: AgreementOutcome, column: Column, store: Store) -> list[Agreement]:
    """All the figures of one judge under one setting."""
    made = next((said for said in column.said if said.run and said.version), None)
    if made is None or made.run is None:
        return []
    run = replace(store.runs.get(made.run), purpose=Evaluate(judging=column.judging))
    standing = standing_of(run, outcome.design.metric, made.version)
    dataset, human, today = outcome.dataset.name, outcome.design.human, now()[:10]
    return [
        Agreement(standing, dataset, human, level, measure, n, value, low, high, today)
        for level, measure, n, value, interval in _figures(outcome, column)
        for low, high in [interval or (None, None)]
        if value is not None
    ]


def _figures(
    outcome: AgreementOutcome, column: Column
) -> Iterator[tuple[str, str, int, float | None, Interval | None]]:
    """Of what, by which measure, from how many, how much, and between what; there is none of too few."""
    one, best = series(outcome, column), outcome.dataset.fields[outcome.design.human].best
    whole = correlate(one.ours, one.people, one.documents)
    yield SUMMARIES, TAU, whole.n, whole.tau, whole.interval
    if one.has_systems:
        ranked = between_systems(one.ours, one.people, one.systems, one.documents)
        yield SYSTEMS, TAU, ranked.n, ranked.tau, ranked.interval
    if best is not None:
        people = [value >= best for value in one.people]
        said = verdicts_by_cut(one.ours, people, one.documents)
        found = told(said, people, one.documents) if said is not None else None
        yield SUMMARIES, BALANCED, len(people), found.balanced if found else None, found.interval if found else None
    if (sentences := sentence_series(outcome.dataset, column)) is not None:
        judged = sentences.judged
        found = told(
            [bool(sentences.said[n]) for n in judged],
            [sentences.people[n] for n in judged],
            [sentences.documents[n] for n in judged],
        )
        yield SENTENCES, BALANCED, len(judged), found.balanced, found.interval
