"""Scores by round: how far each metric came, which rounds were taken, and how far there is to go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redraft.report.plots.axes import Bands, Frame, Linear, frame
from redraft.report.plots.canvas import (
    SMALL,
    Canvas,
    LegendEntry,
    legend,
    line_entry,
    marker_entry,
    rule_entry,
    text_width,
)
from redraft.report.plots.label_layout import spaced
from redraft.report.plots.picture import (
    GOAL,
    WIDE,
    Data,
    Number,
    Picture,
    PictureStyle,
    SeriesStyle,
    count,
    data,
    finite,
    isolated,
    series,
    shown,
)

_HEIGHT = 220
_GOALS = 66.0
# Who sees no colour needs no legend for what a hollow mark is, but a word for it.
_GREY = SeriesStyle(6, "", "circle", "plain")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its score in each round, the first of them the draft's, and its goal where it has one."""

    name: str
    scores: Sequence[Number]
    goal: Number = None


@dataclass(frozen=True, slots=True)
class RoundScores:
    """The rounds of a refinement. `taken` says of each round whether its draft was taken; the first always is."""

    metrics: Sequence[Metric]
    taken: Sequence[bool]
    title: str = "Scores by round"

    def picture(self, look: PictureStyle = WIDE) -> Picture:
        """Lines through the drafts that were taken, with the refused ones beside them."""
        canvas = Canvas("rounds", self.title, look, self._data())
        top = canvas.heading()
        known = [score for metric in self.metrics for score in map(finite, metric.scores) if score is not None]
        if not known:
            return canvas.picture(canvas.nothing(top), "No round has a score.", "No round has a score.")
        top = legend(canvas, top, self._entries())
        goals = [goal for metric in self.metrics if (goal := finite(metric.goal)) is not None]
        names = ("draft", *(str(at) for at in range(1, len(self.taken))))
        made = frame(
            canvas,
            top,
            _HEIGHT,
            Bands(names),
            Linear.of_scores([*known, *goals]),
            x_name="round",
            y_name="score",
            right=_GOALS if goals else 0,
        )
        self._goals(canvas, made)
        for at, metric in enumerate(self.metrics):
            self._line(canvas, made, series(at), metric)
        caption = (
            "Each line goes through the drafts that were taken. A hollow mark is a revision that was refused: "
            "the next round began again from the draft before it. "
            "A dashed line is a goal, with the marks of its metrics."
        )
        return canvas.picture(made.end, caption, self._told())

    def _line(self, canvas: Canvas, made: Frame, look: SeriesStyle, metric: Metric) -> None:
        before: tuple[float, float] | None = None
        marks: list[tuple[tuple[float, float], int, float]] = []
        for at, score in enumerate(map(finite, metric.scores[: len(self.taken)])):
            if score is None:
                # The line does not go on over what nobody measured.
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
            refused = "" if self.taken[at] else ", refused"
            tip = f"{isolated(metric.name)}, {'draft' if not at else f'round {at}'}: {shown(score)}{refused}"
            canvas.marker(look, here, hollow=not self.taken[at], tip=tip)

    def _goals(self, canvas: Canvas, made: Frame) -> None:
        """One line for each height, with the marks of the metrics that have this goal at its end."""
        goals: dict[float, list[int]] = {}
        for at, metric in enumerate(self.metrics):
            if (goal := finite(metric.goal)) is not None:
                goals.setdefault(goal, []).append(at)
        heights = [made.y.place(goal) for goal in goals]
        labels = spaced(heights, SMALL + 1, made.top, made.bottom)
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
            entries.append(marker_entry("refused", _GREY, hollow=True))
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
        left = f"Refused: {', '.join(refused)}." if refused else "None was refused."
        return f"Scores of the draft and of {rounds}. {' '.join(lines)} {left}"

    def _data(self) -> Data:
        def score(metric: Metric, at: int) -> Number:
            return metric.scores[at] if at < len(metric.scores) else None

        rows: list[list[str | Number]] = [
            [
                "draft" if not at else str(at),
                "taken" if taken else "refused",
                *(score(metric, at) for metric in self.metrics),
            ]
            for at, taken in enumerate(self.taken)
        ]
        if any(metric.goal is not None for metric in self.metrics):
            rows.append(["goal", "", *(metric.goal for metric in self.metrics)])
        return data(("round", "draft", *(metric.name for metric in self.metrics)), rows)
