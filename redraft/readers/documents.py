"""Reads documents of any supported format, and corpora of them, in a separate process where parsers are at risk."""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import NamedTuple

from pydantic import TypeAdapter

from redraft.document import Document, DocumentSection, Mark, Span, content_id
from redraft.errors import DocumentError, UsageError
from redraft.readers.builder import TITLE_WIDTH, ReadText
from redraft.readers.formats import (
    BY_SUFFIX,
    MOST_SECONDS,
    SUFFIXES,
    TOO_SLOW,
    Format,
    format_of,
    how_to_read,
    installed_for,
    read_installed,
    too_large,
)
from redraft.readers.matter import check, recognised
from redraft.readers.parts import Choice, chosen
from redraft.readers.plain import decode, headings, separated, title_of, without_nul
from redraft.sources import STDIN, is_no_path, read_file, read_stdin
from redraft.text.languages import own_language, primary, settled, with_language
from redraft.text.sanitizer import clean_with_notes, one_line

# The child uses our module search path, not the current directory.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1])\n"
    "from redraft.readers.child import main; main(*sys.argv[2:])"
)
_WAIT = 5 * MOST_SECONDS
"""The wall-clock limit in seconds: on a busy machine a process waits longer than it works."""
_KEPT = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG")
_CRASHED: dict[str, object] = {
    "error": "the file is broken, and crashed the program that reads it",
    "hint": "open it with the program that made it and save it again, or convert it to .txt",
}


def read_apart(form: Format, data: bytes, name: str) -> ReadText:
    """Return the content of a file of this format; raise `DocumentError` if it cannot be read."""
    path = [os.path.abspath(one) for one in sys.path]
    command = [sys.executable, "-I", "-c", _START, json.dumps(path), form, name]
    environment = {key: os.environ[key] for key in _KEPT if key in os.environ}
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter, and the name goes by as an argument
            command, input=data, capture_output=True, timeout=_WAIT, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise _refusal(TOO_SLOW, name) from None
    except (OSError, ValueError) as error:
        raise DocumentError(
            f"the process that reads {form} files cannot be started: {error}",
            place=name,
            hint="convert the file to .txt first",
        ) from error
    if done.returncode:
        raise _refusal(_ending(form, done.returncode, done.stderr), name)
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise _refusal(answer, name)
    return TypeAdapter(ReadText).validate_python(answer)


def _ending(form: Format, code: int, said: bytes) -> dict[str, object]:
    """Return the error of a process that ended without an answer."""
    if -code in (getattr(signal, "SIGXCPU", 0), getattr(signal, "SIGKILL", 0)) and code:
        return TOO_SLOW
    if b"MemoryError" in said or b"bad_alloc" in said or b"emory" in said:
        return too_large(form)
    if b"ModuleNotFoundError" in said:
        missing = said.decode("utf-8", "replace").strip().rpartition("'")[0].rpartition("'")[2]
        return {"error": f"the package {missing} is not installed", "hint": f"install it: pip install {missing}"}
    return _CRASHED


def _refusal(answer: dict[str, object], name: str) -> DocumentError:
    return DocumentError(str(answer["error"]), place=name, hint=str(answer["hint"]))


_CHECK = "check the path"
_ADVICE = {
    errno.EFBIG: "if that is intended, allow more with --max-source",
    errno.EINVAL: "give a file, or pipe the text into - (stdin)",
}


class CleanText(NamedTuple):
    """A text that is not a document, and sentences about what was removed or could not be read."""

    text: str
    notes: tuple[str, ...]


def load(
    source: str | Path, *, max_bytes: int | None = None, wanted: Choice | None = None, partial: bool = False
) -> Document:
    """Read the document at `source`, the path of a file, or `-` for standard input.

    A file of more than `max_bytes`, by default 200 MB, is rejected. `wanted` selects the part to be read; without it,
    everything is read except what usually does not belong to the text. The language is that of `wanted`, else that
    given in the file unless the text is clearly in another one, else the detected one.

    A damaged file of which less than 90% can be read is rejected, unless `partial` is set.
    """
    source = str(source)
    wanted = wanted or Choice()
    wanted = replace(wanted, partial=True) if partial else wanted
    path = _path(source, "redraft.Document.from_text(text, title=...)")
    if source == STDIN:
        data = _bytes(None, source, max_bytes)
        form = format_of(data)
        if form:
            return _chosen(_read(form, data, "stdin", wanted).document("stdin", "stdin"), wanted)
        return _chosen(parse(data, name="stdin"), wanted)
    _check_suffix(path, source)
    return load_bytes(_bytes(path, source, max_bytes), path.name, wanted=wanted)


