"""The calls of a run over time, one bar each, and how many of them were concurrent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple

from redraft.report.plots.axes import LinearScale, TimeScale, level_axis
from redraft.report.plots.canvas import MARGIN, SMALL, Canvas, LegendEntry, box_entry, legend, path, text_width
from redraft.report.plots.picture import (
    WIDE,
    Cell,
    Picture,
    PictureStyle,
    PlotData,
    data,
    finite,
    fit_names,
    isolated,
    plain,
    series,
    written,
)
from redraft.text.words import count

_ENDS, _BEGINS, _ENDS_AT_ONCE = range(3)


def under_way(spans: Iterable[tuple[float, float]], step_of: Callable[[float], int], steps: int) -> list[int]:
    """Return the maximum concurrency in each time step; `step_of` returns the step of a moment.

    If one span ends when another begins, they are not concurrent.
    """
    events: list[tuple[float, int]] = []
    for start, end in spans:
        events += [(start, _BEGINS), (end, _ENDS if end > start else _ENDS_AT_ONCE)]
    most, now, before = [0] * steps, 0, 0
    for moment, event in sorted(events):
        step = step_of(moment)
        for at in range(before + 1, step + 1):
            most[at] = now
        now += 1 if event == _BEGINS else -1
        most[step] = max(most[step], now)
        before = step
    return most


ROWS, STEPS, KINDS = 48, 200, 8
"""The maximum numbers of rows, time steps, and distinct kinds."""
_SINGLE, _MANY = 15.0, 12.0
_NAMES = 0.26
_STRIP = 40.0
_MIN = 1.5


@dataclass(frozen=True, slots=True)
class WaterfallCall:
    """A call: its kind, and its start and end in seconds after the start of the run."""

    kind: str
    start: float
    end: float
    failed: bool = False


class _Row(NamedTuple):
    """The calls of a row, with the numbers of the first and the last."""

    first: int
    last: int
    calls: Sequence[WaterfallCall]

    @property
    def name(self) -> str:
        if len(self.calls) == 1:
            return plain(self.calls[0].kind)
        return f"{self.first:,}–{self.last:,}"

    @property
    def failed(self) -> int:
        return sum(call.failed for call in self.calls)

    @property
    def start(self) -> float:
        return min(call.start for call in self.calls)

    @property
    def end(self) -> float:
        return max(call.end for call in self.calls)


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The calls of a run. Calls without a known start and end are left out and counted."""

    calls: Sequence[WaterfallCall]
    title: str = "Calls over time"

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """Draw the rows from the first call to the last; a row of several calls shows the most common kind of each time
        step."""
        calls = sorted(filter(_timed, self.calls), key=lambda call: (call.start, call.end, call.kind, call.failed))
        kinds = _kinds(calls)
        rows = _rows(calls)
        canvas = Canvas("waterfall", self.title, look, _data(rows))
        top = canvas.heading()
        if not calls:
            return canvas.nothing(top, "No calls.", "No calls.")
        top = legend(canvas, top, _entries(kinds)) + 6
        left = MARGIN + min(canvas.width * _NAMES, max(text_width(row.name) for row in rows)) + 8
        right = canvas.width - MARGIN - 18
        clock = TimeScale.until(max(call.end for call in calls), ticks=4 if canvas.narrow else 6).drawn(left, right)
        calls_at_once = under_way(((call.start, call.end) for call in calls), partial(_step, clock), STEPS)
        top = _strip(canvas, top, clock, calls_at_once) + 8
        step = _SINGLE if len(rows) == len(calls) else _MANY
        bottom = top + step * len(rows) + 2
        for tick in clock.ticks():
            canvas.line((clock.place(tick), top), (clock.place(tick), bottom), "grid")
        brief = fit_names((row.name for row in rows), left - MARGIN - 6, min(SMALL, step))
        for at, row in enumerate(rows):
            self._row(canvas, (left, top + step * at, step), row, clock, kinds, brief[row.name])
        name = f"time since the start, in {clock.unit}"
        end = level_axis(canvas, clock, bottom, name, left=left, right=right)
        return canvas.picture(end, self._caption(rows, len(calls)), _told(calls, max(calls_at_once)))

    def _row(
        self,
        canvas: Canvas,
        place: tuple[float, float, float],
        row: _Row,
        clock: TimeScale,
        kinds: dict[str, int],
        brief: str,
    ) -> None:
        left, top, step = place
        many = Counter(call.kind for call in row.calls)
        told = ", ".join(f"{isolated(kind)} {number:,}" for kind, number in many.most_common(KINDS))
        failed = f", {row.failed:,} failed" if row.failed else ""
        calls = f"call {row.first:,}" if row.first == row.last else f"calls {row.first:,} to {row.last:,}"
        into = canvas.group(f"{calls}: {told}{failed}; {row.start:,.1f} s to {row.end:,.1f} s")
        canvas.text(
            left - 6,
            top + step / 2 + 4,
            row.name,
            size=min(SMALL, step),
            anchor="end",
            room=left - MARGIN - 5.99,
            brief=brief,
            into=into,
        )
        paths: dict[int, list[str]] = {}
        # Whole units keep the picture small even if every row changes at every step.
        upper, lower = round(top + 1), round(top + step - 2)
        for kind, start, end in _bars(row.calls, clock, kinds):
            paths.setdefault(kind, []).append(f"M{written(start)} {upper}H{written(end)}V{lower}H{written(start)}Z")
        for kind, parts in sorted(paths.items()):
            look = series(kind)
            style, fill = canvas.filled(look, look.hatch)
            edge = {"stroke": "currentColor", "stroke_width": "0.8"}
            canvas.add("path", into, class_=style, d="".join(parts), **edge, fill=fill)
        if row.failed:
            words = "×" if len(row.calls) == 1 else f"×{row.failed:,}"
            room = canvas.width - clock.place(row.end) - 4
            at, anchor = (clock.place(row.end) + 3, "start") if text_width(words) < room else (canvas.width - 4, "end")
            canvas.text(at, top + step / 2 + 4, words, size=SMALL - 1, anchor=anchor, halo=True, bold=True, into=into)

    def _caption(self, rows: Sequence[_Row], calls: int) -> str:
        each = max(len(row.calls) for row in rows)
        out = len(self.calls) - calls
        left = f" {count(out, 'call')} without a known time left out." if out else ""
        above = "Top: calls running at the same time."
        if each == 1:
            return f"{above} Each row is one call, from start to end; × marks a failed call.{left}"
        return (
            f"{above} Each row is up to {each:,} calls in order of their start, coloured by the most common kind; × "
            f"counts the failed calls.{left}"
        )


