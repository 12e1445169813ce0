"""Zip archives and the XML and HTML in them, all untrusted: limited when unpacked, without references or entities."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from html.entities import html5
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from lxml import etree, html

from redraft.errors import DocumentError
from redraft.readers.builder import ReadCoverage
from redraft.readers.plain import decode
from redraft.readers.recovery import RAW, Token, size, tokens, tree

_MAX_BYTES = 400_000_000
_MAX_PART_BYTES = 200_000_000
_BLOCK = 1_000_000
_ENCRYPTED = 0x1


class Archive:
    """The parts of a zip archive by name; the total unpacked size is limited."""

    def __init__(self, data: bytes, place: str) -> None:
        self._place = place
        self._left = _MAX_BYTES
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self._names = {name: name for name in self._zip.namelist()}
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, EOFError, UnicodeDecodeError) as error:
            raise self._broken() from error
        self._folded = {name.casefold(): name for name in self._names}

    def names(self) -> list[str]:
        return list(self._names)

    def has(self, name: str) -> bool:
        return self._real(name) is not None

    def size(self, name: str) -> int:
        """Return the size of a part in bytes, as the archive declares it."""
        real = self._real(name)
        return min(self._zip.getinfo(real).file_size, _MAX_PART_BYTES) if real is not None else 0

    def part(self, name: str) -> bytes:
        real = self._real(name)
        if real is None:
            raise DocumentError(f"its part {name} is missing", place=self._place, hint="get the file again")
        if self._zip.getinfo(real).flag_bits & _ENCRYPTED:
            raise DocumentError("it is encrypted", place=self._place, hint="save it without a password first")
        made = bytearray()
        try:
            with self._zip.open(real) as file:
                while block := file.read(_BLOCK):
                    made += block
                    self._left -= len(block)
                    if self._left < 0 or len(made) > _MAX_PART_BYTES:
                        raise DocumentError(
                            "unpacked it is larger than 200 MB in one part, or than 400 MB in all",
                            place=self._place,
                            hint="such a file is malicious, or contains no text; convert it to .txt first",
                        )
        except DocumentError:
            raise
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            NotImplementedError,
            ValueError,
            RuntimeError,
        ) as error:
            raise self._broken() from error
        return bytes(made)

    def unread(self, name: str) -> Element:
        """Return the root of an XML part that is not read, so that its words can be counted; empty if it is broken."""
        try:
            return xml(self.part(name), self._place)
        except DocumentError:
            return etree.Element("broken")

    def _real(self, name: str) -> str | None:
        return name if name in self._names else self._folded.get(name.casefold())

    def _broken(self) -> DocumentError:
        return DocumentError("the archive is broken or cut off", place=self._place, hint="get the file again")


def resolve(part: str, href: str) -> tuple[str, str]:
    """Return the part that a reference in another part points to, and the fragment in it."""
    path, _, fragment = href.partition("#")
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(part), unquote(path))) if path else part
    return whole.lstrip("/"), unquote(fragment)


Element: TypeAlias = etree._Element
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31};)")
_OF_XML = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})
_OWN_ENTITIES = re.compile(rb"<!ENTITY", re.IGNORECASE)
_CHARSET = re.compile(
    rb"""<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,100}?encoding)\s*=\s*["']?\s*([\w.:-]{2,40})""", re.I
)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_HEAD = 4096
_END_OF_PAGE = re.compile(r"</html\s*>", re.IGNORECASE)
_BODY = re.compile(r"<body[\s>]", re.IGNORECASE)
_END_OF_BODY = re.compile(r"</body\s*>", re.IGNORECASE)
_MAX_PAGES = 100
"""The most pages in one file that are parsed one by one; with more, the file is read as a single page."""
_ROOT = re.compile(r"<([A-Za-z_][\w:.-]*)")
_XHTML = "http://www.w3.org/1999/xhtml"


class Page(NamedTuple):
    """The content of an HTML file: usually one root, or those of several concatenated pages."""

    roots: tuple[Element, ...]
    encoding: str
    notes: tuple[str, ...]
    held: int
    """The number of characters of text in its source."""


class XmlPart(NamedTuple):
    """The root of an XML file, the number of characters of text in its source, and notes on it."""

    root: Element
    held: int
    notes: tuple[str, ...]


def xml(data: bytes, place: str) -> Element:
    """Return the root of an XML file; raise if it declares entities."""
    if _OWN_ENTITIES.search(data):
        raise DocumentError(
            "its XML declares entities of its own, which are not read", place=place, hint="save it again without them"
        )
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True, remove_comments=True
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError, LookupError):
        root = None
    if root is None:
        raise DocumentError(
            "its XML is broken", place=place, hint="open and save it again with the program that made it"
        )
    return root


def part(data: bytes, place: str, name: str) -> XmlPart:
    """Return an XML file whose text is needed, with what libxml2 drops of a broken one."""
    if _OWN_ENTITIES.search(data):
        xml(data, place)
    text, _, _ = _decoded(data, place)
    found = list(tokens(text, place, xml=True))
    held = _size(found)
    try:
        root = xml(data, place)
    except DocumentError:
        root = None
    if root is None or ReadCoverage(name, held, text_in(root)).is_short:
        root = tree(found, xml=True)
    return XmlPart(root, held, (f"{name} breaks off: its end is missing",) if _is_cut(text) else ())


