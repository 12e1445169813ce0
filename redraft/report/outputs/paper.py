"""A summary as a format-independent paper: headings, paragraphs, list items and notes.

Models put some Markdown into summaries. Headings, lists and bold words are parsed; everything else is text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Literal

from redraft.report.history.quotes import basis
from redraft.report.history.results import Result
from redraft.settings import EXTRACTIVE, GIVEN_STRATEGY
from redraft.text.sanitizer import clean, one_line

if TYPE_CHECKING:  # lineage imports NumPy, which a summary without notes does not need
    from redraft.report.history.citations import Citation, Citations

_HEADING = re.compile(r"(#{1,6})[^\S\n]+(?=\S)")
_ITEM = re.compile(r"\s*(?:[-*+•]|(\d{1,3}[.)]))[^\S\n]+(?=\S)")
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_SPACES = re.compile(r"\s+")
_LOWEST = 6
_LEVEL_OF_CHAPTERS = 2


@dataclass(frozen=True, slots=True)
class PaperPiece:
    """A piece of text, bold or not; or a note after a sentence, with its number and the places of the document that the
    sentence cites."""

    text: str = ""
    strong: bool = False
    number: int = 0
    places: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A heading with its level, a paragraph, or a list item with its number, if any."""

    kind: Literal["heading", "paragraph", "item"]
    pieces: tuple[PaperPiece, ...]
    level: int = 0
    number: str = ""

    @property
    def text(self) -> str:
        """The text without notes."""
        return "".join(piece.text for piece in self.pieces).strip()


@dataclass(frozen=True, slots=True)
class PaperPart:
    """A text with an optional heading, and the citations of its sentences, if known."""

    text: str
    heading: str = ""
    level: int = 1
    citations: Citations | None = None


@dataclass(frozen=True, slots=True)
class Paper:
    """One or more texts under a title, and sentences about them for readers."""

    title: str
    parts: tuple[PaperPart, ...]
    about: tuple[str, ...] = ()
    language: str = ""
    """The language of the text, such as `en`; empty if unknown."""
    is_titled: bool = False
    """Whether the title is part of the text in every format."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks below the title, with notes numbered in order; headings in a text are below that of its part."""
        numbers, blocks = count(1), list[Block]()
        for part in self.parts:
            body = list(_blocks(part, numbers))
            top = min((block.level for block in body if block.kind == "heading"), default=1)
            if part.heading:
                blocks.append(Block("heading", (PaperPiece(part.heading),), part.level))
            for block in body:
                level = min(_LOWEST, part.level + 1 + block.level - top) if block.kind == "heading" else 0
                blocks.append(replace(block, level=level))
        return tuple(blocks)


def notes_of(blocks: Sequence[Block]) -> list[PaperPiece]:
    """Return the notes of some blocks, in the order of their numbers."""
    return [piece for block in blocks for piece in block.pieces if piece.number]


def paper_of(result: Result, cite: Callable[[str], Citations] | None) -> Paper:
    """Return the summary of a run and of its chapters, with citations if `cite` is given.

    `cite` returns the citations of a run by its id.
    """
    chapters = [(one_line(chapter.title), _LEVEL_OF_CHAPTERS, chapter.result) for chapter in result.chapters]
    parts = [
        PaperPart(of.summary or "", heading, level, cite(of.run.id) if cite and of.draft else None)
        for heading, level, of in (("", 1, result), *chapters)
        if of and (of.draft or of is result)
    ]
    paper = Paper(
        clean(result.title).strip() or "Summary",
        tuple(parts),
        about=tuple(_about(result)),
        language="" if result.settings.language else result.outline.language,
        is_titled=bool(result.chapters),
    )
    return with_basis(paper)


def with_basis(paper: Paper) -> Paper:
    """Return the paper with a sentence on whether a judge or wording gave its notes; unchanged without any."""
    notes = {note.number: note.places[0].by for note in notes_of(paper.blocks) if note.places[0].by}
    if not notes:
        return paper
    return replace(paper, about=(*paper.about, basis(notes, "footnote")))


