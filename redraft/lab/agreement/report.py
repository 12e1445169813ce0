"""The report on the agreement of judges and people, and the figures for the record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from redraft.evaluators.consensus import Interval
from redraft.lab.agreement.calibration import calibration_table, cross_fitted, fitted, labelled, quality
from redraft.lab.agreement.correlation import between_systems, correlate, sentence_series, series, told
from redraft.lab.agreement.tables import SUMMARIES, SYSTEMS, agreement_tables, best_of, right_and_said
from redraft.lab.agreement.trial import AgreementOutcome, Column
from redraft.lab.experiments.experiment import number, records_of
from redraft.report.history.certificates import standing_of
from redraft.report.tables import Cell, Report, Table, figure, plain
from redraft.settings import Evaluate
from redraft.store.documents import now
from redraft.store.judgments import BRIER, CALIBRATION_ERROR, FIT, ITEMS, Agreement
from redraft.store.store import Store

_MOST = 6


def agree_report(outcome: AgreementOutcome) -> Report:
    """Return the report of judges and people, with a record for every item."""
    design, likely = outcome.design, calibration_table(outcome)
    tables = (*agreement_tables(outcome), *([likely] if likely.rows else []))
    return Report(
        "agree",
        f"{design.metric} compared with people: {plain(outcome.dataset.name)}",
        tuple(_about(outcome)),
        {
            "metric": design.metric,
            "human": design.human,
            "judges": list(design.judges),
            "judging": design.judging.model_dump(mode="json"),
            "sweep": {name: list(values) for name, values in design.sweep.values.items()},
        },
        tables,
        [_item(outcome, n) for n in range(len(outcome.dataset.items))],
        tuple(_headline(outcome, tables)),
    )


def _headline(outcome: AgreementOutcome, tables: Sequence[Table]) -> Iterator[str]:
    cells = {table.name: records_of(table) for table in tables}
    right = {row["judge"]: row["balanced accuracy"] for row in cells.get("classes", ())}
    for row in cells["agreement"][:_MOST]:
        told = f"; balanced accuracy {_shown(right.get(row['judge']))}" if right else ""
        span = f"[{_shown(row['95% from'])}, {_shown(row['95% to'])}] over {row['summaries']} of {row['of']} summaries"
        yield f"{plain(str(row['judge']))}: tau-b {_shown(row['tau-b'])} {span}{told}"
    yield from list(_about(outcome))[2:]


def _shown(cell: Cell) -> str:
    return figure(number(cell))


def _about(outcome: AgreementOutcome) -> Iterator[str]:
    design, dataset = outcome.design, outcome.dataset
    yield f"metric: {design.metric}; people were asked about {plain(design.human)}"
    yield f"judges: {', '.join(plain(judge) for judge in design.judges)}"
    yield f"items: {len(dataset.items)} of {len({item.document for item in dataset.items})} documents"
    if dataset.troubles:
        yield f"entries that could not be read: {len(dataset.troubles)}; see the last table"
    yield "– means not available: too few figures, or all of them the same"
    if outcome.stopped is not None:
        yield (
            f"stopped: {plain(outcome.stopped.message)}; partial results are below, and the same command with a"
            " higher limit continues"
        )


def _item(outcome: AgreementOutcome, n: int) -> dict[str, object]:
    item = outcome.dataset.items[n]
    return {
        "id": item.id,
        "document": item.document,
        "system": item.system,
        "people": dict(item.people),
        "labels": list(item.labels),
        "judges": {column.name: asdict(column.said[n]) for column in outcome.columns},
    }


TAU, BALANCED = "tau-b", "balanced accuracy"
SENTENCES = "sentences"


def saved(outcome: AgreementOutcome, store: Store, *, fit: bool = False) -> list[Agreement]:
    """Save every figure of every judge, with `fit` also the calibration of its probabilities; save nothing of a
    comparison that was stopped early."""
    if outcome.stopped is not None:
        return []
    found = [one for column in outcome.columns for one in agreements(outcome, column, store, fit=fit)]
    with store.at_once():
        for one in found:
            store.agreements.keep(one)
    return found


def agreements(outcome: AgreementOutcome, column: Column, store: Store, *, fit: bool = False) -> list[Agreement]:
    """Return all figures of one judge under one setting."""
    made = next((said for said in column.said if said.run and said.version), None)
    if made is None or made.run is None:
        return []
    run = replace(store.runs.get(made.run), purpose=Evaluate(judging=column.judging))
    standing = standing_of(run, outcome.design.metric, made.version)
    dataset, human, today = outcome.dataset.name, outcome.design.human, now()[:10]
    return [
        Agreement(standing, dataset, human, level, measure, n, value, low, high, today)
        for level, measure, n, value, interval in (*_figures(outcome, column), *_calibration(outcome, column, fit=fit))
        for low, high in [interval or (None, None)]
        if value is not None
    ]


def _figures(
    outcome: AgreementOutcome, column: Column
) -> Iterator[tuple[str, str, int, float | None, Interval | None]]:
    """Yield level, measure, number of items, value and interval; the value is None for too few items."""
    one = series(outcome, column)
    whole = correlate(one.ours, one.people, one.documents)
    yield SUMMARIES, TAU, whole.n, whole.tau, whole.interval
    if one.has_systems:
        ranked = between_systems(one.ours, one.people, one.systems, one.documents)
        yield SYSTEMS, TAU, ranked.n, ranked.tau, ranked.interval
    if best_of(outcome) is not None:
        people, said = right_and_said(outcome, one)
        if said is not None:
            found = told(said, people, one.documents)
            yield SUMMARIES, BALANCED, found.n, found.balanced, found.interval
    if (sentences := sentence_series(outcome.dataset, column)) is not None:
        found = sentences.separation
        yield SENTENCES, BALANCED, found.n, found.balanced, found.interval


def _calibration(
    outcome: AgreementOutcome, column: Column, *, fit: bool
) -> Iterator[tuple[str, str, int, float | None, Interval | None]]:
    """Yield how well the judge's probabilities hold, as given or, with `fit`, calibrated; and that calibration."""
    pairs = labelled(outcome, column)
    fitting = fitted(pairs) if fit else None
    found = quality((cross_fitted(pairs) if fitting else None) or pairs)
    if found is not None:
        yield ITEMS, BRIER, found.n, found.brier, None
        yield ITEMS, CALIBRATION_ERROR, found.n, found.error, None
    if fitting is not None:
        for measure, value in zip(FIT, (fitting.slope, fitting.intercept, *fitting.covariance), strict=True):
            yield ITEMS, measure, len(pairs), value, None