def _strip(canvas: Canvas, top: float, clock: TimeScale, most: Sequence[int]) -> float:
    """Draw the number of concurrent calls over time, and return the y below it."""
    scale = LinearScale(0, max(most), max(most))
    upper, lower = top + SMALL + 12, top + SMALL + 12 + _STRIP
    canvas.text(MARGIN, top + SMALL, "calls running", ink="muted")
    y = scale.drawn(lower, upper)
    for tick in y.ticks():
        canvas.line((clock.start, y.place(tick)), (clock.end, y.place(tick)), "grid")
        canvas.text(clock.start - 6, y.place(tick) + 4, y.label(tick), anchor="end", ink="muted")
    size = (clock.end - clock.start) / STEPS
    outline, at = [(clock.start, lower)], 0
    for height, same in groupby(most):
        begin, at = at, at + len(list(same))
        outline += [(clock.start + size * begin, y.place(height)), (clock.start + size * at, y.place(height))]
    area = path([*outline, (clock.end, lower)], closed=True)
    canvas.add("path", class_="plot-muted plot-axis", d=area, fill_opacity="0.35", stroke="currentColor")
    return lower


def _timed(call: WaterfallCall) -> bool:
    start, end = finite(call.start), finite(call.end)
    return start is not None and end is not None and 0 <= start <= end <= 1e15


