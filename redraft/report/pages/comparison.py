"""A comparison of runs as one HTML file, or as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from redraft.report.dossier.comparison.contents import (
    DocumentBeside,
    ItemBeside,
    RunBeside,
    RunsBeside,
    RunVerdict,
    Standing,
)
from redraft.report.dossier.contents import PlaceEntry
from redraft.report.pages.assets import policy, script, styles, template
from redraft.report.pages.comparison_pictures import pictures
from redraft.report.pages.comparison_tables import by_document, by_fifth, differences, scores, used
from redraft.report.pages.dossier import Assets, in_language
from redraft.report.pages.formatting import HtmlTable, capitalized, cell, many, spaced
from redraft.report.reports.tables import unmarked
from redraft.text.places import on_pages

STYLES = ("plots.css", "base.css", "comparison.css")
SCRIPT = "comparison.js"
_HALF = 0.5
_GROUPS: dict[Standing, str] = {
    "flipped": "Flipped: some have it, and some have not",
    "changed": "In all or in none, but in different ways",
    "open": "Not judged in every run: these count nowhere",
    "same": "The same in all",
}


def comparison_page(beside: RunsBeside, *, alone: bool = True) -> str:
    """The page. One that stands `alone` has its styles and its script within it; another has them from a server."""
    css, js = styles(*STYLES), script(SCRIPT)
    assets = Assets(policy(styles=css, script=js), css.text, js.text) if alone else None
    return template("comparison.html").render(**view(beside), assets=assets)


def view(beside: RunsBeside) -> dict[str, Any]:
    """What the templates of a comparison are filled in with."""
    runs = {run.name: run for run in beside.runs}
    several = len(beside.documents) > 1
    return {
        "sheets": STYLES,
        "c": beside,
        "several": several,
        "line": _line(beside),
        "documents": tuple(_documents(beside, runs)),
        "metrics": tuple(dict.fromkeys(item.metric for one in beside.documents for item in one.items)),
        "flips": sum(item.standing == "flipped" for one in beside.documents for item in one.items),
        "items": sum(len(one.items) for one in beside.documents),
        "used": used(beside),
        "scores": scores(beside),
        "differences": differences(beside),
        "by_document": by_document(beside) if several else (),
        "by_fifth": by_fifth(beside),
        "pictures": pictures(beside),
        "had": had,
        "in_language": in_language,
        "of_document": in_language("" if several else beside.documents[0].language),
        "summary_languages": {run.name: run.language for run in beside.runs},
        "labels": {one.letter: one.label for one in beside.contestants},
    }


class Had(NamedTuple):
    """Whether a summary has an item: as a class, a sign and a word."""

    kind: str
    sign: str
    word: str


def had(verdict: RunVerdict) -> Had:
    """What was said of an item in a run, in a way that does not go by colour."""
    if not verdict.verdict:
        return Had("none", "·", "not asked")
    word = verdict.verdict.replace("_", " ")
    if verdict.value is None:
        return Had("none", "–", "no verdict")
    if verdict.verdict == "contradicted":
        return Had("odd", "!", word)
    if 0 < verdict.value < 1:
        return Had("odd", "±", f"{word}, {verdict.value:.2f}")
    return Had("yes", "✓", word) if verdict.value >= _HALF else Had("no", "✗", word)


class ShownDocument(NamedTuple):
    """A document as the page shows it."""

    document: DocumentBeside
    runs: tuple[RunBeside, ...]
    groups: tuple[tuple[Standing, str, tuple[ItemBeside, ...]], ...]


def _documents(beside: RunsBeside, runs: dict[str, RunBeside]) -> Iterator[ShownDocument]:
    for one in beside.documents:
        groups = tuple((name, title, _standing(one.items, name)) for name, title in _GROUPS.items())
        yield ShownDocument(one, tuple(runs[name] for name in one.runs), tuple(group for group in groups if group[2]))


def _standing(items: Sequence[ItemBeside], name: Standing) -> tuple[ItemBeside, ...]:
    return tuple(item for item in items if item.standing == name)


def _line(beside: RunsBeside) -> str:
    runs = many(len(beside.runs), "run")
    if len(beside.documents) > 1:
        return f"{runs} on {many(len(beside.documents), 'document')}"
    return f"{runs} on one document of {many(beside.documents[0].words, 'word')}"


_SHOWN = {"flipped": "Flipped", "changed": "Had by all or by none, in different ways"}


def comparison_markdown(beside: RunsBeside) -> str:
    """The scores, the differences and what flipped. What documents and models say is no markup in it."""
    return "\n\n".join(_blocks(beside)) + "\n"


def _blocks(beside: RunsBeside) -> Iterator[str]:
    yield f"# {unmarked(beside.title)}"
    yield beside.holds
    if beside.warnings:
        yield "## Before you read the scores"
        yield _listed(beside.warnings)
    yield "## Who is compared"
    yield _table(used(beside))
    yield "## Scores"
    yield _table(scores(beside))
    for pair in differences(beside):
        one, other = pair.first, pair.second
        yield f"### {one.letter}, {unmarked(one.label)}, beside {other.letter}, {unmarked(other.label)}"
        yield "\n".join(f"- {said.metric}: {said.means}. {unmarked(capitalized(said.says))}" for said in pair.said)
    yield from _items(beside)
    if found := by_fifth(beside):
        yield "## Places"
        for fifths in found:
            yield f"### {unmarked(capitalized(fifths.title))}"
            yield _table(fifths.rows)
    yield "## Summaries"
    labels = {one.letter: one.label for one in beside.contestants}
    for run in beside.runs:
        about = f"{unmarked(labels[run.contestant])}, {many(run.words, 'word')}, run {run.run}"
        yield f"### {run.name}: {about}"
        yield " ".join(f"{unmarked(one.text)} [{one.number}]" for one in run.sentences) or "It has no sentence."
    yield "## How to read this"
    yield _listed(beside.cautions)


def _items(beside: RunsBeside) -> Iterator[str]:
    for document in beside.documents:
        named = f" · {unmarked(document.title)}" if len(beside.documents) > 1 else ""
        for standing, title in _SHOWN.items():
            found = [item for item in document.items if item.standing == standing]
            if found:
                yield f"## {title}{named}"
                yield "\n".join(map(_item, found))
        counts = {name: sum(item.standing == name for item in document.items) for name in ("open", "same")}
        if document.items:
            yield (
                f"{many(counts['same'], 'item')} {'is' if counts['same'] == 1 else 'are'} the same in all, and "
                f"{counts['open']:,} {'has' if counts['open'] == 1 else 'have'} no verdict in some run{named}."
            )


def _where(place: PlaceEntry) -> str:
    pages = unmarked(on_pages(place.pages))
    return f"{', ' if pages else ''}{pages}, at {place.percent} %"


def _item(item: ItemBeside) -> str:
    where = _where(item.place) if item.place else ""
    parts = [f"- **i{item.number}** {unmarked(item.text)} ({spaced(item.metric)}{where})"]
    if item.expected:
        parts.append(f"the document: {unmarked(item.expected)}")
    for verdict in item.verdicts:
        told = had(verdict)
        found = f" “{unmarked(verdict.found)}”" if verdict.found else ""
        parts.append(f"{verdict.run} {told.sign} {unmarked(told.word)}{found}")
    return "; ".join(parts)


def _listed(lines: tuple[str, ...]) -> str:
    return "\n".join(f"- {unmarked(one)}" for one in lines)


def _table(rows: HtmlTable) -> str:
    head = f"| {' | '.join(rows.head)} |\n|{'---|' * len(rows.head)}"
    return "\n".join([head, *(f"| {' | '.join(unmarked(cell(one)) for one in row)} |" for row in rows.rows)])
