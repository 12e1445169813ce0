"""Several documents that are read as one, of which everything still knows which it stands in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from redraft.document import Document, DocumentSection, Span, content_id
from redraft.errors import UsageError
from redraft.marks import Mark
from redraft.readers.builder import TITLE_WIDTH
from redraft.readers.documents import load
from redraft.readers.parts import Choice
from redraft.sources import STDIN
from redraft.text.cleaning import one_line
from redraft.text.languages import own_language, primary

_BETWEEN = "\n\n\f\n\n"
"""No text that was read has a form feed. So the same words in one document are another text, and have another id."""
_NAMED_IN_TITLE = 3
_BEGINNING = 300


def load_all(sources: Sequence[str | Path], *, wanted: Choice | None = None) -> Document:
    """The documents at some paths, read as one. What is wanted of them may be no chapters and no pages of several."""
    check_sources(sources)
    if len(sources) > 1 and wanted and (option := "chapters" if wanted.chapters else "pages" if wanted.pages else ""):
        raise UsageError(
            f"--{option} is about one document, and {len(sources)} are given",
            hint="name a part of one file, or give files that hold nothing but what is wanted",
        )
    return together([load(one, wanted=wanted) for one in sources])


def check_sources(sources: Sequence[object]) -> None:
    """Refuse to read standard input twice."""
    if sum(one == STDIN for one in sources) > 1:
        raise UsageError("stdin can be read for one document only", hint="give the others as files")


def together(documents: Sequence[Document]) -> Document:
    """The documents in their order as one, each with a mark that names it; the same text a second time is left out."""
    if not documents:
        raise UsageError("no document was given", hint="give the path of one, or of several")
    first_of: dict[str, str] = {}
    kept: list[tuple[str, Document]] = []
    again: list[str] = []
    for name, one in zip(_names(documents), documents, strict=True):
        if any(mark.kind == "document" for mark in one.marks):
            raise UsageError("several documents were given as one of several", hint="give each of them by itself")
        if one.id in first_of:
            again.append(f"{name} has the same text as {first_of[one.id]}, and is read once")
        else:
            first_of[one.id] = name
            kept.append((name, one))
    if len(kept) == 1:
        return replace(kept[0][1], notes=(*kept[0][1].notes, *again))
    return _joined(kept, again)


def _joined(parts: Sequence[tuple[str, Document]], told: Sequence[str]) -> Document:
    texts: list[str] = []
    sections: list[DocumentSection] = []
    marks: list[Mark] = []
    start = 0
    for name, one in parts:
        head = _heading(one)
        text = head + one.text
        whole = Span(start, start + len(text))
        sections += _sections(one, whole, start + len(head))
        marks.append(Mark(*whole, "document", name, language=own_language(one)))
        marks += (mark._replace(start=mark.start + start + len(head), end=mark.end + start + len(head))
                  for mark in one.marks)  # fmt: skip
        texts.append(text)
        start = whole.end + len(_BETWEEN)
    text = _BETWEEN.join(texts)
    language = _common([one.language for _, one in parts])
    said = any(one.own_language is not None for _, one in parts)
    notes = [f"{name}: {note}" for name, one in parts for note in one.notes]
    return Document(
        id=content_id(text),
        title=one_line(_title([one.title for _, one in parts]), TITLE_WIDTH),
        text=text,
        sections=tuple(sections),
        source=", ".join(name for name, _ in parts),
        encoding=", ".join(dict.fromkeys(one.encoding for _, one in parts)),
        notes=(*notes, *told),
        marks=tuple(sorted(marks)),
        language=language,
        own_language=_common([own_language(one) for _, one in parts]) if said else None,
    )


def _common(languages: Sequence[str]) -> str:
    """The language that all documents are in; empty where they are in several."""
    found = {primary(one): one for one in languages}
    return next(iter(found.values())) if len(found) == 1 else ""


def _names(documents: Sequence[Document]) -> Iterator[str]:
    """What each is called: as its file, else by its title; those that are called alike have a number behind it."""
    called = [one_line(PurePath(one.source).name or one.title or "text", TITLE_WIDTH) for one in documents]
    often, told = Counter(called), Counter[str]()
    for name in called:
        told[name] += 1
        yield name if often[name] == 1 else f"{name} ({told[name]})"


def _heading(document: Document) -> str:
    """The title over a text that does not begin with it: who reads on is to see that it is another document."""
    title = one_line(document.title)
    return "" if not title or title in one_line(document.text[:_BEGINNING]) else f"# {title}\n\n"


def _sections(document: Document, whole: Span, at: int) -> Iterator[DocumentSection]:
    """Its sections where they are now, within one that is the document."""
    own = [replace(one, span=Span(one.span.start + at, one.span.end + at)) for one in document.sections]
    if not own or own[0].title != document.title or own[0].level > 1 or own[0].span.end < whole.end:
        yield DocumentSection(document.title, 1, whole)
        own = [replace(one, level=one.level + 1) for one in own]
    yield from own


def _title(titles: Sequence[str]) -> str:
    if len(titles) <= _NAMED_IN_TITLE:
        return f"{'; '.join(titles[:-1])}; {titles[-1]}"
    return f"{titles[0]}, and {len(titles) - 1} more documents"
