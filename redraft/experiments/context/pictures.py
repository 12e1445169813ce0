"""The pictures of the experiment on a growing span, each drawn from one of its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redraft.evaluators.goals import LEAST_SHARE
from redraft.experiments.cells import named, number, pair_pictures, rows_of
from redraft.experiments.context.changes import ANYWHERE, FATES
from redraft.experiments.context.position_tables import ALL, REFERENCE
from redraft.plots.curves import Reading
from redraft.plots.densities import Curve, Densities
from redraft.plots.picture import Plot
from redraft.plots.shares import Shares, Split
from redraft.plots.trends import Trend, Trends
from redraft.reports.tables import Cell, Table

_MOST_DOCUMENTS = 8
_OF_NOW, _OF_BEFORE = ("matching", "new"), ("lost", "kept")
# By document the lines of its contestants.
_Lines = dict[str, dict[str, list[Reading]]]


def position_curves(table: Table) -> dict[str, Plot]:
    """The curves of all contestants over all steps, with that of the reference."""
    who, steps, height = (table.columns.index(name) for name in ("contestant", "steps", "density"))
    curves = {
        name: Curve(name, [number(row[height]) for row in table.rows if (row[who], row[steps]) == (name, ALL)])
        for name in named(table, who)
    }
    plot = Densities(
        [curve for name, curve in curves.items() if name != REFERENCE],
        curves.get(REFERENCE),
        "From where in what was read the summaries come",
        "what was read",
    )
    return {"position_densities": plot}


def position_shares(table: Table) -> dict[str, Plot]:
    """The thirds of all contestants, with those of the halves of their steps."""
    who = table.columns.index("contestant")
    splits: list[Split] = []
    for row in table.rows:
        for part in ("", "lower ", "upper "):
            found = [number(row[table.columns.index(f"{part}{third}")]) for third in ("1st", "2nd", "3rd")]
            if part == "" or any(one is not None for one in found):
                splits.append(Split(f"{part}half of its steps" if part else str(row[who]), found))
    return {"position_halves": Shares(splits, title="Which third of what was read the summaries come from")}


def shares_of_facts(table: Table) -> dict[str, Plot]:
    """What became of the facts in each section, beside an even spread: a picture for each contestant and measure."""
    columns = table.columns
    who, measure, steps, section = (columns.index(one) for one in ("contestant", "measure", "steps", "section"))
    found, expected = ([columns.index(f"{kind}{fate}") for fate in FATES] for kind in ("", "expected "))
    pictures: dict[str, Plot] = {}
    for name in named(table, who):
        for by in named(table, measure):
            own = [row for row in table.rows if (row[who], row[measure], row[steps]) == (name, by, ALL)]
            splits = [
                Split(f"{row[section]}{kind}", [number(row[at]) for at in cells])
                for row in own
                for kind, cells in (("", found), (", even spread", expected))
                if all(row[at] is not None for at in cells)
            ]
            if splits:
                pictures[f"fact_shares_{len(pictures) + 1}"] = Shares(
                    splits,
                    FATES,
                    f"Facts by {by}: {name}",
                    even=False,
                    measure="share of facts, in %",
                    about="Each bar is all facts of a section that match, are lost or are new from one step to the"
                    " next; under it what an even spread over what was read would give.",
                )
    return pictures


def matching_by_step(table: Table) -> dict[str, Plot]:
    """Which share of a summary's facts was there at the step before, by tokens read."""
    columns = table.columns
    names = ("document", "contestant", "measure", "until", "section")
    document, who, measure, until, section = (columns.index(one) for one in names)
    lines: _Lines = {}
    for row in table.rows:
        at = number(row[until])
        if row[section] == ANYWHERE and at is not None:
            share = _known(dict(zip(columns, row, strict=True)))
            own = lines.setdefault(str(row[document]), {})
            own.setdefault(f"{row[who]}, {row[measure]}", []).append(Reading(at, share))
    title, shared = "How much each summary keeps of the one before", "share of its facts that was there before"
    return _by_document("fact_changes", lines, shared, title)


def _by_document(name: str, lines: _Lines, shared: str, title: str) -> dict[str, Plot]:
    """A picture for each document, of the first of them where there are many: the table has all."""
    if len(lines) == 1:
        return {name: _trends(next(iter(lines.values())), shared, title)}
    shown = enumerate(list(lines.items())[:_MOST_DOCUMENTS], 1)
    return {f"{name}_{at}": _trends(own, shared, f"{title}: {document}") for at, (document, own) in shown}


def _trends(own: Mapping[str, Sequence[Reading]], shared: str, title: str) -> Trends:
    return Trends([Trend(*line) for line in own.items()], "tokens read", shared, title, ends=(0, 1))


def _known(row: Mapping[str, Cell]) -> float | None:
    """The share of a summary's facts that was there before; None without a verdict on half of those compared."""
    matching, new, lost, kept, open_ = (number(row[one]) or 0.0 for one in (*_OF_NOW, *_OF_BEFORE, "unjudged"))
    judged = matching + new + lost + kept
    return matching / (matching + new) if matching + new and judged >= LEAST_SHARE * (judged + open_) else None


def accuracy_by_step(table: Table) -> dict[str, Plot]:
    """Which share of the facts their places bear out, by tokens read."""
    columns = table.columns
    names = ("document", "contestant", "until", "supported")
    document, who, until, supported = (columns.index(one) for one in names)
    lines: _Lines = {}
    for row in table.rows:
        at = number(row[until])
        if at is not None:
            own = lines.setdefault(str(row[document]), {})
            own.setdefault(str(row[who]), []).append(Reading(at, number(row[supported])))
    title, shared = "How many facts their places bear out", "share of facts that are supported"
    return _by_document("fact_accuracy_steps", lines, shared, title)


def fact_differences(table: Table) -> dict[str, Plot]:
    """By how much each two contestants differ in what becomes of their facts."""
    return pair_pictures("fact_differences", rows_of(table), ["figure", "measure"], "difference", "steps", "share")
