"""Dossiers and comparisons as Markdown, readable without a browser and free of markup from other sources."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.evaluators.metric_info import SELF_CHECK
from redraft.report.dossier.comparison.contents import RunsBeside
from redraft.report.dossier.contents import ChapterEntry, Dossier
from redraft.report.pages.assets import template
from redraft.report.pages.comparison import by_fifth, differences, had, scores, used
from redraft.report.pages.formatting import score
from redraft.settings import FIGURES
from redraft.text.places import on_pages, place_said
from redraft.text.words import count, spaced


def dossier_markdown(dossier: Dossier) -> str:
    """Return the summary with its sources, findings, scores and rounds."""
    return template("dossier.md").render(
        d=dossier,
        place_said=place_said,
        chapter=_chapter,
        self_check=f" ({SELF_CHECK})",
        scores=[one for one in dossier.scores if one.metric not in FIGURES],
        by_number={one.number: one for one in dossier.findings},
        missing=[one for one in dossier.findings if one.state == "open" and not one.sentence],
        closed=[one for one in dossier.findings if one.state != "open"],
    )


def _chapter(one: ChapterEntry) -> Iterator[str]:
    parts = [on_pages(one.pages), count(one.words, "word"), one.status, f"run {one.run}" if one.run else ""]
    yield from filter(None, parts)
    yield from (f"{spaced(metric)} {score(value)}" for metric, value in one.scores.items())
    if one.scores and one.self_check:
        yield SELF_CHECK


def comparison_markdown(beside: RunsBeside) -> str:
    """Return the scores, the differences and what flipped."""
    return template("comparison.md").render(
        c=beside,
        place_said=place_said,
        used=used(beside),
        scores=scores(beside),
        differences=differences(beside),
        by_fifth=by_fifth(beside),
        had=had,
        labels={one.letter: one.label for one in beside.contestants},
    )
