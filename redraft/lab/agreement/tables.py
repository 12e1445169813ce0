"""The tables of an agreement report: judges against people, against each other, and against themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from statistics import fmean, pstdev

import numpy as np

from redraft.evaluators.consensus import Interval
from redraft.lab.agreement.correlation import (
    BIGRAMS,
    Correlation,
    OfClass,
    ScoreSeries,
    area_of_risk,
    area_under_curve,
    baseline,
    between_systems,
    correlate,
    filled,
    of_class,
    risk_against_coverage,
    sentence_series,
    series,
    tau_b,
    told,
    verdicts_by_cut,
    within_documents,
)
from redraft.lab.agreement.people import Level, Ratings, cohens_kappa, equal_share, gwets_ac1, krippendorffs_alpha
from redraft.lab.agreement.trial import SIMILARITY, AgreementOutcome, Column
from redraft.report.tables import Cell, Table

Row = tuple[Cell, ...]
_ENDS = ("95% from", "95% to")
# How large a share of a summary's items has a verdict, for the summaries of a row and above.
_SHARES = (1.0, 0.9, 0.8, 0.65, 0.5)


def correlation_table(outcome: AgreementOutcome) -> Table:
    """Each judge's scores beside people's figures, summary by summary."""
    rows: list[Row] = []
    for column in outcome.columns:
        one, everything = series(outcome, column), filled(outcome, column)
        rows.append((*_correlated(one), tau_b(everything.ours, everything.people)))
    plain = baseline(outcome)
    rows.append((*_correlated(plain), tau_b(plain.ours, plain.people)))
    return Table(
        "agreement",
        f"Scores beside people's {outcome.design.human}",
        "Kendall's tau-b over all summaries that have a score, with the interval that holds 95 % of the resamples by"
        " document, and how often chance alone comes as far (p, over permutations); Spearman's and Pearson's"
        " correlation. `tau, all` is over all summaries: one without a score is given the mean of the others. The last"
        f" row asks nobody: it is the {BIGRAMS}.",
        basis(outcome),
        ("judge", "summaries", "of", "tau-b", *_ENDS, "p", "Spearman", "Pearson", "tau, all"),
        tuple(rows),
    )


def _correlated(one: ScoreSeries) -> Row:
    found = correlate(one.ours, one.people, one.documents)
    return (one.name, found.n, one.of, *_figures(found))


def _figures(found: Correlation) -> Row:
    return (found.tau, *ends(found.interval), found.p, found.spearman, found.pearson)


def ends(interval: Interval | None) -> tuple[float | None, float | None]:
    """The two ends of an interval, where there is one."""
    return (interval.low, interval.high) if interval else (None, None)


def document_table(outcome: AgreementOutcome) -> Table:
    """Which summary of a document is better: the mean over documents."""
    rows: list[Row] = []
    for one in _all(outcome):
        found = within_documents(one.ours, one.people, one.documents)
        rows.append((one.name, found.documents, found.of, found.tau, *ends(found.interval)))
    return Table(
        "documents",
        "Within documents",
        "The mean of tau-b over documents, each over its own summaries, by drawing other documents. A document whose"
        " summaries are all alike, to people or to the judge, says nothing and is left out.",
        basis(outcome),
        ("judge", "documents", "of", "tau-b", *_ENDS),
        tuple(rows),
    )


def system_table(outcome: AgreementOutcome) -> Table:
    """Whose summaries are better: over the systems' means."""
    rows: list[Row] = []
    for one in _all(outcome):
        found = between_systems(one.ours, one.people, one.systems, one.documents)
        everything = _all_systems(outcome, one)
        rows.append((one.name, found.n, *_figures(found), everything))
    return Table(
        "systems",
        "Between systems",
        "The correlation of the systems' means; the interval is by drawing other documents. `tau, all` is over all"
        " summaries: one without a score is given the mean of the others.",
        basis(outcome),
        ("judge", "systems", "tau-b", *_ENDS, "p", "Spearman", "Pearson", "tau, all"),
        tuple(rows),
    )


