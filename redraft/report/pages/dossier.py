"""A dossier as one file of HTML that opens from a disk, without network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from markupsafe import Markup

from redraft.domain import STOPS
from redraft.report.dossier.contents import Dossier, PieceEntry, SentenceEntry
from redraft.report.pages.assets import policy, script, styles, template
from redraft.report.pages.formatting import calls_by_prompt, facts_by_level, many, packed, page_data
from redraft.report.pages.pictures import pictures
from redraft.settings import FIGURES
from redraft.text.cleaning import clean

STYLES = ("plots.css", "base.css", "dossier.css")
SCRIPT = "dossier.js"
MARK = Markup('<meta name="redraft-run"')
"""So begins what a page that stands alone says of itself, before all else."""


class Assets(NamedTuple):
    """What a page has within it that a server would give it otherwise."""

    policy: str
    styles: str
    script: str


def mark_of(run: str, updated: str) -> Markup:
    """Which run a page shows, and as it stood when: for whoever asks whether the page is still true."""
    return MARK + Markup(' content="{} {}">').format(run, updated)


def dossier_page(dossier: Dossier, *, alone: bool = True) -> str:
    """The page. One that stands `alone` has its styles and its script within it; another has them from a server."""
    css, js = styles(*STYLES), script(SCRIPT)
    assets = Assets(policy(styles=css, script=js), css.text, js.text) if alone else None
    mark = mark_of(dossier.run.id, dossier.run.updated)
    return template("dossier.html").render(**view(dossier), assets=assets, mark=mark, data=packed(page_data(dossier)))


def view(dossier: Dossier) -> dict[str, Any]:
    """What the templates of a dossier are filled in with."""
    shown = pictures(dossier)
    tree = _Tree.of(dossier.pieces)
    return {
        "sheets": STYLES,
        "d": dossier,
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
        "below": tree.below,
        "tops": tree.tops,
        "settings": tuple(_settings(dossier)),
        **languages(dossier),
    }


def languages(dossier: Dossier) -> dict[str, Markup]:
    """As what is quoted of the document and of the summary is marked, so that it is set and read aloud as its own."""
    own = in_language(dossier.document.language)
    return {"of_document": own, "of_summary": Markup() if dossier.run.settings.get("language") else own}


def in_language(language: str) -> Markup:
    """The mark of what is quoted in a language; none where that is not known."""
    return Markup(' lang="{}"').format(language) if language else Markup()


def _views(dossier: Dossier) -> Iterator[tuple[str, str]]:
    yield "reading", "Reading"
    if dossier.chapters:
        yield "chapters", "Chapters"
    yield "scores", "Scores"
    if len(dossier.rounds) > 1:
        yield "rounds", "Rounds"
    if dossier.trees:
        yield "facts", "Key facts"
    yield "places", "Places"
    if dossier.pieces:
        yield "pieces", "Partial summaries"
    if dossier.calls:
        yield "calls", "Calls"
    yield "about", "About"


class _Shown(NamedTuple):
    """A sentence as it stands in the summary, line breaks and all."""

    number: int
    text: str
    sources: Sequence[object]
    findings: Sequence[int]
    invented: str


def _paragraphs(dossier: Dossier) -> Iterator[list[_Shown]]:
    """The sentences of the summary in its paragraphs."""
    text, made, end = dossier.summary or "", list[_Shown](), 0
    for one in dossier.sentences:
        if made and "\n\n" in text[end : one.start]:
            yield made
            made = []
        made.append(_shown(one, text))
        end = one.end
    if made:
        yield made


def _shown(one: SentenceEntry, text: str) -> _Shown:
    return _Shown(one.number, clean(text[one.start : one.end]).strip(), one.sources, one.findings, one.invented)


@dataclass(frozen=True, slots=True)
class _Tree:
    """The partial summaries as a tree: what is below each, and what is below none."""

    tops: list[str]
    below: Mapping[str, list[str]]

    @classmethod
    def of(cls, pieces: Sequence[PieceEntry]) -> _Tree:
        """Each stands once, below the first that was made from it."""
        names, placed = {one.name for one in pieces}, set[str]()
        below: dict[str, list[str]] = {name: [] for name in names}
        for one in pieces:
            for child in one.made_from:
                if child in names and child not in placed and child != one.name:
                    placed.add(child)
                    below[one.name].append(child)
        return cls([one.name for one in reversed(pieces) if one.name not in placed], below)


def _stopped(dossier: Dossier) -> str:
    taken = sum(1 for one in dossier.rounds[1:] if one.taken)
    parts = [many(len(dossier.rounds) - 1, "revision"), f"{taken or 'none'} of them taken"]
    reason = STOPS.get(dossier.run.stopped)
    parts.append(f"it stopped because {reason}" if reason else f"it is {dossier.run.status}")
    return f"{'; '.join(parts)}." + (f" “{clean(dossier.run.why)}”" if dossier.run.why else "")


def _usage(dossier: Dossier) -> str:
    used = dossier.run.usage
    cost = "a price that is not known" if used["cost_usd"] is None else f"{used['cost_usd']:.4f} USD"
    parts = [
        many(used["calls"], "call"),
        f"{used['prompt_tokens']:,} tokens in, {used['completion_tokens']:,} out",
        cost,
        f"{used['seconds']:.0f} s",
    ]
    if used["cached"]:
        parts.append(f"{many(used['cached'], 'answer')} taken from earlier runs")
    if used["lost"]:
        parts.append(f"{many(used['lost'], 'call')} never answered")
    return f"{', '.join(parts)}."


def _settings(dossier: Dossier) -> Iterator[tuple[str, Mapping[str, Any]]]:
    run = dossier.run
    yield "Drafting", run.settings
    if run.judging:
        yield "Judging", run.judging
    if run.refinement:
        yield "Refining", run.refinement
    yield "Limits", run.limits
