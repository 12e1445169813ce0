"""The page of a dossier, which Jinja templates draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from redraft.domain import Evaluation, why_stopped
from redraft.evaluators.metric_info import stops_in_words
from redraft.evaluators.statistics import interval_of_share, mean
from redraft.report.dossier.contents import Dossier, JudgedItem, TracedPiece
from redraft.report.history.judges import judged_by
from redraft.report.history.lineage import DRIFTS, TracedSentence
from redraft.report.history.results import RequestOutcome, count_unmet
from redraft.report.markdown.evaluation import glance
from redraft.report.markdown.trace import revisions, usage
from redraft.report.pages.formatting import assets, environment, packed, page_data
from redraft.settings import COMPUTED, NEWCOMER
from redraft.text import origins
from redraft.text.places import part_read
from redraft.text.sanitizer import clean, one_line, scrubbed
from redraft.text.words import count_words, score, spaced

_LONGEST = 160
_MEASURED = {
    "coverage": ("Questions answered, by part of the document", "share of questions answered"),
    "keyfact_recall": ("Key facts stated, by part of the document", "share of key facts stated"),
}
FIFTHS = tuple(f"{start} to {start + 20}%" for start in range(0, 100, 20))
"""The names of the fifths of a document."""
_GOAL_STATES = {None: ("unsure", "?", "undecided"), True: ("met", "✓", "met"), False: ("missed", "✗", "missed")}
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
    variables = view(dossier)
    parts = assets(variables["sheets"], "dossier.js")
    return environment().get_template("dossier.html").render(variables, data=packed(page_data(dossier)), assets=parts)


def view(dossier: Dossier, word: Callable[[str], str] = str, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the variables for the templates of a dossier. `word` words messages for the reader, and `names` are the
    names of models for people."""
    result = dossier.result
    reason = why_stopped(result.status, result.run.stop_reason or "")
    why = f" “{clean(result.run.why)}”" if result.run.why else ""
    course = revisions([bool(turn.round.accepted) for turn in dossier.rounds[1:]])

    def say(text: str) -> str:
        return word(scrubbed(text))

    return {
        "sheets": ("plots.css", "base.css", "dossier.css"),
        "d": dossier,
        "say": say,
        "names": names or {},
        "verdict": verdict(result.status, result.evaluations, result.goals, result.requests, say),
        "glance": glance(result.evaluations, result.offline_checked),
        "offline_check": bool(result.offline_checked & result.judged_by.keys()),
        "judged": {name: evaluation for name, evaluation in result.evaluations.items() if name not in COMPUTED},
        "judged_by": judged_by(result.run, result.evaluations, names or {}),
        "reason_of": reason_of,
        "verdicts": {item.key: item for item in dossier.items},
        "stopped": f"{course}. {reason[:1].upper()}{reason[1:]}.{why}",
        "fifths": FIFTHS,
        "shares": source_shares(dossier.sentences, len(dossier.document.text)),
        "measured": {
            words: items_by_fifth(items, len(dossier.document.text))
            for metric, words in _MEASURED.items()
            if (items := [item for item in dossier.items if item.metric == metric and item.place])
        },
        "usage": usage(result.usage),
        "children": _piece_tree(dossier.pieces),
        "drifts": DRIFTS,
        "part": part_read(result.outline.notes),
        "words": count_words(dossier.document.text),
    }


def _piece_tree(pieces: Sequence[TracedPiece]) -> Mapping[str, list[TracedPiece]]:
    """Return the partial summaries as a tree: what each merges by its name, and under the empty name the roots. Each is
    in it once, below the first that was made from it."""
    entries, above = {entry.piece.name: entry for entry in pieces}, dict[str, str]()
    for name, entry in entries.items():
        for parent in entry.parents:
            if parent.kind == "piece" and parent.node in entries and parent.node != name:
                above.setdefault(parent.node, name)
    children: dict[str, list[TracedPiece]] = {name: [] for name in entries}
    for child, parent_name in above.items():
        children[parent_name].append(entries[child])
    return children | {"": [entry for name, entry in reversed(entries.items()) if name not in above]}


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
    parts: list[Clause] = []
    for name, evaluation in relevant.items():
        goal, title, reason = goals.get(name), spaced(name), say(reason_of(evaluation))
        aim = f"goal {goal['at_least']:g}" if goal else ""
        if name == NEWCOMER and evaluation.judged:
            parts.append(("note", "", f"{title}: {reason}"))
        elif evaluation.score is None:
            why = "; ".join(filter(None, (aim, one_line(reason, _LONGEST).rstrip("."))))
            unsure = ("unsure", "?") if goal else ("note", "")
            parts.append((*unsure, f"{title} not scored{f' ({why})' if why else ''}"))
        else:
            kind, sign, state = _GOAL_STATES[goal["met"]] if goal else ("note", "", "")
            parts.append((kind, sign, f"{title} {score(evaluation.score)}{f' ({aim} {state})' if goal else ''}"))
    if not parts and status == "done":
        parts = [("note", "", "not judged")]
    parts[:1] = [(kind, sign, says[:1].upper() + says[1:]) for kind, sign, says in parts[:1]]
    if unmet := count_unmet(requests):
        parts.append(("missed", "✗", unmet))
    return (*([("note", "", _STATES[status])] if status in _STATES else ()), *parts)


def reason_of(evaluation: Evaluation) -> str:
    """Return why a metric has no score; of a newcomer, how far it came."""
    is_newcomer = evaluation.metric == NEWCOMER and evaluation.judged
    return stops_in_words(evaluation) if is_newcomer else evaluation.reason


def items_by_fifth(items: Sequence[JudgedItem], characters: int) -> list[Mapping[str, Any]]:
    """Return for each fifth of the document how many items it has, how many were judged, and the share of these that a
    summary has, with its interval."""
    fifths: list[list[JudgedItem]] = [[] for _ in FIFTHS]
    for item in items:
        if item.evidence and item.evidence.span:
            fifths[min(item.evidence.span.start * len(FIFTHS) // max(1, characters), len(FIFTHS) - 1)].append(item)
    rows = list[Mapping[str, Any]]()
    for name, within in zip(FIFTHS, fifths, strict=True):
        values = [item.value for item in within if item.value is not None]
        share = mean(values)
        interval = None if share is None else interval_of_share(share, len(values))
        row = {"name": name, "total": len(within), "judged": len(values), "share": share, "interval": interval}
        rows.append(row)
    return rows


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
    ]
    shares = origins.shares(masses, len(FIFTHS)) if masses else []
    return [share / (sum(shares) or 1) for share in shares]