def load_bytes(data: bytes, name: str, *, wanted: Choice | None = None) -> Document:
    """Return the document in these bytes of a file of this name, from any origin."""
    path = Path(name)
    _check_suffix(path, name)
    wanted = wanted or Choice()
    return _chosen(_whole(data, path, name, wanted), wanted)


def _chosen(found: Document, wanted: Choice) -> Document:
    """Return the wanted part of a document, with its language."""
    part = chosen(recognised(found), wanted)
    return with_language(replace(part, language=settled(part.language, part.text)), wanted.language or None)


def _read(form: Format, data: bytes, name: str, wanted: Choice) -> ReadText:
    """Return the content of a file; raise if too little of it can be read."""
    found = read_apart(form, data, name)
    if not wanted.partial:
        check(found.extents, name)
    return found


def _whole(data: bytes, path: Path, name: str, wanted: Choice) -> Document:
    if suffix := installed_for(path):
        return finished(read_installed(suffix, data, name), name)
    if form := BY_SUFFIX.get(path.suffix.lower()):
        found = _read(form, data, name, wanted)
        if not found.text.strip():
            raise DocumentError("the document is empty", place=name, hint="give a file that contains text")
        return found.document(name, one_line(path.stem, TITLE_WIDTH) or name)
    return parse(data, name=name, markdown=path.suffix.lower() not in {".txt", ".text"})


def read_text(source: str | Path) -> CleanText:
    """Return the text at `source`, read like a document and stripped; it may be empty."""
    source = str(source)
    if source == STDIN:
        return text_in(_bytes(None, source, None), "stdin")
    path = _path(source, "the id that `await session.add(text)` returns")
    _check_suffix(path, source)
    return text_in(_bytes(path, source, None), path.name)


def text_in(data: bytes, name: str) -> CleanText:
    """Return the text in these bytes of a file of this name, read like a document and stripped; it may be empty."""
    path = Path(name)
    _check_suffix(path, name)
    if installed_for(path) or path.suffix.lower() in BY_SUFFIX:
        document = load_bytes(data, name)
        return CleanText(document.text.strip(), document.notes)
    raw = decode(data, name)
    found = clean_with_notes(raw.text)
    return CleanText(found.text.strip(), (*raw.notes, *found.notes))


def finished(document: Document, name: str = "") -> Document:
    """Return the document of a given title and text, with the text sanitized and its sections.

    The sections are those of the Markdown headings. `name` is the file's name, if it was read from one.
    """
    title = one_line(document.title, TITLE_WIDTH)
    called = name or title or "text"
    read = parse(without_nul(document.text, called).encode("utf-8", "replace"), name=called)
    if (document.sections or document.marks) and read.text == document.text:
        # Its reader knows the sections and marks better, as long as sanitizing changed nothing.
        read = replace(read, sections=document.sections, marks=document.marks)
    return replace(
        read,
        title=title or read.title,
        source=name,
        language=settled(document.language, read.text),
        notes=(*document.notes, *read.notes),
    )


def is_readable(path: Path) -> bool:
    """Return whether there is a reader for files with this suffix."""
    return path.suffix.lower() in {*SUFFIXES, *BY_SUFFIX} or bool(installed_for(path))


def _path(source: str, instead: str) -> Path:
    """Return a path; raise for a text in its place, without quoting it, as it may be long or private."""
    if is_no_path(source):
        raise UsageError(
            f"a text of {len(source):,} characters was given where a path was expected",
            hint=f"give the path of a file; or, from Python, {instead}",
        )
    return Path(source).expanduser()


def _check_suffix(path: Path, source: str) -> None:
    """Raise for a file type without a reader."""
    if not is_readable(path):
        raise DocumentError(f"{path.suffix} files cannot be read", place=source, hint=how_to_read())


