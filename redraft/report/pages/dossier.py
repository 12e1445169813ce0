"""The pages of a dossier and of a comparison of runs, and their drawings as inline SVG."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from redraft.domain import Evaluation, why_stopped
from redraft.evaluators.figures import MIN_VALUES, RESAMPLES, interval_of_share, mean
from redraft.report.dossier.build import reason_of
from redraft.report.dossier.comparison import ALIGNED, HALF, REVISED_BY, RunComparison, ScoreDifference, Standing
from redraft.report.dossier.contents import Dossier, JudgedItem, TracedPiece, fact_key
from redraft.report.history.judges import judged_by
from redraft.report.history.lineage import DRIFTS, GIVEN_SAID, TracedSentence
from redraft.report.history.results import RequestOutcome, count_unmet
from redraft.report.history.trace import RoundTrace
from redraft.report.markdown.evaluation import glance
from redraft.report.markdown.trace import revisions, usage
from redraft.report.pages.formatting import assets, in_language, packed, page_data, template
from redraft.settings import COMPUTED, NEWCOMER
from redraft.text import origins
from redraft.text.sanitizer import clean, one_line, scrubbed
from redraft.text.sentences import is_heading
from redraft.text.words import count, count_words, enumeration, score, spaced

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
    # The legend has two entries in a line.
    for hue, metric in enumerate(metrics):
        x, y = _LEFT + hue % 2 * _WIDTH / 2, bottom + 34 + hue // 2 * _LINE
        parts.append(_bar(x, y, 14, 10, f"plot-{hue % _HUES + 1}"))
        parts.append(_text(x + 20, y + 10, spaced(metric)[:_LONGEST_NAME]))
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


def _figure(title: str, caption: str, alt: str, height: float, parts: Sequence[Markup]) -> Markup:
    """Return a figure with its title, its caption, and the numbers of the drawing in words."""
    view_box, label = f"0 0 {_WIDTH} {height:.0f}", one_line(f"{title} {alt}")
    drawn = _element("svg", Markup("").join(parts), viewBox=view_box, role="img", aria_label=label)
    return Markup('<figure class="plot"><figcaption><b>{}</b> {}</figcaption>{}</figure>').format(title, caption, drawn)


STYLES = ("plots.css", "base.css", "dossier.css")
SCRIPT = "dossier.js"
_LONGEST = 160
_MEASURED = {
    "coverage": ("Questions answered, by part of the document", "share of questions answered"),
    "keyfact_recall": ("Key facts stated, by part of the document", "share of key facts stated"),
}
_GOAL_STATES = {None: ("unsure", "?", "undecided"), True: ("met", "✓", "met"), False: ("missed", "✗", "missed")}
_CLAUSE = re.compile(r"[;:,.] ")
_STATES = {
    "waiting": "Waiting for your review.",
    "running": "Running.",
    "failed": "Failed.",
    "stopped": "Stopped at a limit.",
    "interrupted": "Interrupted.",
    "killed": "Crashed.",
}


def dossier_page(dossier: Dossier) -> str:
    """Return the page as a standalone file, with its styles and its script."""
    page, data = template("dossier.html"), packed(page_data(dossier))
    return page.render(**view(dossier), assets=assets(STYLES, SCRIPT), data=data)


def view(dossier: Dossier, word: Callable[[str], str] = str, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the variables for the templates of a dossier. `word` words messages for the reader, and `names` are the
    names of models for people."""
    result, language = dossier.result, in_language(dossier.document)
    goals = result.run.refinement.goals if result.run.refinement else {}
    open_findings = [history for history in dossier.findings if history.state == "open"]

    characters = len(dossier.document.text)
    shares = source_shares(dossier.sentences, characters)
    places = [sources({"this summary": shares})] if shares else []
    for metric, words in _MEASURED.items():
        if items := [item for item in dossier.items if item.metric == metric and item.place]:
            places.append(items_by_fifth(*words, items, characters))
    reason = why_stopped(result.status, result.run.stop_reason or "")
    why = f" “{clean(result.run.why)}”" if result.run.why else ""
    course = revisions([bool(turn.round.accepted) for turn in dossier.rounds[1:]])

    def say(text: str) -> str:
        return word(scrubbed(text))

    return {
        "sheets": STYLES,
        "d": dossier,
        "say": say,
        "names": names or {},
        "verdict": verdict(result.status, result.evaluations, result.goals, result.requests, say),
        "glance": glance(result.evaluations, result.offline_checked),
        "findings": {history.number: history for history in dossier.findings},
        "open": len(open_findings),
        "missing": [history for history in open_findings if history.sentence is None],
        "closed": [history for history in dossier.findings if history.state != "open"],
        "judged": {name: evaluation for name, evaluation in result.evaluations.items() if name not in COMPUTED},
        "judged_by": judged_by(result.run, result.evaluations, names or {}),
        "reason_of": reason_of,
        "verdicts": {item.key: item for item in dossier.items},
        "stopped": f"{course}. {reason[:1].upper()}{reason[1:]}.{why}",
        "pictures": {
            "rounds": [rounds(dossier.rounds, goals)] if len(dossier.rounds) > 1 else [],
            "places": places,
        },
        "usage": usage(result.usage),
        "pieces": {entry.piece.name: entry for entry in dossier.pieces},
        "children": _piece_tree(dossier.pieces),
        "fact_key": fact_key,
        "drifts": DRIFTS,
        "part": dossier.part,
        "words": count_words(dossier.document.text),
        "of_document": language,
        "of_summary": Markup() if result.settings.language else language,
    }


