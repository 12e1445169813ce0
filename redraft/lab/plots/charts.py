"""The kinds of charts, and what they have in common: a data frame, a title, a caption, their form as SVG and HTML."""

from __future__ import annotations

import base64
import io
import re
import textwrap
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import cycle
from threading import Lock
from typing import Any, ClassVar

import matplotlib as mpl
import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter, StrMethodFormatter

from redraft.report.tables import figure as figure_of
from redraft.text.sanitizer import one_line

COLOURS = ("#0072b2", "#c85200", "#00795a", "#a8407f", "#876200", "#5a5d66")
"""Blue, vermilion, green, purple, ochre and grey, after Okabe and Ito, each with a contrast of at least 3:1."""
GREY, INK, GRID, PAPER = COLOURS[-1], "#1a1b1f", "#e3e4e8", "#ffffff"
_ON_LIGHT = (*COLOURS, INK, GRID, "#fdfcf9")
_ON_DARK = ("#56b4e9", "#ff8a3d", "#2fc094", "#e08fbf", "#e6c229", "#a9adb8", "#e9e6df", "#3a3d42", "#17181a")
"""What `COLOURS`, ink, grid and paper are on pages."""
MARKERS = ("o", "s", "^", "D", "v", "h")
DASHES = ("-", "--", ":", "-.", (0, (6, 1)), (0, (3, 1, 1, 1)))
HATCHES = ("", "//", "\\\\", "xx", "--", "||")
WIDTH = 7.0
"""The width of a chart in inches."""
MAX_ROWS = 60
"""The maximum number of rows that are drawn; the table has all of them."""
_LONGEST_NAME, _LONGEST_TITLE, _LINE = 60, 240, 80
# `$` in a name is no formula, text stays text, and the same chart has the same ids.
_STYLE: dict[Any, Any] = {
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "redraft",
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": GRID,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
}
# The settings of matplotlib belong to the process.
_DRAWING = Lock()


def label(text: object, width: int = 0) -> str:
    """Return an untrusted name as one line, shortened in its middle, and wrapped at `width` if it is given."""
    line = one_line(str(text), _LONGEST_NAME, middle=True)
    return textwrap.fill(line, width) if width else line


def wrapped(text: str, width: int = _LINE) -> str:
    """Return a title or the name of an axis in lines of at most `width` characters."""
    return textwrap.fill(one_line(text, _LONGEST_TITLE, middle=True), width)


