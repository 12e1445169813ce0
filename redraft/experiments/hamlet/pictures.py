"""The pictures of the experiment of HAMLET, drawn from its tables."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.experiments.cells import against_cost, by_columns, named, number, pair_pictures, rows_of
from redraft.experiments.hamlet.counting import FIFTHS, LEVEL_COLUMNS, WHOLE
from redraft.packs.keyfacts import ALL
from redraft.plots.curves import Reading
from redraft.plots.grids import Grid, Grids
from redraft.plots.picture import Plot
from redraft.plots.trends import Trend, Trends
from redraft.reports.tables import Cell, Table


def recall_by_place(table: Table) -> dict[str, Plot]:
    """By perspective how much each model keeps of each fifth of the documents."""
    at = {name: table.columns.index(name) for name in ("perspective", "model", "position", WHOLE)}
    perspectives, models, places = (named(table, at[name]) for name in ("perspective", "model", "position"))
    known = {(row[at["perspective"]], row[at["model"]], row[at["position"]]): row[at[WHOLE]] for row in table.rows}
    grids = [
        Grid(perspective, [[number(known.get((perspective, model, place))) for place in places] for model in models])
        for perspective in perspectives
    ]
    about = ("model", "place in the document", "recall of key facts", "Recall by place")
    drawn: dict[str, Plot] = {"recall_by_place": Grids(grids, models, places, *about)}
    rows = rows_of(table)
    for perspective in perspectives:
        for level in LEVEL_COLUMNS:
            own = [row for row in rows if row["perspective"] == perspective]
            drawn[f"recall_{perspective}_{level}"] = _by_fifth(own, models, f"{perspective} key facts: {level}", level)
    return drawn


def gaps_by_level(table: Table) -> dict[str, Plot]:
    """By perspective how far each model's recall depends on where facts are."""
    about = ("model", "level of the facts", "the recall of the best fifth less that of the worst", "Position gaps")
    models = named(table, table.columns.index("model"))
    grids = by_columns(table, "perspective", "model", LEVEL_COLUMNS)
    return {"gaps": Grids(grids, models, LEVEL_COLUMNS, *about)}


def faithfulness_by_level(table: Table) -> dict[str, Plot]:
    """By perspective how much of what each model writes is borne out, by the level of the facts that it carries."""
    levels = table.columns[table.columns.index("model") + 1 : table.columns.index(ALL) + 1]
    about = ("model", "level of the facts that sentences carry", "the share of faithful sentences", "Faithfulness")
    models = named(table, table.columns.index("model"))
    return {"faithfulness": Grids(by_columns(table, "perspective", "model", levels), models, levels, *about)}


def errors_by_kind(table: Table) -> dict[str, Plot]:
    """Of what kinds the unfaithful sentences of each model are."""
    model, error, share = (table.columns.index(name) for name in ("model", "error", "of all errors"))
    known = {(str(row[model]), str(row[error])): number(row[share]) for row in table.rows}
    models, kinds = named(table, model), named(table, error)
    grid = Grid("of all unfaithful sentences", [[known.get((name, kind)) for kind in kinds] for name in models])
    said = "kind of error, intrinsic ones by what they are about"
    about = ("model", said, "the share of a model's unfaithful sentences", "Kinds of unfaithful sentences")
    return {"errors": Grids([grid], models, [kind.removeprefix("intrinsic: ") for kind in kinds], *about)}


def _by_fifth(rows: Sequence[dict[str, Cell]], models: Sequence[str], title: str, level: str) -> Trends:
    """One panel of figure 3: what each model recalls of each fifth, drawn in the middle of the fifth."""
    lines = []
    for model in models:
        known = {row["position"]: number(row[level]) for row in rows if row["model"] == model}
        readings = [Reading(100 * (n + 0.5) / len(FIFTHS), known.get(fifth)) for n, fifth in enumerate(FIFTHS)]
        lines.append(Trend(model, readings))
    return Trends(lines, "place in the document, in %", "recall", f"Recall by place, {title}", ends=(0, 1))


def level_differences(table: Table) -> dict[str, Plot]:
    """By how much two models differ, level by level, with intervals."""
    return pair_pictures("differences", rows_of(table), ["metric", "level"], "difference", "queries", "share")


def scores_against_cost(table: Table) -> dict[str, Plot]:
    """Recall and faithfulness of each model against what its summaries cost."""
    plots = {metric: against_cost(rows_of(table), "model", metric, metric) for metric in ("recall", "faithfulness")}
    return {f"cost_{metric}": plot for metric, plot in plots.items() if plot}
