"""A summary as a paper of headings, paragraphs, items and notes; its formats; and user-defined templates.

Models put some Markdown into summaries. Headings, lists and bold words are parsed; everything else is text.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from itertools import count, groupby, pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, get_args
from xml.sax import saxutils
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from redraft.errors import UsageError
from redraft.report.history.judges import basis
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
BUILT_IN_WRITER = "redraft's built-in model (sentences taken from the document)"
"""The name of the built-in model for readers who do not know redraft."""
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


def paper_of(result: Result, cite: Callable[[str], Citations] | None) -> Paper:
    """Return the summary of a run and of its chapters, with citations if `cite` is given.

    `cite` returns the citations of a run by its id.
    """
    words = result.draft.words if result.draft else 0
    part = "" if result.settings.until is None else f" of the first {result.tokens:,} tokens"
    by = f"by {BUILT_IN_WRITER if result.settings.model == EXTRACTIVE else result.settings.model}"
    if result.settings.strategy == GIVEN_STRATEGY and not result.run.parent:
        by = f"given to redraft and revised {by}" if result.run.refinement else "given to redraft"
    about = [f"Summary{part}, {words:,} words, {by}; redraft, run {result.run.id}.", *missing_notes(result)]
    chapters = [(one_line(chapter.title), _LEVEL_OF_CHAPTERS, chapter.result) for chapter in result.chapters]
    parts = [
        PaperPart(of.summary or "", heading, level, cite(of.run.id) if cite and of.draft else None)
        for heading, level, of in (("", 1, result), *chapters)
        if of and (of.draft or of is result)
    ]
    return Paper(
        clean(result.title).strip() or "Summary",
        tuple(parts),
        about=(*about, *(f"Document: {note}." for note in result.outline.notes)),
        language="" if result.settings.language else result.outline.language,
        is_titled=bool(result.chapters),
    )


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
    styled: list[PaperPiece] = []
    for piece in pieces:
        if piece.number:
            styled.append(piece)
            continue
        at, text = 0, _SPACES.sub(" ", clean(piece.text))
        text = text.rstrip() if piece is pieces[-1] else text
        for strong in _STRONG.finditer(text):
            styled += [PaperPiece(text[at : strong.start()]), PaperPiece(strong[2], strong=True)]
            at = strong.end()
        styled.append(PaperPiece(text[at:]))
    return tuple(styled)


# XML cannot contain these, escaped or not.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def templates(*packages: str) -> Environment:
    """Return the templates of some packages, those of the first before others of the same name."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


@cache
def _environment() -> Environment:
    environment = templates("redraft.report.outputs")
    environment.filters.update(
        html=lambda text: Markup(escape(clean(text))),  # noqa: S704 - it is escaped
        xml=lambda text: Markup(saxutils.escape(_UNWRITABLE.sub(" ", clean(text)), {'"': "&quot;"})),  # noqa: S704 - it is escaped
    )
    environment.tests.update(rtl=is_rtl)
    return environment


def _variables(paper: Paper) -> dict[str, Any]:
    """Return what templates have of a paper, with its notes and a sentence on whether a judge or wording gave them."""
    blocks = paper.blocks
    notes = [piece for block in blocks for piece in block.pieces if piece.number]
    by = {note.number: note.places[0].by for note in notes if note.places[0].by}
    about = [*paper.about, *filter(None, [basis(by, "footnote")])]
    return {"paper": paper, "title": one_line(paper.title), "blocks": blocks, "notes": notes, "about": about}


def html(paper: Paper) -> str:
    """Return the page."""
    variables = _variables(paper)
    kinds = groupby(variables["blocks"], lambda block: "" if block.kind != "item" else "ol" if block.number else "ul")
    groups = [(element, list(group)) for element, group in kinds]
    page = _environment().get_template("paper.html")
    text = "\n".join(part.text for part in paper.parts) or paper.title
    return page.render(variables, text=text, groups=groups) + "\n"


_DECLARED = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
# A fixed time makes the file of a paper reproducible.
_WHEN = (1980, 1, 1, 0, 0, 0)
_BULLET = 1
_PARTS = "docx/"
"""The templates of the parts of a file."""


def docx(paper: Paper) -> bytes:
    """Return the content of the file."""
    variables = _variables(paper)
    # One list for all bullets, a new one for each numbered list, 0 for no list.
    lists, latest, is_numbered = list[int](), _BULLET, False
    for block in variables["blocks"]:
        latest += bool(block.number) and not is_numbered
        is_numbered = bool(block.number)
        lists.append(latest if is_numbered else _BULLET if block.kind == "item" else 0)
    variables |= {"body": list(zip(variables["blocks"], lists, strict=True)), "lists": max(lists, default=0)}
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name in _environment().list_templates(filter_func=lambda name: name.startswith(_PARTS)):
            info = ZipInfo(name.removeprefix(_PARTS), _WHEN)
            info.compress_type = ZIP_DEFLATED
            lines = _environment().get_template(name).render(variables).split("\n")
            # Readers would show white space between elements.
            archive.writestr(info, _DECLARED + "".join(map(str.strip, lines)))
    return file.getvalue()


# What starts links, images, notes and HTML in a text that may have been written for other readers. All other
# Markdown is kept.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LINK = re.compile(r"(\\*)\](?=[(\[:])")


def text(paper: Paper) -> str:
    """Return the unchanged texts, each under its heading."""
    title = [one_line(paper.title)] if paper.is_titled else []
    parts = [part_text for part in paper.parts for part_text in (one_line(part.heading), part.text.strip())]
    return "\n\n".join([*title, *filter(None, parts)]) + "\n"


