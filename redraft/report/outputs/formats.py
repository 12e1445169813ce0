"""Output formats by name: text, Markdown, HTML and .docx, and user-defined templates."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from importlib.resources import files
from itertools import groupby, pairwise
from pathlib import PurePath
from typing import Literal, get_args
from xml.sax import saxutils
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from redraft.errors import UsageError
from redraft.report.outputs.paper import Paper, is_rtl, notes_of
from redraft.text.sanitizer import clean, one_line
from redraft.text.sentences import sentences

# XML cannot contain these, escaped or not.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.filters.update(
        html=lambda text: Markup(escape(clean(text))),  # noqa: S704 - it is escaped
        xml=lambda text: Markup(saxutils.escape(_UNWRITABLE.sub(" ", clean(text)), {'"': "&quot;"})),  # noqa: S704 - it is escaped
    )
    environment.tests.update(rtl=is_rtl)
    return environment


def _source(name: str) -> str:
    """Return the text of a template, without white space between XML elements, which readers would show."""
    text = (files("redraft.report.outputs") / "templates" / name).read_text("utf-8")
    return "".join(map(str.strip, text.splitlines())) if name.endswith(".xml") else text


def html(paper: Paper) -> str:
    """Return the page."""
    blocks = paper.blocks
    kinds = groupby(blocks, lambda block: "" if block.kind != "item" else "ol" if block.number else "ul")
    groups = [(element, list(group)) for element, group in kinds]
    page = _environment().get_template("paper.html")
    text = "\n".join(part.text for part in paper.parts) or paper.title
    return page.render(paper=paper, text=text, title=one_line(paper.title), groups=groups, notes=notes_of(blocks))


_DECLARED = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
# A fixed time makes the file of a paper reproducible.
_WHEN = (1980, 1, 1, 0, 0, 0)
_BULLET = 1
_PARTS = {
    "[Content_Types].xml": "types.xml",
    "_rels/.rels": "relations.xml",
    "docProps/core.xml": "properties.xml",
    "word/document.xml": "document.xml",
    "word/_rels/document.xml.rels": "document_relations.xml",
    "word/styles.xml": "styles.xml",
    "word/numbering.xml": "numbering.xml",
    "word/footnotes.xml": "footnotes.xml",
    "word/settings.xml": "settings.xml",
}


def docx(paper: Paper) -> bytes:
    """Return the content of the file."""
    blocks = paper.blocks
    # One list for all bullets, a new one for each numbered list, 0 for no list.
    lists, latest, is_numbered = list[int](), _BULLET, False
    for block in blocks:
        latest += bool(block.number) and not is_numbered
        is_numbered = bool(block.number)
        lists.append(latest if is_numbered else _BULLET if block.kind == "item" else 0)
    values = {
        "paper": paper,
        "title": one_line(paper.title),
        "body": list(zip(blocks, lists, strict=True)),
        "notes": notes_of(blocks),
        "lists": max(lists, default=0),
    }
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, template in _PARTS.items():
            info = ZipInfo(name, _WHEN)
            info.compress_type = ZIP_DEFLATED
            archive.writestr(info, _DECLARED + _environment().get_template(f"docx/{template}").render(**values))
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
    """Return the texts as Markdown without links."""
    parts = [("#", paper.title, "")] if paper.is_titled else []
    parts += [("#" * part.level, part.heading, part.text.strip()) for part in paper.parts]
    headed = [(f"{marks} {one_line(heading)}" if heading else "", body) for marks, heading, body in parts]
    return "\n\n".join(escape_markdown(words) for part in headed for words in part if words) + "\n"


def bullets(paper: Paper) -> str:
    """Return one bullet per sentence, with the headings in between."""
    lines: list[str] = [f"# {escape_markdown(one_line(paper.title))}"] if paper.is_titled else []
    for block in paper.blocks:
        if block.kind == "heading":
            lines += [*([""] if lines else []), f"{'#' * block.level} {escape_markdown(block.text)}", ""]
        else:
            spans = sentences(block.text, language=paper.language or None)
            lines += [f"- {escape_markdown(block.text[span.start : span.end])}" for span in spans]
    return "\n".join(lines) + "\n"


def escape_markdown(words: str) -> str:
    """Escape links, images, notes and HTML in Markdown, so that they are shown literally."""
    # After an odd number of backslashes a bracket is already escaped.
    return _LINK.sub(lambda bracket: bracket[0] if len(bracket[1]) % 2 else f"{bracket[1]}\\]", _TAG.sub(r"\\<", words))


Format = Literal["text", "markdown", "bullets", "json", "html", "docx"]
FORMATS: tuple[Format, ...] = get_args(Format)
WITH_NOTES: tuple[Format, ...] = ("html", "docx")
"""The formats with citations of the document."""
_ENDINGS: dict[str, Format] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
    ".docx": "docx",
}
_WRITERS: dict[Format, Callable[[Paper], str | bytes]] = {
    "text": text,
    "markdown": markdown,
    "bullets": bullets,
    "html": html,
    "docx": docx,
}
"""All but JSON, which contains more than a paper."""


def format_of(name: str) -> Format:
    """Return the format for a file name's extension; text for an unknown one."""
    return _ENDINGS.get(PurePath(name).suffix.lower(), "text")


