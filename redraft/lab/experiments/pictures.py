"""The pictures of experiments: how each table is drawn, whether it was stored or just made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from redraft.evaluators.metric_info import MIN_SHARE
from redraft.evaluators.reference.keyfacts import ALL
from redraft.lab.experiments.context.experiment import ADDED, ALL_STEPS, ANYWHERE, FATES, PLACES, REFERENCE, THIRDS
from redraft.lab.experiments.context.records import PHASES
from redraft.lab.experiments.experiment import ENDS, SET, distinct_cells, melt
from redraft.lab.experiments.hamlet.experiment import FIFTHS, LEVEL_COLUMNS, WHOLE
from redraft.report.plots.curves import Curve, CurvePoint, Densities, Trend, Trends
from redraft.report.plots.figure import Grid, Grids
from redraft.report.plots.picture import Plot
from redraft.report.plots.scores import CostPoint, Differences, PlottedDifference, ScoreAgainstCost
from redraft.report.plots.shares import DocumentPart, Parts, ShareBar, Shares
from redraft.report.tables import Cell, Record, Table, number

Draw = Callable[[Table], Mapping[str, Plot]]
"""Draws the pictures of a table, by file name, from its cells alone."""
Records = Sequence[Record]

_NO_NAME = re.compile(r"[^\w-]+")
# Beyond these numbers of pairs, lines and documents the table says more than pictures.
_MAX_PAIRS, _MAX_LINES, _MAX_DOCUMENTS = 10, 8, 8
_SHARE = (0, 1)
_NAMES = ("system", "model", "first", "second")
_RIGHT = "share of correctly handled questions"
# The last two marks of chunks are counts.
_COUNTED = 2


# Drawing records of any kind.


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A heat map with a panel per value of one column, rows and columns by two more, and numbers from a fourth."""

    name: str
    panel: str
    row: str
    column: str
    value: str
    said: tuple[str, str, str, str]
    """The labels of rows, columns and numbers, and the title."""
    melt: Callable[[Table], Sequence[str]] | None = None
    """Returns the columns to melt: each becomes a `column`, with its cells as `value`."""
    one_panel: str = ""
    """The name of a single panel, used instead of a panel column."""
    panels: str = "{}"

    def __call__(self, table: Table) -> dict[str, Plot]:
        """Return the picture of a table."""
        if self.melt is None:
            return {self.name: self.of(table.records)}
        columns = self.melt(table)
        return {self.name: self.of(melt(table, columns), columns)}

    def of(self, records: Records, heads: Sequence[Cell] = ()) -> Grids:
        """Return the picture of some records, with the given column names or else those in the records."""
        if self.one_panel:
            records = [{**record, self.panel: self.one_panel} for record in records]
        each, rows = distinct_cells(records, self.panel), distinct_cells(records, self.row)
        columns = heads or distinct_cells(records, self.column)
        places = (self.panel, self.row, self.column)
        known = {tuple(record[place] for place in places): number(record[self.value]) for record in reversed(records)}
        grids = [
            Grid(self.panels.format(name), [[known.get((name, row, other)) for other in columns] for row in rows])
            for name in each
        ]
        heads_shown = [f"{column:,}" if isinstance(column, int) else str(column) for column in columns]
        return Grids(grids, [str(row) for row in rows], heads_shown, *self.said)


def line_plot(
    records: Records, who: Sequence[str], x: str, y: str, said: tuple[str, str, str], ends: Sequence[float] = ()
) -> Trends:
    """Return a line for each group of records named by the columns `who`, over a numeric column, with intervals where
    there are any. `said` has the labels of both axes and the title."""
    found: dict[str, list[CurvePoint]] = {}
    for record in records:
        if (at := number(record[x])) is not None:
            found.setdefault(_joined(who, record), []).append(CurvePoint(at, number(record[y]), *_between(record)))
    return Trends([Trend(*one) for one in found.items()], *said, ends=ends)


def difference_plot(
    records: Records, what: Sequence[str], value: str, of: str, said: tuple[str, str, str, str]
) -> Differences:
    """Return a mark for each record, with its interval and the number of items behind it. `said` has the names of first
    and second, the measure and the title."""
    marks = [
        PlottedDifference(_joined(what, record), number(record[value]), *_between(record), int(number(record[of]) or 0))
        for record in records
    ]
    return Differences(marks, *said)


