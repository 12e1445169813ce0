"""Tables about the judges themselves: each other, themselves a second time, people among each other; about what a sweep
comes to; and about what there was to go by, what it took and what went wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean, pstdev

import numpy as np

from redraft.lab.agreement.correlation import between_systems, correlate, tau_b
from redraft.lab.agreement.people import Level, Ratings, cohens_kappa, equal_share, gwets_ac1, krippendorffs_alpha
from redraft.lab.agreement.series import series
from redraft.lab.agreement.sweep import SIMILARITY
from redraft.lab.agreement.tables import Row, basis
from redraft.lab.agreement.trial import AgreementOutcome, Column
from redraft.report.reports.tables import Cell, Table

_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
PEOPLE = "people"


def rater_table(outcome: AgreementOutcome) -> Table | None:
    """How far judges agree with each other, each with itself, and people among each other; none where all are alone."""
    rows: list[Row] = []
    for one, other in combinations([column for column in outcome.columns if not column.setting], 2):
        rows.append(_two(one, other))
    rows.extend(row for column in outcome.columns if (row := _itself(column)))
    votes = [row for item in outcome.dataset.items for row in item.votes]
    if votes:
        rows.append((PEOPLE, "each other", len(votes), *_beyond_chance(votes), None, None))
    if not rows:
        return None
    return Table(
        "raters",
        "Judges with each other and with themselves",
        "Two judges: over the summaries that both score, tau-b of their scores. One judge several times: the mean over"
        " summaries of the standard deviation of its scores, and tau-b of the first and the second time. People: over"
        " all that several of them were asked about. Equal ratings, AC1 (Gwet) and alpha (Krippendorff) take scores and"
        " ratings as they are, alpha by how far they lie apart.",
        basis(outcome),
        ("one", "other", "items", "equal", "AC1", "alpha", "kappa", "tau-b", "sd"),
        tuple((*row[:6], *_kappa(row, outcome), *row[6:]) for row in rows),
    )


def _kappa(row: Row, outcome: AgreementOutcome) -> tuple[float | None]:
    """Cohen's kappa of two judges' verdicts on single sentences."""
    by_name = {column.name: column for column in outcome.columns}
    one, other = by_name.get(str(row[0])), by_name.get(str(row[1]))
    if one is None or other is None:
        return (None,)
    pairs = [
        (a, b)
        for first, second in zip(one.said, other.said, strict=True)
        for a, b in zip(first.sentences, second.sentences, strict=False)
        if a is not None and b is not None
    ]
    return (cohens_kappa([a for a, _ in pairs], [b for _, b in pairs]),)


def _two(one: Column, other: Column) -> Row:
    both = [(a, b) for a, b in zip(one.scores, other.scores, strict=True) if a is not None and b is not None]
    return (
        *(one.name, other.name, len(both), *_beyond_chance(both)),
        *(tau_b([a for a, _ in both], [b for _, b in both]), None),
    )


def _itself(column: Column) -> Row | None:
    """A judge beside itself, where it has judged several times."""
    times = [one.each for one in column.said if sum(score is not None for score in one.each) > 1]
    if not times:
        return None
    spreads = [pstdev([score for score in each if score is not None]) for each in times]
    both = [(each[0], each[1]) for each in times if each[0] is not None and each[1] is not None]
    again = tau_b([a for a, _ in both], [b for _, b in both])
    return (column.name, "itself", len(times), *_beyond_chance(times), again, fmean(spreads))


def _beyond_chance(ratings: Ratings) -> tuple[float | None, ...]:
    level: Level = "interval"
    return equal_share(ratings), gwets_ac1(ratings), krippendorffs_alpha(ratings, level)


def sweep_tables(outcome: AgreementOutcome) -> list[Table]:
    """What a sweep comes to (LongSumEval, tables V to VII): tau-b per summary, and per system where there are any."""
    values = outcome.design.sweep.values
    if not values:
        return []
    across = SIMILARITY if SIMILARITY in values and len(values) > 1 else None
    down = [name for name in values if name != across]
    tables = [_pivot(outcome, down, across, "summaries")]
    if series(outcome, outcome.columns[0]).has_systems:
        tables.append(_pivot(outcome, down, across, "systems"))
    return tables


def _pivot(outcome: AgreementOutcome, down: Sequence[str], across: str | None, per: str) -> Table:
    values = outcome.design.sweep.values
    columns = values[across] if across else ("tau-b",)
    rows: dict[tuple[str, ...], dict[str, Cell]] = {}
    for column in outcome.columns:
        setting = dict(column.setting)
        key = (column.judge, *(setting[name] for name in down))
        rows.setdefault(key, {})[setting[across] if across else "tau-b"] = _starred(outcome, column, per)
    return Table(
        f"sweep-{per}",
        f"Sensitivity: Kendall's tau-b with people's {outcome.design.human}, per {per[:-1].replace('ie', 'y')}",
        "As in the tables V to VII of LongSumEval: * is p < 0.05, ** p < 0.01, *** p < 0.001. Similarity and threshold"
        " read the same answers otherwise, and nobody is asked again; whoever picks the best of many has picked chance"
        " too.",
        basis(outcome),
        ("judge", *down, *columns),
        tuple((*key, *(found.get(name) for name in columns)) for key, found in rows.items()),
    )


def _starred(outcome: AgreementOutcome, column: Column, per: str) -> Cell:
    one = series(outcome, column)
    if per == "systems":
        found = between_systems(one.ours, one.people, one.systems, one.documents)
    else:
        found = correlate(one.ours, one.people, one.documents)
    if found.tau is None:
        return None
    return f"{found.tau:.3f}" + next((stars for least, stars in _STARS if found.p is not None and found.p < least), "")


def count_table(outcome: AgreementOutcome) -> Table:
    """What there was to go by: items by what came of them, and ties."""
    field = outcome.design.human
    people = [item.people[field] for item in outcome.dataset.items if field in item.people]
    rows: list[Row] = [(PEOPLE, len(outcome.dataset.items), len(people), *[None] * 4, None, _ties(people))]
    for column in outcome.columns:
        statuses = [one.status for one in column.said]
        counts = [statuses.count(status) for status in ("scored", "unjudged", "not applicable", "failed", "not made")]
        left = sum(one.unjudged for one in column.said)
        known = [score for score in column.scores if score is not None]
        rows.append((column.name, len(statuses), *counts, _share(left, column), _ties(known)))
    return Table(
        "counts",
        "What there was to go by",
        "A summary is unjudged where fewer than half of its items have a verdict, and not applicable where there is"
        " nothing to judge. Items unjudged is the share of all items (questions, claims, sentences) without a verdict;"
        " ties the share of all pairs of summaries that have the same figure.",
        f"{len(outcome.dataset.troubles)} entries of the file could not be read.",
        ("by", "items", "figures", "unjudged", "not applicable", "failed", "not made", "items unjudged", "ties"),
        tuple(rows),
    )


def _share(left: int, column: Column) -> float | None:
    whole = left + sum(one.judged for one in column.said)
    return left / whole if whole else None


def _ties(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    counts = np.unique(np.asarray(values), return_counts=True)[1]
    return float((counts * (counts - 1)).sum() / (len(values) * (len(values) - 1)))


def cost_table(outcome: AgreementOutcome) -> Table:
    """What each judge took, over all its runs."""
    rows: list[Row] = []
    for column in outcome.columns:
        if column.usage:
            priced = all(one.cost_usd is not None for one in column.usage)
            rows.append(
                (
                    *(column.judge, ", ".join(f"{name} {value}" for name, value in column.setting)),
                    *(len(column.usage), sum(one.calls for one in column.usage)),
                    *(sum(one.cached for one in column.usage), sum(one.prompt_tokens for one in column.usage)),
                    sum(one.completion_tokens for one in column.usage),
                    sum((one.cost_usd or 0.0 for one in column.usage), 0.0) if priced else None,
                )
            )
    return Table(
        "cost",
        "What it takes",
        "All that the runs of a judge took; what was known already is counted as from the cache, and costs nothing."
        " Settings that only read the same answers otherwise have no row but the first.",
        basis(outcome),
        ("judge", "setting", "runs", "calls", "cached", "prompt tokens", "reply tokens", "USD"),
        tuple(rows),
    )


def trouble_table(outcome: AgreementOutcome) -> Table:
    """What could not be read, and what failed, with its place."""
    rows: list[Row] = [(one.place, "", "reading", "", one.message) for one in outcome.dataset.troubles]
    for column in outcome.columns:
        for item, said in zip(outcome.dataset.items, column.said, strict=True):
            if said.failure is not None:
                rows.append((item.id, column.name, said.failure.stage, said.failure.code, said.failure.message))
    return Table(
        "troubles",
        "What could not be read, and what failed",
        "Everything else went on. Repeat the command to try again what failed; what is done is not done again.",
        basis(outcome),
        ("place", "judge", "stage", "code", "message"),
        tuple(rows),
    )
