"""The drawings of runs as inline SVG: scores by round, places in the document, differences, and calls over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from redraft.text.sanitizer import one_line
from redraft.text.words import count, score

WIDTH = 640
HUES = 6
"""The number of colours of series in the stylesheet."""
_LEFT, _RIGHT, _TOP, _LINE = 48, 560, 28, 20
_LONGEST_NAME, _LONGEST_BAR, _LONGEST_ROW = 44, 80, 22


class RoundScore(NamedTuple):
    """A metric: its score in each round, and its goal if it has one."""

    metric: str
    scores: Sequence[float | None]
    goal: float | None = None


class PartScore(NamedTuple):
    """A part of the document: the score of its judged items with its interval, and the numbers of items."""

    name: str
    score: float | None
    judged: int
    unjudged: int
    low: float | None = None
    high: float | None = None


class Difference(NamedTuple):
    """A mean difference by a metric or a part of the document, with its interval."""

    name: str
    value: float
    low: float
    high: float


class TimedCall(NamedTuple):
    """A call: its kind, and its start and end in seconds after the start of the run."""

    kind: str
    start: float
    end: float
    failed: bool = False


def _element(tag: str, content: object = "", **attributes: object) -> Markup:
    """Return an SVG element; `class_` becomes `class`, and other underscores become hyphens."""
    named = Markup("").join(
        Markup(' {}="{}"').format(
            name.rstrip("_").replace("_", "-"), f"{value:.1f}" if isinstance(value, float) else value
        )
        for name, value in attributes.items()
    )
    return Markup("<{0}{1}>{2}</{0}>").format(tag, named, content)


def _text(x: float, y: float, words: str, anchor: str = "start", kind: str = "plot-label") -> Markup:
    return _element("text", one_line(words), x=float(x), y=float(y), text_anchor=anchor, class_=kind)


def _line(start: tuple[float, float], end: tuple[float, float], kind: str) -> Markup:
    (x1, y1), (x2, y2) = start, end
    return _element("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=kind)


def _bar(x: float, y: float, width: float, height: float, kind: str, tip: str = "") -> Markup:
    title = _element("title", one_line(tip)) if tip else ""
    return _element("rect", title, x=float(x), y=float(y), width=float(width), height=float(height), class_=kind)


def _figure(title: str, caption: str, told: str, height: float, parts: Sequence[Markup]) -> Markup:
    """Return a figure with its title, its caption, and the numbers of the drawing in words."""
    alt = one_line(f"{title} {told}")
    drawn = _element(
        "svg",
        Markup("").join(parts),
        viewBox=f"0 0 {WIDTH} {height:.0f}",
        role="img",
        aria_label=alt,
    )
    return Markup(
        '<figure class="plot"><figcaption><b>{}</b> {}</figcaption><div class="plot-box">{}</div></figure>'
    ).format(title, caption, drawn)


def _legend(entries: Sequence[tuple[str, str]], y: float) -> Iterator[Markup]:
    """Yield swatches with their names, two in a line."""
    for at, (kind, name) in enumerate(entries):
        x, height = _LEFT + at % 2 * WIDTH / 2, y + at // 2 * _LINE
        yield _bar(x, height, 14, 10, kind)
        yield _text(x + 20, height + 10, name[:_LONGEST_NAME])


def _score_axis(bottom: float, high: float = 1.0) -> Iterator[Markup]:
    """Yield the grid of scores from 0 to `high`."""
    for step in range(5):
        y = bottom + (_TOP - bottom) * step / 4
        yield _line((_LEFT, y), (_RIGHT, y), "plot-grid")
        yield _text(_LEFT - 6, y + 4, f"{high * step / 4:.2g}", "end")


def rounds(scores: Sequence[RoundScore], taken: Sequence[bool]) -> Markup:
    """Draw the scores by round: lines through the accepted drafts, hollow marks for rejected ones, dashes for goals."""
    bottom = 228
    step = (_RIGHT - _LEFT) / max(1, len(taken))
    places = [_LEFT + step * (at + 0.5) for at in range(len(taken))]
    parts = [*_score_axis(bottom)]
    parts += [_text(x, bottom + 18, str(at) if at else "draft", "middle") for at, x in enumerate(places)]
    for hue, row in enumerate(scores):
        kind = f"plot-{hue % HUES + 1}"
        heights = [
            None if score is None else bottom + (_TOP - bottom) * min(1.0, max(0.0, score)) for score in row.scores
        ]
        accepted = [at for at, was_taken in enumerate(taken) if was_taken]
        for first, second in pairwise(accepted):
            if (start := heights[first]) is not None and (end := heights[second]) is not None:
                parts.append(_line((places[first], start), (places[second], end), f"plot-curve {kind}"))
        for at, (x, y) in enumerate(zip(places, heights, strict=True)):
            if y is not None:
                tip = _element(
                    "title", f"{row.metric}, {'draft' if not at else f'round {at}'}: {score(row.scores[at])}"
                )
                mark = "plot-mark" if taken[at] else "plot-mark plot-hollow"
                parts.append(_element("circle", tip, cx=x, cy=float(y), r=4.5, class_=f"{mark} {kind}"))
        if row.goal is not None:
            y = bottom + (_TOP - bottom) * row.goal
            parts += [
                _line((_LEFT, y), (_RIGHT, y), f"plot-goal {kind}"),
                _text(_RIGHT + 6, y + 4, f"goal {score(row.goal)}"),
            ]
    parts += _legend([(f"plot-{hue % HUES + 1}", row.metric) for hue, row in enumerate(scores)], bottom + 34)
    told = " ".join(f"{row.metric}: {', '.join(map(score, row.scores))}." for row in scores)
    caption = "Lines connect the accepted drafts; a hollow mark is a rejected one, a dashed line a goal."
    return _figure("Scores by round.", caption, told, bottom + 34 + _LINE * -(-len(scores) // 2), parts)


def density(curves: Mapping[str, Sequence[float]]) -> Markup:
    """Draw where in the document summaries come from, compared with an even spread, which is 1."""
    bottom, high = 208, max(2.0, *(height for heights in curves.values() for height in heights))
    even = bottom + (_TOP - bottom) / high
    parts = [*_score_axis(bottom, high), _line((_LEFT, even), (_RIGHT, even), "plot-goal")]
    parts += [_text(_RIGHT + 6, even + 4, "even"), _text(_LEFT, bottom + 18, "beginning")]
    parts.append(_text(_RIGHT, bottom + 18, "end", "end"))
    peaks = []
    for hue, (name, heights) in enumerate(curves.items()):
        step = (_RIGHT - _LEFT) / len(heights)
        points = [
            (_LEFT + step * (at + 0.5), bottom + (_TOP - bottom) * height / high) for at, height in enumerate(heights)
        ]
        parts += [_line(start, end, f"plot-curve plot-{hue % HUES + 1}") for start, end in pairwise(points)]
        peak = max(range(len(heights)), key=heights.__getitem__)
        peaks.append(f"{name}: highest at {100 * (peak + 0.5) / len(heights):.0f}%.")
    parts += _legend([(f"plot-{hue % HUES + 1}", name) for hue, name in enumerate(curves)], bottom + 30)
    caption = "From the document's beginning to its end; above the dashed line is more than an even spread gives."
    height = bottom + 30 + _LINE * -(-len(curves) // 2)
    return _figure("Where in the document it comes from.", caption, " ".join(peaks), height, parts)


def parts_of(bars: Mapping[str, Sequence[float]], names: Sequence[str], part: str) -> Markup:
    """Draw which parts of the document summaries come from: a bar for each, divided by its shares."""
    parts, told = list[Markup](), list[str]()
    for row, (bar, shares) in enumerate(bars.items()):
        x, y, whole = float(_LEFT), 6 + 44 * row, sum(shares) or 1.0
        words = ", ".join(f"{name} {share / whole:.0%}" for name, share in zip(names, shares, strict=True))
        told.append(f"{bar}: {words}.")
        parts.append(_text(_LEFT, y + 8, bar[:_LONGEST_BAR]))
        for hue, (name, share) in enumerate(zip(names, shares, strict=True), 1):
            width = (_RIGHT - _LEFT) * share / whole
            parts.append(_bar(x, y + 14, width, 18, f"plot-bar plot-{hue}", f"{bar}, {name}: {share / whole:.0%}"))
            x += width
    bottom = 14 + 44 * len(bars)
    parts += _legend([(f"plot-{hue}", name) for hue, name in enumerate(names, 1)], bottom)
    height = bottom + _LINE * -(-len(names) // 2)
    return _figure(f"Which {part} it comes from.", " ".join(told), "", height, parts)


def differences(title: str, sides: tuple[str, str], rows: Sequence[Difference]) -> Markup:
    """Draw differences between two contestants, first minus second, each with its interval."""
    left, right, step = 150, 500, 26
    middle, bottom = (left + right) / 2, 26 + step * len(rows)
    reach = max(1e-6, *(abs(value) for row in rows for value in row[1:]))
    parts = [_line((middle, 20), (middle, bottom), "plot-rule")]
    parts += [_text(left, 12, f"← more in {sides[1]}"), _text(WIDTH - 4, 12, f"more in {sides[0]} →", "end")]
    told = []
    for at, (name, *values) in enumerate(rows):
        y = 34 + at * step
        x, low, high = (middle + (right - left) / 2 * value / reach for value in values)
        words = f"{values[0]:+.2f} [{values[1]:+.2f}, {values[2]:+.2f}]"
        told.append(f"{name}: {words}.")
        parts += [_text(left - 8, y + 4, name[:_LONGEST_ROW], "end"), _text(right + 10, y + 4, words)]
        clear = "" if values[1] > 0 or values[2] < 0 else " plot-hollow"
        parts.append(_line((low, y), (high, y), "plot-curve plot-1"))
        parts.append(_element("circle", cx=x, cy=float(y), r=4.5, class_=f"plot-mark plot-1{clear}"))
    return _figure(f"{title}.", "A line is an interval; a hollow mark's includes 0.", " ".join(told), bottom, parts)


def document_parts(title: str, measure: str, scores: Sequence[PartScore]) -> Markup:
    """Draw a score by part of the document: a bar, its interval, and what was not judged."""
    left, right, step = 110, 500, 26
    parts: list[Markup] = []
    told: list[str] = []
    for at, part in enumerate(scores):
        y, items = 6 + at * step, part.judged + part.unjudged
        words = f"{part.name}: {score(part.score)}, {part.judged} of {count(items, 'item')} judged"
        told.append(words)
        parts += [
            _text(left - 8, y + 14, part.name, "end"),
            _text(right + 10, y + 14, f"{score(part.score)} of {part.judged}/{items}"),
        ]
        parts.append(_bar(left, y, right - left, 18, "plot-empty"))
        if part.score is not None:
            parts.append(_bar(left, y, (right - left) * part.score, 18, "plot-bar plot-1", words))
        if part.low is not None and part.high is not None:
            ends = [left + (right - left) * end for end in (part.low, part.high)]
            parts.append(_line((ends[0], y + 9), (ends[1], y + 9), "plot-rule"))
    caption = f"Each bar is the {measure}; the line in it is its 95% interval. Items without a verdict are not counted."
    return _figure(f"{title}.", caption, "; ".join(told), 10 + step * len(scores), parts)


def calls_over_time(calls: Sequence[TimedCall]) -> Markup:
    """Draw the calls as bars over time, each in the first free lane, so that concurrent calls differ in lane."""
    ordered = sorted(calls, key=lambda call: (call.start, call.end))
    end = max(call.end for call in ordered) or 1.0
    kinds = list(dict.fromkeys(call.kind for call in ordered))
    scale = (_RIGHT - _LEFT) / end
    free: list[float] = []
    lanes: list[int] = []
    for call in ordered:
        lane = next((at for at, moment in enumerate(free) if moment <= call.start), len(free))
        free[lane : lane + 1] = [call.end]
        lanes.append(lane)
    height = max(2.0, min(16.0, 240 / len(free)))
    bottom = 8 + height * len(free)
    # Of the bars of a lane that begin at the same pixel, only the first is drawn.
    bars = {
        (lane, round(call.start * scale), call.failed): call
        for call, lane in reversed([*zip(ordered, lanes, strict=True)])
    }
    parts = [
        _bar(
            *(_LEFT + call.start * scale, 8 + height * lane, max(1.5, (call.end - call.start) * scale), height - 1),
            "plot-failed" if call.failed else f"plot-bar plot-{kinds.index(call.kind) % HUES + 1}",
            f"{call.kind}: {call.start:,.1f} s to {call.end:,.1f} s{', failed' if call.failed else ''}",
        )
        for (lane, _, _), call in sorted(bars.items(), key=lambda entry: entry[0])
    ]
    parts += [
        _text(_LEFT + (_RIGHT - _LEFT) * at / 4, bottom + 16, f"{end * at / 4:,.1f} s", "middle") for at in range(5)
    ]
    failed = sum(call.failed for call in ordered)
    entries = [
        (f"plot-{at % HUES + 1}", f"{kind} ({sum(call.kind == kind for call in ordered):,})")
        for at, kind in enumerate(kinds)
    ]
    parts += _legend([*entries, *([("plot-failed", f"failed ({failed:,})")] if failed else [])], bottom + 30)
    rows = -(-(len(entries) + bool(failed)) // 2)
    told = f"{count(len(ordered), 'call')} in {end:,.1f} s, at most {len(free):,} at the same time; {failed:,} failed."
    return _figure("Calls over time.", told, ", ".join(name for _, name in entries), bottom + 34 + _LINE * rows, parts)
