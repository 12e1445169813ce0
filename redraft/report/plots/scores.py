"""Plots of scores: by round, differences between runs, costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.report.plots.axes import (
    MAX_ROWS,
    Axes,
    BandScale,
    Box,
    LabelRows,
    LinearScale,
    frame,
    left_out,
    level_axis,
    place_label,
    rows,
    spread_out,
    vertical_whisker,
    whisker,
)
from redraft.report.plots.canvas import (
    MARGIN,
    SMALL,
    Canvas,
    LegendEntry,
    legend,
    line_entry,
    marker_entry,
    rule_entry,
    text_width,
)
from redraft.report.plots.picture import (
    GOAL,
    WIDE,
    Number,
    Picture,
    PictureStyle,
    PlotData,
    SeriesStyle,
    data,
    ends,
    finite,
    fit_names,
    interval,
    isolated,
    series,
    shown,
    signed,
)
from redraft.text.words import count

_LOOK = SeriesStyle(1, "", "square", "plain")
_UNSURE = SeriesStyle(6, "", "diamond", "plain")


@dataclass(frozen=True, slots=True)
class PlottedDifference:
    """A mean difference over a number of pairs, with its interval."""

    name: str
    value: Number
    low: Number = None
    high: Number = None
    pairs: int | None = None

    @property
    def meaning(self) -> str:
        """What the interval says about the difference, as a key of `_MARKS`."""
        if (known := ends(self.low, self.high)) is None:
            return "no interval"
        return "the interval excludes 0" if known[0] > 0 or known[1] < 0 else "the interval includes 0"


# The look of a mark by its meaning, and whether it is hollow.
_MARKS = {
    "the interval excludes 0": (_LOOK, False),
    "the interval includes 0": (_LOOK, True),
    "no interval": (_UNSURE, True),
}


@dataclass(frozen=True, slots=True)
class Differences:
    """Differences between two systems, `first` minus `second`, in `measure` with its unit."""

    differences: Sequence[PlottedDifference]
    first: str
    second: str
    measure: str
    title: str = "Paired differences"

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """Draw a mark for each difference, with whiskers if it has an interval; `_MARKS` says what kind."""
        canvas = Canvas("differences", self.title, look, self._data())
        top = canvas.heading()
        if not self.differences:
            return canvas.nothing(top, "Nothing to compare.")
        differences = self.differences[:MAX_ROWS]
        there = {difference.meaning for difference in differences if finite(difference.value) is not None}
        entries = [marker_entry(name, look, hollow=hollow) for name, (look, hollow) in _MARKS.items() if name in there]
        top = legend(canvas, top, entries) + 8
        words = [_words(difference) for difference in differences]
        below = 18 + (SMALL + 4) * canvas.narrow
        label_rows = rows(
            canvas, top + below, [difference.name for difference in differences], aside=max(map(text_width, words)) + 12
        )
        values = [value for difference in differences for value in (difference.value, difference.low, difference.high)]
        x = LinearScale.over([0, *values], ticks=4).drawn(label_rows.left + 6, label_rows.right - 6)
        self._sides(canvas, label_rows, x, top + below - 18)
        for at, (plotted_difference, told) in enumerate(zip(differences, words, strict=True)):
            canvas.text(canvas.width - MARGIN, label_rows.aside(at), told, anchor="end")
            if (value := finite(plotted_difference.value)) is not None:
                whisker(
                    canvas,
                    x,
                    label_rows.middle(at),
                    plotted_difference.low,
                    plotted_difference.high,
                    f"s{_LOOK.colour}",
                )
                mark = (x.place(value), label_rows.middle(at))
                style, hollow = _MARKS[plotted_difference.meaning]
                canvas.marker(style, mark, hollow=hollow, tip=f"{isolated(plotted_difference.name)}: {told}")
        end = level_axis(
            canvas, x, label_rows.bottom, f"difference in {self.measure}", left=label_rows.left, right=label_rows.right
        )
        end = left_out(canvas, end, len(self.differences) - len(differences))
        caption = "Each mark is the mean of the paired differences, with its interval where there is one."
        told = " ".join(f"{isolated(difference.name)}: {_words(difference)}." for difference in differences)
        of = f"{isolated(self.first)} minus {isolated(self.second)}"
        return canvas.picture(end, caption, f"Difference in {self.measure}, {of}. {told}")

    def _sides(self, canvas: Canvas, made: LabelRows, x: LinearScale, top: float) -> None:
        """Draw the line at zero, and above it the name for each side."""
        zero = x.place(0)
        for tick in x.ticks():
            made.cross(canvas, x.place(tick), "grid")
        made.cross(canvas, zero, "rule", thick=1.6)
        left, right = f"← more in {isolated(self.second)}", f"more in {isolated(self.first)} →"
        before, after = zero - 8 - MARGIN, canvas.width - MARGIN - zero - 8
        if text_width(left) <= before and text_width(right) <= after:
            canvas.line((zero, top), (zero, top + 16), "rule", thick=1.6)
            canvas.text(zero - 8, top + 12, left, anchor="end", ink="muted")
            canvas.text(zero + 8, top + 12, right, ink="muted")
            return
        # If there is no room next to the line, they are at the edges; on a phone, one above the other.
        wide = canvas.width - 2 * MARGIN
        room, above = (wide, 16) if canvas.narrow else (wide / 2 - 8, 0)
        names = fit_names((self.second, self.first), room - text_width("← more in →"), SMALL)
        left, right = f"← more in {names[self.second]}", f"more in {names[self.first]} →"
        canvas.text(MARGIN, top + 12 - above, left, ink="muted", room=room, halo=True)
        canvas.text(canvas.width - MARGIN, top + 12, right, anchor="end", ink="muted", room=room, halo=True)

    def _data(self) -> PlotData:
        columns = (self.title, f"difference in {self.measure}", "from", "to", "pairs")
        return data(
            columns,
            (
                [difference.name, difference.value, difference.low, difference.high, difference.pairs]
                for difference in self.differences
            ),
        )


def _words(one: PlottedDifference) -> str:
    known = ends(one.low, one.high)
    span = "" if known is None else f" [{signed(known[0])}, {signed(known[1])}]"
    return f"{signed(one.value)}{span}"


_HEIGHT = 220
_GOALS = 66.0
# Grey, because the legend explains a hollow mark of any colour.
_GREY = SeriesStyle(6, "", "circle", "plain")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its score in each round, starting with the draft, and its goal if it has one."""

    name: str
    scores: Sequence[Number]
    goal: Number = None