@dataclass(frozen=True, slots=True)
class PairwiseDifferences:
    """The differences between each two contestants, by some columns, with intervals: a picture for each pair."""

    name: str
    what: Sequence[str]
    value: str
    of: str
    measure: str
    judge: int | None = None
    """Which judge's records to draw if there are several: 0 for the first, -1 for all judges together."""

    def __call__(self, table: Table) -> dict[str, Plot]:
        """Return the pictures of a table."""
        drawn: dict[str, Plot] = {}
        records = table.records
        if self.judge is not None:
            records = _of_judge(records, self.judge)
        for at, ((first, second), own) in enumerate(_pairs(records)[:_MAX_PAIRS], 1):
            if any(number(one[self.value]) is not None for one in own):
                said = (first, second, self.measure, f"{first} and {second}")
                drawn[f"{self.name}_{at}"] = difference_plot(own, self.what, self.value, self.of, said)
        return drawn


def _between(one: Record) -> tuple[float | None, float | None]:
    return number(one.get(ENDS[0])), number(one.get(ENDS[1]))


def _joined(names: Sequence[str], one: Record) -> str:
    return ", ".join(str(one[name]) for name in names)


def cost_plot(records: Records, who: str, score: str, metric: str) -> ScoreAgainstCost | None:
    """Return contestants' scores against the cost of a summary, in tokens if none has a price; None if none has a cost
    or none has a score."""
    column = "USD each" if any(number(record["USD each"]) for record in records) else "tokens each"
    if not any(number(record[column]) for record in records) or all(
        number(record[score]) is None for record in records
    ):
        return None
    marks = [
        CostPoint(str(record[who]), number(record[column]), number(record[score]), *_between(record))
        for record in records
    ]
    dollars, tokens = "cost per summary, in US dollars", "tokens per summary (no prices known)"
    return ScoreAgainstCost(
        marks, metric, dollars if column == "USD each" else tokens, f"{metric[:1].upper()}{metric[1:]} against cost"
    )


def with_cells(records: Records, **wanted: Cell) -> list[Record]:
    """Return the records that have these cells."""
    return [record for record in records if all(record[name] == cell for name, cell in wanted.items())]


def group_records(records: Records, *names: str) -> dict[tuple[Cell, ...], list[Record]]:
    """Return the records grouped by the cells of some columns, in order of first occurrence."""
    found: dict[tuple[Cell, ...], list[Record]] = {}
    for record in records:
        found.setdefault(tuple(record[name] for name in names), []).append(record)
    return found


def _pairs(records: Records) -> list[tuple[tuple[str, str], list[Record]]]:
    """Return the records of each two contestants, by their names."""
    found = group_records(records, "first", "second").items()
    return [((str(first), str(second)), own) for (first, second), own in found]


def _of_judge(records: Records, at: int = 0) -> list[Record]:
    """Return the records of the first judge, or of the one at another index."""
    return with_cells(records, judge=distinct_cells(records, "judge")[at]) if records else []


def _file(name: str) -> str:
    return _NO_NAME.sub("_", name)


# Drawing particular tables.


def _risk(table: Table) -> dict[str, Plot]:
    """Draw each judge's error rate by coverage: from the summaries on which it judges the most to all of them."""
    known = {
        (record["judge"], number(record["coverage"])): record
        for record in table.records
        if number(record["coverage"]) is not None and number(record["risk"]) is not None
    }
    ordered = [known[key] for key in sorted(known, key=lambda key: key[1] or 0.0)]
    by_judge = [cell for judge in distinct_cells(table.records, "judge") for cell in with_cells(ordered, judge=judge)]
    axes = ("coverage: share of the summaries that are judged", "risk: share of these that are judged wrongly")
    return {"risk": line_plot(by_judge, ["judge"], "coverage", "risk", (*axes, "Mistakes by coverage"))}


def _systems(table: Table) -> dict[str, Plot]:
    """Draw the score of each system, with its interval and what was not judged."""
    parts = []
    for record in table.records:
        judged, unjudged = (int(number(record[name]) or 0) for name in ("judged", "unjudged"))
        parts.append(DocumentPart(str(record["system"]), number(record["score"]), judged, unjudged, *_between(record)))
    return {"scores": Parts(parts, "share of sentences that are not confusing", "BooookScore by system")}


