"""The charts of experiments: how each table is drawn, whether it was stored or just made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from redraft.evaluators.metric_info import MIN_SHARE
from redraft.evaluators.reference.keyfacts import ALL
from redraft.lab.experiments.context_frames import ADDED, ALL_STEPS, ANYWHERE, FATES, PHASES, PLACES, REFERENCE
from redraft.lab.experiments.frames import ENDS, SET
from redraft.lab.experiments.hamlet_frames import FIFTHS, LEVEL_COLUMNS, WHOLE
from redraft.lab.experiments.typed_questions import THIRDS
from redraft.lab.plots.chart import Chart, numbers
from redraft.lab.plots.charts import Costs, HeatMaps, Intervals, Lines, Shares
from redraft.report.tables import Report, Table

Draw = Callable[[pd.DataFrame], Iterable[tuple[str, Chart]]]
"""Draws the charts of a table, each with its file name, from its cells alone."""

_NO_NAME = re.compile(r"[^\w-]+")
# Beyond these numbers of pairs, lines and documents the table says more than charts.
_MAX_PAIRS, _MAX_LINES, _MAX_DOCUMENTS = 10, 8, 8
_NAMES = ("system", "model", "first", "second")
_SHARE = (0.0, 1.02)
_RIGHT = "share of correctly handled questions"
_READ = "tokens read"
# The last two marks of chunks are counts.
_COUNTED = 2


def table_frame(table: Table) -> pd.DataFrame:
    """Return a table as a data frame with the cells as they are."""
    return pd.DataFrame(list(table.rows), columns=list(table.columns), dtype=object)


def _groups(frame: pd.DataFrame, *names: str) -> Iterator[tuple[tuple[Any, ...], pd.DataFrame]]:
    """Yield the rows by the cells of some columns, in order of first occurrence."""
    yield from frame.groupby(list(names), sort=False, dropna=False)


def _with_interval(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns=dict(zip(ENDS, ("low", "high"), strict=True)))


def _joined(frame: pd.DataFrame, names: Sequence[str]) -> pd.Series[Any]:
    return frame[list(names)].astype(str).agg(", ".join, axis=1) if len(frame) else pd.Series(dtype=object)


def _numeric(cells: pd.Series[Any]) -> pd.Series[float]:
    return pd.to_numeric(cells, errors="coerce").astype(float)


def _heat_maps(
    frame: pd.DataFrame, columns: Mapping[str, str], title: str, rows: str, heads: str, measure: str
) -> HeatMaps:
    """Return heat maps; `columns` names the columns that are panel, row, column and value."""
    cells = pd.DataFrame({part: frame[column] for part, column in columns.items()})
    return HeatMaps(
        cells.assign(**({} if "panel" in cells else {"panel": ""})),
        title=title,
        rows=rows,
        columns=heads,
        measure=measure,
    )


def _melted(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return a row per row and given column, with the cell as `value` and the column's name as `column`."""
    identifiers = [name for name in frame.columns if name not in columns]
    return frame.melt(id_vars=identifiers, value_vars=list(columns), var_name="column", value_name="value")


def _lines(
    frame: pd.DataFrame, who: Sequence[str], x: str, y: str, labels: tuple[str, str, str], *, share: bool = False
) -> Lines:
    """Return a line for each group of rows named by the columns `who`. `labels` has both axes' labels and the title."""
    points = _with_interval(frame).assign(series=_joined(frame, who), x=frame[x], y=frame[y])
    return Lines(points, x=labels[0], y=labels[1], title=labels[2], limits=_SHARE if share else None)


def _differences(
    frame: pd.DataFrame, what: Sequence[str], value: str, of: str, measure: str, title: str, sides: tuple[str, str]
) -> Intervals:
    """Return a mark for each row, with the number of items behind it."""
    notes = [f"{int(count):,}" if pd.notna(count) else "" for count in _numeric(frame[of])]
    marks = _with_interval(frame).assign(name=_joined(frame, what), value=frame[value], note=notes)
    return Intervals(marks, title=title, measure=measure, sides=sides, note=f"On the right: {of}.")


