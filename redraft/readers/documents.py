"""Reads documents of any supported format, and corpora of them, in a separate process where parsers are at risk."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from pydantic import TypeAdapter

from redraft import plugins
from redraft.document import Document, DocumentSection, Mark, Span, content_id
from redraft.errors import DocumentError, RedraftError, UsageError
from redraft.readers.builder import TITLE_WIDTH, ReadText, check
from redraft.readers.formats import BY_SUFFIX, MAX_SECONDS, TOO_SLOW, Format, format_of, too_large
from redraft.readers.parts import Selection, select
from redraft.readers.plain import decode, read_given, read_plain, recognised
from redraft.sources import STDIN, path_of, read_source, size_limit
from redraft.text.languages import own_language, primary, with_declared_language
from redraft.text.sanitizer import CleanText, clean_with_notes, one_line

_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)
_SECONDS, _MOST_SECONDS, _BLOCK = 20, 60, 65_536
_TYPES: dict[str, Format] = {"text/html": "html", "application/xhtml+xml": "html", "application/pdf": "pdf"}
SAVE_HINT = "save the page in your browser (as .html), and give the path of that file"


def is_address(source: str) -> bool:
    """Return whether a source is a web address."""
    return _ADDRESS.fullmatch(source) is not None


class _Redirects(HTTPRedirectHandler):
    """Redirects to other web addresses: at most five, and none from the public net into a private one."""

    max_redirections = 5

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
        if not is_address(newurl) or (_is_public(req.full_url) and not _is_public(newurl)):
            fp.close()
            raise OSError(f"it redirects to {newurl:.100}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _is_public(address: str) -> bool:
    infos = socket.getaddrinfo(urlsplit(address).hostname, None)
    return all(ipaddress.ip_address(str(info[4][0]).partition("%")[0]).is_global for info in infos)


def fetch(address: str) -> tuple[bytes, str, Format | None]:
    """Return the bytes at an address, the name of the file, and its format, None to go by its name; raise
    `DocumentError` if that is impossible, too large, or takes too long."""
    request = Request(address, headers={"User-Agent": "redraft", "Accept": "text/html, */*;q=0.5"})  # noqa: S310 - http(s) only
    began, data, limit = time.monotonic(), bytearray(), size_limit.get()
    try:
        with build_opener(_Redirects).open(request, timeout=_SECONDS) as reply:
            while block := reply.read(_BLOCK):
                data += block
                if len(data) > limit or time.monotonic() - began > _MOST_SECONDS:
                    raise OSError(f"it is larger than {limit:,} bytes, or takes more than {_MOST_SECONDS} seconds")
            kind, final = reply.headers.get_content_type(), urlsplit(reply.url)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(error, HTTPError):
            error.close()
        raise DocumentError(f"it cannot be fetched: {reason}", place=address, hint=SAVE_HINT) from error
    name = unquote(final.path.rstrip("/").rpartition("/")[2]) or final.hostname or "page"
    return bytes(data), name, _TYPES.get(kind) or format_of(bytes(data))


# The child uses our module search path, not the current directory.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1])\n"
    "from redraft.readers.formats import main; main(*sys.argv[2:])"
)
_WAIT = 5 * MAX_SECONDS
"""The wall-clock limit in seconds: on a busy machine a process waits longer than it works."""
_KEPT = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG")
_CRASHED: dict[str, object] = {
    "error": "the file is broken, and crashed the program that reads it",
    "hint": "open it with the program that made it and save it again, or convert it to .txt",
}


def read_in_subprocess(form: Format, data: bytes, name: str) -> ReadText:
    """Return the content of a file of this format; raise `DocumentError` if it cannot be read."""
    path = [os.path.abspath(folder) for folder in sys.path]
    command = [sys.executable, "-I", "-c", _START, json.dumps(path), form, name]
    environment = {key: os.environ[key] for key in _KEPT if key in os.environ}
    code, output, answer = 0, b"", _CRASHED
    try:
        process = subprocess.run(  # noqa: S603 - our own interpreter, and the name goes by as an argument
            command, input=data, capture_output=True, timeout=_WAIT, env=environment, check=False
        )
        code, output = process.returncode, process.stderr
        answer = answer if code else json.loads(process.stdout)
    except subprocess.TimeoutExpired:
        answer = TOO_SLOW
    except (OSError, ValueError) as error:
        raise DocumentError(
            f"the process that reads {form} files cannot be started: {error}",
            place=name,
            hint="convert the file to .txt first",
        ) from error
    if code and -code in (getattr(signal, "SIGXCPU", 0), getattr(signal, "SIGKILL", 0)):
        answer = TOO_SLOW
    elif code and (b"emory" in output or b"bad_alloc" in output):
        answer = too_large(form)
    elif code and b"ModuleNotFoundError" in output:
        missing = output.decode("utf-8", "replace").strip().rpartition("'")[0].rpartition("'")[2]
        answer = {"error": f"the package {missing} is not installed", "hint": f"install it: pip install {missing}"}
    if "error" in answer:
        raise DocumentError(str(answer["error"]), place=name, hint=str(answer["hint"]))
    return TypeAdapter(ReadText).validate_python(answer)


SUFFIXES = frozenset({".txt", ".text", ".md", ".markdown", ".mkd", ""})
"""The suffixes of text files. Other files may be read by an installed package, which precedes redraft's own readers."""
_KIND: plugins.Kind = "readers"
Reader = Callable[[bytes, str], Document]
"""Reads a file: its bytes and its name to a `redraft.Document`."""
_registered: dict[str, Reader] = {}
_SUFFIX = re.compile(r"\.[a-z0-9]+")