def numbers(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return a frame in which some columns are finite numbers, with NaN for all else; missing columns are added."""
    numeric = {column: pd.to_numeric(frame[column], errors="coerce") for column in columns if column in frame}
    finite = {column: cells.astype(float).where(np.isfinite(cells.astype(float))) for column, cells in numeric.items()}
    return frame.assign(**{**dict.fromkeys(columns, np.nan), **finite})


@dataclass(frozen=True, slots=True)
class Chart(ABC):
    """A chart of a data frame. An interval is in the columns `low` and `high`; NaN was not measured."""

    frame: pd.DataFrame
    _: KW_ONLY
    title: str
    note: str = ""
    """How to read it, beyond what its kind says."""
    kind: ClassVar[str] = ""
    """How to read charts of the kind."""

    @property
    def caption(self) -> str:
        """How to read the chart."""
        return f"{self.kind} {self.note}".strip()

    @abstractmethod
    def draw(self, figure: Figure) -> None:
        """Draw the chart; nothing if there is no value."""

    def svg(self) -> str:
        """Return the chart as a standalone SVG file, the same for the same data."""
        figure, written = Figure(figsize=(WIDTH, 3.6), layout="constrained"), io.StringIO()
        with _DRAWING, mpl.rc_context(_STYLE), warnings.catch_warnings():
            # A reader's fonts may have letters that the font here lacks.
            warnings.simplefilter("ignore", UserWarning)
            self.draw(figure)
            if not figure.axes:
                figure.set_size_inches(WIDTH, 0.8)
                figure.text(0.5, 0.5, "No data.", ha="center", color=GREY)
            figure.suptitle(wrapped(self.title), fontsize=11, fontweight="bold")
            texts = {"Title": one_line(self.title), "Description": one_line(self.caption)}
            metadata = {"Date": None, "Creator": "redraft", **texts}
            figure.savefig(written, format="svg", bbox_inches="tight", metadata=metadata)
        return written.getvalue()

    def html(self) -> Markup:
        """Return the chart as a figure of a page, whose colours it follows: light or dark. As an image it can do
        nothing to the page."""
        svg, names = self.svg(), {colour: f"--colour-{at}" for at, colour in enumerate((*COLOURS, INK, GRID, PAPER))}
        svg = re.sub("|".join(names), lambda match: f"var({names[match[0]]})", svg)
        light, dark = (
            ":root{" + ";".join(f"{name}:{colour}" for name, colour in zip(names.values(), palette, strict=True)) + "}"
            for palette in (_ON_LIGHT, _ON_DARK)
        )
        svg = svg.replace("</style>", f"{light}@media (prefers-color-scheme:dark){{{dark}}}</style>", 1)
        image = base64.b64encode(svg.encode()).decode()
        return Markup(
            '<figure class="plot"><img src="data:image/svg+xml;base64,{}" alt="{}"><figcaption>{}</figcaption></figure>'
        ).format(image, f"{one_line(self.title)}. {self.caption}", self.caption)


def score_limits(*columns: pd.Series[float]) -> tuple[float, float]:
    """Return limits for scores: wide enough not to exaggerate small differences, and from 0 if that leaves no more than
    half of the scale empty."""
    values = pd.concat(columns)
    low, high = float(values.min()), float(values.max())
    low = 0.0 if 0 <= low < high / 2 else low
    room = max(0.05 * (high - low), (0.2 - (high - low)) / 2)
    lower, upper = (low - room if low else 0.0), high + room
    return (max(0.0, lower), min(1.02, upper)) if 0 <= low <= high <= 1 else (lower, upper)


def legend(figure: Figure, axes: Axes) -> None:
    """Draw a legend below all axes, with as many columns as its names leave room for."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        columns = max(1, min(4, _LINE // (max(map(len, labels)) + 6)))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def name_rows(axes: Axes, names: Iterable[object]) -> None:
    """Name rows from the top down on the left axis."""
    labels = [label(name, 34) for name in names]
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


_MAX_COLUMNS, _ROW, _FIT_COLUMNS = 30, 0.29, 8
# The shades of a heat map are light on dark pages, too, and so their numbers are dark.
_ON_SHADES = "#1a1b20"
# The longest line beside an axis.
_HIGH = 32


@dataclass(frozen=True, slots=True)
class HeatMaps(Chart):
    """Numbers by `row` and `column`, in the column `value`, with a map for each `panel`."""

    rows: str
    columns: str
    measure: str
    kind: ClassVar[str] = "The stronger its colour, the higher the number of a cell. A dash was not measured."

    def panels(self) -> dict[str, pd.DataFrame]:
        """Return the numbers of each panel, by row and column."""
        frame = numbers(self.frame, "value")
        rows, columns = frame["row"].unique()[:MAX_ROWS], frame["column"].unique()[:_MAX_COLUMNS]
        return {
            str(panel): panel_rows.drop_duplicates(["row", "column"])
            .pivot(index="row", columns="column", values="value")
            .reindex(index=rows, columns=columns)
            for panel, panel_rows in frame.groupby("panel", sort=False)
        }

    def draw(self, figure: Figure) -> None:
        """Draw the panels below each other, each cell with its number."""
        panels = self.panels()
        values = numbers(self.frame, "value")["value"]
        if values.isna().all():
            return
        height = max(len(panel) for panel in panels.values())
        figure.set_size_inches(WIDTH, 0.7 + len(panels) * (1.1 + _ROW * height))
        all_axes = figure.subplots(len(panels), squeeze=False)[:, 0]
        # Half of the shades, so that a number is readable on each of them.
        shades = {"vmin": min(0.0, values.min()), "vmax": 2 * max(values.max(), 1e-9), "cmap": colormaps["Blues"]}
        for axes, (name, panel) in zip(all_axes, panels.items(), strict=True):
            axes.set_facecolor("#fefefe")
            axes.imshow(np.ma.masked_invalid(panel.to_numpy()), aspect="auto", **shades)
            for (row, column), value in np.ndenumerate(panel.to_numpy()):
                text = figure_of(None if np.isnan(value) else float(value), 2)
                axes.text(column, row, text, ha="center", va="center", color=_ON_SHADES)
            names = [f"{name:,}" if isinstance(name, int) else label(name, 14) for name in panel.columns]
            rotation: dict[str, Any] = {"rotation": 45, "ha": "right"} if len(names) > _FIT_COLUMNS else {}
            axes.set_xticks(range(len(names)), names, **rotation)
            name_rows(axes, panel.index)
            axes.set_ylim(len(panel) - 0.5, -0.5)
            axes.set_title(label(name), loc="left")
            axes.spines[:].set_visible(False)
        figure.supylabel(wrapped(self.rows, _HIGH), fontsize=9)
        figure.supxlabel(wrapped(f"{self.columns}; the numbers: {self.measure}"), fontsize=9)


@dataclass(frozen=True, slots=True)
class Lines(Chart):
    """A line for each `series` over `x`, at the heights `y`, with a band for its interval."""

    x: str
    y: str
    limits: Sequence[float] | None = None
    """The limits of the y axis, which make charts of shares comparable."""
    even: float | None = None
    """The height of an even spread, drawn as a dashed line."""
    reference: str = ""
    """A series in grey, such as that of people."""
    kind: ClassVar[str] = "A gap in a line was not measured. The band around a line, if there is one, is its interval."

    def draw(self, figure: Figure) -> None:
        """Draw the lines in order."""
        frame = numbers(self.frame, "x", "y", "low", "high").dropna(subset="x")
        if frame["y"].isna().all():
            return
        axes = figure.subplots()
        names = [name for name in frame["series"].unique() if name != self.reference]
        if self.even is not None:
            axes.axhline(self.even, color=INK, linestyle=(0, (5, 4)), linewidth=1, label="even spread")
        for name, series_rows in frame.groupby("series", sort=False):
            at = names.index(name) if name in names else len(COLOURS) - 1
            look: dict[str, Any] = {"color": COLOURS[at % len(COLOURS)], "linestyle": DASHES[at % len(DASHES)]}
            look["marker"] = MARKERS[(at + at // len(COLOURS)) % len(MARKERS)] if name != self.reference else ""
            x, y, low, high = (series_rows[column] for column in ("x", "y", "low", "high"))
            axes.plot(x, y, label=label(name), markevery=max(1, len(series_rows) // 10), **look)
            axes.fill_between(x, low, high, color=look["color"], alpha=0.16, linewidth=0)
        axes.set(xlabel=wrapped(self.x), ylabel=wrapped(self.y, _HIGH))
        if self.even is None:
            axes.set_ylim(*(self.limits or score_limits(frame["y"], frame["low"], frame["high"])))
        axes.xaxis.set_major_locator(MaxNLocator(7, integer=bool((frame["x"] % 1 == 0).all())))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axes.grid(visible=True, axis="y")
        legend(figure, axes)


@dataclass(frozen=True, slots=True)
class Intervals(Chart):
    """A mark for each `name` at its `value`, with its interval and its `note` (a text or a number). With `sides`, the
    values are differences between two systems, first minus second."""

    measure: str
    sides: Sequence[str] | None = None
    kind: ClassVar[str] = "The line through a mark is its interval. A hollow mark's includes 0; a grey mark has none."

    def draw(self, figure: Figure) -> None:
        """Draw the marks in rows."""
        frame = numbers(self.frame, "value", "low", "high").head(MAX_ROWS)
        if frame["value"].isna().all():
            return
        figure.set_size_inches(WIDTH, 1.3 + _ROW * len(frame))
        axes = figure.subplots()
        frame = frame.assign(at=range(len(frame)))
        known = frame["low"].notna() & frame["high"].notna()
        clear, blue = known & ((self.sides is None) | (frame["low"] > 0) | (frame["high"] < 0)), COLOURS[0]
        axes.hlines(frame[known]["at"], frame[known]["low"], frame[known]["high"], color=blue, linewidth=1.4)
        looks = {(blue, blue, 0): clear, (blue, "white", 0): known & ~clear, (GREY, "white", 3): ~known}
        for (colour, inside, marker), rows in looks.items():
            values = frame[rows]["value"]
            axes.plot(values, frame[rows]["at"], MARKERS[marker], color=colour, markerfacecolor=inside)
        for at, note in enumerate(frame.get("note", ())):
            words = note if isinstance(note, str) else f"{int(note):,}" if pd.notna(note) else ""
            axes.annotate(label(words), (1.01, at), xycoords=("axes fraction", "data"), va="center", color=GREY)
        name_rows(axes, frame["name"])
        axes.grid(visible=True, axis="x")
        if self.sides is None:
            axes.set(xlabel=wrapped(self.measure), xlim=(0, max(1.0, *frame["value"].dropna())))
            return
        first, second = (label(side, 34) for side in self.sides)
        axes.axvline(0, color=INK, linewidth=1)
        axes.set_xlabel(wrapped(f"difference in {self.measure}"))
        above: dict[str, Any] = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points"}
        axes.annotate(f"← more in {second}", (0, 1.02), (-5, 0), ha="right", **above)
        axes.annotate(f"more in {first} →", (0, 1.02), (5, 0), ha="left", **above)
        reach = 1.1 * max(1e-6, *frame[["value", "low", "high"]].abs().max().dropna())
        axes.set_xlim(-reach, reach)


@dataclass(frozen=True, slots=True)
class Shares(Chart):
    """A bar for each `name`, divided into `parts` by their columns."""

    parts: Sequence[str]
    measure: str
    kind: ClassVar[str] = "Each bar is divided into its parts."

    def shares(self) -> pd.DataFrame:
        """Return the parts of each bar, in shares of their sum; NaN if one is missing or negative, or all are zero."""
        values = numbers(self.frame, *self.parts).set_index("name")[list(self.parts)]
        totals = values.where((values >= 0).all(axis=1)).sum(axis=1, min_count=1)
        return values.div(totals.where(totals > 0), axis=0)

    def draw(self, figure: Figure) -> None:
        """Draw the bars in rows, with the shares that have room."""
        shares = self.shares().head(MAX_ROWS)
        if shares.isna().all(axis=None):
            return
        figure.set_size_inches(WIDTH, 1.5 + _ROW * len(shares))
        axes = figure.subplots()
        begin = np.zeros(len(shares))
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        for part, colour, hatch in zip(self.parts, cycle(COLOURS), cycle(HATCHES), strict=False):
            widths = shares[part].fillna(0).to_numpy()
            look: dict[str, Any] = {"facecolor": colour, "edgecolor": "white", "hatch": hatch, "label": label(part)}
            bars = axes.barh(range(len(shares)), widths, left=begin, height=0.68, **look)
            texts = [f"{width:.0%}" if width > 0.06 else "" for width in widths]
            axes.bar_label(bars, texts, label_type="center", bbox=box, fontsize=8)
            begin += widths
        for row in [at for at, unknown in enumerate(shares.isna().any(axis=1)) if unknown]:
            axes.text(0.01, row, "unknown", va="center", color=GREY)
        name_rows(axes, shares.index)
        axes.set(xlim=(0, 1), xlabel=self.measure)
        axes.xaxis.set_major_formatter(PercentFormatter(1))
        legend(figure, axes)


@dataclass(frozen=True, slots=True)
class Costs(Chart):
    """Each `name` by its `cost` and its `score`, with the interval of the score."""

    cost: str
    score: str
    kind: ClassVar[str] = "Higher is better, further left is cheaper. The line through a mark is its interval."

    def draw(self, figure: Figure) -> None:
        """Draw the marks."""
        frame = numbers(self.frame, "cost", "score", "low", "high")
        priced = frame.dropna(subset=["cost", "score"])
        if priced.empty:
            return
        axes = figure.subplots()
        for at, row in enumerate(priced.itertuples()):
            look: dict[str, Any] = {"color": COLOURS[at % len(COLOURS)], "marker": MARKERS[at % len(MARKERS)]}
            axes.plot([row.cost, row.cost], [row.low, row.high], color=look["color"], linewidth=1.4)
            axes.plot(row.cost, row.score, linestyle="", label=label(row.name), **look)
        axes.set(xlabel=wrapped(self.cost), ylabel=wrapped(self.score, _HIGH))
        axes.set_ylim(*score_limits(priced["score"], priced["low"], priced["high"]))
        axes.set_xlim(0, 1.1 * priced["cost"].max() or 1)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axes.grid(visible=True)
        legend(figure, axes)
