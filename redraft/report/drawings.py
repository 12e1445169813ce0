"""The drawings of runs as inline SVG: scores by round, and places in the document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from markupsafe import Markup

from redraft.evaluators.figures import interval_of_share, mean
from redraft.report.dossier.contents import JudgedItem
from redraft.report.history.trace import RoundTrace
from redraft.text.sanitizer import one_line
from redraft.text.words import count, score, spaced

FIFTHS = tuple(f"{start} to {start + 20}%" for start in range(0, 100, 20))
"""The names of the fifths of a document."""
_WIDTH, _LEFT, _RIGHT, _TOP, _LINE = 640, 48, 560, 28, 20
_ROW_LEFT, _ROW_RIGHT, _ROW = 130, 480, 26
_BAR, _SOURCES = 36, 84
# The number of colours of series in the stylesheet.
_HUES = 6
_LONGEST_NAME, _LONGEST_BAR, _LABEL = 44, 80, 13


def rounds(turns: Sequence[RoundTrace], goals: Mapping[str, float]) -> Markup:
    """Draw the scores by round: lines through the accepted drafts, hollow marks for rejected ones, dashes for goals."""
    right, bottom = (440, 228) if goals else (_RIGHT, 228)
    step, labels = (right - _LEFT) / len(turns), list[float]()
    places = [_LEFT + step * (at + 0.5) for at in range(len(turns))]
    is_accepted = [turn.round.accepted is not False for turn in turns]

    def height(share: float) -> float:
        return bottom + (_TOP - bottom) * min(1.0, max(0.0, share))

    parts = [_text(x, bottom + 18, str(at) if at else "draft", "middle") for at, x in enumerate(places)]
    for share in (0, 0.25, 0.5, 0.75, 1):
        parts.append(_line((_LEFT, height(share)), (right, height(share)), "plot-grid"))
        parts.append(_text(_LEFT - 6, height(share) + 4, f"{share:.2g}", "end"))
    metrics = list(dict.fromkeys(metric for turn in turns for metric in turn.scores))
    for hue, metric in enumerate(metrics):
        kind, scores = f"plot-{hue % _HUES + 1}", [turn.scores.get(metric) for turn in turns]
        points = [None if value is None else (x, height(value)) for x, value in zip(places, scores, strict=True)]
        accepted = [point for point, was_accepted in zip(points, is_accepted, strict=True) if was_accepted]
        parts += [_line(start, end, f"plot-curve {kind}") for start, end in pairwise(accepted) if start and end]
        for at, point in enumerate(points):
            if point:
                name = f"round {at}" if at else "draft"
                tip = _element("title", f"{spaced(metric)}, {name}: {score(scores[at])}")
                mark = "plot-mark" if is_accepted[at] else "plot-mark plot-hollow"
                parts.append(_element("circle", tip, cx=point[0], cy=point[1], r=4.5, class_=f"{mark} {kind}"))
        if (goal := goals.get(metric)) is not None:
            parts.append(_line((_LEFT, height(goal)), (right, height(goal)), f"plot-goal {kind}"))
            # Labels of goals that lie close together stand below each other.
            label = height(goal) + 4
            while any(abs(label - other) < _LABEL for other in labels):
                label += 1
            labels.append(label)
            parts.append(_text(right + 6, label, f"{spaced(metric)}: goal {goal:g}"))
    parts += _legend([(f"plot-{hue % _HUES + 1}", spaced(metric)) for hue, metric in enumerate(metrics)], bottom + 34)
    values = {metric: ", ".join(score(turn.scores.get(metric)) for turn in turns) for metric in metrics}
    alt = " ".join(f"{spaced(metric)}: {numbers}." for metric, numbers in values.items())
    caption = "Lines connect the accepted drafts; a hollow mark is a rejected one, a dashed line a goal."
    return _figure("Scores by round.", caption, alt, bottom + 34 + _LINE * -(-len(metrics) // 2), parts)


def sources(shares: Mapping[str, Sequence[float]]) -> Markup:
    """Draw from which fifth of their documents summaries come: a bar with its share for each fifth of each summary."""
    parts, alts, step = list[Markup](), list[str](), (_RIGHT - _LEFT) / len(FIFTHS)
    for row, (label, of_fifths) in enumerate(shares.items()):
        top, total = _SOURCES * row, sum(of_fifths) or 1.0
        base = top + _SOURCES - 12
        words = [f"{name} {share / total:.0%}" for name, share in zip(FIFTHS, of_fifths, strict=True)]
        alts.append(f"{label}: {', '.join(words)}.")
        parts.append(_text(_LEFT, top + 14, label[:_LONGEST_BAR]))
        for at, (share, tip) in enumerate(zip(of_fifths, words, strict=True)):
            height, x = _BAR * share / total, _LEFT + step * at
            parts.append(_bar(x + 8, base - height, step - 16, height, "plot-bar plot-1", f"{label}, {tip}"))
            parts.append(_text(x + step / 2, base - height - 4, f"{share / total:.0%}", "middle"))
        parts.append(_line((_LEFT, base), (_RIGHT, base), "plot-grid"))
    bottom = _SOURCES * len(shares) + 6
    parts += [_text(_LEFT + step * (at + 0.5), bottom, name, "middle") for at, name in enumerate(FIFTHS)]
    caption = "The share of the traced sentences from each fifth of the document."
    return _figure("Where it comes from.", caption, " ".join(alts), bottom + 8, parts)


def items_by_fifth(title: str, measure: str, items: Sequence[JudgedItem], characters: int) -> Markup:
    """Draw the value of items by fifth of the document: a bar, its interval, and what was not judged."""
    fifths: list[list[JudgedItem]] = [[] for _ in FIFTHS]
    for item in items:
        if item.evidence and item.evidence.span:
            at = item.evidence.span.start * len(FIFTHS) // max(1, characters)
            fifths[min(at, len(FIFTHS) - 1)].append(item)
    parts, alts = list[Markup](), list[str]()
    for at, (name, within) in enumerate(zip(FIFTHS, fifths, strict=True)):
        values, y = [item.value for item in within if item.value is not None], 6 + at * _ROW
        share = mean(values)
        alts.append(f"{name}: {score(share)}, {len(values)} of {count(len(within), 'item')} judged")
        unjudged = len(within) - len(values)
        numbers = f"{score(share)}, {count(len(values), 'item')}{f', {unjudged} open' if unjudged else ''}"
        parts += [_text(_ROW_LEFT - 8, y + 14, name, "end"), _text(_ROW_RIGHT + 10, y + 14, numbers)]
        width = _ROW_RIGHT - _ROW_LEFT
        parts.append(_bar(_ROW_LEFT, y, width, 18, "plot-empty"))
        if share is not None:
            parts.append(_bar(_ROW_LEFT, y, width * share, 18, "plot-bar plot-1", alts[-1]))
            low, high = (_ROW_LEFT + width * end for end in interval_of_share(share, len(values)))
            parts.append(_line((low, y + 9), (high, y + 9), "plot-rule"))
    caption = f"Each bar is the {measure}; the line in it is its 95% interval. Items without a verdict are not counted."
    return _figure(f"{title}.", caption, "; ".join(alts), 10 + _ROW * len(FIFTHS), parts)


def _element(tag: str, content: object = "", **attributes: object) -> Markup:
    """Return an SVG element; `class_` becomes `class`, and other underscores become hyphens."""
    attributes_text = Markup("").join(
        Markup(' {}="{}"').format(
            name.rstrip("_").replace("_", "-"), f"{value:.1f}" if isinstance(value, float) else value
        )
        for name, value in attributes.items()
    )
    return Markup("<{0}{1}>{2}</{0}>").format(tag, attributes_text, content)


def _text(x: float, y: float, words: str, anchor: str = "start") -> Markup:
    return _element("text", one_line(words), x=float(x), y=float(y), text_anchor=anchor, class_="plot-label")


def _line(start: tuple[float, float], end: tuple[float, float], kind: str) -> Markup:
    (x1, y1), (x2, y2) = start, end
    return _element("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=kind)


def _bar(x: float, y: float, width: float, height: float, kind: str, tip: str = "") -> Markup:
    title = _element("title", one_line(tip)) if tip else ""
    return _element("rect", title, x=float(x), y=float(y), width=float(width), height=float(height), class_=kind)


def _legend(entries: Sequence[tuple[str, str]], y: float) -> Iterator[Markup]:
    """Yield swatches with their names, two in a line."""
    for at, (kind, name) in enumerate(entries):
        x, height = _LEFT + at % 2 * _WIDTH / 2, y + at // 2 * _LINE
        yield _bar(x, height, 14, 10, kind)
        yield _text(x + 20, height + 10, name[:_LONGEST_NAME])


def _figure(title: str, caption: str, alt: str, height: float, parts: Sequence[Markup]) -> Markup:
    """Return a figure with its title, its caption, and the numbers of the drawing in words."""
    view_box, label = f"0 0 {_WIDTH} {height:.0f}", one_line(f"{title} {alt}")
    drawn = _element("svg", Markup("").join(parts), viewBox=view_box, role="img", aria_label=label)
    return Markup('<figure class="plot"><figcaption><b>{}</b> {}</figcaption>{}</figure>').format(title, caption, drawn)
