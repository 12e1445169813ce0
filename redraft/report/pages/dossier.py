"""The dossier page and its pictures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from redraft.domain import Evaluation, why_stopped
from redraft.report.dossier.build import reason_of
from redraft.report.dossier.contents import Dossier, TracedPiece, fact_key
from redraft.report.drawings import FIFTHS, calls_over_time, items_by_fifth, rounds, sources
from redraft.report.history.judges import judged_by
from redraft.report.history.lineage import DRIFTS, TracedSentence
from redraft.report.history.results import RequestOutcome, count_unmet
from redraft.report.markdown.evaluation import glance
from redraft.report.markdown.result import revisions, usage
from redraft.report.pages.assets import assets, template
from redraft.report.pages.formatting import in_language, packed, page_data
from redraft.settings import COMPUTED, NEWCOMER
from redraft.text import origins
from redraft.text.sanitizer import clean, one_line, scrubbed
from redraft.text.sentences import is_heading
from redraft.text.words import count_words, enumeration, score, spaced

STYLES = ("plots.css", "base.css", "dossier.css")
SCRIPT = "dossier.js"
_LONGEST = 160
_MEASURED = {
    "coverage": ("Questions answered, by part of the document", "share of questions answered"),
    "keyfact_recall": ("Key facts stated, by part of the document", "share of key facts stated"),
}
_GOAL_STATES = {
    None: ("unsure", "?", "undecided"),
    True: ("met", "✓", "met"),
    False: ("missed", "✗", "missed"),
}
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
    sent = [call for call in dossier.calls if not call.borrowed]
    open_findings = [history for history in dossier.findings if history.state == "open"]

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
            "places": list(_drawn_places(dossier)),
            "calls": [calls_over_time(sent)] if sent else [],
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
    return origins.shares(masses, origins.bins(len(FIFTHS))) if masses else []


def _drawn_places(dossier: Dossier) -> Iterator[Markup]:
    characters = len(dossier.document.text)
    if shares := source_shares(dossier.sentences, characters):
        yield sources({"this summary": shares})
    for metric, words in _MEASURED.items():
        if items := [item for item in dossier.items if item.metric == metric and item.place]:
            yield items_by_fifth(*words, items, characters)
