"""The dossier page and its pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from redraft.domain import why_stopped
from redraft.evaluators.figures import interval_of_share, mean
from redraft.report.dossier.contents import Dossier, JudgedItem, PieceEntry, verdict
from redraft.report.drawings import (
    PartScore,
    RoundScore,
    TimedCall,
    calls_over_time,
    density,
    document_parts,
    parts_of,
    rounds,
)
from redraft.report.history.lineage import TracedSentence
from redraft.report.markdown.result import revisions, usage
from redraft.report.pages.assets import assets, template
from redraft.report.pages.formatting import calls_by_prompt, facts_by_level, packed, page_data
from redraft.settings import COMPUTED
from redraft.text.sanitizer import clean
from redraft.text.words import spaced

_FIFTHS = 5
THIRDS = ("beginning", "middle", "end")
_OK = "ok"
_MEASURED = {
    "coverage": ("Questions answered, by part of the document", "share of questions answered"),
    "keyfact_recall": ("Key facts stated, by part of the document", "share of key facts stated"),
}


def pictures(dossier: Dossier) -> dict[str, list[Markup]]:
    """Return the drawings by part of the page."""
    return {"rounds": list(_of_rounds(dossier)), "places": list(_of_places(dossier)), "calls": list(_of_calls(dossier))}


def _of_rounds(dossier: Dossier) -> Iterator[Markup]:
    if len(dossier.rounds) < 2:
        return
    goals = {score.metric: score.goal for score in dossier.scores}
    names = list(dict.fromkeys(name for turn in dossier.rounds for name in turn.scores))
    scores = {name: [turn.scores.get(name) for turn in dossier.rounds] for name in names}
    yield rounds(
        [RoundScore(spaced(name), scores[name], goals.get(name)) for name in names],
        [turn.round.accepted is not False for turn in dossier.rounds],
    )


def _of_places(dossier: Dossier) -> Iterator[Markup]:
    if (positions := dossier.positions) is not None:
        if positions.density:
            yield density({"this summary": positions.density})
        yield parts_of({"this summary": positions.thirds}, THIRDS, "third of the document")
    for metric, (title, measure) in _MEASURED.items():
        items = [item for item in dossier.items if item.metric == metric and item.place is not None]
        if items:
            yield document_parts(title, measure, list(_parts(items, dossier.document.characters)))


def _parts(items: Sequence[JudgedItem], characters: int) -> Iterator[PartScore]:
    """Yield the document in fifths, each with the mean value of the items judged there."""
    fifths: list[list[JudgedItem]] = [[] for _ in range(_FIFTHS)]
    for judged_item in items:
        start = judged_item.place.start if judged_item.place else 0
        fifths[min(_FIFTHS - 1, start * _FIFTHS // max(1, characters))].append(judged_item)
    for at, within in enumerate(fifths):
        values = [item.value for item in within if item.value is not None]
        share = mean(values)
        between = (None, None) if share is None else interval_of_share(share, len(values))
        name = f"{at * 100 // _FIFTHS} to {(at + 1) * 100 // _FIFTHS}%"
        yield PartScore(name, share, len(values), len(within) - len(values), *between)


def _of_calls(dossier: Dossier) -> Iterator[Markup]:
    calls = [
        TimedCall(spaced(entry.prompt), entry.began, entry.began + entry.seconds, entry.outcome != _OK)
        for entry in dossier.calls
        if not entry.borrowed
    ]
    if calls:
        yield calls_over_time(calls)


STYLES = ("plots.css", "base.css", "dossier.css")
SCRIPT = "dossier.js"
MARK = Markup('<meta name="redraft-run"')
"""The start of the tag that identifies a standalone page; it comes before any content."""


def mark_of(run: str, updated: str) -> Markup:
    """Return a tag with the run that a page shows and when the run was last updated, to tell whether the page is
    outdated."""
    return MARK + Markup(' content="{} {}">').format(run, updated)


def dossier_page(dossier: Dossier) -> str:
    """Return the page as a standalone file, with its styles and its script."""
    shown, data = view(dossier), packed(page_data(dossier))
    mark = mark_of(dossier.run.id, dossier.run.updated)
    return template("dossier.html").render(**shown, assets=assets(STYLES, SCRIPT), mark=mark, data=data)


def view(dossier: Dossier) -> dict[str, Any]:
    """Return the variables for the templates of a dossier."""
    shown = pictures(dossier)
    tops, below = _piece_tree(dossier.pieces)
    return {
        "sheets": STYLES,
        "d": dossier,
        "verdict": verdict(dossier.run.status, dossier.scores, dossier.requests),
        "views": tuple(_views(dossier)),
        "paragraphs": tuple(_paragraphs(dossier)),
        "findings": {history.number: history for history in dossier.findings},
        "open": sum(1 for history in dossier.findings if history.state == "open"),
        "missing": [history for history in dossier.findings if history.state == "open" and history.sentence is None],
        "closed": [history for history in dossier.findings if history.state != "open"],
        "judged": [score for score in dossier.scores if score.metric not in COMPUTED],
        "stopped": _stopped(dossier),
        "pictures": shown,
        "fact_levels": facts_by_level(dossier.trees),
        "by_prompt": calls_by_prompt(dossier.calls),
        "usage": usage(dossier.run.usage),
        "pieces": {entry.piece.name: entry for entry in dossier.pieces},
        "below": below,
        "tops": tops,
        "settings": tuple(_settings(dossier)),
        **languages(dossier),
    }


def languages(dossier: Dossier) -> dict[str, Markup]:
    """Return the `lang` attributes for quotations from the document and the summary, so that they are set and read
    aloud correctly."""
    own = in_language(dossier.document.language)
    return {"of_document": own, "of_summary": Markup() if dossier.run.settings.get("language") else own}


def in_language(language: str) -> Markup:
    """Return the `lang` attribute for a quotation; empty if the language is unknown."""
    return Markup(' lang="{}"').format(language) if language else Markup()


def _views(dossier: Dossier) -> Iterator[tuple[str, str]]:
    yield "reading", "Reading"
    if dossier.chapters:
        yield "chapters", "Chapters"
    if dossier.summary:
        yield "scores", "Scores"
    if len(dossier.rounds) > 1:
        yield "rounds", "Rounds"
    if dossier.trees:
        yield "facts", "Key facts"
    if dossier.summary:
        yield "places", "Source map"
    if dossier.pieces:
        yield "pieces", "Partial summaries"
    if dossier.calls:
        yield "calls", "Calls"
    yield "about", "About"


def _paragraphs(dossier: Dossier) -> Iterator[list[TracedSentence]]:
    """Yield the sentences by paragraph, each as it is in the summary, with its line breaks."""
    text, paragraph, end = dossier.summary or "", list[TracedSentence](), 0
    for sentence in dossier.sentences:
        if paragraph and "\n\n" in text[end : sentence.span.start]:
            yield paragraph
            paragraph = []
        paragraph.append(replace(sentence, text=clean(text[slice(*sentence.span)]).strip()))
        end = sentence.span.end
    if paragraph:
        yield paragraph


def _piece_tree(pieces: Sequence[PieceEntry]) -> tuple[list[str], Mapping[str, list[str]]]:
    """Return the partial summaries as a tree: the roots, and what is below each. Each is in it once, below the first
    that was made from it."""
    names, placed = {entry.piece.name for entry in pieces}, set[str]()
    below: dict[str, list[str]] = {name: [] for name in names}
    for entry in pieces:
        for child in entry.made_from:
            if child in names and child not in placed and child != entry.piece.name:
                placed.add(child)
                below[entry.piece.name].append(child)
    return [entry.piece.name for entry in reversed(pieces) if entry.piece.name not in placed], below


def _stopped(dossier: Dossier) -> str:
    accepted = [bool(turn.round.accepted) for turn in dossier.rounds[1:]]
    reason = why_stopped(dossier.run.status, dossier.run.stopped)
    why = f" “{clean(dossier.run.why)}”" if dossier.run.why else ""
    return f"{revisions(accepted)}. {reason[:1].upper()}{reason[1:]}.{why}"


def _settings(dossier: Dossier) -> Iterator[tuple[str, Mapping[str, Any]]]:
    run = dossier.run
    yield "Drafting", run.settings
    if run.judging:
        yield "Judging", run.judging
    if run.refinement:
        yield "Refining", run.refinement
    yield "Limits", run.limits
