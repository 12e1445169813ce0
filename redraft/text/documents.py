"""Reading a source: its encoding, its title and its sections."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from redraft.domain import Document, Section, Span, content_id
from redraft.errors import DocumentError, UsageError
from redraft.sources import STDIN, is_no_path, read_file, read_stdin
from redraft.text.cleaning import cleaned, one_line
from redraft.text.decoding import decode, without_nul
from redraft.text.readers import SUFFIXES, how_to_read, installed_for, read_installed

_TITLE_WIDTH = 120
_CHECK = "check the path"
_ADVICE = {
    errno.EFBIG: "if it is meant, allow more with --max-source, or redraft.load(path, max_bytes=...)",
    errno.EINVAL: "give a file; or - for stdin, and pipe into that what is no file",
}
_NUMBER = (
    r"(?:the[ \t]+)?(?:\d{1,4}|[ivxlcdm]{1,9}|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|first|second|third|fourth"
    r"|fifth|sixth|seventh|eighth|ninth|tenth|last)(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?)\b"
)
_NUMBERED = r"(?:chapter|book|part|volume|act|scene|section|letter|canto|stave|interlude|appendix)"
_UNNUMBERED = r"(?:prologue|epilogue|introduction|preface|foreword|afterword|appendix|interlude|conclusion)"
# A title may follow on the same line after a mark, or in capitals, or alone on the next line.
_PLAIN_HEADING = re.compile(
    rf"(?:\A|^[ \t]*\n)[ \t]*((?:(?i:{_NUMBERED}[ \t]+{_NUMBER})(?:[ \t]*[.:—–-][^\n]{{0,80}}|[ \t]+[^a-z\n]{{1,80}})?"
    rf"|(?i:{_UNNUMBERED})(?:[ \t]*[:—–-][^\n]{{0,80}}|\.)?)(?:[ \t]*\n[ \t]*[^\W_][^\n]{{0,58}}[^\s.,;:!?\"'”’])?"
    r"|[IVXLCDM]{1,7}\.?|\d{1,3}\.?)[ \t]*(?=\n[ \t]*\n)",
    re.MULTILINE,
)
_OUTER_HEADING = re.compile(r"(?i)(?:book|part|volume|act)\b")

_ATX_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+([^\n]+)$", re.MULTILINE)
# A line under a list item, a quotation or a table row is a rule, and so is one under a paragraph of several lines.
_SETEXT_HEADING = re.compile(
    r"(?:\A|(?<=\n\n)) {0,3}(?![-*+>|#] |\d+[.)] )(\S[^\n]{0,200})\n {0,3}(={2,}|-{2,})[ \t]*$", re.MULTILINE
)
# Front matter, and fenced code, which lasts to the end where it is not closed.
_NO_PROSE = re.compile(
    r"\A---\n.*?\n(?:---|\.\.\.)$|^ {0,3}(```+|~~~+)[^\n]*(?:\n(?:.*?^ {0,3}\1[`~]*[ \t]*$)|.*\Z)",
    re.MULTILINE | re.DOTALL,
)


class Text(NamedTuple):
    """A text that is no document, and what was taken out of it or could not be read, in sentences."""

    text: str
    notes: tuple[str, ...]


def load(source: str | Path, *, max_bytes: int | None = None) -> Document:
    """Read the document at `source`, the path of a file, or `-` for standard input.

    One of more than `max_bytes` is refused, by default one of more than 200 MB.
    """
    source = str(source)
    path = _path(source, "redraft.Document.from_text(text, title=...)")
    if source == STDIN:
        return parse(_bytes(None, source, max_bytes), name="stdin")
    _check_suffix(path, source)
    return load_bytes(_bytes(path, source, max_bytes), path.name)


def load_bytes(data: bytes, name: str) -> Document:
    """The document that a file of this name and with these bytes holds, wherever they come from."""
    path = Path(name)
    _check_suffix(path, name)
    if suffix := installed_for(path):
        return finished(read_installed(suffix, data, name), name)
    return parse(data, name=name, markdown=_may_be_markdown(path))


def read_text(source: str | Path) -> Text:
    """The text at `source`, read as a document is, without the space around it; here it may be empty."""
    source = str(source)
    path = _path(source, "the id that `await shop.add(text)` returns")
    if source != STDIN and installed_for(path):
        document = load(source)
        return Text(document.text.strip(), document.notes)
    if source != STDIN:
        _check_suffix(path, source)
    raw = decode(_bytes(None if source == STDIN else path, source, None), "stdin" if source == STDIN else path.name)
    found = cleaned(raw.text)
    return Text(found.text.strip(), (*raw.notes, *found.notes))


def finished(document: Document, name: str = "") -> Document:
    """The document of a title and a text that were handed over: the text cleaned, and with its sections.

    They are those of Markdown's headings. `name` is that of the file that it was read from, if it was.
    """
    title = one_line(document.title, _TITLE_WIDTH)
    called = name or title or "text"
    read = parse(without_nul(document.text, called).encode("utf-8", "replace"), name=called)
    return replace(read, title=title or read.title, source=name)


def _path(source: str, instead: str) -> Path:
    """A path, and not a text in its place, which is not quoted: it may be long, and it may be private."""
    if is_no_path(source):
        raise UsageError(
            f"a text of {len(source):,} characters was given where a path was expected",
            hint=f"give the path of a file; or, from Python, {instead}",
        )
    return Path(source).expanduser()


def _check_suffix(path: Path, source: str) -> None:
    """Refuse a file of a kind that nobody here can read."""
    if path.suffix.lower() not in SUFFIXES and not installed_for(path):
        raise DocumentError(f"{path.suffix} files cannot be read", place=source, hint=how_to_read())


def _may_be_markdown(path: Path) -> bool:
    return path.suffix.lower() not in {".txt", ".text"}


def _bytes(path: Path | None, source: str, max_bytes: int | None) -> bytes:
    try:
        return read_stdin(max_bytes) if path is None else read_file(path, max_bytes)
    except FileNotFoundError:
        raise DocumentError("no such file", place=source, hint="check the path, or use - for stdin") from None
    except OSError as error:
        raise DocumentError(
            error.strerror or str(error), place=source, hint=_ADVICE.get(error.errno or 0, _CHECK)
        ) from error


def parse(data: bytes, *, name: str, markdown: bool = True) -> Document:
    """Make a document of the bytes of a text file. `name` stands in for a title when the text has none."""
    raw = decode(data, name)
    text, notes = cleaned(raw.text)
    if not text.strip():
        raise DocumentError("the document is empty", place=name, hint="give a file that holds text")
    sections = tuple(_sections(text, markdown))
    title = _title(text, sections, name, markdown)
    return Document(content_id(text), title, text, sections, name, raw.encoding, (*raw.notes, *notes))


class _Heading(NamedTuple):
    at: int
    level: int
    title: str


def _sections(text: str, markdown: bool) -> Iterator[Section]:
    """Each heading opens a section that ends where the next of the same or a higher rank begins."""
    headings = [h for h in (_markdown_headings(text) if markdown else _plain_headings(text)) if h.title]
    ends = [len(text)] * len(headings)
    open_at: list[int] = []
    for index, heading in enumerate(headings):
        while open_at and headings[open_at[-1]].level >= heading.level:
            ends[open_at.pop()] = heading.at
        open_at.append(index)
    for heading, end in zip(headings, ends, strict=True):
        yield Section(heading.title, heading.level, Span(heading.at, end))


def _markdown_headings(text: str) -> Iterator[_Heading]:
    code = [found.span() for found in _NO_PROSE.finditer(text)]
    current = 0
    for heading in sorted([*_atx_headings(text), *_setext_headings(text)]):
        while current < len(code) and code[current][1] <= heading.at:
            current += 1
        if current == len(code) or heading.at < code[current][0]:
            yield heading


def _atx_headings(text: str) -> Iterator[_Heading]:
    for found in _ATX_HEADING.finditer(text):
        title = found.group(2).rstrip(" \t")
        bare = title.rstrip("#")
        if not bare or bare[-1] in " \t":
            title = bare
        yield _Heading(found.start(), len(found.group(1)), one_line(title, _TITLE_WIDTH))


def _setext_headings(text: str) -> Iterator[_Heading]:
    for found in _SETEXT_HEADING.finditer(text):
        level = 1 if found.group(2).startswith("=") else 2
        yield _Heading(found.start(), level, one_line(found.group(1), _TITLE_WIDTH))


def _plain_headings(text: str) -> Iterator[_Heading]:
    for found in _PLAIN_HEADING.finditer(text):
        title = one_line(found.group(1), _TITLE_WIDTH)
        yield _Heading(found.start(1), 1 if _OUTER_HEADING.match(title) else 2, title)


def _title(text: str, sections: tuple[Section, ...], name: str, markdown: bool) -> str:
    """The first top-level heading of Markdown, else a short first line, else the file's name."""
    if markdown and sections and sections[0].level == 1:
        return sections[0].title
    begin = len(text) - len(text.lstrip())
    first = one_line(text[begin : begin + 200].partition("\n")[0])
    is_heading = bool(sections) and sections[0].span.start <= begin
    if not markdown and 0 < len(first) <= 80 and first[-1] not in ".!?,;:" and not is_heading:
        return first
    return one_line(Path(name).stem, _TITLE_WIDTH) or name
