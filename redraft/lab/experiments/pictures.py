"""The charts of experiments: each table is drawn as `pictures.toml` says, whether it was stored or just made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from redraft.lab.declared import declared
from redraft.lab.experiments.context_frames import ALL_STEPS, FATES, REFERENCE
from redraft.lab.experiments.frames import ENDS, SET
from redraft.lab.experiments.hamlet import FIFTHS
from redraft.lab.plots.charts import Chart, Costs, HeatMaps, Intervals, Lines, Shares, numbers
from redraft.report.tables import Report, Table

Drawn = Iterator[tuple[str, Chart]]
Spec = Mapping[str, Any]
_NO_NAME = re.compile(r"[^\w-]+")
_NAMES = ("system", "model", "first", "second")
_SHARE = (0.0, 1.02)
_MIDDLES = {fifth: 100 * (at + 0.5) / len(FIFTHS) for at, fifth in enumerate(FIFTHS)}
_INTERVAL = dict(zip(ENDS, ("low", "high"), strict=True))
DRAWN: Mapping[tuple[str, str], list[Spec]] = {
    (part, table): specs for part, tables in declared("pictures").items() for table, specs in tables.items()
}
"""The declared charts by the names of an experiment and of one of its tables."""
_PARTS = {"thesis": ("context", "qa")}
"""The experiments that another one consists of."""


def draw_pictures(experiment: str, tables: Iterable[Table]) -> dict[str, Chart]:
    """Return the charts of an experiment's tables, by file name."""
    pictures: dict[str, Chart] = {}
    for table in tables:
        parts = [part for part in _PARTS.get(experiment, (experiment,)) if (part, table.name) in DRAWN]
        if not table.rows or not parts:
            continue
        frame = pd.DataFrame(list(table.rows), columns=list(table.columns), dtype=object)
        if SET in frame:  # the dataset is part of the names of systems and models
            frame = frame.assign(**{name: _joined(frame, [name, SET]) for name in _NAMES if name in frame})
        frame = _ADDED.get((parts[0], table.name), lambda rows: rows)(frame)
        for spec in DRAWN[parts[0], table.name]:
            pictures |= dict(_DRAWN[spec["kind"]](frame) if spec["kind"] in _DRAWN else _charts(spec, frame))
    return pictures


def result_files(report: Report) -> dict[str, str]:
    """Return the contents of all files of an experiment by name: its tables and items, and the charts of the tables."""
    charts = draw_pictures(report.name, report.tables)
    return {**report.files(), **{f"{name}.svg": chart.svg() for name, chart in charts.items()}}


def _joined(frame: pd.DataFrame, names: list[str]) -> pd.Series[Any]:
    return frame[names].astype(str).agg(", ".join, axis=1) if len(frame) else pd.Series(dtype=object)


def _charts(spec: Spec, frame: pd.DataFrame) -> Drawn:
    """Yield the charts that a declaration describes; none of intervals or costs where nothing was measured."""
    rows = _chosen(spec, frame)
    groups = list(rows.groupby(spec["per"], sort=False, dropna=False)) if "per" in spec else [((), rows)]
    suffix = "_of_one" if len(groups) == 1 else ""
    for at, (_, group) in enumerate(groups[: spec.get("limit")], 1):
        cells = {"at": at, **(group.iloc[0].to_dict() if len(group) else {})}
        names = {name: _NO_NAME.sub("_", str(cell)) for name, cell in cells.items()}
        title = spec.get(f"title{suffix}", spec["title"]).format_map(cells) if len(group) else spec["name"]
        chart = _MADE[spec["kind"]](spec, group, title, cells)
        if chart is not None:
            yield spec.get(f"name{suffix}", spec["name"]).format_map(names), chart