def _about(result: Result) -> Iterator[str]:
    """Yield who wrote the summary, and what it does not cover."""
    words = result.draft.words if result.draft else 0
    part = "" if result.settings.until is None else f" of the first {result.tokens:,} tokens"
    by = f"by {writer_of(result.settings.model)}"
    if result.settings.strategy == GIVEN_STRATEGY and not result.run.parent:
        by = f"given to redraft and revised {by}" if result.run.refinement else "given to redraft"
    yield f"Summary{part}, {words:,} words, {by}; redraft, run {result.run.id}."
    yield from missing_notes(result)
    for note in result.outline.notes:
        yield f"Document: {note}."


def writer_of(model: str) -> str:
    """Return the name of the writer for readers who do not know redraft's names of models."""
    return "redraft's built-in model (sentences taken from the document)" if model == EXTRACTIVE else model


def missing_notes(result: Result) -> Iterator[str]:
    """Yield sentences for readers about what a summary does not cover."""
    if result.gaps:
        chunks = ", ".join(str(gap.chunk + 1) for gap in result.gaps)
        yield f"Left out: chunk {chunks} of {result.chunks} of the document."
    if result.run.status != "done" and result.draft:
        yield from (f"Not finished: {note}." for note in result.draft.notes)


def is_rtl(text: str) -> bool:
    """Return whether most letters of a text are in a right-to-left script."""
    classes = Counter(unicodedata.bidirectional(letter) for letter in text if letter.isalpha())
    return classes["R"] + classes["AL"] > classes["L"]


def _blocks(part: PaperPart, numbers: Iterator[int]) -> Iterator[Block]:
    """Yield the blocks of a text; consecutive lines that are not headings or items are one paragraph."""
    at, paragraph = 0, list[PaperPiece]()
    for line in part.text.splitlines(keepends=True):
        start, at = at, at + len(line)
        heading, item = _HEADING.match(line), _ITEM.match(line)
        begin = start + (match.end() if (match := heading or item) else 0)
        pieces = list(_pieces(part, begin, at, numbers))
        if paragraph and (match or not line.strip()):
            yield Block("paragraph", _styled(paragraph))
            paragraph = []
        if heading:
            yield Block("heading", _styled(pieces), len(heading[1]))
        elif item:
            yield Block("item", _styled(pieces), number=item[1] or "")
        elif line.strip():
            paragraph += pieces
    if paragraph:
        yield Block("paragraph", _styled(paragraph))


def _pieces(part: PaperPart, start: int, end: int, numbers: Iterator[int]) -> Iterator[PaperPiece]:
    """Yield a stretch of a text, with a note after each sentence that cites the document."""
    places = {place.number: place for place in part.citations.places} if part.citations else {}
    for sentence in part.citations.sentences if part.citations else ():
        if sentence.cites and start < sentence.span.end <= end:
            yield PaperPiece(part.text[start : sentence.span.end])
            yield PaperPiece(number=next(numbers), places=tuple(places[number] for number in sentence.cites))
            start = sentence.span.end
    yield PaperPiece(part.text[start:end])


def _styled(pieces: list[PaperPiece]) -> tuple[PaperPiece, ...]:
    """Return the pieces of a block, sanitized, with bold words, white space collapsed and none at the end."""
    while pieces and not (last := pieces[-1]).number:
        pieces = [*pieces[:-1], *([PaperPiece(last.text.rstrip())] if last.text.strip() else [])]
        if last.text.strip():
            break
    styled: list[PaperPiece] = []
    for piece in pieces:
        if piece.number:
            styled.append(piece)
            continue
        text, at = _SPACES.sub(" ", clean(piece.text)), 0
        for strong in _STRONG.finditer(text):
            styled += [PaperPiece(text[at : strong.start()]), PaperPiece(strong[2], strong=True)]
            at = strong.end()
        styled.append(PaperPiece(text[at:]))
    return tuple(styled)