def register_reader(suffix: str, reader: Reader) -> None:
    """Read files of this suffix, such as `.log`, by a function from now on, in this process: `reader(data, name)`
    returns a `redraft.Document`. It precedes the readers of redraft and of installed packages, but text stays text."""
    if not isinstance(suffix, str) or not _SUFFIX.fullmatch(suffix) or suffix in SUFFIXES:
        raise UsageError(f"{suffix!r:.40} is not a suffix that a reader can have", hint='name it, such as ".log"')
    if not callable(reader):
        raise UsageError(f"{reader!r:.80} is not a reader", hint="pass a function of the bytes and the name of a file")
    _registered[suffix.removeprefix(".")] = reader


def is_readable(name: str | Path) -> bool:
    """Return whether there is a reader for files with the suffix of this name."""
    return PurePath(name).suffix.lower() in {*SUFFIXES, *BY_SUFFIX} or bool(installed_for(name))


def installed_for(name: str | Path) -> str:
    """Return the name of the registered or installed reader for a file, its suffix without the dot; empty if there is
    none."""
    suffix = PurePath(name).suffix.lower()
    name_of_suffix = suffix.removeprefix(".")
    is_known = name_of_suffix in _registered or name_of_suffix in plugins.names(_KIND)
    return name_of_suffix if suffix not in SUFFIXES and is_known else ""


def unknown_type_hint(name: str = "") -> str:
    """Return the hint for a file of an unknown type."""
    if name.endswith(".gz"):
        return f"unpack it: gunzip {shlex.quote(name)}"
    plain = "convert it to .txt or .md first"
    formats = f"redraft reads .txt, .md, {', '.join(sorted(BY_SUFFIX))}"
    names = dict.fromkeys((*_registered, *plugins.names(_KIND)))
    suffixes = [f".{name}" for name in names if f".{name}" not in SUFFIXES]
    return f"{plain}; {formats}; other readers take {', '.join(suffixes)}" if suffixes else f"{plain}; {formats}"


def read_installed(name: str, data: bytes, file: str) -> Document:
    """Return the document of a registered or installed reader; its failures are reported as its own."""
    reader = _registered.get(name) or plugins.load(_KIND, name)
    package = getattr(reader, "__module__", "") if name in _registered else plugins.package_of(_KIND, name)
    origin = f"the reader for .{name} files, of the {'module' if name in _registered else 'package'} {package},"
    try:
        document = reader(data, file)
    except RedraftError:
        raise
    except Exception as error:
        raise DocumentError(
            f"{origin} failed: {type(error).__name__}: {error}",
            place=file,
            hint=f"check the file; if it is valid, update {package}",
        ) from error
    if not isinstance(document, Document) or not isinstance(document.text, str) or not isinstance(document.title, str):
        raise DocumentError(
            f"{origin} returned no document, but {type(document).__name__}",
            place=file,
            hint="a reader returns redraft.Document.from_text(text, title)",
        )
    return document