def _chosen(spec: Spec, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are drawn, in their order, with several columns as one if they are."""
    if "judge" in spec and len(frame):
        frame = frame[frame["judge"] == frame["judge"].unique()[0 if spec["judge"] == "first" else -1]]
    for column, value in spec.get("without", {}).items():
        frame = frame[frame[column] != value]
    for column, values in spec.get("keep", {}).items():
        order = {value: at for at, value in enumerate(values)}
        frame = frame[frame[column].isin(order)]
        frame = frame.sort_values(column, key=lambda cells, order=order: cells.map(order), kind="stable")
    names = list(frame.columns)
    melted = spec.get("melt") or (names[names.index(spec["melt_after"]) + 1 :] if "melt_after" in spec else [])
    if not melted:
        return frame
    return frame.melt([name for name in names if name not in melted], melted, var_name="column", value_name="value")


def heat_maps(spec: Spec, frame: pd.DataFrame, title: str, _: Mapping[str, Any]) -> Chart:
    """Return the numbers of a table by two of its columns."""
    (row, rows), (column, columns), (value, measure) = (spec[part] for part in ("row", "column", "value"))
    cells = pd.DataFrame({"row": frame[row], "column": frame[column], "value": frame[value]})
    cells["panel"] = frame[spec["panel"]] if "panel" in spec else ""
    return HeatMaps(cells, title=title, rows=rows, columns=columns, measure=measure)


def lines(spec: Spec, frame: pd.DataFrame, title: str, cells: Mapping[str, Any]) -> Chart:
    """Return a line for each system, with its intervals."""
    (x, x_label), (y, y_label) = spec["x"], spec["y"]
    points = frame.rename(columns=_INTERVAL).assign(series=_joined(frame, spec["who"]), x=frame[x], y=frame[y])
    points = points[points["series"].isin(points["series"].unique()[: spec.get("most")])]
    limits = _SHARE if spec.get("share") else None
    return Lines(points, title=title, x=x_label, y=y_label.format_map(cells), limits=limits)


def intervals(spec: Spec, frame: pd.DataFrame, title: str, cells: Mapping[str, Any]) -> Chart | None:
    """Return a mark for each row, with the number of items behind it."""
    (value, measure), of = spec["value"], spec["of"]
    if "per" in spec and numbers(frame, value)[value].isna().all():
        return None
    notes = [cell if isinstance(cell, str) else f"{int(cell):,}" if pd.notna(cell) else "" for cell in frame[of]]
    marks = frame.rename(columns=_INTERVAL).assign(name=_joined(frame, spec["who"]), value=frame[value], note=notes)
    sides = tuple(side.format_map(cells) for side in spec["sides"]) if "sides" in spec else None
    return Intervals(marks, title=title, measure=measure, sides=sides, note=f"On the right: {of}.")


def costs(spec: Spec, frame: pd.DataFrame, title: str, cells: Mapping[str, Any]) -> Chart | None:
    """Return scores against the cost of a summary, in tokens if none has a price."""
    column, metric = spec["score"]
    costs = numbers(frame, "USD each", "tokens each", column)
    is_priced = bool((costs["USD each"] > 0).any())
    cost = costs["USD each" if is_priced else "tokens each"]
    if not (cost > 0).any() or costs[column].isna().all():
        return None
    marks = frame.rename(columns=_INTERVAL).assign(name=_joined(frame, spec["who"]), cost=cost, score=frame[column])
    unit = "cost per summary, in US dollars" if is_priced else "tokens per summary (no prices known)"
    return Costs(marks, title=f"{title[:1].upper()}{title[1:]}", cost=unit, score=metric.format_map(cells))


def shares(spec: Spec, frame: pd.DataFrame, title: str, _: Mapping[str, Any]) -> Chart | None:
    """Return a bar for each row, divided into its parts."""
    parts, measure = spec["parts"]
    bars = frame.assign(name=_joined(frame, spec["who"]))
    bars = bars.dropna(subset=parts) if spec.get("only_measured") else bars
    chart = Shares(bars, title=title, parts=parts, measure=measure, note=spec["note"])
    return chart if chart.shares().notna().any(axis=None) else None


_MADE: Mapping[str, Callable[[Spec, pd.DataFrame, str, Mapping[str, Any]], Chart | None]] = {
    "heat maps": heat_maps,
    "lines": lines,
    "intervals": intervals,
    "costs": costs,
    "shares": shares,
}


def densities(frame: pd.DataFrame) -> Drawn:
    """Yield the curves of all systems over all steps, and each one's by steps, with that of the reference."""
    title = "Where in the text read the summaries come from"
    sets = list(frame[SET].unique()) if SET in frame else []
    references = {REFERENCE, *(f"{REFERENCE}, {name}" for name in sets)} & {*frame["system"]}
    every = frame[frame["steps"] == ALL_STEPS]
    if len(references) > 1:
        every = every[~every["system"].isin(references)]
    reference = next(iter(references), "") if len(references) == 1 else ""
    yield "position_densities", _density_lines(every, "system", title, reference)
    for at, who in enumerate((who for who in frame["system"].unique() if who not in references), 1):
        of_system = frame[frame["system"] == who]
        name = f"{REFERENCE}, {of_system[SET].iloc[0]}" if sets else REFERENCE
        of_reference = frame[(frame["system"] == name) & (frame["steps"] == ALL_STEPS)].assign(steps=name)
        chart = _density_lines(pd.concat([of_system, of_reference]), "steps", f"{title}: {who}", name)
        yield f"position_densities_{at}", chart


def _density_lines(frame: pd.DataFrame, series: str, title: str, reference: str) -> Lines:
    """Return curves over what was read, each height in the middle of its step."""
    of_series = frame.groupby(series, sort=False)[series]
    points = frame.assign(series=frame[series].astype(str), y=frame["density"])
    points["x"] = 100 * (of_series.cumcount() + 0.5) / of_series.transform("size")
    x, y = "place in what was read, in % of its length", "density (1 is an even spread)"
    return Lines(points, title=title, x=x, y=y, even=1, reference=reference)


_DRAWN: Mapping[str, Callable[[pd.DataFrame], Drawn]] = {"densities": densities}


def with_even_spread(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows, each with that of an even spread behind it; column `name` tells them apart."""
    even = frame.assign(**{fate: frame[f"expected {fate}"] for fate in FATES}, name=frame["section"] + ", even spread")
    return pd.concat([frame.assign(name=frame["section"]), even]).sort_index(kind="stable")


def with_ways(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows, with a column `way` of writer, refiner, thresholds and order where there are several of them."""
    several = [name for name in ("drafts by", "refined by", "thresholds", "order") if frame[name].nunique() > 1]
    ways = ["; ".join(dict.fromkeys(map(str, cells))) for cells in frame[several].itertuples(index=False)]
    return frame.assign(way=ways if several else frame["order"])


_ADDED: Mapping[tuple[str, str], Callable[[pd.DataFrame], pd.DataFrame]] = {
    ("context", "fact_shares"): with_even_spread,
    ("grid", "scores"): lambda frame: frame.assign(**{"judged by": "judged by " + frame["judge"].astype(str)}),
    ("hamlet", "errors"): lambda frame: frame.assign(error=frame["error"].astype(str).str.removeprefix("intrinsic: ")),
    ("hamlet", "recall"): lambda frame: frame.assign(place=frame["position"].map(_MIDDLES)),
    ("longsumeval", "gains"): with_ways,
    ("longsumeval", "rounds"): with_ways,
    ("qa", "third_and_length"): lambda frame: frame.dropna(subset="tokens"),
    ("qa", "place_and_length"): lambda frame: frame.dropna(subset="tokens"),
}
"""The columns that charts of a table need besides its own."""