@dataclass(frozen=True, slots=True)
class RoundScores:
    """The rounds of a refinement. `taken` is whether the draft of each round was accepted; the first always is."""

    metrics: Sequence[Metric]
    taken: Sequence[bool]
    title: str = "Scores by round"

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """Draw lines through the accepted drafts, with the rejected ones next to them."""
        canvas = Canvas("rounds", self.title, look, self._data())
        top = canvas.heading()
        known = [score for metric in self.metrics for score in map(finite, metric.scores) if score is not None]
        if not known:
            return canvas.nothing(top, "No round has a score.")
        top = legend(canvas, top, self._entries())
        goals = [goal for metric in self.metrics if (goal := finite(metric.goal)) is not None]
        names = ("draft", *(str(at) for at in range(1, len(self.taken))))
        axes = frame(
            canvas,
            top,
            _HEIGHT,
            BandScale(names),
            LinearScale.of_scores([*known, *goals]),
            x_name="round",
            y_name="score",
            right=_GOALS if goals else 0,
        )
        self._goals(canvas, axes)
        for at, metric in enumerate(self.metrics):
            self._line(canvas, axes, series(at), metric)
        caption = (
            "Lines connect the accepted drafts. A hollow mark is a rejected revision: the next round started from the "
            "last accepted draft. A dashed line is a goal, with the marks of its metrics."
        )
        return canvas.picture(axes.end, caption, self._told())

    def _line(self, canvas: Canvas, made: Axes, look: SeriesStyle, metric: Metric) -> None:
        before: tuple[float, float] | None = None
        marks: list[tuple[tuple[float, float], int, float]] = []
        for at, score in enumerate(map(finite, metric.scores[: len(self.taken)])):
            if score is None:
                # The line is interrupted where nothing was measured.
                before = None if self.taken[at] else before
                continue
            here = (made.x.place(at), made.y.place(score))
            if before is not None:
                thick = 2.0 if self.taken[at] else 1.3
                canvas.curve(
                    [before, here], f"s{look.colour}", dash=look.dash if self.taken[at] else "1 3", thick=thick
                )
            before = here if self.taken[at] else before
            marks.append((here, at, score))
        for here, at, score in marks:
            refused = "" if self.taken[at] else ", rejected"
            tip = f"{isolated(metric.name)}, {'draft' if not at else f'round {at}'}: {shown(score)}{refused}"
            canvas.marker(look, here, hollow=not self.taken[at], tip=tip)

    def _goals(self, canvas: Canvas, made: Axes) -> None:
        """Draw a line for each goal, with the markers of its metrics at the end."""
        goals: dict[float, list[int]] = {}
        for at, metric in enumerate(self.metrics):
            if (goal := finite(metric.goal)) is not None:
                goals.setdefault(goal, []).append(at)
        heights = [made.y.place(goal) for goal in goals]
        labels = spread_out(heights, SMALL + 1, made.top, made.bottom)
        for (goal, metrics), height, label in zip(goals.items(), heights, labels, strict=True):
            canvas.line((made.left, height), (made.right, height), "rule", dash=GOAL, thick=1.3)
            canvas.text(made.right + 5, label + 4, shown(goal), room=_GOALS - 5)
            start = made.right + 14 + text_width(shown(goal))
            for number, at in enumerate(metrics):
                if (x := start + 11 * number) < canvas.width - 5:
                    canvas.marker(series(at), (x, label), radius=3)

    def _entries(self) -> list[LegendEntry]:
        entries = [line_entry(metric.name, series(at)) for at, metric in enumerate(self.metrics)]
        if not all(self.taken):
            entries.append(marker_entry("rejected", _GREY, hollow=True))
        if any(finite(metric.goal) is not None for metric in self.metrics):
            entries.append(rule_entry("goal", GOAL))
        return entries

    def _told(self) -> str:
        lines = []
        for metric in self.metrics:
            goal = "" if finite(metric.goal) is None else f" (goal {shown(metric.goal)})"
            lines.append(f"{isolated(metric.name)}{goal}: {', '.join(map(shown, metric.scores))}.")
        refused = [str(at) for at, taken in enumerate(self.taken) if not taken]
        rounds = count(max(0, len(self.taken) - 1), "round")
        left = f"Rejected: {', '.join(refused)}." if refused else "None was rejected."
        return f"Scores of the draft and of {rounds}. {' '.join(lines)} {left}"

    def _data(self) -> PlotData:
        def score(metric: Metric, at: int) -> Number:
            return metric.scores[at] if at < len(metric.scores) else None

        rows: list[list[str | Number]] = [
            [
                "draft" if not at else str(at),
                "taken" if taken else "rejected",
                *(score(metric, at) for metric in self.metrics),
            ]
            for at, taken in enumerate(self.taken)
        ]
        if any(metric.goal is not None for metric in self.metrics):
            rows.append(["goal", "", *(metric.goal for metric in self.metrics)])
        return data(("round", "draft", *(metric.name for metric in self.metrics)), rows)