def _kinds(calls: Sequence[WaterfallCall]) -> dict[str, int]:
    """Return the index of each kind's look, most common first; the remaining kinds share one."""
    many = Counter(call.kind for call in calls)
    order = sorted(many, key=lambda kind: (-many[kind], kind))
    return {kind: min(at, KINDS) for at, kind in enumerate(order)}


def _rows(calls: Sequence[WaterfallCall]) -> list[_Row]:
    parts = min(ROWS, len(calls))
    borders = [len(calls) * at // parts for at in range(parts + 1)] if parts else []
    return [_Row(first + 1, last, calls[first:last]) for first, last in pairwise(borders)]


def _entries(kinds: dict[str, int]) -> list[LegendEntry]:
    entries = [box_entry(kind, series(at)) for kind, at in kinds.items() if at < KINDS]
    others = len(kinds) - len(entries)
    return [*entries, *([box_entry(f"{others:,} other kinds", series(KINDS))] if others else [])]


def _bars(calls: Sequence[WaterfallCall], clock: TimeScale, kinds: dict[str, int]) -> list[tuple[int, float, float]]:
    """Return the bars of a row: the index of a kind, and where the bar starts and ends."""
    if len(calls) == 1:
        start, end = clock.place(calls[0].start), clock.place(calls[0].end)
        return [(kinds[calls[0].kind], start, max(end, start + _MIN))]
    changes: dict[int, list[int]] = {}
    for call in calls:
        begun, ended = _step(clock, call.start), _step(clock, call.end)
        change = changes.setdefault(kinds[call.kind], [0] * (STEPS + 1))
        change[begun] += 1
        change[ended + 1] -= 1
    under_way = {kind: list(accumulate(change)) for kind, change in sorted(changes.items())}
    commonest = [max(under_way, key=lambda kind: (under_way[kind][at], -kind)) for at in range(STEPS)]
    shown = [kind if under_way[kind][at] else None for at, kind in enumerate(commonest)]
    size = (clock.end - clock.start) / STEPS
    found: list[tuple[int, float, float]] = []
    at = 0
    for kind, same in groupby(shown):
        many = len(list(same))
        if kind is not None:
            found.append((kind, round(clock.start + at * size), round(clock.start + (at + many) * size)))
        at += many
    return found


def _step(clock: TimeScale, seconds: float) -> int:
    return min(STEPS - 1, int(STEPS * (seconds - clock.low) / (clock.high - clock.low)))


def _told(calls: Sequence[WaterfallCall], most: int) -> str:
    kinds = Counter(call.kind for call in calls)
    told = ", ".join(f"{isolated(kind)} {many:,}" for kind, many in kinds.most_common(2 * KINDS))
    failed = sum(call.failed for call in calls)
    end = max(call.end for call in calls)
    done = f"{count(len(calls), 'call')} in {end:,.1f} s: {told}. {failed:,} failed."
    return f"{done} At most {most:,} ran at the same time."


def _data(rows: Sequence[_Row]) -> PlotData:
    """Return a table with one row per row of the picture."""
    kinds = Counter(call.kind for row in rows for call in row.calls)
    order = sorted(kinds, key=lambda kind: (-kinds[kind], kind))[: 2 * KINDS]
    lines: list[list[Cell]] = []
    for row in rows:
        many = Counter(call.kind for call in row.calls)
        others = len(row.calls) - sum(many[kind] for kind in order)
        numbers = str(row.first) if row.first == row.last else f"{row.first}–{row.last}"
        lines.append(
            [numbers, round(row.start, 3), round(row.end, 3), row.failed, *(many[kind] for kind in order), others]
        )
    return data(("calls", "from (s)", "to (s)", "failed", *order, "other kinds"), lines)
