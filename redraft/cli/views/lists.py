"""Views of lists: runs, packs, and the sections and omitted parts of a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from redraft.cli import terminal
from redraft.cli.terminal import wrapped
from redraft.cli.views import outcome, render
from redraft.cli.views.render import count
from redraft.domain import Document, DocumentSection
from redraft.readers.parts import MATTER, chapters
from redraft.report.history.summaries import RunSummary
from redraft.text.columns import columns as wide
from redraft.text.columns import fitted
from redraft.text.places import pages_of, starts_of
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words

_LONGEST = {"MODEL": 30, "TITLE": 40}
_SHORTEST = {"TITLE": 12, "MODEL": 10, "SCORES": 12}
# Columns added while there is room; the others are always shown. JSON and `redraft show` have all of them.
_SPARE = ("MODEL", "WORDS", "DRAFTED")
_GAP = 2
_SHORT_ID = 8

Columns = dict[str, list[str]]


def run_lines(runs: Sequence[RunSummary], now: datetime) -> list[str]:
    """Return runs in aligned columns."""
    return _lines([_run(run, now) for run in runs])


def pack_lines(packs: Sequence[Mapping[str, Any]], now: datetime) -> list[str]:
    """Return question packs and key facts in aligned columns."""
    return _lines([_pack(pack, now) for pack in packs])


def _run(run: RunSummary, now: datetime) -> dict[str, str]:
    scores = render.scores(run.scores, self_check=run.self_check)
    return {
        "RUN": run.run,
        "WHEN (UTC)": _when(run.created, now),
        "STATUS": run.status,
        "KIND": run.kind,
        "DRAFTED": run.strategy,
        "MODEL": run.model,
        "WORDS": "" if run.kind in render.OTHERWISE or run.limit is None else str(run.limit),
        "SCORES": outcome.outcome(run.preferred) if run.kind == "compare" else scores,
        "TITLE": run.title,
    }


def _pack(pack: Mapping[str, Any], now: datetime) -> dict[str, str]:
    what = {"questions": "question", "keyfacts": "key fact", "typed": "typed question"}[pack["kind"]]
    return {
        # A prefix of this length always identifies a pack.
        "ID": pack["pack"][:_SHORT_ID],
        "WHEN (UTC)": _when(pack["created"], now),
        "WHAT": render.count(pack["keyfacts" if pack["kind"] == "keyfacts" else "questions"], what),
        "MODEL": pack["model"],
        "ORIGIN": "imported" if pack["imported"] else "built",
        "TITLE": pack["title"],
    }


def _when(created: str, now: datetime) -> str:
    """Return the day with the time, or with the year if it is not the current one."""
    then = datetime.fromisoformat(created)
    return f"{then:%b %d %H:%M}" if then.year == now.year else f"{then:%b %d %Y}"


def _lines(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the rows under their headings, without empty columns, and without optional columns that do not fit."""
    if not rows:
        return []
    columns = {head: [one_line(row[head], _LONGEST.get(head, 0)) for row in rows] for head in rows[0]}
    columns = {head: cells for head, cells in columns.items() if any(cells)}
    kept = [head for head in columns if head not in _SPARE]
    for spare in _SPARE:
        if spare in columns and _least([*kept, spare], columns) <= terminal.width():
            kept.append(spare)
    fitting = _cut({head: cells for head, cells in columns.items() if head in kept})
    return render.aligned(list(zip(*([head, *cells] for head, cells in fitting.items()), strict=True)))


def _cut(columns: Columns) -> Columns:
    """Shorten the columns with long texts until all fit, titles first."""
    columns = dict(columns)
    for head, least in _SHORTEST.items():
        if head in columns and (over := _wide(map(_width, columns, columns.values())) - terminal.width()) > 0:
            width = max(least, _width(head, columns[head]) - over)
            columns[head] = [fitted(cell, width) for cell in columns[head]]
    return columns