def _recall(table: Table) -> dict[str, Plot]:
    """Draw each model's recall of each fifth of the documents by perspective, and as lines by level (figure 3)."""
    about = ("model", "place in the document", "recall of key facts", "Recall by place")
    drawn = HeatMap("recall_by_place", "perspective", "model", "position", WHOLE, about)(table)
    records = table.records
    # Points are drawn in the middle of each fifth.
    middles = {fifth: 100 * (n + 0.5) / len(FIFTHS) for n, fifth in enumerate(FIFTHS)}
    placed = [{**record, "place": middles.get(str(record["position"]))} for record in records]
    for perspective in distinct_cells(records, "perspective"):
        for level in LEVEL_COLUMNS:
            title = f"Recall by place, {perspective} key facts: {level}"
            own = with_cells(placed, perspective=perspective)
            said = ("place in the document, in %", "recall", title)
            drawn[f"recall_{perspective}_{level}"] = line_plot(own, ["model"], "place", level, said, ends=_SHARE)
    return drawn


def _errors(table: Table) -> dict[str, Plot]:
    """Draw the error categories of each model's unfaithful sentences."""
    records = [{**record, "error": str(record["error"]).removeprefix("intrinsic: ")} for record in table.records]
    said = "kind of error, intrinsic ones by what they are about"
    about = ("model", said, "the share of a model's unfaithful sentences", "Kinds of unfaithful sentences")
    every = "of all unfaithful sentences"
    return {"errors": HeatMap("errors", "", "model", "error", "of all errors", about, one_panel=every).of(records)}


def _model_costs(table: Table) -> dict[str, Plot]:
    plots = {metric: cost_plot(table.records, "model", metric, metric) for metric in ("recall", "faithfulness")}
    return {f"cost_{metric}": plot for metric, plot in plots.items() if plot}


def _grid_scores(table: Table) -> dict[str, Plot]:
    """Draw all scores in one picture, and each metric against the cost of a summary."""
    records, about = table.records, ("system", "metric", "mean score", "Scores by system")
    drawn = HeatMap("scores", "judge", "system", "metric", "score", about, panels="judged by {}")(table)
    for (metric,), own in group_records(_of_judge(records), "metric").items():
        if plot := cost_plot(own, "system", "score", str(metric)):
            drawn[f"cost_{_file(str(metric))}"] = plot
    return drawn


def _summaries(table: Table) -> dict[str, Plot]:
    """Draw the score of every contestant on every document by metric, with holes where there is none."""
    records = _of_judge(table.records)
    judged = f"Scores by document, judged by {records[0]['judge']}" if records else "Scores"
    metrics = table.columns[table.columns.index("words") + 1 :]
    long = [{**record, "metric": metric, "score": record[metric]} for metric in metrics for record in records]
    about = ("document", "system", "score", judged)
    return {"documents": HeatMap("documents", "metric", "document", "system", "score", about).of(long)}


def _rounds(table: Table) -> dict[str, Plot]:
    """Draw the mean score of the best drafts after each round, by metric."""
    drawn: dict[str, Plot] = {}
    for (metric,), own in group_records(_with_ways(table), "metric").items():
        shown = distinct_cells(own, "")[:_MAX_LINES]
        own = [one for one in own if one[""] in shown]
        said = ("round", f"mean {metric} of the best drafts", f"{metric} by round")
        drawn[f"rounds_{_file(str(metric))}"] = line_plot(own, [""], "round", "score", said)
    return drawn


def _gains(table: Table) -> dict[str, Plot]:
    """Draw the gain from refining, on all summaries and on those with low first scores."""
    drawn: dict[str, Plot] = {}
    for at, ((way,), own) in enumerate(list(group_records(_with_ways(table), "").items())[:_MAX_LINES], 1):
        said = ("refined", "first drafts", "score", f"What refining gains: {way}" if way else "What refining gains")
        drawn[f"gains_{at}"] = difference_plot(own, ["metric", "subset"], "gain", "documents", said)
    return drawn