def _piece_tree(pieces: Sequence[TracedPiece]) -> Mapping[str, list[str]]:
    """Return the partial summaries as a tree: what each merges, and under the empty name its roots. Each is in it once,
    below the first that was made from it."""
    names = [entry.piece.name for entry in pieces]
    above: dict[str, str] = {}
    for entry in pieces:
        for parent in entry.parents:
            if parent.kind == "piece" and parent.node in names and parent.node != entry.piece.name:
                above.setdefault(parent.node, entry.piece.name)
    children: dict[str, list[str]] = {name: [] for name in ("", *names)}
    for child, parent_name in above.items():
        children[parent_name].append(child)
    children[""] = [name for name in reversed(names) if name not in above]
    return children


Clause = tuple[str, str, str]
"""A clause of a verdict: its kind (met, missed, unsure or note), a sign so that colour is not the only cue, and its
words."""


def verdict(
    status: str,
    evaluations: Mapping[str, Evaluation],
    goals: Mapping[str, Mapping[str, Any]],
    requests: Sequence[RequestOutcome] = (),
    say: Callable[[str], str] = str,
) -> tuple[Clause, ...]:
    """Return the status unless the run is done, then every goal, or every score if there are no goals, and how many
    requests were not met."""
    relevant = {name: evaluation for name, evaluation in evaluations.items() if name not in COMPUTED}
    relevant = {name: evaluation for name, evaluation in relevant.items() if name in goals} or relevant
    # Metrics without a score for the same reason share a clause.
    by_reason: dict[str, list[str]] = {}
    for name, evaluation in relevant.items():
        why = say(reason_of(evaluation)).rpartition("; ")[2] if evaluation.score is None else ""
        by_reason.setdefault(why or name, []).append(name)
    parts: list[Clause] = []
    for why, metrics in by_reason.items():
        goal, names = goals.get(metrics[0]), enumeration(map(spaced, metrics))
        if len(metrics) == 1:
            parts.append(_clause(relevant[metrics[0]], goal, say))
        else:
            unsure = ("unsure", "?") if goal else ("note", "")
            parts.append((*unsure, f"{names} were not judged: {_shortened(why)}"))
    if not parts and status == "done":
        parts = [("note", "", "not judged")]
    parts[:1] = [(kind, sign, says[:1].upper() + says[1:]) for kind, sign, says in parts[:1]]
    if unmet := count_unmet(requests):
        parts.append(("missed", "✗", unmet))
    return (*([("note", "", _STATES[status])] if status in _STATES else ()), *parts)