def load(
    source: str | Path, *, max_bytes: int | None = None, selection: Selection | None = None, partial: bool = False
) -> Document:
    """Read the document at `source`, the path of a file, or `-` for standard input.

    A file of more than `max_bytes`, by default 200 MB, is rejected. `selection` is the part to be read; without it,
    everything is read except what usually does not belong to the text. The language is that of the selection, else that
    given in the file unless the text is clearly in another one, else the detected one.

    A damaged file of which less than 90% can be read is rejected, unless `partial` is set.
    """
    if not isinstance(source, str | Path):
        raise no_document(source)
    selection = replace(selection or Selection(), partial=True) if partial else selection
    data, name, form = _contents(str(source), max_bytes, "redraft.Document.from_text(text, title=...)")
    return load_bytes(data, name, selection=selection, form=form)


def _contents(source: str, max_bytes: int | None, instead: str) -> tuple[bytes, str, Format | None]:
    """Return the bytes of a file that can be read, and its name; or standard input, with its format."""
    if is_address(source):
        raise DocumentError("a web address is read by commands only", place=source, hint=SAVE_HINT)
    path = path_of(source, instead)
    if not is_readable(source):
        raise DocumentError(f"{path.suffix} files cannot be read", place=source, hint=unknown_type_hint(source))
    if source == STDIN:
        data = read_source(None, source, max_bytes)
        return data, "stdin", format_of(data)
    return read_source(path, source, max_bytes), path.name, None


def no_document(source: object) -> UsageError:
    """Return the error for an object that names no document."""
    return UsageError(
        f"a document cannot be of the type {type(source).__name__}",
        hint="pass a path, a redraft.Document, the id of a stored document, or a list of these",
    )


def load_bytes(data: bytes, name: str, *, selection: Selection | None = None, form: Format | None = None) -> Document:
    """Return the wanted part of the document in these bytes of a file of this name, from any origin.

    Its format is `form`, or else that of its suffix. An installed reader precedes redraft's own.
    """
    selection = selection or Selection()
    suffix, installed = PurePath(name).suffix.lower(), installed_for(name)
    if form := form or (None if installed else BY_SUFFIX.get(suffix)):
        reading = read_in_subprocess(form, data, name)
    elif installed:
        reading = read_given(read_installed(installed, data, name), name)
    elif suffix in SUFFIXES:
        reading = read_plain(data, name, markdown=suffix not in {".txt", ".text"})
    else:
        raise DocumentError(f"{PurePath(name).suffix} files cannot be read", place=name, hint=unknown_type_hint(name))
    if not selection.partial:
        check(reading.extents, name)
    part = select(recognised(reading.as_document(name)), selection)
    return with_declared_language(part, selection.language)


def read_text(source: str | Path) -> CleanText:
    """Return the text at `source`, read like a document and stripped; it may be empty."""
    data, name, _ = _contents(str(source), None, "the id that `await session.add(text)` returns")
    return text_in(data, name)


def text_in(data: bytes, name: str) -> CleanText:
    """Return the text in these bytes of a file of this name, read like a document and stripped; it may be empty."""
    if PurePath(name).suffix.lower() not in SUFFIXES:
        document = load_bytes(data, name)
        return CleanText(document.text.strip(), document.notes)
    raw, _, notes = decode(data, name)
    clean_text = clean_with_notes(raw)
    return CleanText(clean_text.text.strip(), (*notes, *clean_text.notes))


def parse(data: bytes, *, name: str, markdown: bool = True) -> Document:
    """Return the document in the bytes of a text file; `name` is the fallback title."""
    return read_plain(data, name, markdown).as_document(name)


def prepared(document: Document, name: str = "") -> Document:
    """Return the document of a given title and text, with the text sanitized, its sections and its language.

    The sections are those of the Markdown headings. `name` is the file's name, if it was read from one.
    """
    called = name or document.title.strip() or "text"
    read = read_given(document, called).as_document(called)
    return with_declared_language(replace(read, source=name))


_BETWEEN = "\n\n\f\n\n"
"""The separator of documents. Texts as read have no form feed, so one document of the same words has another id."""
_NAMED_IN_TITLE = 3
_BEGINNING = 300