def _with_ways(table: Table) -> Records:
    """Return the records, labelled by writer, refiner, thresholds and order where there are several of them."""
    records = table.records
    names = ("drafts by", "refined by", "thresholds", "order")
    several = [name for name in names if len(distinct_cells(records, name)) > 1]
    said = ("; ".join(dict.fromkeys(str(record[name]) for name in several)) for record in records)
    return [{**one, "": way or one["order"]} for one, way in zip(records, said, strict=True)]


def _by_length(name: str, row: str, third: str) -> Draw:
    """Return a function that draws each model's accuracy by third of something and by how much was read."""
    title = f"Accuracy by third of {third} and length"
    heat = HeatMap(name, "model", row, "tokens", "accuracy", ("third", "tokens read", _RIGHT, title))

    def draw(table: Table) -> dict[str, Plot]:
        known = [record for record in table.records if record["tokens"] is not None]
        drawn: dict[str, Plot] = {name: heat.of([one for one in known if one[row] != ALL])}
        if whole := [one for one in known if one[row] == ALL]:
            said = ("tokens read", "accuracy", "Accuracy by length of the text read")
            drawn["accuracy_by_length"] = line_plot(whole, ["model"], "tokens", "accuracy", said, ends=_SHARE)
        return drawn

    return draw


def _scores_by_length(table: Table) -> dict[str, Plot]:
    """Draw the mean score of each system's summaries by their length."""
    parts = [record for record in table.records if record["part"] != ALL]
    said = ("tokens of the summary", "score", "BooookScore by length")
    return {"by_length": line_plot(parts, ["system"], "tokens", "score", said)} if parts else {}


def _between_models(table: Table) -> dict[str, Plot]:
    """Draw for each pair of models the difference in accuracy, over all questions and by type."""
    drawn: dict[str, Plot] = {}
    both = _pairs(table.records)
    for count, ((first, second), own) in enumerate(both, 1):
        said = (first, second, "accuracy", f"Accuracy: {first} and {second}")
        name = "differences" if len(both) == 1 else f"differences_{count}"
        drawn[name] = difference_plot(own, ["type"], "difference", "questions", said)
    return drawn


def _position_curves(table: Table) -> dict[str, Plot]:
    """Draw the curves of all contestants over all steps, with that of the reference."""
    records = table.records
    curves = {
        str(who): Curve(
            str(who), [number(cell["density"]) for cell in with_cells(records, system=who, steps=ALL_STEPS)]
        )
        for who in distinct_cells(records, "system")
    }
    sets = distinct_cells(records, SET) if records and SET in records[0] else []
    names = [REFERENCE, *(f"{REFERENCE}, {one}" for one in sets)]
    references = {name: curves.pop(name) for name in names if name in curves}
    title = "Where in the text read the summaries come from"
    only_one = next(iter(references.values())) if len(references) == 1 else None
    drawn: dict[str, Plot] = {"position_densities": Densities(list(curves.values()), only_one, title, "what was read")}
    for at, who in enumerate(curves, 1):
        own = with_cells(records, system=who)
        parts = [Curve(str(part), [number(cell["density"]) for cell in with_cells(own, steps=part)])
                 for part in distinct_cells(own, "steps")]  # fmt: skip
        reference = references.get(f"{REFERENCE}, {own[0][SET]}" if SET in own[0] else REFERENCE)
        drawn[f"position_densities_{at}"] = Densities(parts, reference, f"{title}: {who}", "what was read")
    return drawn


def _position_shares(table: Table) -> dict[str, Plot]:
    """Draw the thirds of all contestants, with those of each half of their steps."""
    splits: list[ShareBar] = []
    for record in table.records:
        for part in ("", "lower ", "upper "):
            found = [number(record[f"{part}{third}"]) for third in PLACES]
            if part == "" or any(share is not None for share in found):
                splits.append(ShareBar(f"{part}half of its steps" if part else str(record["system"]), found))
    return {"position_halves": Shares(splits, title="Thirds of the text read that the summaries come from")}


def _fact_shares(table: Table) -> dict[str, Plot]:
    """Draw how many facts match, are lost or are new in each section, compared with an even spread: a picture for each
    contestant and measure."""
    drawn: dict[str, Plot] = {}
    about = (
        "Each bar shows all facts of a section that match, are lost or are new from one step to the next; below"
        " it is what an even spread over the text read would give."
    )
    for (who, measure), own in group_records(with_cells(table.records, steps=ALL_STEPS), "system", "measure").items():
        if splits := list(_splits(own)):
            drawn[f"fact_shares_{len(drawn) + 1}"] = Shares(
                splits, FATES, f"Facts by {measure}: {who}", even=False, measure="share of facts, in %", about=about
            )
    return drawn | _fact_phases(table)