def _all_systems(outcome: AgreementOutcome, one: ScoreSeries) -> float | None:
    column = next((column for column in outcome.columns if column.name == one.name), None)
    everything = one if column is None else filled(outcome, column)
    return between_systems(everything.ours, everything.people, everything.systems, everything.documents).tau


def _all(outcome: AgreementOutcome) -> Iterator[ScoreSeries]:
    yield from (series(outcome, column) for column in outcome.columns)
    yield baseline(outcome)


def class_table(outcome: AgreementOutcome, best: float) -> Table:
    """How well the scores tell those summaries in which people find nothing wrong from the others."""
    rows: list[Row] = []
    for one in _all(outcome):
        people = [value >= best for value in one.people]
        said = verdicts_by_cut(one.ours, people, one.documents)
        found = told(said, people, one.documents) if said is not None else None
        rows.append(
            (
                one.name,
                len(people),
                one.of,
                len(people) - sum(people),
                found.balanced if found else None,
                *ends(found.interval if found else None),
                *(_shares(found.wrong) if found else (None, None)),
                *(_shares(found.right) if found else (None, None)),
                area_under_curve(one.ours, people),
            )
        )
    return Table(
        "classes",
        "Right and wrong summaries",
        f"People find nothing wrong where {outcome.design.human} is {best:g}. A judge finds nothing wrong from a score"
        " on that was chosen on other documents, in five parts. Balanced accuracy is the mean of the two recalls; AUC"
        " is how likely a right summary has a higher score than a wrong one, without any cut.",
        basis(outcome),
        (
            *("judge", "summaries", "of", "wrong", "balanced accuracy", *_ENDS),
            *("precision wrong", "recall wrong", "precision right", "recall right", "AUC"),
        ),
        tuple(rows),
    )


def _shares(one: OfClass) -> tuple[float | None, float | None]:
    return one.precision, one.recall


def sentence_table(outcome: AgreementOutcome) -> Table | None:
    """Verdicts on single sentences beside people's; none where there are none."""
    rows: list[Row] = []
    for column in outcome.columns:
        if (one := sentence_series(outcome.dataset, column)) is None:
            continue
        judged = one.judged
        said = [bool(one.said[n]) for n in judged]
        people = [one.people[n] for n in judged]
        found = told(said, people, [one.documents[n] for n in judged])
        wrong = of_class([verdict is False for verdict in one.said], [not label for label in one.people])
        pairs = list(zip(people, said, strict=True))
        rows.append(
            (
                *(column.name, len(judged), len(one.people), len(one.people) - sum(one.people)),
                *(found.balanced, *ends(found.interval), *_shares(found.wrong), *_shares(found.right)),
                *(wrong.recall, cohens_kappa(people, said), gwets_ac1(pairs), krippendorffs_alpha(pairs)),
            )
        )
    if not rows:
        return None
    return Table(
        "sentences",
        "Right and wrong sentences",
        "Over the sentences on which the judge has a verdict, of all those that people judged; wrong is how many they"
        " find wrong. Found of all is the share of the wrong ones that the judge says are wrong, also of"
        " those without a verdict. Kappa (Cohen), AC1 (Gwet) and alpha (Krippendorff) are agreement beyond chance.",
        basis(outcome),
        (
            *("judge", "judged", "of", "wrong", "balanced accuracy", *_ENDS),
            *("precision wrong", "recall wrong", "precision right", "recall right"),
            *("found of all", "kappa", "AC1", "alpha"),
        ),
        tuple(rows),
    )