def written(paper: Paper, form: Format) -> str | bytes:
    """Return a paper in a format other than JSON."""
    return _WRITERS[form](paper)


_HEADING = re.compile(r"(#{1,6})[^\S\n]+(\S.*?)(?:[^\S\n]+#+)?[^\S\n]*")
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
    headings = {at: heading for at, line in enumerate(lines) if (heading := _HEADING.fullmatch(line))}
    starts = list(headings)
    for number, line in enumerate(lines[: starts[0]] if starts else lines, 1):
        if line.strip():
            raise _wrong(number, "there is text before the first heading", name, f"begin with one: {_EXAMPLE}")
    if not starts:
        raise UsageError("the template has no heading", place=name, hint=f"begin with one, such as {_EXAMPLE}")
    if len(starts) > _MAX_SECTIONS:
        problem = f"a template has at most {_MAX_SECTIONS} headings"
        raise _wrong(starts[_MAX_SECTIONS] + 1, problem, name, "make two templates of it")
    sections = [
        _section(at + 1, headings[at], lines[at + 1 : end], name)
        for at, end in zip(starts, [*starts[1:], len(lines)], strict=True)
    ]
    has_below = [section.level < after.level for section, after in pairwise(sections)] + [False]
    # A first heading of level 1 is the title, even if the others have level 1 too, as in word processors.
    has_below[0] = has_below[0] or (sections[0].level == 1 and len(sections) > 1)
    lines_by_query: dict[tuple[str, int], int] = {}
    for at, section in enumerate(sections):
        if section.words is not None or section.instruction or not has_below[at]:
            limit = _limit(section, name, words)
            sections[at] = replace(section, words=limit)
            first = lines_by_query.setdefault((section.query, limit), section.line)
            if first != section.line:
                problem = f"the section {section.title!r} is the same as that of line {first}"
                raise _wrong(section.line, problem, name, "give it another instruction, or leave one out")
    return Template(name, tuple(sections))


def _section(number: int, heading: re.Match[str], below: Sequence[str], name: str) -> TemplateSection:
    title, instruction = one_line(heading[2]), one_line(" ".join(below))
    limited = _LIMITED.fullmatch(title)
    title = limited[1].strip() if limited else title
    if not title or len(title) > _LONGEST_TITLE:
        problem = f"longer than {_LONGEST_TITLE} characters" if title else "missing"
        raise _wrong(number, f"the title is {problem}", name, f"write a short one, as in {_EXAMPLE}")
    if len(instruction) > _LONGEST_INSTRUCTION:
        problem = f"the instruction under {title!r} is longer than {_LONGEST_INSTRUCTION:,} characters"
        raise _wrong(number, problem, name, "say it in fewer words")
    return TemplateSection(title, len(heading[1]), number, int(limited[2]) if limited else None, instruction)


def _limit(section: TemplateSection, name: str, words: int | None) -> int:
    """Return a section's own limit, or else the common one."""
    limit = section.words if section.words is not None else words
    if limit is None:
        what = f"the section {section.title!r} has no limit"
        hint = f"write ({_LIMIT_EXAMPLE}) after its title, or give a word limit for all sections without one"
        raise _wrong(section.line, what, name, hint)
    if limit < _MIN_WORDS:
        hint = f"write ({_LIMIT_EXAMPLE}), for example"
        raise _wrong(section.line, f"a limit is at least {_MIN_WORDS} words", name, hint)
    return limit


def _wrong(line: int, problem: str, name: str, hint: str) -> UsageError:
    return UsageError(f"line {line}: {problem}", place=name, hint=hint)