def _fact_phases(table: Table) -> dict[str, Plot]:
    """Draw the shares of facts in each phase of the steps (figure 6.4b): a picture for each contestant and measure."""
    drawn: dict[str, Plot] = {}
    about = "Each bar shows all facts of a third of the steps that match, are lost or are new from one to the next."
    for (who, measure), own in group_records(with_cells(table.records, section=ANYWHERE), "system", "measure").items():
        bars = [
            ShareBar(phase, [number(cell[fate]) for fate in FATES])
            for phase in PHASES
            for cell in with_cells(own, steps=phase)
        ]
        if any(bar.known() for bar in bars):
            title = f"Facts by {measure}, as more is read: {who}"
            drawn[f"fact_phases_{len(drawn) + 1}"] = Shares(
                bars, FATES, title, even=False, measure="share of facts, in %", about=about
            )
    return drawn


def _fact_steps(table: Table) -> dict[str, Plot]:
    """Draw the fates of facts by section and step (figures 6.2 and 6.5), and of all facts as three lines (6.3b)."""
    drawn: dict[str, Plot] = {}
    for at, ((who, measure), own) in enumerate(group_records(table.records, "system", "measure").items(), 1):
        placed = [cell for section in (*THIRDS, ADDED) for cell in with_cells(own, section=section)]
        title, about = f"Facts by {measure}: {who}", ("section", "tokens read", "share of the facts of a section")
        heat = HeatMap("", "column", "section", "until", "value", (*about, title))
        drawn[f"fact_steps_{at}"] = heat.of(
            [{**one, "column": fate, "value": one[fate]} for fate in FATES for one in placed]
        )
        whole = [
            {**cell, "fate": fate, "share": cell[fate]} for fate in FATES for cell in with_cells(own, section=ANYWHERE)
        ]
        said = ("tokens read", "share of facts", f"Facts by {measure}, step by step: {who}")
        drawn[f"fact_trends_{at}"] = line_plot(whole, ["fate"], "until", "share", said, ends=_SHARE)
    return drawn


def _splits(records: Records) -> Iterator[ShareBar]:
    for record in records:
        for label, kind in (("", ""), (", even spread", "expected ")):
            cells = [record[f"{kind}{fate}"] for fate in FATES]
            if None not in cells:
                yield ShareBar(f"{record['section']}{label}", [number(cell) for cell in cells])


def _fact_changes(table: Table) -> dict[str, Plot]:
    """Draw a picture for each document, for the first of them if there are many: the table has them all."""
    records = [{**cell, "": _known(cell)} for cell in with_cells(table.records, section=ANYWHERE)]
    documents = distinct_cells([record for record in records if number(record["until"]) is not None], "document")
    shared, title = "share of its facts that the previous one has", "How much each summary keeps of the previous one"
    drawn: dict[str, Plot] = {}
    for at, document in enumerate(documents[:_MAX_DOCUMENTS], 1):
        said = ("tokens read", shared, title if len(documents) == 1 else f"{title}: {document}")
        plot = line_plot(with_cells(records, document=document), ["system", "measure"], "until", "", said, ends=_SHARE)
        drawn["fact_changes" if len(documents) == 1 else f"fact_changes_{at}"] = plot
    return drawn


def _known(one: Record) -> float | None:
    """Return the share of a summary's facts that the step before had; None if fewer than half have verdicts."""
    names = ("matching", "new", "lost", "kept", "unjudged")
    matching, new, lost, kept, open_ = (number(one[name]) or 0.0 for name in names)
    judged = matching + new + lost + kept
    return matching / (matching + new) if matching + new and judged >= MIN_SHARE * (judged + open_) else None


def _several(*draws: Draw) -> Draw:
    return lambda table: {name: plot for draw in draws for name, plot in draw(table).items()}


def _marks(table: Table) -> Sequence[str]:
    return table.columns[table.columns.index("judge") + 1 : table.columns.index("tokens") - _COUNTED]


def _counts(table: Table) -> Sequence[str]:
    end = table.columns.index("tokens")
    return table.columns[end - _COUNTED : end]


