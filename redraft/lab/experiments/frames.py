"""Tables of experiments as data frames: groups of rows, intervals, and the texts that explain each table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from random import Random
from statistics import fmean, quantiles, stdev
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from redraft.domain import Totals
from redraft.evaluators.metric_info import MIN_SHARE
from redraft.evaluators.reference.keyfacts import ALL, share
from redraft.evaluators.statistics import RESAMPLES, SEED, Interval, draws, interval, interval_of_mean, mean
from redraft.lab.declared import declared, make_table
from redraft.report.tables import Cell, Table

ENDS = ("95% from", "95% to")
"""The columns of an interval."""
FEWEST = 5
"""The minimum number of documents to resample; with fewer, the pairs of the given documents are resampled instead."""
SET = "set"
"""The column of the dataset, if results are given per dataset."""
SPENT = ("calls", "cached", "prompt tokens", "reply tokens", "USD")
_FIELDS = ("calls", "cached", "prompt_tokens", "completion_tokens")
Frame: TypeAlias = pd.DataFrame
Rows = Iterable[Mapping[str, object]]


def as_table(experiment: str, name: str, frame: Frame, basis: str, **values: Any) -> Table:
    """Return a frame as a table with its title and caption, in which `values` are filled in."""
    rows = (tuple(map(_cell, row)) for row in frame.itertuples(index=False, name=None))
    return make_table(experiment, name, basis, rows, columns=[*map(str, frame.columns)], **values)


def _cell(value: Any) -> Cell:
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return None
    cell: Cell = value.item() if isinstance(value, np.generic) else value
    return cell


def frame_of(rows: Rows, columns: Sequence[str] = ()) -> Frame:
    """Return rows as a frame with the cells as they are; `columns` are those of a frame that may have no rows."""
    return pd.DataFrame(list(rows), columns=list(columns) or None, dtype=object)


def groups(frame: Frame, *names: str) -> Iterator[tuple[tuple[Any, ...], Frame]]:
    """Yield the rows by the cells of some columns, in order of first occurrence."""
    if len(frame):
        yield from frame.groupby(list(names), sort=False, dropna=False)


def by_group(frame: Frame, by: Sequence[str], rows_of: Callable[[Frame], Rows], more: Sequence[str] = ()) -> Frame:
    """Return the rows that are made of each group of rows with the same cells in some columns, behind these cells;
    without rows, these columns and `more`."""
    rows = [{**dict(zip(by, head, strict=True)), **row} for head, group in groups(frame, *by) for row in rows_of(group)]
    return frame_of(rows, () if rows else (*by, *more))


def summarize(frame: Frame, by: Mapping[str, Sequence[object]], row: Callable[[Frame], Mapping[str, object]]) -> Frame:
    """Return one row for each combination of values of some columns, in the given order; `ALL` is every value."""
    rows = []
    for values in product(*by.values()):
        chosen = pd.Series(data=True, index=frame.index)
        for column, value in zip(by, values, strict=True):
            chosen &= True if value == ALL else frame[column] == value
        rows.append({**dict(zip(by, values, strict=True)), **row(frame[chosen])})
    return frame_of(rows, () if rows else list(by))


def figures(part: str, name: str, rows: Frame) -> dict[str, Any]:
    """Return the figures over some rows that `tables.toml` declares for a table, such as `failed = sum failed`: the
    name of the column, one of `STATISTICS`, and a column of the rows. Statistics of several columns have no name."""
    cells: dict[str, Any] = {}
    for line in declared("tables")[part][name]["figures"]:
        column, _, how = line.rpartition(" = ")
        statistic, _, of = how.partition(" ")
        value = STATISTICS[statistic](rows, of)
        cells |= {column: value} if column else value
    return cells


STATISTICS: Mapping[str, Callable[[Frame, str], Any]] = {
    "rows": lambda rows, _: len(rows),
    "filled": lambda rows, name: int(rows[name].notna().sum()),
    "distinct": lambda rows, name: rows[name].nunique(),
    "empty": lambda rows, name: int(rows[name].isna().sum()),
    "total": lambda rows, name: int(sum(values)) if (values := values_of(rows[name])) else None,
    "sum": lambda rows, name: int(sum(values_of(rows[name]))),
    "mean": lambda rows, name: mean_of(rows[name]),
    "mean-of-means": lambda rows, names: (
        None if None in (means := [mean_of(rows[name]) for name in names.split(" ")]) else mean_of(means)
    ),
    "most-mean": lambda rows, names: mean_of_most(rows, *names.split(" ")),
    "percent": lambda rows, name: percent(mean_of(rows[name])),
    "percentage": lambda rows, name: 100 * sum(values) / len(values) if (values := values_of(rows[name])) else None,
    "sd": lambda rows, name: stdev(values) if len(values := values_of(rows[name])) > 1 else None,
    "spread": lambda rows, name: spread_of_mean(values_of(rows[name])),
    "spread-ends": lambda rows, name: {
        end: cell for end, cell in spread_of_mean(values_of(rows[name])).items() if end in ENDS
    },
    "change": lambda rows, names: percent_change(*(mean_of(rows[name]) for name in names.split(" "))),
    "ends": lambda rows, name: ends(values_of(rows[name])),
    "documents": lambda rows, name: len(document_means(rows, name)),
    "document-mean": lambda rows, name: mean_of(document_means(rows, name).values()),
    "document-ends": lambda rows, name: ends(list(document_means(rows, name).values())),
    "pooled": lambda rows, name: share(sum(rows[f"{name} part"]), sum(rows[f"{name} whole"])) if len(rows) else None,
    "spent-each": lambda rows, name: spent_each(values_of(rows[name])),
}
"""The statistics of a column over some rows; cells that are empty do not count."""


def mean_of_most(rows: Frame, name: str, among: str) -> float | None:
    """Return the mean of a column if it has values for most rows that have another."""
    has_most = rows[name].notna().sum() >= MIN_SHARE * rows[among].notna().sum()
    return mean_of(rows[name]) if has_most else None


def spread_of_mean(values: Sequence[float]) -> dict[str, float | None]:
    """Return the standard deviation and the ends of the 95% interval of resampled means, independent of the values'
    order; None for fewer than two values."""
    if len(values) < 2:
        return dict.fromkeys(("sd", *ENDS))
    ordered, size = sorted(values), len(values)
    draw = Random(SEED)
    means = [sum(draw.choices(ordered, k=size)) / size for _ in range(RESAMPLES)]
    cuts = quantiles(means, n=40)
    return {"sd": stdev(means), **end_cells(Interval(cuts[0], cuts[-1]))}


def pairs(frame: Frame, column: str, on: Sequence[str], names: Iterable[tuple[str, str]] = ()) -> Iterator[Any]:
    """Yield each two names in a column, and the rows of both that have the same cells in `on`, side by side."""
    for first, second in names or combinations(frame[column].unique(), 2):
        sides = [frame[frame[column] == name] for name in (first, second)]
        yield {"first": first, "second": second}, sides[0].merge(sides[1], on=list(on), suffixes=("", " of second"))


def by_set(sets: Mapping[str, str], items: Sequence[Any], make: Callable[[Sequence[Any]], Frame]) -> Frame:
    """Return a frame made from all items; if `sets` has the datasets of documents, from each, in a first column."""
    if not sets:
        return make(items)
    frames = []
    for name in dict.fromkeys(sets.values()):
        frame = make([item for item in items if sets[item.document] == name])
        frame.insert(0, SET, name)
        frames.append(frame)
    return pd.concat(frames)


def values_of(cells: Iterable[Any]) -> list[Any]:
    """Return the cells that are not empty."""
    return [cell for cell in map(_cell, cells) if cell is not None]


def mean_of(cells: Iterable[Any]) -> float | None:
    """Return the mean of the cells that are not empty; None if there are none."""
    values = [float(value) for value in values_of(cells)]
    return fmean(values) if values else None


def percent(share: float | None) -> float | None:
    """Return a share in percent."""
    return None if share is None else 100 * share


def ends(values: Sequence[float]) -> dict[str, float | None]:
    """Return the cells of `ENDS` for the mean of one value per document."""
    return end_cells(interval_of_mean(values))


def end_cells(span: Interval | None) -> dict[str, float | None]:
    """Return the cells of `ENDS` for an interval; None for both if there is none."""
    return dict(zip(ENDS, span or (None, None), strict=True))


def document_means(frame: Frame, column: str) -> dict[str, float]:
    """Return the mean of each document's values, since an interval resamples whole documents."""
    scored_rows = frame[frame[column].notna()]
    return {str(document): fmean(group[column]) for (document,), group in groups(scored_rows, "document")}