def _clause(evaluation: Evaluation, goal: Mapping[str, Any] | None, say: Callable[[str], str]) -> Clause:
    name, reason = spaced(evaluation.metric), say(reason_of(evaluation))
    why = _shortened(reason) if evaluation.score is None else ""
    if evaluation.metric == NEWCOMER and evaluation.judged:
        return ("note", "", f"{name}: {reason}")
    if goal is None:
        unscored = f"not scored{f' ({why})' if why else ''}"
        figure = unscored if evaluation.score is None else score(evaluation.score)
        return ("note", "", f"{name} {figure}")
    aim = f"goal {goal['at_least']:g}"
    if evaluation.score is None:
        return ("unsure", "?", f"{name} not scored ({aim}{f'; {why}' if why else ''})")
    kind, sign, state = _GOAL_STATES[goal["met"]]
    return (kind, sign, f"{name} {score(evaluation.score)} ({aim} {state})")


def _shortened(reason: str) -> str:
    """Return as many of the first clauses of a reason as there is room for."""
    line = one_line(reason).rstrip(".")
    ends = [match.start() for match in _CLAUSE.finditer(line, 0, _LONGEST)]
    return line if len(line) <= _LONGEST else line[: ends[-1]] if ends else one_line(line, _LONGEST)


def source_shares(sentences: Sequence[TracedSentence], characters: int) -> list[float]:
    """Return the share of a summary that comes from each fifth of its document; empty if no sentence is traced. Each
    traced sentence counts one, shared among its places by weight; headings come from nowhere."""
    masses = [
        origins.OriginMass(
            (place.span.start + place.span.end) / 2 / max(1, characters),
            place.weight / sum(origin.weight for origin in sentence.places),
        )
        for sentence in sentences
        for place in sentence.places
        if not is_heading(sentence.text)
    ]
    return origins.shares(masses, len(FIFTHS)) if masses else []


_COMPARISON_STYLES = ("plots.css", "base.css", "comparison.css")
_ALIKE = 1.25
"""The greatest ratio of lengths of summaries that are compared without a word on it."""
_STANDINGS: dict[Standing, str] = {
    "flipped": "Flipped: some have it, some do not",
    "changed": "In all or in none, with different verdicts",
    "open": "Not judged in every run (not counted)",
    "same": "The same in all runs",
}


def comparison_page(comparison: RunComparison) -> str:
    """Return the page as a standalone file, with its styles and its script."""
    return template("comparison.html").render(
        **comparison_view(comparison), assets=assets(_COMPARISON_STYLES, "comparison.js")
    )


