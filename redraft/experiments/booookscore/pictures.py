"""The pictures of the experiment of BooookScore, drawn from its tables."""

from __future__ import annotations

from redraft.experiments.cells import named, number
from redraft.plots.grids import Grid, Grids
from redraft.plots.parts import Part, Parts
from redraft.plots.picture import Plot
from redraft.reports.tables import Table


def scores_of_systems(table: Table) -> dict[str, Plot]:
    """The score of each system, with its interval, and with what was not judged."""
    at = {name: table.columns.index(name) for name in ("system", "score", "judged", "unjudged", "95% from", "95% to")}
    parts = [
        Part(
            str(row[at["system"]]),
            number(row[at["score"]]),
            int(number(row[at["judged"]]) or 0),
            int(number(row[at["unjudged"]]) or 0),
            number(row[at["95% from"]]),
            number(row[at["95% to"]]),
        )
        for row in table.rows
    ]
    return {"scores": Parts(parts, "share of sentences that do not confuse", "BooookScore by system")}


def types_of_confusion(table: Table) -> dict[str, Plot]:
    """How often each type occurs in the summaries of each system."""
    system, kind, share = (table.columns.index(name) for name in ("system", "type", "% of sentences"))
    known = {(str(row[system]), str(row[kind])): number(row[share]) for row in table.rows}
    systems, kinds = named(table, system), named(table, kind)
    grid = Grid("of 100 sentences that were judged", [[known.get((one, name)) for one in systems] for name in kinds])
    about = ("type", "system", "how many of 100 sentences have it", "Types of confusion")
    return {"types": Grids([grid], kinds, systems, *about)}