def percent_change(first: float | None, last: float | None) -> float | None:
    """Return the change in % of the first value."""
    return 100 * (last - first) / first if first and last is not None else None


def spent(totals: Iterable[Totals | None]) -> dict[str, Cell]:
    """Return the sums of the columns `SPENT`; the price is None if any price is unknown."""
    priced = [total for total in totals if total is not None]
    prices = [total.cost_usd for total in priced]
    sums: list[Cell] = [sum(getattr(total, name) for total in priced) for name in _FIELDS]
    return dict(zip(SPENT, [*sums, None if None in prices else sum(filter(None, prices), 0.0)], strict=True))


def spent_each(totals: Iterable[Totals | None]) -> dict[str, float | None]:
    """Return the mean tokens (of prompt and reply) and the mean price of several runs."""
    priced = [total for total in totals if total is not None]
    prices = [total.cost_usd for total in priced]
    tokens = mean([total.prompt_tokens + total.completion_tokens for total in priced])
    return {"tokens each": tokens, "USD each": None if None in prices else mean(prices)}


def share_gap(pairs: Sequence[Sequence[Any]], unit: str) -> dict[str, Cell]:
    """Return the difference of two shares, each pooled over pairs of a document and two parts with their wholes.

    Documents are resampled with all their pairs, or the pairs where there are too few documents.
    """
    frame = Frame(pairs, columns=["document", *range(4)])
    documents = frame["document"].nunique()
    over_documents = documents >= FEWEST
    by = frame["document"] if over_documents else frame.index
    sums = frame[[*range(4)]].astype(float).groupby(by, sort=False).sum().to_numpy()
    first, second = _pooled(sums.sum(axis=0))
    between = np.subtract(*_pooled((draws(len(sums)) @ sums).T)) if len(sums) >= FEWEST else None
    shares = {"of first": _cell(first), "of second": _cell(second), "difference": _cell(first - second)}
    span = end_cells(None if between is None else interval(between))
    drawn = "documents" if over_documents else unit
    return {**shares, **span, unit: len(frame), "documents": documents, "drawn": drawn}


def interval_of_share(parts: Sequence[tuple[float, float]]) -> Interval | None:
    """Return the resampling interval of a share over things that each have a part and a whole, whatever their order;
    None for too few."""
    if len(parts) < FEWEST:
        return None
    sums = np.asarray(sorted(parts), dtype=np.float64)
    return interval(_pooled((draws(len(sums)) @ sums).T)[0])


def _pooled(sums: Any) -> Any:
    """Return the shares of sums of parts, each with the sums of its whole after it; NaN where a whole is zero."""
    with np.errstate(invalid="ignore"):
        return sums[::2] / sums[1::2]
