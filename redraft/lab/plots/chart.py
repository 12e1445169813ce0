"""What all charts have in common: a data frame, a title and a caption, and their form as SVG and HTML."""

from __future__ import annotations

import base64
import io
import re
import textwrap
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from threading import Lock
from typing import Any, ClassVar

import matplotlib as mpl
import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
            metadata = {
                "Date": None,
                "Creator": "redraft",
                "Title": one_line(self.title),
                "Description": one_line(self.caption),
            }
            figure.savefig(written, format="svg", bbox_inches="tight", metadata=metadata)
        return written.getvalue()

    def html(self) -> Markup:
        """Return the chart as a figure of a page. As an image it can do nothing to the page."""
        image = base64.b64encode(_for_page(self.svg()).encode()).decode()
        return Markup(
            '<figure class="plot"><img src="data:image/svg+xml;base64,{}" alt="{}"><figcaption>{}</figcaption></figure>'
        ).format(image, f"{one_line(self.title)}. {self.caption}", self.caption)


def _for_page(svg: str) -> str:
    """Return a chart whose colours follow the page that it is on: light or dark."""
    names = {colour: f"--colour-{at}" for at, colour in enumerate((*COLOURS, INK, GRID, PAPER))}
    svg = re.sub("|".join(names), lambda match: f"var({names[match[0]]})", svg)
    light, dark = (
        ":root{" + ";".join(f"{name}:{colour}" for name, colour in zip(names.values(), palette, strict=True)) + "}"
        for palette in (_ON_LIGHT, _ON_DARK)
    )
    return svg.replace("</style>", f"{light}@media (prefers-color-scheme:dark){{{dark}}}</style>", 1)


def score_limits(*columns: pd.Series[float]) -> tuple[float, float]:
    """Return limits for scores: wide enough not to exaggerate small differences, and from 0 if that leaves no more than
    half of the scale empty."""
    values = pd.concat(columns)
    low, high = float(values.min()), float(values.max())
    low = 0.0 if 0 <= low < high / 2 else low
    room = max(0.05 * (high - low), (0.2 - (high - low)) / 2)
    lower, upper = (low - room if low else 0.0), high + room
    return (max(0.0, lower), min(1.02, upper)) if 0 <= low <= high <= 1 else (lower, upper)


def legend(figure: Figure, axes: Axes, handles: Sequence[Any] | None = None) -> None:
    """Draw a legend below all axes, with as many columns as its names leave room for."""
    drawn_handles = list(handles) if handles is not None else axes.get_legend_handles_labels()[0]
    longest = max((len(str(handle.get_label())) for handle in drawn_handles), default=0)
    if drawn_handles:
        columns = max(1, min(4, _LINE // (longest + 6)))
        figure.legend(handles=drawn_handles, loc="outside lower center", ncols=columns)


def name_rows(axes: Axes, names: Iterable[object]) -> None:
    """Name rows from the top down on the left axis."""
    labels = [label(name, 34) for name in names]
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
