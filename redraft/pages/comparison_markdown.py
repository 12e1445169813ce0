"""Runs beside each other as Markdown: what can be read without a browser."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.dossier.beside.contents import ItemBeside, RunsBeside
from redraft.dossier.contents import Place
from redraft.pages.comparison import had
from redraft.pages.comparison_tables import by_fifth, differences, scores, used
from redraft.pages.tables import Rows
from redraft.pages.wording import capitalized, cell, many, spaced
from redraft.reports.tables import unmarked
from redraft.text.places import on_pages

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


def _where(place: Place) -> str:
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


def _table(rows: Rows) -> str:
    head = f"| {' | '.join(rows.head)} |\n|{'---|' * len(rows.head)}"
    return "\n".join([head, *(f"| {' | '.join(unmarked(cell(one)) for one in row)} |" for row in rows.rows)])