def _least(heads: Sequence[str], columns: Columns) -> int:
    """Return the least width of these columns with all scores in full."""
    shortest = {head: least for head, least in _SHORTEST.items() if head != "SCORES"}
    widths = ((head, _width(head, columns[head])) for head in heads)
    return _wide(min(width, shortest.get(head, width)) for head, width in widths)


def _wide(widths: Iterable[int]) -> int:
    return sum(width + _GAP for width in widths) - _GAP


def _width(head: str, cells: Sequence[str]) -> int:
    return max(len(head), *map(wide, cells))


_TITLE = 60
_MARGIN = "           "


def lines(document: Document) -> Iterator[str]:
    """Yield a document's view for people."""
    language = f", language {one_line(document.language)}" if document.language else ""
    words = f"{count(count_words(document.text), 'word')}, {len(document.text):,} characters"
    yield from _row("title", one_line(document.title))
    yield from _row("file", f"{one_line(document.source)}, {document.encoding}{language}")
    yield from _row("text", words)
    several = [mark for mark in document.marks if mark.kind == "document"]
    for mark in several:
        its = f", language {one_line(mark.language)}" if mark.language and not document.language else ""
        words = count(_words(document, (mark.start, mark.end)), "word")
        yield from _row("document", f"{one_line(mark.label)}: {words}{its}")
    pages = [] if several else [mark.label for mark in document.marks if mark.kind == "page"]
    if pages:
        number = len(dict.fromkeys(pages))
        yield from _row("pages", f"{number:,}, from {one_line(pages[0])} to {one_line(pages[-1])}")
    if times := [mark.label for mark in document.marks if mark.kind == "time"]:
        yield from _row("times", f"from {times[0]} to {times[-1]}")
    kinds = Counter(mark.kind for mark in document.marks)
    if inner := [count(kinds[kind], kind) for kind in ("table", "caption", "note") if kinds[kind]]:
        yield from _row("besides", ", ".join(inner))
    if kept := [f"{what} (--skip {kind})" for kind, what in MATTER.items() if kinds[kind]]:
        yield from _row("kept", ", ".join(kept))
    for note in document.notes:
        yield from _row("note", note)
    yield from _sections(document)


def document_json(document: Document) -> dict[str, object]:
    """Return a document as JSON; fields may be added, never changed."""
    numbers = _numbers(document)
    return {
        "id": document.id,
        "title": document.title,
        "file": document.source,
        "encoding": document.encoding,
        "language": document.language,
        "words": count_words(document.text),
        "characters": len(document.text),
        "sections": [
            {
                "title": one.title,
                "level": one.level,
                "chapter": numbers.get(one),
                "span": list(one.span),
                "words": _words(document, one.span),
                "pages": pages_of(document, one.span),
            }
            for one in document.sections
        ],
        "marks": [
            {"kind": mark.kind, "label": mark.label, "href": mark.href, "span": [mark.start, mark.end]}
            | ({"language": mark.language} if mark.kind == "document" else {})
            for mark in document.marks
        ],
        "notes": list(document.notes),
    }


def _sections(document: Document) -> Iterator[str]:
    """Yield the sections, each with its number for `--chapters`."""
    numbers = _numbers(document)
    if document.sections:
        yield ""
        yield "chapter    words  pages      section"
    for one in document.sections:
        title = "  " * min(one.level - 1, 6) + one_line(one.title, _TITLE)
        pages = one_line(pages_of(document, one.span), 10)
        yield f"{numbers.get(one, ''):>7} {_words(document, one.span):>8,}  {pages:<10} {title}".rstrip()


def _numbers(document: Document) -> dict[DocumentSection, int]:
    """Return the chapter number of each section; empty if several documents are read as one."""
    return {} if starts_of(document) else {one.section: one.number for one in chapters(document)}


def _words(document: Document, span: tuple[int, int]) -> int:
    return count_words(document.text[slice(*span)])


def _row(name: str, text: str) -> list[str]:
    return wrapped(text, f"{name:<{len(_MARGIN)}}", _MARGIN)
