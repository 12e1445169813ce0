"""The dossier page and its pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from redraft.domain import why_stopped
from redraft.evaluators.consensus import interval_of_share, mean
from redraft.report.dossier.contents import Dossier, JudgedItem, PieceEntry, SentenceEntry, verdict
from redraft.report.pages.assets import assets, template
from redraft.report.pages.formatting import calls_by_prompt, facts_by_level, lasting, packed, page_data
from redraft.report.plots.curves import Curve, Densities
from redraft.report.plots.figure import figure
from redraft.report.plots.picture import Plot
from redraft.report.plots.scores import Metric, RoundScores
from redraft.report.plots.shares import DocumentPart, Parts, ShareBar, Shares
from redraft.report.plots.waterfall import Waterfall, WaterfallCall
from redraft.settings import FIGURES
from redraft.text.sanitizer import clean
from redraft.text.words import count, dollars, spaced, unanswered

_FIFTHS = 5
_OK = "ok"
_MEASURED = {
    "coverage": ("Questions answered", "questions answered"),
    "keyfact_recall": ("Key facts stated", "key facts stated"),
}


def pictures(dossier: Dossier) -> dict[str, list[Markup]]:
    """Return figures by part of the page. The page lists the numbers of calls separately."""
    return {
        "rounds": [figure(plot) for plot in _of_rounds(dossier)],
        "places": [figure(plot) for plot in _of_places(dossier)],
        "calls": [figure(plot, numbers=False) for plot in _of_calls(dossier)],
    }


def _of_rounds(dossier: Dossier) -> Iterator[Plot]:
    if len(dossier.rounds) < 2:
        return
    goals = {one.metric: one.goal for one in dossier.scores}
    names = list(dict.fromkeys(name for one in dossier.rounds for name in one.scores))
    scores = {name: [one.scores.get(name) for one in dossier.rounds] for name in names}
    metrics = [Metric(spaced(name), scores[name], goals.get(name)) for name in names]
    yield RoundScores(metrics, [one.taken is not False for one in dossier.rounds])


def _of_places(dossier: Dossier) -> Iterator[Plot]:
    if (found := dossier.positions) is not None:
        this = "this summary"
        if found.density:
            yield Densities([Curve(this, found.density)], title="Where in the document the summary comes from")
        yield Shares([ShareBar(this, found.thirds)], title="Which third of the document the summary comes from")
    for metric, (title, measure) in _MEASURED.items():
        judged = [one for one in dossier.items if one.metric == metric and one.place is not None]
        if judged:
            parts = list(_parts(judged, dossier.document.characters))
            yield Parts(parts, f"share of {measure}", f"{title}, by part of the document")


def _parts(items: Sequence[JudgedItem], characters: int) -> Iterator[DocumentPart]:
    """Yield the document in fifths, each with the mean value of the items judged there."""
    fifths: list[list[JudgedItem]] = [[] for _ in range(_FIFTHS)]
    for one in items:
        start = one.place.start if one.place else 0
        fifths[min(_FIFTHS - 1, start * _FIFTHS // max(1, characters))].append(one)
    for at, within in enumerate(fifths):
        values = [one.value for one in within if one.value is not None]
        share = mean(values)
        between = (None, None) if share is None else interval_of_share(share, len(values))
        name = f"{at * 100 // _FIFTHS} to {(at + 1) * 100 // _FIFTHS}%"
        yield DocumentPart(name, share, len(values), len(within) - len(values), *between)


def _of_calls(dossier: Dossier) -> Iterator[Plot]:
    own = [one for one in dossier.calls if not one.borrowed]
    if own:
        yield Waterfall(
            [WaterfallCall(spaced(one.prompt), one.began, one.began + one.seconds, one.outcome != _OK) for one in own]
        )


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
        "findings": {one.number: one for one in dossier.findings},
        "open": sum(1 for one in dossier.findings if one.state == "open"),
        "missing": [one for one in dossier.findings if one.state == "open" and one.sentence is None],
        "closed": [one for one in dossier.findings if one.state != "open"],
        "judged": [one for one in dossier.scores if one.metric not in FIGURES],
        "stopped": _stopped(dossier),
        "pictures": shown,
        "fact_levels": facts_by_level(dossier.trees),
        "by_prompt": calls_by_prompt(dossier.calls),
        "usage": _usage(dossier),
        "pieces": {one.name: one for one in dossier.pieces},
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


def _paragraphs(dossier: Dossier) -> Iterator[list[SentenceEntry]]:
    """Yield the sentences by paragraph, each as it is in the summary, with its line breaks."""
    text, made, end = dossier.summary or "", list[SentenceEntry](), 0
    for one in dossier.sentences:
        if made and "\n\n" in text[end : one.start]:
            yield made
            made = []
        made.append(one.model_copy(update={"text": clean(text[one.start : one.end]).strip()}))
        end = one.end
    if made:
        yield made


def _piece_tree(pieces: Sequence[PieceEntry]) -> tuple[list[str], Mapping[str, list[str]]]:
    """Return the partial summaries as a tree: the roots, and what is below each. Each is in it once, below the first
    that was made from it."""
    names, placed = {one.name for one in pieces}, set[str]()
    below: dict[str, list[str]] = {name: [] for name in names}
    for one in pieces:
        for child in one.made_from:
            if child in names and child not in placed and child != one.name:
                placed.add(child)
                below[one.name].append(child)
    return [one.name for one in reversed(pieces) if one.name not in placed], below


def _stopped(dossier: Dossier) -> str:
    revisions = len(dossier.rounds) - 1
    taken = sum(1 for one in dossier.rounds[1:] if one.taken)
    which = "all" if taken == revisions > 1 else f"{taken or 'none'}"
    reason = why_stopped(dossier.run.status, dossier.run.stopped)
    why = f" “{clean(dossier.run.why)}”" if dossier.run.why else ""
    return f"{count(revisions, 'revision')}, {which} accepted. {reason[:1].upper()}{reason[1:]}.{why}"


def _usage(dossier: Dossier) -> str:
    used = dossier.run.usage
    parts = [count(used["calls"], "call"), f"{used['prompt_tokens']:,} tokens in, {used['completion_tokens']:,} out"]
    # Calls without an answer may have been billed.
    if used["cost_usd"] != 0 or not used["lost"]:
        parts.append("cost unknown" if used["cost_usd"] is None else dollars(used["cost_usd"]))
    parts.append(lasting(used["seconds"]))
    if used["cached"]:
        parts.append(f"{count(used['cached'], 'answer')} cached from earlier runs")
    parts += unanswered(used["lost"], used["lost_usd"], used["lost_tokens"])
    return f"{', '.join(parts)}."


def _settings(dossier: Dossier) -> Iterator[tuple[str, Mapping[str, Any]]]:
    run = dossier.run
    yield "Drafting", run.settings
    if run.judging:
        yield "Judging", run.judging
    if run.refinement:
        yield "Refining", run.refinement
    yield "Limits", run.limits
