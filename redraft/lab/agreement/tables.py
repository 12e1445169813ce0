"""The tables of judges beside people: how far their scores go together, and how well right is told from wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redraft.evaluators.bootstrap import Interval
from redraft.lab.agreement.correlation import (
    Correlation,
    OfClass,
    area_of_risk,
    area_under_curve,
    between_systems,
    correlate,
    of_class,
    risk_against_coverage,
    tau_b,
    told,
    verdicts_by_cut,
    within_documents,
)
from redraft.lab.agreement.people import cohens_kappa, gwets_ac1, krippendorffs_alpha
from redraft.lab.agreement.series import BIGRAMS, ScoreSeries, baseline, filled, sentence_series, series
from redraft.lab.agreement.trial import AgreementOutcome
from redraft.report.reports.tables import Cell, Table

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