def _bytes(path: Path | None, source: str, max_bytes: int | None) -> bytes:
    try:
        return read_stdin(max_bytes) if path is None else read_file(path, max_bytes)
    except FileNotFoundError:
        raise DocumentError("no such file", place=source, hint="check the path, or use - for stdin") from None
    except IsADirectoryError:
        hint = f"to summarize each file in it: redraft batch {shlex.quote(source)}"
        raise DocumentError("it is a directory", place=source, hint=hint) from None
    except OSError as error:
        raise DocumentError(
            error.strerror or str(error), place=source, hint=_ADVICE.get(error.errno or 0, _CHECK)
        ) from error


def parse(data: bytes, *, name: str, markdown: bool = True) -> Document:
    """Return the document in the bytes of a text file; `name` is the fallback title."""
    raw = decode(data, name)
    text, notes = clean_with_notes(raw.text)
    if not text.strip():
        raise DocumentError("the document is empty", place=name, hint="give a file that contains text")
    if not markdown:
        text = separated(text)
    found = ReadText(text, headings=tuple(headings(text, markdown)), notes=(*raw.notes, *notes))
    return found.document(name, title_of(text, found.headings, name, markdown), raw.encoding)


_BETWEEN = "\n\n\f\n\n"
"""The separator of documents. Texts as read have no form feed, so one document of the same words has another id."""
_NAMED_IN_TITLE = 3
_BEGINNING = 300


def load_all(sources: Sequence[str | Path], *, wanted: Choice | None = None) -> Document:
    """Read the documents at some paths as one; chapters and pages cannot be selected from several."""
    check_sources(sources)
    if len(sources) > 1 and wanted and (option := "chapters" if wanted.chapters else "pages" if wanted.pages else ""):
        raise UsageError(
            f"--{option} applies to one document, but {len(sources)} were given",
            hint="select a part of one file, or give files that contain only what is wanted",
        )
    return together([load(one, wanted=wanted) for one in sources])


def check_sources(sources: Sequence[object]) -> None:
    """Raise if standard input is to be read twice."""
    if sum(one == STDIN for one in sources) > 1:
        raise UsageError("stdin can be read for one document only", hint="give the others as files")


def together(documents: Sequence[Document]) -> Document:
    """Combine documents into one, in order, each with a mark that names it; a repeated text is left out."""
    if not documents:
        raise UsageError("no document was given", hint="give the path of one, or of several")
    first_of: dict[str, str] = {}
    kept: list[tuple[str, Document]] = []
    again: list[str] = []
    for name, one in zip(_names(documents), documents, strict=True):
        if any(mark.kind == "document" for mark in one.marks):
            raise UsageError("a list of documents was given as one document", hint="give each one separately")
        if one.id in first_of:
            again.append(f"{name} has the same text as {first_of[one.id]}, so it is read once")
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
    """Return the common language of all documents; empty if they are in several."""
    found = {primary(one): one for one in languages}
    return next(iter(found.values())) if len(found) == 1 else ""


def _names(documents: Sequence[Document]) -> Iterator[str]:
    """Yield the name of each document: its file's name, else its title; equal names are numbered."""
    called = [one_line(PurePath(one.source).name or one.title or "text", TITLE_WIDTH) for one in documents]
    often, told = Counter(called), Counter[str]()
    for name in called:
        told[name] += 1
        yield name if often[name] == 1 else f"{name} ({told[name]})"


def _heading(document: Document) -> str:
    """Return a title for a text that does not begin with it, so that readers notice the next document."""
    title = one_line(document.title)
    return "" if not title or title in one_line(document.text[:_BEGINNING]) else f"# {title}\n\n"


def _sections(document: Document, whole: Span, at: int) -> Iterator[DocumentSection]:
    """Yield its sections at their new offsets, within one section for the document."""
    own = [replace(one, span=Span(one.span.start + at, one.span.end + at)) for one in document.sections]
    if not own or own[0].title != document.title or own[0].level > 1 or own[0].span.end < whole.end:
        yield DocumentSection(document.title, 1, whole)
        own = [replace(one, level=one.level + 1) for one in own]
    yield from own


def _title(titles: Sequence[str]) -> str:
    if len(titles) <= _NAMED_IN_TITLE:
        return f"{'; '.join(titles[:-1])}; {titles[-1]}"
    return f"{titles[0]}, and {len(titles) - 1} more documents"