def risk_table(outcome: AgreementOutcome, best: float) -> Table:
    """How often a judge is wrong on the summaries of which it judges the most, on more of them, on all."""
    rows: list[Row] = []
    for column in outcome.columns:
        one = series(outcome, column)
        people = [value >= best for value in one.people]
        said = verdicts_by_cut(one.ours, people, one.documents)
        if said is None:
            continue
        wrong = [verdict != label for verdict, label in zip(said, people, strict=True)]
        shares = [column.said[n].judged_share for n in one.places]
        curve = risk_against_coverage(wrong, shares, one.of)
        for least in _SHARES:
            kept = [step for step in curve if step.least >= least]
            last = kept[-1] if kept else None
            rows.append((column.name, least, last.coverage if last else 0.0, last.risk if last else None, None))
        rows.append(
            (column.name, None, len(wrong) / one.of if one.of else None, _share(wrong), area_of_risk(wrong, shares))
        )
    return Table(
        "risk",
        "Mistakes on how much is judged",
        "Of the summaries of which at least so large a share of what there is to say has a verdict: how many they are"
        " of all (coverage), and how often the judge is wrong on them (risk). The last row of a judge is all that it"
        " scores, with the mean risk over all coverages. One that knows what it cannot tell is wrong less often"
        " on less.",
        basis(outcome),
        ("judge", "least share judged", "coverage", "risk", "mean risk"),
        tuple(rows),
    )


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


def pair_table(outcome: AgreementOutcome) -> Table | None:
    """Of two summaries of which people find one better, which the judge puts above the other; none without pairs."""
    items, field = outcome.dataset.items, outcome.design.human
    pairs: dict[str, list[int]] = {}
    for n, item in enumerate(items):
        if item.pair:
            pairs.setdefault(item.pair, []).append(n)
    two = [those for those in pairs.values() if len(those) == 2]
    if not two:
        return None
    ordered = [sorted(those, key=lambda n: -items[n].people[field]) for those in two]
    rows = [
        (column.name, *_ordered([[column.scores[n] for n in those] for those in ordered])) for column in outcome.columns
    ]
    plain = baseline(outcome)
    scores = dict(zip(plain.places, plain.ours, strict=True))
    rows.append((plain.name, *_ordered([[scores.get(n) for n in those] for those in ordered])))
    return Table(
        "pairs",
        "The better of two",
        "Shares of the pairs of which both have a score.",
        basis(outcome),
        ("judge", "pairs", "of", "better one above", "tied", "below"),
        tuple(rows),
    )


def _ordered(scores: Sequence[Sequence[float | None]]) -> Row:
    known = [(one, other) for one, other in scores if one is not None and other is not None]
    if not known:
        return (0, len(scores), None, None, None)
    parts = [sum(test) / len(known) for test in zip(*((a > b, a == b, a < b) for a, b in known), strict=True)]
    return (len(known), len(scores), *parts)


def kind_table(outcome: AgreementOutcome, best: float) -> Table | None:
    """Of what people find wrong, the share that the judge finds, by what is wrong; none where that is unknown."""
    items = outcome.dataset.items
    kinds = sorted({kind for item in items for kind in item.kinds})
    if not kinds:
        return None
    rows: list[Row] = []
    for one in _all(outcome):
        people = [value >= best for value in one.people]
        said = verdicts_by_cut(one.ours, people, one.documents)
        verdict = dict(zip(one.places, said or (), strict=False))
        for kind in kinds:
            there = [
                n for n, item in enumerate(items) if kind in item.kinds and item.people[outcome.design.human] < best
            ]
            judged = [n for n in there if n in verdict]
            found = sum(not verdict[n] for n in judged)
            rows.append((one.name, kind, len(there), len(judged), found / len(judged) if judged else None))
    return Table(
        "kinds",
        "What is found, by what is wrong",
        "Of the summaries that people find wrong in this way, alone or among others, the share that the judge finds"
        " wrong, by the cuts of the table of right and wrong summaries.",
        basis(outcome),
        ("judge", "kind", "wrong", "judged", "found"),
        tuple(rows),
    )


def basis(outcome: AgreementOutcome) -> str:
    """What the tables rest on, in a sentence."""
    items, field = outcome.dataset.items, outcome.design.human
    there = sum(field in item.people for item in items)
    statuses = [said.status for column in outcome.columns for said in column.said]
    counts = (f"{statuses.count(status)} {status}" for status in ("unjudged", "not applicable", "failed", "not made"))
    return f"Rests on {there} of {len(items)} items, and on {len(statuses)} judgings: {', '.join(counts)}."


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
        rows.append((column.name, len(statuses), *counts, _share_of_other_tables(left, column), _ties(known)))
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


def _share_of_other_tables(left: int, column: Column) -> float | None:
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
