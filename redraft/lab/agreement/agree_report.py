"""The report of judges beside people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from redraft.lab.agreement.other_tables import cost_table, count_table, rater_table, sweep_tables, trouble_table
from redraft.lab.agreement.series import series
from redraft.lab.agreement.tables import (
    class_table,
    correlation_table,
    document_table,
    kind_table,
    pair_table,
    risk_table,
    sentence_table,
    system_table,
)
from redraft.lab.agreement.trial import AgreementOutcome
from redraft.report.reports.report import Report
from redraft.report.reports.tables import Cell, Table, figure, plain

_MOST = 6


def agree_report(outcome: AgreementOutcome) -> Report:
    """The report of judges beside people, with a record of every item."""
    design, tables = outcome.design, tuple(_tables(outcome))
    return Report(
        "agree",
        f"{design.metric} beside people: {plain(outcome.dataset.name)}",
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
    """How far each judge agrees with people, and what that rests on."""
    cells = {table.name: [dict(zip(table.columns, row, strict=True)) for row in table.rows] for table in tables}
    right = {row["judge"]: row["balanced accuracy"] for row in cells.get("classes", ())}
    for row in cells["agreement"][:_MOST]:
        told = f"; balanced accuracy {_shown(right.get(row['judge']))}" if right else ""
        span = f"[{_shown(row['95% from'])}, {_shown(row['95% to'])}] over {row['summaries']} of {row['of']} summaries"
        yield f"{plain(str(row['judge']))}: tau-b {_shown(row['tau-b'])} {span}{told}"
    yield from list(_about(outcome))[2:]


def _shown(cell: Cell) -> str:
    return figure(cell if isinstance(cell, int | float) else None)


def _tables(outcome: AgreementOutcome) -> Iterator[Table]:
    """Those for which there is something to go by; the last tell what that is."""
    best = outcome.dataset.fields[outcome.design.human].best
    first = series(outcome, outcome.columns[0])
    yield from sweep_tables(outcome)
    yield correlation_table(outcome)
    if len(set(first.documents)) < len(first.documents):
        yield document_table(outcome)
    if first.has_systems:
        yield system_table(outcome)
    if best is not None:
        yield class_table(outcome, best)
        if (kinds := kind_table(outcome, best)) is not None:
            yield kinds
    if (sentences := sentence_table(outcome)) is not None:
        yield sentences
    if (pairs := pair_table(outcome)) is not None:
        yield pairs
    if best is not None:
        yield risk_table(outcome, best)
    if (raters := rater_table(outcome)) is not None:
        yield raters
    yield count_table(outcome)
    yield cost_table(outcome)
    yield trouble_table(outcome)


def _about(outcome: AgreementOutcome) -> Iterator[str]:
    design, dataset = outcome.design, outcome.dataset
    yield f"metric: {design.metric}; people were asked about {plain(design.human)}"
    yield f"judges: {', '.join(plain(judge) for judge in design.judges)}"
    yield f"items: {len(dataset.items)} of {len({item.document for item in dataset.items})} documents"
    if dataset.troubles:
        yield f"entries that could not be read: {len(dataset.troubles)}; see the last table"
    yield "– is what there is not: too few figures, or all of them the same"
    if outcome.stopped is not None:
        yield (
            f"stopped: {plain(outcome.stopped.message)}; what is there is below, and the same command with a higher"
            " limit goes on"
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