def load_all(sources: Sequence[str | Path], *, selection: Selection | None = None) -> Document:
    """Read the documents at some paths or web addresses as one; chapters and pages cannot be selected from several."""
    check_sources(sources)
    option = next((name for name in ("chapters", "pages") if getattr(selection, name, "")), "")
    if option and len(sources) > 1:
        raise UsageError(
            f"{option} are selected from one document, but {len(sources)} were given",
            hint="select a part of one file, or give files that contain only what is wanted",
        )
    documents: list[Document] = []
    for source in sources:
        if is_address(str(source)):
            data, name, form = fetch(str(source))
            documents.append(load_bytes(data, name, selection=selection, form=form))
        else:
            documents.append(load(source, selection=selection))
    return combine(documents)


def check_sources(sources: Sequence[object]) -> None:
    """Raise if standard input is to be read twice."""
    if sum(source == STDIN for source in sources) > 1:
        raise UsageError("stdin can be read for one document only", hint="give the others as files")


def combine(documents: Sequence[Document]) -> Document:
    """Combine documents into one, in order, each with a mark that names it; a repeated text is left out.

    A document is called after its file, else by its title; equal names are numbered."""
    if not documents:
        raise UsageError("no document was given", hint="give the path of one, or of several")
    plain_names = [
        one_line(PurePath(document.source).name or document.title or "text", TITLE_WIDTH) for document in documents
    ]
    first_of: dict[str, str] = {}
    parts: list[tuple[str, Document]] = []
    repeated: list[str] = []
    for at, (name, document) in enumerate(zip(plain_names, documents, strict=True)):
        if plain_names.count(name) > 1:
            name = f"{name} ({plain_names[: at + 1].count(name)})"
        if any(mark.kind == "document" for mark in document.marks):
            raise UsageError("a list of documents was given as one document", hint="give each one separately")
        if document.id in first_of:
            repeated.append(f"{name} has the same text as {first_of[document.id]}, so it is read once")
        else:
            first_of[document.id] = name
            parts.append((name, document))
    if len(parts) == 1:
        return replace(parts[0][1], notes=(*parts[0][1].notes, *repeated))
    return _joined(parts, repeated)


def _joined(parts: Sequence[tuple[str, Document]], repeated: Sequence[str]) -> Document:
    texts: list[str] = []
    sections: list[DocumentSection] = []
    marks: list[Mark] = []
    start = 0
    for name, document in parts:
        # A title for a text that does not begin with it, so that readers notice the next document.
        title = one_line(document.title)
        head = "" if not title or title in one_line(document.text[:_BEGINNING]) else f"# {title}\n\n"
        begin = start + len(head)
        extent = Span(start, begin + len(document.text))
        # All sections of a document are within one, which is often that of its title.
        whole = DocumentSection(document.title, 1, extent)
        shifted = [
            replace(section, span=Span(section.span.start + begin, section.span.end + begin))
            for section in document.sections
        ]
        if not shifted or replace(shifted[0], span=extent) != whole or shifted[0].span.end < extent.end:
            shifted = [whole, *(replace(section, level=section.level + 1) for section in shifted)]
        sections += shifted
        marks.append(Mark(*extent, "document", name, language=own_language(document)))
        marks += (mark._replace(start=mark.start + begin, end=mark.end + begin) for mark in document.marks)
        texts.append(head + document.text)
        start = extent.end + len(_BETWEEN)
    text, documents = _BETWEEN.join(texts), [document for _, document in parts]
    titles = [document.title for document in documents]
    title = (
        "; ".join(titles) if len(titles) <= _NAMED_IN_TITLE else f"{titles[0]}, and {len(titles) - 1} more documents"
    )
    is_set = any(document.own_language is not None for document in documents)
    notes = [f"{name}: {note}" for name, document in parts for note in document.notes]
    return Document(
        id=content_id(text),
        title=one_line(title, TITLE_WIDTH),
        text=text,
        sections=tuple(sections),
        source=", ".join(name for name, _ in parts),
        encoding=", ".join(dict.fromkeys(document.encoding for document in documents)),
        notes=(*notes, *repeated),
        marks=tuple(sorted(marks)),
        language=_common([document.language for document in documents]),
        own_language=_common([own_language(document) for document in documents]) if is_set else None,
    )


def _common(languages: Sequence[str]) -> str:
    """Return the common language of all documents; empty if they are in several."""
    by_code = {primary(language): language for language in languages}
    return next(iter(by_code.values())) if len(by_code) == 1 else ""