def page(data: bytes, name: str) -> Page:
    """Return the roots of an HTML file, its encoding, and notes on it."""
    text, encoding, notes = _decoded(data, name)
    text = _DECLARATION.sub("", text)
    is_xml = _XHTML in text[:_HEAD]
    if is_xml and _is_cut(text):
        notes = (*notes, "it breaks off: its end is missing")
    found = list(tokens(text, name, xml=False))
    held = _size(found)
    pieces = _pieces(text)
    parsed = [_parsed(piece) for piece in pieces] if len(pieces) <= _MAX_PAGES else []
    roots = tuple(element for element in parsed if element is not None)
    ends_early = len(_END_OF_BODY.findall(text)) > max(1, len(_BODY.findall(text)))
    if ends_early or ReadCoverage(name, held, sum(map(text_in, roots))).is_short:
        roots = (tree(found, xml=False),)
    if not roots:
        raise DocumentError("there is no text in the page", place=name, hint="give a page that contains text")
    return Page(roots, encoding, notes, held)


def elements(root: Element, *names: str) -> Iterator[Element]:
    """Iterate over an element and all within it that have one of these names."""
    return (element for element in root.iter() if tag(element) in names)


def child(element: Element | None, name: str) -> Element | None:
    """Return the first child of this name; None if there is none."""
    found = () if element is None else element.iterchildren()
    return next((one for one in found if tag(one) == name), None)


def outermost(
    holder: Element, *names: str, skip: frozenset[str] = frozenset(), skipped: Callable[[Element], object] = bool
) -> Iterator[Element]:
    """Iterate over the outermost elements of these names; those to `skip` are not entered, but passed to `skipped`."""
    stack = list(reversed(holder))
    while stack:
        element = stack.pop()
        name = tag(element)
        if name in names:
            yield element
        elif name in skip:
            skipped(element)
        else:
            stack.extend(reversed(element))


def texts_by_name(root: Element) -> dict[str, str]:
    """Return the texts of all elements by name; for equal names the last one."""
    return {tag(element): element.text or "" for element in root.iter()}


def text_of(element: Element | None) -> str:
    """Return all text within an element."""
    return "" if element is None else "".join(map(str, element.itertext()))


def text_in(root: Element) -> int:
    """Return the number of characters of text in an element, without scripts and style sheets."""
    return size(text_of(root)) - sum(
        size(str(element.text or "")) for element in root.iter() if tag(element) in RAW and _is_of_page(element)
    )


def _is_of_page(one: Element) -> bool:
    """Return whether an element belongs to a web page, and not to a word processor's namespace."""
    return str(one.tag).startswith(("script", "style", f"{{{_XHTML}}}", "{http://www.w3.org/2000/svg}"))


def _size(found: list[Token]) -> int:
    return sum(size(token.value) for token in found if token.kind == "text")


def _pieces(text: str) -> list[str]:
    """Return the pages of a file that holds several; each ends with its end tag."""
    ends = [0, *(match.end() for match in _END_OF_PAGE.finditer(text))]
    found = [text[start:end] for start, end in zip(ends, [*ends[1:], len(text)], strict=True)]
    return [one for one in found if one.strip()]


def _is_cut(text: str) -> bool:
    """Return whether an XML file lacks the end tag of its root."""
    first = _ROOT.search(text)
    return first is not None and not re.search(
        rf"</{re.escape(first[1])}\s*>[^<]*(?:<!--[^>]*-->\s*)*\Z", text[-_HEAD:]
    )


def tag(element: Element) -> str:
    """Return the lower-case name of an element without its namespace; empty for comments and the like."""
    name = element.tag
    return _plain(name) if isinstance(name, str) else ""


@lru_cache(maxsize=1000)
def _plain(name: str) -> str:
    return name.rpartition("}")[2].lower()


def attr(element: Element, name: str) -> str:
    """Return an attribute by its name without a namespace; empty if there is none."""
    if (found := element.get(name)) is not None:
        return found
    end = f"}}{name}"
    return next((str(value) for key, value in element.items() if str(key).endswith(end)), "")


def _parsed(text: str) -> Element | None:
    """Return the root of a page, with XHTML parsed as XML, since empty elements have another meaning in HTML."""
    data = text.encode("utf-8", "replace")
    if _XHTML in text[:_HEAD] and not _OWN_ENTITIES.search(data):
        known = _ENTITY.sub(_character, text).encode("utf-8", "replace")
        strict = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, encoding="utf-8"
        )
        try:
            return etree.fromstring(known, strict)
        except (etree.XMLSyntaxError, ValueError):
            pass
    parser = html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        return etree.fromstring(data, parser) if data.strip() else None
    except (etree.XMLSyntaxError, ValueError):
        return None


def _character(found: re.Match[str]) -> str:
    name = found[1]
    return found[0] if name in _OF_XML else html5.get(name, found[0])


def _decoded(data: bytes, name: str) -> tuple[str, str, tuple[str, ...]]:
    """Decode a page in its declared encoding if possible, else in the detected one."""
    match = _CHARSET.search(data[:_HEAD])
    if match and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        encoding = match[1].decode("ascii").lower()
        # Browsers do the same.
        encoding = "cp1252" if encoding in ("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii") else encoding
        try:
            return data.decode(encoding), encoding, ()
        except (UnicodeDecodeError, LookupError, UnicodeError):
            pass
    decoded_text = decode(
        data.replace(b"\x00", b" ") if not data.startswith((b"\xff\xfe", b"\xfe\xff")) else data, name
    )
    return decoded_text.text, decoded_text.encoding, decoded_text.notes
