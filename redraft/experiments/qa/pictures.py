"""The pictures of the experiment on questions, each drawn from one of its tables."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.experiments.cells import named, number
from redraft.experiments.qa.counting import ALL
from redraft.plots.curves import Reading
from redraft.plots.differences import Difference, Differences
from redraft.plots.grids import Grid, Grids
from redraft.plots.picture import Plot
from redraft.plots.trends import Trend, Trends
from redraft.reports.tables import Cell, Table

_MEASURE = "the share of questions done right by"


def by_third_and_length(table: Table) -> dict[str, Plot]:
    """By model its accuracy by third of the document and length, and a line for each model over the lengths."""
    lengths = [tokens for tokens in _column(table, "tokens") if tokens is not None]
    columns = [f"{tokens:,}" if isinstance(tokens, int) else str(tokens) for tokens in lengths]
    thirds = [third for third in named(table, table.columns.index("third")) if third != ALL]
    found = _values(table, "model", "third", "tokens")
    models = named(table, table.columns.index("model"))
    grids = [Grid(one, [[found.get((one, third, at)) for at in lengths] for third in thirds]) for one in models]
    trends = [Trend(one, _readings(table, one)) for one in models]
    return {
        "accuracy_by_third_and_length": Grids(
            grids,
            thirds,
            columns,
            "third",
            "tokens read",
            _MEASURE,
            "Accuracy by third of the document and length",
        ),
        "accuracy_by_length": Trends(
            trends, "tokens read", "accuracy", "Accuracy by length of what was read", ends=(0, 1)
        ),
    }


def by_place_and_length(table: Table) -> dict[str, Plot]:
    """By model its accuracy by third of what was read, and length."""
    lengths = [tokens for tokens in _column(table, "tokens") if tokens is not None]
    columns = [f"{tokens:,}" if isinstance(tokens, int) else str(tokens) for tokens in lengths]
    thirds, models = (named(table, table.columns.index(name)) for name in ("third read", "model"))
    found = _values(table, "model", "third read", "tokens")
    grids = [Grid(one, [[found.get((one, third, at)) for at in lengths] for third in thirds]) for one in models]
    title = "Accuracy by third of what was read and length"
    return {"accuracy_by_place_and_length": Grids(grids, thirds, columns, "third", "tokens read", _MEASURE, title)}


def by_type_and_third(table: Table) -> dict[str, Plot]:
    """By model its accuracy by type and third of the document."""
    models, types, thirds = (named(table, table.columns.index(name)) for name in ("model", "type", "third"))
    found = _values(table, "model", "type", "third")
    grids = [Grid(one, [[found.get((one, of, third)) for third in thirds] for of in types]) for one in models]
    title = "Accuracy by type and third of the document"
    return {
        "accuracy_by_type_and_third": Grids(
            grids, types, thirds, "type of question", "third of the document", _MEASURE, title
        )
    }


def between_models(table: Table) -> dict[str, Plot]:
    """For each pair of models how much better the first one does, of all questions and by type."""
    names = ("first", "second", "type", "difference", "95% from", "95% to", "questions")
    at = {name: table.columns.index(name) for name in names}
    pairs = dict.fromkeys((str(row[at["first"]]), str(row[at["second"]])) for row in table.rows)
    plots: dict[str, Plot] = {}
    for count, (first, second) in enumerate(pairs, 1):
        own = [row for row in table.rows if (row[at["first"]], row[at["second"]]) == (first, second)]
        found = [
            Difference(
                str(row[at["type"]]),
                number(row[at["difference"]]),
                number(row[at["95% from"]]),
                number(row[at["95% to"]]),
                int(number(row[at["questions"]]) or 0),
            )
            for row in own
        ]
        name = "differences" if len(pairs) == 1 else f"differences_{count}"
        plots[name] = Differences(found, first, second, "accuracy", f"Accuracy: {first} and {second}")
    return plots


def _column(table: Table, name: str) -> list[Cell]:
    return list(dict.fromkeys(row[table.columns.index(name)] for row in table.rows))


def _values(table: Table, *by: str) -> dict[tuple[Cell, ...], float | None]:
    """The accuracy of each row by some of its cells."""
    places, accuracy = [table.columns.index(name) for name in by], table.columns.index("accuracy")
    return {tuple(row[place] for place in places): number(row[accuracy]) for row in table.rows}


def _readings(table: Table, model: str) -> Sequence[Reading]:
    at = {name: table.columns.index(name) for name in ("model", "third", "tokens", "accuracy", "95% from", "95% to")}
    return [
        Reading(
            number(row[at["tokens"]]) or 0,
            number(row[at["accuracy"]]),
            number(row[at["95% from"]]),
            number(row[at["95% to"]]),
        )
        for row in table.rows
        if (row[at["model"]], row[at["third"]]) == (model, ALL)
    ]