def _carried(table: Table) -> Sequence[str]:
    return table.columns[table.columns.index("model") + 1 : table.columns.index(ALL) + 1]


DRAWN: Mapping[tuple[str, str], Draw] = {
    ("agree", "risk"): _risk,
    ("booookscore", "by_length"): _scores_by_length,
    ("booookscore", "scores"): _systems,
    ("booookscore", "types"): HeatMap(
        *("types", "", "type", "system", "% of sentences"),
        ("type", "system", "occurrences per 100 sentences", "Types of confusion"),
        one_panel="of 100 sentences that were judged",
    ),
    ("chunk-size", "chunk_sizes"): _several(
        HeatMap(
            *("marks_by_size", "judge", "size", "column", "value"),
            ("tokens of a chunk", "mark", "a mean mark from 1 to 5", "Marks by size"),
            _marks,
        ),
        HeatMap(
            *("counts_by_size", "judge", "size", "column", "value"),
            ("tokens of a chunk", "what is counted", "a mean number in a chunk", "Facts and connections by size"),
            _counts,
        ),
    ),
    ("context", "fact_changes"): _fact_changes,
    ("context", "fact_differences"): PairwiseDifferences(
        "fact_differences", ["figure", "measure"], "difference", "steps", "share"
    ),
    ("context", "fact_shares"): _fact_shares,
    ("context", "fact_steps"): _fact_steps,
    ("context", "position_densities"): _position_curves,
    ("context", "position_halves"): _position_shares,
    ("grid", "differences"): PairwiseDifferences(
        "differences", ["metric"], "difference", "documents", "score", judge=-1
    ),
    ("grid", "preferences"): PairwiseDifferences(
        "preferences", ["aspect"], "balance", "verdicts", "share of verdicts that prefer each", judge=0
    ),
    ("grid", "scores"): _grid_scores,
    ("grid", "summaries"): _summaries,
    ("hamlet", "differences"): PairwiseDifferences(
        "differences", ["metric", "level"], "difference", "queries", "share"
    ),
    ("hamlet", "errors"): _errors,
    ("hamlet", "faithfulness"): HeatMap(
        *("faithfulness", "perspective", "model", "column", "value"),
        ("model", "level of the facts that sentences carry", "the share of faithful sentences", "Faithfulness"),
        _carried,
    ),
    ("hamlet", "gaps"): HeatMap(
        *("gaps", "perspective", "model", "column", "value"),
        ("model", "level of the facts", "recall of the best fifth minus that of the worst", "Position gaps"),
        lambda _: LEVEL_COLUMNS,
    ),
    ("hamlet", "recall"): _recall,
    ("hamlet", "summaries"): _model_costs,
    ("longsumeval", "gains"): _gains,
    ("longsumeval", "rounds"): _rounds,
    ("qa", "differences"): _between_models,
    ("qa", "place_and_length"): _by_length("accuracy_by_place_and_length", "third read", "what was read"),
    ("qa", "third_and_length"): _by_length("accuracy_by_third_and_length", "third", "the document"),
    ("qa", "type_and_third"): HeatMap(
        *("accuracy_by_type_and_third", "model", "type", "third", "accuracy"),
        ("type of question", "third of the document", _RIGHT, "Accuracy by type and third of the document"),
    ),
}
"""The drawing functions, by the names of an experiment and of one of its tables."""
_PARTS = {"thesis": ("context", "qa")}
"""The experiments that another one consists of."""


def draw_pictures(experiment: str, tables: Iterable[Table]) -> dict[str, Plot]:
    """Return the pictures of an experiment's tables, by file name."""
    of = _PARTS.get(experiment, (experiment,))
    return {
        name: plot
        for table in tables
        if (draw := next((DRAWN[one, table.name] for one in of if (one, table.name) in DRAWN), None)) is not None
        for name, plot in draw(_with_sets(table)).items()
    }


def _with_sets(table: Table) -> Table:
    """Return a table with the dataset, where it has a column for it, as part of the names of systems and models."""
    if SET not in table.columns:
        return table
    at, named = table.columns.index(SET), [name in _NAMES for name in table.columns]
    rows = (
        tuple(f"{cell}, {row[at]}" if name else cell for cell, name in zip(row, named, strict=True))
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))