def markdown(paper: Paper) -> str:
    """Return the texts as Markdown in which links, images, notes and HTML are escaped, and so shown literally."""
    parts = [("#", paper.title, "")] if paper.is_titled else []
    parts += [("#" * part.level, part.heading, part.text.strip()) for part in paper.parts]
    headed = [(f"{marks} {one_line(heading)}" if heading else "", body) for marks, heading, body in parts]
    text = "\n\n".join(_TAG.sub(r"\<", words) for part in headed for words in part if words) + "\n"
    # After an odd number of backslashes a bracket is already escaped.
    return _LINK.sub(lambda bracket: bracket[0] if len(bracket[1]) % 2 else f"{bracket[1]}\\]", text)


Format = Literal["text", "markdown", "json", "html", "docx"]
FORMATS: tuple[Format, ...] = get_args(Format)
WITH_NOTES: tuple[Format, ...] = ("html", "docx")
"""The formats with citations of the document."""
_ENDINGS: dict[str, Format] = {".md": "markdown", ".htm": "html", **{f".{form}": form for form in FORMATS}}
WRITERS: dict[Format, Callable[[Paper], str | bytes]] = {
    "text": text,
    "markdown": markdown,
    "html": html,
    "docx": docx,
}
"""All but JSON, which contains more than a paper."""


def format_of(name: str) -> Format:
    """Return the format for a file name's extension; text for an unknown one."""
    return _ENDINGS.get(PurePath(name).suffix.lower(), "text")


_TITLE_LINE = re.compile(r"(#{1,6})[^\S\n]+(\S.*?)(?:[^\S\n]+#+)?[^\S\n]*")
_LIMITED = re.compile(r"(.*?)\s*\(\s*(?:(?:at most|up to|max\.?)\s+)?(\d{1,7})\s+words?\s*\)", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LONGEST_TITLE, _LONGEST_INSTRUCTION, _MAX_SECTIONS, _MIN_WORDS = 200, 2_000, 100, 10
_EXAMPLE, _LIMIT_EXAMPLE = "## Findings (120 words)", "120 words"


@dataclass(frozen=True, slots=True)
class TemplateSection:
    """A heading of a template, and its line. `words` is None for a heading without text of its own."""

    title: str
    level: int
    line: int
    words: int | None = None
    instruction: str = ""

    @property
    def query(self) -> str:
        """The query about the document that the section answers."""
        return f"{self.title}: {self.instruction}" if self.instruction else self.title


@dataclass(frozen=True, slots=True)
class Template:
    """The headings of a template, in order."""

    name: str
    sections: tuple[TemplateSection, ...]

    @property
    def drafted(self) -> tuple[TemplateSection, ...]:
        """The sections that are drafted."""
        return tuple(section for section in self.sections if section.words is not None)


def read_template(text: str, name: str, words: int | None = None) -> Template:
    """Parse a template. `words` is the limit of sections without their own; raise UsageError if the template is
    invalid."""
    # A comment keeps its line breaks for line numbers.
    lines = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), clean(text)).split("\n")
    headings = {at: heading for at, line in enumerate(lines) if (heading := _TITLE_LINE.fullmatch(line))}
    starts = list(headings)
    before = lines[: starts[0]] if starts else lines
    if stray := [number for number, line in enumerate(before, 1) if line.strip()]:
        raise _wrong(stray[0], "there is text before the first heading", name, f"begin with one: {_EXAMPLE}")
    if not starts:
        raise UsageError("the template has no heading", place=name, hint=f"begin with one, such as {_EXAMPLE}")
    if len(starts) > _MAX_SECTIONS:
        problem = f"a template has at most {_MAX_SECTIONS} headings"
        raise _wrong(starts[_MAX_SECTIONS] + 1, problem, name, "make two templates of it")
    sections = []
    for at, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        title, instruction = one_line(headings[at][2]), one_line(" ".join(lines[at + 1 : end]))
        limited = _LIMITED.fullmatch(title)
        title, limit = (limited[1].strip(), int(limited[2])) if limited else (title, None)
        if not title or len(title) > _LONGEST_TITLE:
            problem = f"longer than {_LONGEST_TITLE} characters" if title else "missing"
            raise _wrong(at + 1, f"the title is {problem}", name, f"write a short one, as in {_EXAMPLE}")
        if len(instruction) > _LONGEST_INSTRUCTION:
            problem = f"the instruction under {title!r} is longer than {_LONGEST_INSTRUCTION:,} characters"
            raise _wrong(at + 1, problem, name, "say it in fewer words")
        sections.append(TemplateSection(title, len(headings[at][1]), at + 1, limit, instruction))
    has_below = [section.level < after.level for section, after in pairwise(sections)] + [False]
    # A first heading of level 1 is the title, even if the others have level 1 too, as in word processors.
    has_below[0] = has_below[0] or (sections[0].level == 1 and len(sections) > 1)
    for at, section in enumerate(sections):
        if section.words is not None or section.instruction or not has_below[at]:
            limit = section.words if section.words is not None else words
            if limit is None or limit < _MIN_WORDS:
                problem = f"the section {section.title!r} has no limit"
                problem = problem if limit is None else f"a limit is at least {_MIN_WORDS} words"
                hint = f"write ({_LIMIT_EXAMPLE}) after its title, or give a word limit for all sections without one"
                raise _wrong(section.line, problem, name, hint)
            sections[at] = replace(section, words=limit)
    return Template(name, tuple(sections))


def _wrong(line: int, problem: str, name: str, hint: str) -> UsageError:
    return UsageError(f"line {line}: {problem}", place=name, hint=hint)