def comparison_view(
    comparison: RunComparison, say: Callable[[str], str] = str, names: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the variables for the templates of a comparison. `say` words messages for the reader, and `names` are the
    names of models for people."""
    document, names = comparison.document, names or {}
    pairs = dict[tuple[str, str], list[ScoreDifference]]()
    for difference in comparison.differences:
        pairs.setdefault((difference.first, difference.second), []).append(difference)
    labels = {run.letter: label_for_people(run.label, names) for run in comparison.runs}
    shares = {
        f"{run.letter}: {labels[run.letter]}": run_shares
        for run in comparison.runs
        if (run_shares := source_shares(run.sentences, len(document.text)))
    }
    return {
        "sheets": _COMPARISON_STYLES,
        "c": comparison,
        "line": f"{count(len(comparison.runs), 'run')} on one document of {count(count_words(document.text), 'word')}",
        "verdict": comparison_verdict(comparison),
        "offline_check": any(run.result.offline_checked for run in comparison.runs),
        "runs": {run.letter: run for run in comparison.runs},
        "standings": _STANDINGS,
        "metrics": tuple(dict.fromkeys(metric for run in comparison.runs for metric in run.scores)),
        "pairs": pairs,
        "sources": sources(shares) if shares else "",
        "labels": labels,
        "aligned": ALIGNED,
        "resamples": RESAMPLES,
        **{function.__name__: function for function in (mark, presence)},
        "of_summary": lambda run: "" if run.result.settings.language else in_language(document),
        "say": say,
        "names": names,
        "least": MIN_VALUES,
        "of_document": in_language(document),
    }


def comparison_verdict(comparison: RunComparison) -> tuple[Clause, ...]:
    """Return a clause for each metric that all runs can be compared by: for which run it is higher if the items that
    were judged can tell, and the scores if no interval says so."""
    parts = []
    for metric in dict.fromkeys(difference.metric for difference in comparison.differences):
        differences = [difference for difference in comparison.differences if difference.metric == metric]
        if any(difference.difference is None for difference in differences):
            continue
        figures = {run.letter: run.scores[metric].score for run in comparison.runs if metric in run.scores}
        best = max(figures, key=lambda letter: figures[letter])
        by_best = [difference for difference in differences if best in (difference.first, difference.second)]
        if len(set(figures.values())) == 1:
            parts.append(f"{spaced(metric)} is equal")
        elif all(mark(difference)[0] == "clear" for difference in by_best):
            parts.append(f"{spaced(metric)} is {'higher' if len(figures) == 2 else 'highest'} for {best}")
        elif any(mark(difference)[0] == "even" for difference in by_best):
            parts.append(f"no clear difference in {spaced(metric)}")
        else:
            listed = [f"{score(figure)} for {letter}" for letter, figure in figures.items()]
            parts.append(f"{spaced(metric)} {enumeration(listed)}")
    parts[:1] = [part[:1].upper() + part[1:] for part in parts[:1]]
    clauses: list[Clause] = [("note", "", part) for part in parts]
    lengths = [run.result.draft.words for run in comparison.runs if run.result.draft]
    if parts and max(lengths) > _ALIKE * min(lengths):
        clauses.append(("unsure", "!", f"they have {enumeration(map(str, lengths))} words: the longer has more room"))
    return tuple(clauses)


def label_for_people(label: str, names: Mapping[str, str]) -> str:
    """Return the label of a run, which begins with its model or who revised a summary, with the name for people."""
    lead = label[: label.find(REVISED_BY) + len(REVISED_BY)] if label.startswith(f"{GIVEN_SAID}, {REVISED_BY}") else ""
    rest = label.removeprefix(lead)
    model = next((name for name in names if f"{rest}, ".startswith((f"{name}, ", f"{name} ("))), "")
    return lead + names[model] + rest[len(model) :] if model else label


def mark(difference: ScoreDifference) -> tuple[str, str, str]:
    """Return a difference as a class, a sign, and what the sign means."""
    value, interval = difference.difference, difference.interval
    if value is None:
        return "unsure", "–", "not compared"
    if interval is None:
        return "unsure", "?", "no interval"
    if interval.low <= 0 <= interval.high:
        return "even", "≈", "no clear difference"
    return "clear", "▲" if value > 0 else "▼", f"higher for {difference.first if value > 0 else difference.second}"


def presence(item: JudgedItem | None) -> tuple[str, str, str]:
    """Return whether a summary has an item, as a class, a sign and words, so that colour is not the only cue."""
    if item is None or not item.verdict:
        return "none", "·", "not asked"
    verdict = spaced(item.verdict)
    if item.value is None:
        return "none", "–", "no verdict"
    if item.verdict == "contradicted":
        return "odd", "!", verdict
    if 0 < item.value < 1:
        return "odd", "±", f"{verdict}, {score(item.value)}"
    return ("yes", "✓", verdict) if item.value >= HALF else ("no", "✗", verdict)
