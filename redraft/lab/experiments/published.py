"""The results of experiments: their files, with charts as `pictures.toml` declares; and stored or published results,
read from `tables.json`, all of it untrusted, with their page as one HTML file."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any, NamedTuple

import pandas as pd
from pydantic import (
    BeforeValidator,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from redraft.domain import widened
from redraft.errors import UsageError
from redraft.lab.declared import declared
from redraft.lab.experiments.context_frames import ALL_STEPS, FATES, REFERENCE
from redraft.lab.experiments.frames import ENDS, SET
from redraft.lab.experiments.hamlet import FIFTHS
from redraft.lab.plots.charts import Chart, Costs, HeatMaps, Intervals, Lines, Shares, numbers
from redraft.lab.verdict import verdict
from redraft.report.pages.html import ShownTable, assets, environment
from redraft.report.tables import Cell, Line, Report, Table, drop_repeats, without_marks
from redraft.sources import MAX_BYTES, read_file
from redraft.text.sanitizer import one_line
from redraft.text.words import count

Drawn = Iterator[tuple[str, Chart]]
Spec = Mapping[str, Any]
_NO_NAME = re.compile(r"[^\w-]+")
_NAMES = ("system", "model", "first", "second")
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
            pictures |= dict(densities(frame) if spec["kind"] == "densities" else _charts(spec, frame))
    return pictures


def result_files(report: Report) -> dict[str, str]:
    """Return the contents of all files of an experiment by name: its tables and items, and the charts of the tables."""
    charts = draw_pictures(report.name, report.tables)
    return {**report.files(), **{f"{name}.svg": chart.svg() for name, chart in charts.items()}}


def _joined(frame: pd.DataFrame, names: list[str]) -> pd.Series[Any]:
    return frame[names].astype(str).agg(", ".join, axis=1) if len(frame) else pd.Series(dtype=object)


def _charts(spec: Spec, frame: pd.DataFrame) -> Drawn:
    """Yield the charts that a declaration describes, with its columns and words by the names that its kind has for
    them; none where a column that it needs has no number."""
    rows, is_of_costs = _chosen(spec, frame), spec["kind"] == "costs"
    groups = list(rows.groupby(spec["per"], sort=False, dropna=False)) if "per" in spec else [((), rows)]
    suffix = "_of_one" if len(groups) == 1 else ""
    for at, (_, chosen) in enumerate(groups[: spec.get("limit")], 1):
        group = chosen
        if is_of_costs:
            # The price of a summary, or its tokens if none has a price.
            prices, tokens = (numbers(chosen, name)[name] for name in ("USD each", "tokens each"))
            is_priced = bool((prices > 0).any())
            cost = prices if is_priced else tokens
            unit = "cost per summary, in US dollars" if is_priced else "tokens per summary (no prices known)"
            group = chosen.assign(cost=cost if (cost > 0).any() else None, unit=unit)
        cells = {"at": at, **(group.iloc[0].to_dict() if len(group) else {})}
        names = {name: _NO_NAME.sub("_", str(cell)) for name, cell in cells.items()}
        title = spec.get(f"title{suffix}", spec["title"]).format_map(cells) if len(group) else spec["name"]
        title = f"{title[:1].upper()}{title[1:]}" if is_of_costs else title
        if any(numbers(group, column)[column].isna().all() for column in spec.get("needs", ())):
            continue
        columns: dict[str, Any] = {"panel": ""}
        columns |= {name: group[column] for name, column in spec.get("columns", {}).items()}
        if "who" in spec:
            columns["name"] = columns["series"] = _joined(group, spec["who"])
        marks = group.rename(columns=_INTERVAL).assign(**columns)
        if "most" in spec:
            marks = marks[marks["name"].isin(marks["name"].unique()[: spec["most"]])]
        if spec.get("only_measured"):
            marks = marks.dropna(subset=spec["parts"])
        words = {
            name: label.format_map(cells) if isinstance(label, str) else [part.format_map(cells) for part in label]
            for name, label in spec["labels"].items()
        }
        words |= {name: spec[name] for name in ("parts", "limits") if name in spec}
        chart = _KINDS[spec["kind"]](marks, title=title, **words)
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


_KINDS: Mapping[str, Callable[..., Chart]] = {
    "heat maps": HeatMaps,
    "lines": Lines,
    "intervals": Intervals,
    "costs": Costs,
    "shares": Shares,
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
    ("grid", "scores"): lambda frame: frame.assign(judging="judged by " + frame["judge"].astype(str)),
    ("hamlet", "errors"): lambda frame: frame.assign(error=frame["error"].astype(str).str.removeprefix("intrinsic: ")),
    ("hamlet", "recall"): lambda frame: frame.assign(place=frame["position"].map(_MIDDLES)),
    ("longsumeval", "gains"): with_ways,
    ("longsumeval", "rounds"): with_ways,
    ("qa", "third_and_length"): lambda frame: frame.dropna(subset="tokens"),
    ("qa", "place_and_length"): lambda frame: frame.dropna(subset="tokens"),
}
"""The columns that charts of a table need besides its own."""


TABLES = "tables.json"
TEMPLATES = "redraft.lab.studio"
"""The package with the templates of the page."""
_STYLES, _SCRIPT = ("base.css", "report.css"), "report.js"
_HINT = "write results with redraft experiment NAME -o DIR"
_LARGEST, _TITLE = 2**63, 80
_UNDRAWN = "No picture: this table has a different form than its picture needs."


def _cell(value: object) -> Cell:
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        raise ValueError("a text, a number or null was expected")
    if isinstance(value, int | float) and (not math.isfinite(value) or abs(value) >= _LARGEST):
        raise ValueError("the number is too large, or not a number")
    return one_line(value) if isinstance(value, str) else value


def _text(text: str) -> str:
    """Return a text on one line, without the marks of Markdown."""
    return without_marks(one_line(text))


_ROWS = TypeAdapter(dict[str, tuple[dict[Line, Annotated[Cell, PlainValidator(_cell)]], ...]])


def _stored_table(content: Any, validated: ValidatorFunctionWrapHandler) -> Table:
    """Return a table as stored, each row a mapping by column name; a cell missing from a row was not measured."""
    rows: tuple[dict[str, Cell], ...] = ()
    if isinstance(content, dict):
        rows = _ROWS.validate_python({"rows": content.get("rows")})["rows"]
        content = {"title": "", "caption": "", "basis": "", **content, "rows": ()}
    table: Table = validated(content)
    columns = tuple(map(one_line, table.columns))
    if len({*columns}) < len(columns):
        raise ValueError("two columns have the same name")
    for number, row in enumerate(rows):
        if unknown := row.keys() - {*columns}:
            raise ValueError(f"row {number} has {sorted(unknown)[0]!r}, which is not a column")
    name, title, caption, basis = map(_text, (table.name, table.title, table.caption, table.basis))
    return Table(name, title or name, caption, basis, columns, tuple(tuple(map(row.get, columns)) for row in rows))


_TABLES = TypeAdapter(dict[str, tuple[Annotated[Table, WrapValidator(_stored_table)], ...]])


def _stored_report(content: Any) -> Any:
    """Return the content of `tables.json` as the fields of a report. Older files have no title; items, as in the output
    of `--json`, are ignored."""
    if not isinstance(content, dict):
        return content
    tables = _TABLES.validate_python({name: content[name] for name in ("tables",) if name in content})
    usual: dict[str, Any] = {"title": "", "about": (), "settings": {}}
    return usual | content | tables | {"name": content.get("experiment", ""), "items": (), "verdict": ""}


_REPORTS = TypeAdapter(Annotated[Report, BeforeValidator(_stored_report)])


@dataclass(frozen=True, slots=True)
class Results(Report):
    """The results of an experiment as they are shown."""

    place: str = ""
    """The path they were read from, as the reader gave it."""
    shown: tuple[ShownTable, ...] = ()
    letter: str = ""
    """What names them on a page."""


def read_results(places: Iterable[str]) -> list[Results]:
    """Return the results at some paths: a folder with `tables.json`, a folder of such folders, or the file itself."""
    results = []
    for place in places:
        path = Path(place).expanduser()
        if not path.is_dir():
            results.append(read_file_of_results(path, place))
            continue
        folders = [path, *sorted(folder for folder in path.iterdir() if folder.is_dir())]
        files = [folder / TABLES for folder in folders if (folder / TABLES).is_file()]
        if not files:
            raise UsageError(f"there is no {TABLES} in it or in its folders", place=place, hint=_HINT)
        for file in files:
            called = place if file.parent == path else f"{place.rstrip('/')}/{file.parent.name}"
            results.append(read_file_of_results(file, called))
    return results


def stored_results(path: Path) -> Report:
    """Return the results in a file as they are stored. An error names the file and the field."""
    try:
        report = _REPORTS.validate_json(read_file(path, MAX_BYTES))
    except OSError as error:
        raise UsageError(f"it cannot be read: {error.strerror}", place=str(path), hint=_HINT) from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field, problem = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
        message = f"{f'{field}: ' if field else ''}{problem[:1].lower()}{problem[1:]}"
        raise UsageError(f"these are not results of an experiment: {message}", place=str(path), hint=_HINT) from error
    about, headline = (tuple(map(_text, lines)) for lines in (report.about, report.headline))
    return replace(report, name=one_line(report.name), title=_text(report.title), about=about, headline=headline)


def read_file_of_results(path: Path, called: str, rename: Callable[[Table], Table] = lambda table: table) -> Results:
    """Return the results in a file; `rename` gives the tables other names before pictures are drawn."""
    stored, shown = stored_results(path), list[ShownTable]()
    tables = tuple(map(rename, drop_repeats(stored.tables, (*stored.about, *stored.headline))))
    for table in tables:
        try:
            charts = draw_pictures(stored.name, [table]).values()
            shown.append(ShownTable(table, tuple(chart.html() for chart in charts)))
        except Exception:  # noqa: BLE001 - a table from outside may lack anything, and can be read without a chart
            shown.append(ShownTable(table, undrawn=_UNDRAWN))
    place = one_line(called)
    named = {"title": stored.title or stored.name or place, "verdict": verdict(stored.name, tables), "place": place}
    return widened(Results, stored, tables=tables, shown=tuple(shown), **named)


class ReportSection(NamedTuple):
    """All results of one experiment; tables of the same name are side by side."""

    anchor: str
    title: str
    sets: tuple[Results, ...]
    lines: tuple[tuple[ShownTable, ...], ...]


def report_page(results: Sequence[Results]) -> str:
    """Return the page, with its styles, its script and its data."""
    report_sections, tables = sections(results), [table for of_one in results for table in of_one.shown]
    pictures = count(sum(len(table.pictures) for table in tables), "picture")
    line = f"{count(len(results), 'set')} of results, {count(len(tables), 'table')}, {pictures}"
    template, title = (
        environment(TEMPLATES).get_template("report.html"),
        ", ".join(part.title for part in report_sections),
    )
    return template.render(sections=report_sections, assets=assets(_STYLES, _SCRIPT), title=title, line=line)


def sections(results: Sequence[Results]) -> tuple[ReportSection, ...]:
    """Group the results by experiment, and their tables by name."""
    by_name: dict[str, list[Results]] = {}
    for at, of_one in enumerate(results):
        letter = ascii_uppercase[at] if at < len(ascii_uppercase) else f"{at + 1}"
        by_name.setdefault(of_one.name, []).append(replace(of_one, letter=letter))
    by_experiment = []
    for at, sets in enumerate(by_name.values(), 1):
        tables: dict[str, list[tuple[Results, ShownTable]]] = {}
        for of_one in sets:
            for table in of_one.shown:
                tables.setdefault(table.table.name, []).append((of_one, table))
        rows = []
        for number, same_name in enumerate(tables.values(), 1):
            row = f"e{at}-t{number}"
            panels = (replace(table, experiment=each.name, letter=each.letter, row=row) for each, table in same_name)
            rows.append(tuple(panels))
        by_experiment.append(ReportSection(f"e{at}", one_line(sets[0].title, _TITLE), tuple(sets), tuple(rows)))
    return tuple(by_experiment)