_HEIGHT_OF_COSTS = 280
_NAME = 0.36


@dataclass(frozen=True, slots=True)
class CostPoint:
    """A contestant: its cost, and its score with its interval."""

    name: str
    cost: Number
    score: Number
    low: Number = None
    high: Number = None


@dataclass(frozen=True, slots=True)
class ScoreAgainstCost:
    """Contestants by cost and score. Both axes are named with their units."""

    contestants: Sequence[CostPoint]
    score: str
    cost: str = "cost per document, in US dollars"
    title: str = "Score against cost"

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """Draw the marks; higher is better, and further left is cheaper."""
        columns = ("system", self.cost, self.score, "score from", "score to")
        table = data(columns, ([c.name, c.cost, c.score, c.low, c.high] for c in self.contestants))
        canvas = Canvas("costs", self.title, look, table)
        top = canvas.heading()
        points = [
            point for point in self.contestants if finite(point.cost) is not None and finite(point.score) is not None
        ]
        if not points:
            told = "No system has both a cost and a score."
            return canvas.nothing(top, told, told)
        x = LinearScale.over([0, *(point.cost for point in points)])
        y = LinearScale.of_scores(value for point in points for value in (point.score, point.low, point.high))
        axes = frame(canvas, top, _HEIGHT_OF_COSTS, x, y, x_name=self.cost, y_name=self.score)
        self._marks(canvas, axes, points)
        out = [isolated(point.name) for point in self.contestants if point not in points]
        left = f" Not shown (no cost or no score): {', '.join(out)}." if out else ""
        caption = f"Higher is better; further left is cheaper. A line through a mark is its interval.{left}"
        return canvas.picture(axes.end, caption, " ".join(map(_told, points)))

    def _marks(self, canvas: Canvas, made: Axes, drawn: Sequence[CostPoint]) -> None:
        places = [
            (made.x.place(finite(point.cost) or 0.0), made.y.place(finite(point.score) or 0.0)) for point in drawn
        ]
        boxes = []
        for cost_point, (x, y) in zip(drawn, places, strict=True):
            vertical_whisker(canvas, x, made.y, cost_point.low, cost_point.high)
            boxes.append(Box(x - 6, y - 6, x + 6, y + 6))
            if known := ends(cost_point.low, cost_point.high):
                boxes.append(Box(x - 2, made.y.place(known[1]), x + 2, made.y.place(known[0])))
        for at, (cost_point, place) in enumerate(zip(drawn, places, strict=True)):
            canvas.marker(series(at), place, tip=_told(cost_point), radius=5)
        bounds = Box(made.left + 4, made.top - 6, canvas.width - 4, made.bottom - 4)
        most, labels = canvas.width * _NAME, []
        brief = fit_names((point.name for point in drawn), most, SMALL)
        for cost_point, place in zip(drawn, places, strict=True):
            room = text_width(brief[cost_point.name])
            box = place_label(place, room, SMALL + 2, bounds, boxes, [other for other in places if other != place])
            leader = box.leader(place)
            boxes += [box, *leader]
            labels.append((cost_point.name, box, room))
            if leader:
                canvas.line(place, box.nearest(place), "axis", thick=0.8)
        for name, box, room in labels:
            canvas.text(box.left, box.bottom - 3, name, room=room + 0.01, halo=True, brief=brief[name])


def _told(one: CostPoint) -> str:
    return f"{isolated(one.name)}: score {interval(one.score, one.low, one.high)}, cost {shown(one.cost)}."