def _pairwise(name: str, what: Sequence[str], value: str, of: str, measure: str, judge: int | None = None) -> Draw:
    """Return a function that draws the differences between each two contestants.

    `judge` is whose rows are drawn if there are several: 0 for the first, -1 for all judges together.
    """

    def draw(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
        if judge is not None and len(frame):
            frame = frame[frame["judge"] == frame["judge"].unique()[judge]]
        for at, ((first, second), pair_rows) in enumerate(_groups(frame, "first", "second"), 1):
            if at <= _MAX_PAIRS and _numeric(pair_rows[value]).notna().any():
                sides = (str(first), str(second))
                yield f"{name}_{at}", _differences(pair_rows, what, value, of, measure, f"{first} and {second}", sides)

    return draw


def _cost(frame: pd.DataFrame, who: str, score: str, metric: str) -> Iterator[tuple[str, Chart]]:
    """Yield contestants' scores against the cost of a summary, in tokens if none has a price.

    Yield nothing if none has a cost or none has a score.
    """
    priced = bool((_numeric(frame["USD each"]).fillna(0) > 0).any())
    cost = frame["USD each" if priced else "tokens each"]
    if (_numeric(cost).fillna(0) > 0).any() and _numeric(frame[score]).notna().any():
        marks = _with_interval(frame).assign(name=frame[who], cost=cost, score=frame[score])
        cost_label = "cost per summary, in US dollars" if priced else "tokens per summary (no prices known)"
        title = f"{metric[:1].upper()}{metric[1:]} against cost"
        yield f"cost_{_NO_NAME.sub('_', metric)}", Costs(marks, title=title, cost=cost_label, score=metric)


# Drawing particular tables.


def _systems(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    """Draw the score of each system, with its interval and what was not judged."""
    counts = numbers(frame, "judged", "unjudged").fillna(0).astype({"judged": int, "unjudged": int})
    notes = [f"{row.judged:,} of {row.judged + row.unjudged:,}" for row in counts.itertuples()]
    marks = _with_interval(frame).assign(name=frame["system"], value=frame["score"], note=notes)
    measure = "share of sentences that are not confusing"
    yield (
        "scores",
        Intervals(marks, title="BooookScore by system", measure=measure, note="On the right: sentences judged."),
    )


def _types(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    columns = {"row": "type", "column": "system", "value": "% of sentences"}
    yield "types", _heat_maps(frame, columns, "Types of confusion", "type", "system", "occurrences per 100 sentences")


def _recall(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    """Draw each model's recall of each fifth of the documents by perspective, and as lines by level (figure 3)."""
    columns = {"panel": "perspective", "row": "model", "column": "position", "value": WHOLE}
    yield (
        "recall_by_place",
        _heat_maps(frame, columns, "Recall by place", "model", "place in the document", "recall of key facts"),
    )
    # Points are drawn in the middle of each fifth.
    middles = {fifth: 100 * (at + 0.5) / len(FIFTHS) for at, fifth in enumerate(FIFTHS)}
    placed = frame.assign(place=frame["position"].map(middles))
    for (perspective,), of_perspective in _groups(placed, "perspective"):
        for level in LEVEL_COLUMNS:
            labels = ("place in the document, in %", "recall", f"Recall by place, {perspective} key facts: {level}")
            yield f"recall_{perspective}_{level}", _lines(of_perspective, ["model"], "place", level, labels, share=True)


def _errors(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    """Draw the error categories of each model's unfaithful sentences."""
    renamed = frame.assign(error=frame["error"].astype(str).str.removeprefix("intrinsic: "))
    columns = {"row": "model", "column": "error", "value": "of all errors"}
    labels = (
        "model",
        "kind of error, intrinsic ones by what they are about",
        "the share of a model's unfaithful sentences",
    )
    yield "errors", _heat_maps(renamed, columns, "Kinds of unfaithful sentences", *labels)


def _faithfulness(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    names = list(frame.columns)
    levels = names[names.index("model") + 1 : names.index(ALL) + 1]
    columns = {"panel": "perspective", "row": "model", "column": "column", "value": "value"}
    labels = ("model", "level of the facts that sentences carry", "the share of faithful sentences")
    yield "faithfulness", _heat_maps(_melted(frame, levels), columns, "Faithfulness", *labels)


def _gaps(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    columns = {"panel": "perspective", "row": "model", "column": "column", "value": "value"}
    labels = ("model", "level of the facts", "recall of the best fifth minus that of the worst")
    yield "gaps", _heat_maps(_melted(frame, LEVEL_COLUMNS), columns, "Position gaps", *labels)


def _model_costs(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    for metric in ("recall", "faithfulness"):
        yield from _cost(frame, "model", metric, metric)


def _grid_scores(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    """Draw all scores in one chart, and each metric against the cost of a summary."""
    columns = {"panel": "judge", "row": "system", "column": "metric", "value": "score"}
    by_judge = frame.assign(judge="judged by " + frame["judge"].astype(str))
    yield "scores", _heat_maps(by_judge, columns, "Scores by system", "system", "metric", "mean score")
    first = frame[frame["judge"] == frame["judge"].iloc[0]] if len(frame) else frame
    for (metric,), of_metric in _groups(first, "metric"):
        yield from _cost(of_metric, "system", "score", str(metric))


def _documents(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    """Draw the score of every contestant on every document by metric, with holes where there is none."""
    first = frame[frame["judge"] == frame["judge"].iloc[0]] if len(frame) else frame
    title = f"Scores by document, judged by {frame['judge'].iloc[0]}" if len(frame) else "Scores"
    names = list(frame.columns)
    columns = {"panel": "column", "row": "document", "column": "system", "value": "value"}
    yield (
        "documents",
        _heat_maps(_melted(first, names[names.index("words") + 1 :]), columns, title, "document", "system", "score"),
    )


def _with_ways(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows, with a column `way` of writer, refiner, thresholds and order where there are several of them."""
    several = [name for name in ("drafts by", "refined by", "thresholds", "order") if frame[name].nunique() > 1]
    ways = ["; ".join(dict.fromkeys(map(str, cells))) for cells in frame[several].itertuples(index=False)]
    return frame.assign(way=ways if several else frame["order"])


def _rounds(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    """Draw the mean score of the best drafts after each round, by metric."""
    for (metric,), of_metric in _groups(_with_ways(frame), "metric"):
        drawn_rows = of_metric[of_metric["way"].isin(of_metric["way"].unique()[:_MAX_LINES])]
        labels = ("round", f"mean {metric} of the best drafts", f"{metric} by round")
        yield f"rounds_{_NO_NAME.sub('_', str(metric))}", _lines(drawn_rows, ["way"], "round", "score", labels)


def _gains(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    """Draw the gain from refining, on all summaries and on those with low first scores."""
    for at, ((way,), of_way) in enumerate(_groups(_with_ways(frame), "way"), 1):
        if at <= _MAX_LINES:
            title = f"What refining gains: {way}" if way else "What refining gains"
            sides = ("refined", "first drafts")
            yield f"gains_{at}", _differences(of_way, ["metric", "subset"], "gain", "documents", "score", title, sides)


def _by_length(name: str, row: str, third: str) -> Draw:
    """Return a function that draws each model's accuracy by third of something and by how much was read."""

    def draw(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
        measured = frame[frame["tokens"].notna()]
        columns = {"panel": "model", "row": row, "column": "tokens", "value": "accuracy"}
        title = f"Accuracy by third of {third} and length"
        yield name, _heat_maps(measured[measured[row] != ALL], columns, title, "third", _READ, _RIGHT)
        if (measured[row] == ALL).any():
            labels = (_READ, "accuracy", "Accuracy by length of the text read")
            yield (
                "accuracy_by_length",
                _lines(measured[measured[row] == ALL], ["model"], "tokens", "accuracy", labels, share=True),
            )

    return draw


def _types_and_thirds(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    columns = {"panel": "model", "row": "type", "column": "third", "value": "accuracy"}
    labels = ("type of question", "third of the document", _RIGHT)
    yield (
        "accuracy_by_type_and_third",
        _heat_maps(frame, columns, "Accuracy by type and third of the document", *labels),
    )


def _between_models(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    """Draw for each pair of models the difference in accuracy, over all questions and by type."""
    pairs = list(_groups(frame, "first", "second"))
    for at, ((first, second), pair_rows) in enumerate(pairs, 1):
        sides, title = (str(first), str(second)), f"Accuracy: {first} and {second}"
        name = "differences" if len(pairs) == 1 else f"differences_{at}"
        yield name, _differences(pair_rows, ["type"], "difference", "questions", "accuracy", title, sides)


def _scores_by_length(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    """Draw the mean score of each system's summaries by their length."""
    parts = frame[frame["part"] != ALL]
    if len(parts):
        labels = ("tokens of the summary", "score", "BooookScore by length")
        yield "by_length", _lines(parts, ["system"], "tokens", "score", labels)


def _densities(frame: pd.DataFrame, series: str, title: str, reference: str) -> Lines:
    """Return curves over what was read, each height in the middle of its step."""
    order = frame.groupby(series, sort=False)[series]
    points = frame.assign(series=frame[series].astype(str), y=frame["density"])
    points["x"] = 100 * (order.cumcount() + 0.5) / order.transform("size")
    x, y = "place in what was read, in % of its length", "density (1 is an even spread)"
    return Lines(points, title=title, x=x, y=y, even=1, reference=reference)


def _position_curves(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    """Draw the curves of all contestants over all steps, and each one's by step, with that of the reference."""
    title = "Where in the text read the summaries come from"
    sets = list(frame[SET].unique()) if SET in frame else []
    references = {REFERENCE, *(f"{REFERENCE}, {name}" for name in sets)} & {*frame["system"]}
    every = frame[frame["steps"] == ALL_STEPS]
    of_all = next(iter(references), "") if len(references) == 1 else ""
    if len(references) > 1:
        every = every[~every["system"].isin(references)]
    yield "position_densities", _densities(every, "system", title, of_all)
    contestants = [who for who in frame["system"].unique() if who not in references]
    for at, who in enumerate(contestants, 1):
        of_system = frame[frame["system"] == who]
        name = f"{REFERENCE}, {of_system[SET].iloc[0]}" if sets else REFERENCE
        curves = [
            of_system.assign(steps=of_system["steps"]),
            frame[(frame["system"] == name) & (frame["steps"] == ALL_STEPS)].assign(steps=name),
        ]
        yield f"position_densities_{at}", _densities(pd.concat(curves), "steps", f"{title}: {who}", name)


def _position_shares(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    """Draw the thirds of all contestants, with those of each half of their steps."""
    bars = []
    for _, row in frame.iterrows():
        for part in ("", "lower ", "upper "):
            shares = {third: row[f"{part}{third}"] for third in PLACES}
            if part == "" or any(pd.notna(share) for share in shares.values()):
                bars.append({"name": f"{part}half of its steps" if part else str(row["system"]), **shares})
    title = "Thirds of the text read that the summaries come from"
    bar_frame = pd.DataFrame(bars, columns=["name", *PLACES])
    yield "position_halves", Shares(bar_frame, title=title, parts=PLACES, measure="share of the summary")


def _fact_shares(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    """Draw how many facts match, are lost or are new, by contestant and measure.

    There is a chart of the sections, compared with an even spread, and one of the phases of the steps (figure 6.4b).
    """
    note = (
        "All facts of a section that match, are lost or are new from one step to the next; below it, an even spread's."
    )
    for at, ((who, measure), of_system) in enumerate(
        _groups(frame[frame["steps"] == ALL_STEPS], "system", "measure"), 1
    ):
        bars = [
            {"name": f"{row['section']}{label}", **{fate: row[f"{kind}{fate}"] for fate in FATES}}
            for _, row in of_system.iterrows()
            for label, kind in (("", ""), (", even spread", "expected "))
        ]
        measured = pd.DataFrame(bars, columns=["name", *FATES]).dropna()
        title = f"Facts by {measure}: {who}"
        if len(measured):
            yield (
                f"fact_shares_{at}",
                Shares(measured, title=title, parts=FATES, measure="share of facts", even=False, note=note),
            )
    note = "All facts of a third of the steps that match, are lost or are new from one to the next."
    drawn = 0
    for (who, measure), of_system in _groups(frame[frame["section"] == ANYWHERE], "system", "measure"):
        phases = of_system[of_system["steps"].isin(PHASES)].assign(name=of_system["steps"])
        title = f"Facts by {measure}, as more is read: {who}"
        chart = Shares(phases, title=title, parts=FATES, measure="share of facts", even=False, note=note)
        if len(phases) and chart.shares().notna().any(axis=None):
            drawn += 1
            yield f"fact_phases_{drawn}", chart


def _fact_steps(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    """Draw the fates of facts by section and step (figures 6.2 and 6.5), and of all facts as three lines (6.3b)."""
    order = {section: at for at, section in enumerate((*THIRDS, ADDED))}
    for at, ((who, measure), of_system) in enumerate(_groups(frame, "system", "measure"), 1):
        placed = of_system[of_system["section"].isin(order)].sort_values(
            "section", key=lambda cells: cells.map(order), kind="stable"
        )
        columns = {"panel": "column", "row": "section", "column": "until", "value": "value"}
        captions = (f"Facts by {measure}: {who}", "section", _READ, "share of the facts of a section")
        yield f"fact_steps_{at}", _heat_maps(_melted(placed, FATES), columns, *captions)
        anywhere = _melted(of_system[of_system["section"] == ANYWHERE], FATES)
        labels = (_READ, "share of facts", f"Facts by {measure}, step by step: {who}")
        yield f"fact_trends_{at}", _lines(anywhere, ["column"], "until", "value", labels, share=True)


def _fact_changes(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    """Draw a chart for each document, for the first of them if there are many: the table has them all."""
    anywhere = frame[frame["section"] == ANYWHERE]
    counts = numbers(anywhere, "matching", "new", "lost", "kept", "unjudged").fillna(0)
    stated = counts["matching"] + counts["new"]
    judged_counts = stated + counts["lost"] + counts["kept"]
    # The share of a summary's facts that the step before had is known if at least half have verdicts.
    is_known = (stated > 0) & (judged_counts >= MIN_SHARE * (judged_counts + counts["unjudged"]))
    points = anywhere.assign(shared=(counts["matching"] / stated.where(stated > 0)).where(is_known))
    documents = points.loc[_numeric(points["until"]).notna(), "document"].unique()
    title = "How much each summary keeps of the previous one"
    for at, document in enumerate(documents[:_MAX_DOCUMENTS], 1):
        several = len(documents) > 1
        labels = (_READ, "share of its facts that the previous one has", f"{title}: {document}" if several else title)
        of_document = points[points["document"] == document]
        chart = _lines(of_document, ["system", "measure"], "until", "shared", labels, share=True)
        yield f"fact_changes_{at}" if several else "fact_changes", chart


def _chunk_sizes(frame: pd.DataFrame) -> Iterator[tuple[str, Chart]]:
    names = list(frame.columns)
    end = names.index("tokens")
    marks, counts = names[names.index("judge") + 1 : end - _COUNTED], names[end - _COUNTED : end]
    columns = {"panel": "judge", "row": "size", "column": "column", "value": "value"}
    labels = ("Marks by size", "tokens of a chunk", "mark", "a mean mark from 1 to 5")
    yield "marks_by_size", _heat_maps(_melted(frame, marks), columns, *labels)
    labels = ("Facts and connections by size", "tokens of a chunk", "what is counted", "a mean number in a chunk")
    yield "counts_by_size", _heat_maps(_melted(frame, counts), columns, *labels)


DRAWN: Mapping[tuple[str, str], Draw] = {
    ("booookscore", "by_length"): _scores_by_length,
    ("booookscore", "scores"): _systems,
    ("booookscore", "types"): _types,
    ("chunk-size", "chunk_sizes"): _chunk_sizes,
    ("context", "fact_changes"): _fact_changes,
    ("context", "fact_shares"): _fact_shares,
    ("context", "fact_steps"): _fact_steps,
    ("context", "position_densities"): _position_curves,
    ("context", "position_halves"): _position_shares,
    ("grid", "differences"): _pairwise("differences", ["metric"], "difference", "documents", "score", judge=-1),
    ("grid", "preferences"): _pairwise(
        "preferences", ["aspect"], "balance", "verdicts", "share of verdicts that prefer each", judge=0
    ),
    ("grid", "scores"): _grid_scores,
    ("grid", "summaries"): _documents,
    ("hamlet", "differences"): _pairwise("differences", ["metric", "level"], "difference", "queries", "share"),
    ("hamlet", "errors"): _errors,
    ("hamlet", "faithfulness"): _faithfulness,
    ("hamlet", "gaps"): _gaps,
    ("hamlet", "recall"): _recall,
    ("hamlet", "summaries"): _model_costs,
    ("longsumeval", "gains"): _gains,
    ("longsumeval", "rounds"): _rounds,
    ("qa", "differences"): _between_models,
    ("qa", "place_and_length"): _by_length("accuracy_by_place_and_length", "third read", "what was read"),
    ("qa", "third_and_length"): _by_length("accuracy_by_third_and_length", "third", "the document"),
    ("qa", "type_and_third"): _types_and_thirds,
}
"""The drawing functions, by the names of an experiment and of one of its tables."""
_PARTS = {"thesis": ("context", "qa")}
"""The experiments that another one consists of."""


def draw_pictures(experiment: str, tables: Iterable[Table]) -> dict[str, Chart]:
    """Return the charts of an experiment's tables, by file name."""
    parts = _PARTS.get(experiment, (experiment,))
    return {
        name: chart
        for table in tables
        if table.rows
        for draw in [DRAWN[part, table.name] for part in parts if (part, table.name) in DRAWN][:1]
        for name, chart in draw(_with_sets(table_frame(table)))
    }


def _with_sets(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the dataset, where there is a column for it, as part of the names of systems and models."""
    if SET not in frame:
        return frame
    renamed = {name: frame[name].astype(str) + ", " + frame[SET].astype(str) for name in _NAMES if name in frame}
    return frame.assign(**renamed)


def result_files(report: Report) -> dict[str, str]:
    """Return the contents of all files of an experiment by name: its tables and items, and the charts of the tables."""
    charts = draw_pictures(report.name, report.tables)
    return {**report.files(), **{f"{name}.svg": chart.svg() for name, chart in charts.items()}}
