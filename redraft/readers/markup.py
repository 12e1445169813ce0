"""XML, HTML and zip archives, which are untrusted: no references, entities or endless depth, and no endless size.
Pages are read as browsers read them."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from html import unescape
from html.entities import html5
from typing import TypeAlias
from urllib.parse import unquote

from lxml import etree

from redraft.errors import DocumentError
from redraft.readers.builder import ReadCoverage
from redraft.readers.plain import decode

Element: TypeAlias = etree._Element
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31};)")
_OF_XML = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})
_OWN_ENTITIES = re.compile(rb"<!ENTITY", re.IGNORECASE)
_CHARSET = re.compile(
    rb"""<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,100}?encoding)\s*=\s*["']?\s*([\w.:-]{2,40})""", re.I
)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_TAG = re.compile(r"<[^<>]*>")
_PAGE_END = re.compile(r"</(?:html|body)\s*>", re.IGNORECASE)
"""Removed, because libxml2 drops what follows the end of a page; browsers show it."""
_MANY_ATTRIBUTES = re.compile(
    r"""<[a-zA-Z][^\s<>/]*+(?:\s++[^\s<>="'/]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'<>]++))?){501}"""
)
_FORMATTING = re.compile(r"</?(?:a|b|big|em|font|i|s|small|span|strike|strong|tt|u)(?:\s[^<>]*)?>", re.IGNORECASE)
_CONTAINER = re.compile(
    r"</?(?:article|blockquote|center|div|fieldset|form|li|ol|section|ul)(?:\s[^<>]*)?>", re.IGNORECASE
)
"""Old pages have thousands of these elements without an end, each of them within the one before."""
_HEAD = 4096
_XHTML = "http://www.w3.org/1999/xhtml"
_TO_TXT = "such a file is malicious, or broken; convert it to .txt first"


def xml(data: bytes, place: str) -> Element:
    """Return the root of an XML file, as far as it can be parsed; raise if it declares entities."""
    if _OWN_ENTITIES.search(data):
        raise DocumentError(
            "its XML declares entities of its own, which are not read", place=place, hint="save it again without them"
        )
    root = _parsed_xml(data, is_lenient=True)
    if root is None:
        raise DocumentError(
            "its XML is broken", place=place, hint="open and save it again with the program that made it"
        )
    return root


def coverage(data: bytes, root: Element, part: str, place: str) -> ReadCoverage:
    """Return how much of the text in an XML file is in its parsed root: a broken file loses what is after the error."""
    text, _, _ = _decoded(data, place)
    return ReadCoverage(part, size(unescape(_TAG.sub("", text))), size(text_of(root)))


def page(data: bytes, name: str) -> tuple[Element, str, tuple[str, ...]]:
    """Return the root of an HTML file, its encoding, and notes on it.

    XHTML is parsed as XML if it is well-formed, since empty elements have another meaning in HTML.
    """
    text, encoding, notes = _decoded(data, name)
    text = _DECLARATION.sub("", text)
    if _MANY_ATTRIBUTES.search(text):
        raise DocumentError("one of its tags has more than 500 attributes", place=name, hint=_TO_TXT)
    root = None
    if _XHTML in text[:_HEAD] and "<!ENTITY" not in text:
        strict = _ENTITY.sub(lambda match: match[0] if match[1] in _OF_XML else html5.get(match[1], match[0]), text)
        root = _parsed_xml(strict.encode("utf-8", "replace"), "utf-8", is_lenient=False)
    if root is None:
        text = _PAGE_END.sub("", text)
        root, is_cut = _parsed(text)
        if is_cut:
            root, is_cut = _parsed(_CONTAINER.sub("<p>", _FORMATTING.sub("", text)))
            notes = (
                *notes,
                "its elements are nested more than 2,000 deep: lists and boxes in it were read as paragraphs",
            )
        if is_cut:
            raise DocumentError("its elements are nested more than 2,000 deep", place=name, hint=_TO_TXT)
    if root is None:
        raise DocumentError("there is no text in the page", place=name, hint="give a page that contains text")
    return root, encoding, notes


def _parsed_xml(data: bytes, encoding: str | None = None, *, is_lenient: bool) -> Element | None:
    """Return the root of an XML file; None if it is broken, or has no root although that is accepted."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=is_lenient,
        recover=is_lenient,
        remove_comments=True,
        remove_pis=True,
        encoding=encoding,
    )
    with suppress(etree.XMLSyntaxError, ValueError, LookupError):
        return etree.fromstring(data, parser)
    return None


def _parsed(text: str) -> tuple[Element | None, bool]:
    """Return the root of a page, and whether it has elements too deep for the parser, which drops them."""
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True, huge_tree=True)
    root = None
    with suppress(etree.XMLSyntaxError, ValueError):
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    return root, any("depth" in error.message for error in parser.error_log)


def _decoded(data: bytes, name: str) -> tuple[str, str, tuple[str, ...]]:
    """Decode a page in its declared encoding if possible, else in the detected one."""
    has_mark = data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"))
    if not has_mark and (match := _CHARSET.search(data[:_HEAD])):
        encoding = match[1].decode("ascii").lower()
        # Browsers do the same.
        encoding = "cp1252" if encoding in ("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii") else encoding
        with suppress(LookupError, UnicodeError):
            return data.decode(encoding), encoding, ()
    return decode(data if has_mark else data.replace(b"\x00", b" "), name)


def elements(root: Element | None, *names: str) -> Iterator[Element]:
    """Iterate over an element and all within it that have one of these names."""
    return (element for element in (() if root is None else root.iter()) if tag(element) in names)


def child(element: Element | None, name: str) -> Element | None:
    """Return the first child of this name; None if there is none."""
    children = () if element is None else element.iterchildren()
    return next((child for child in children if tag(child) == name), None)


def text_of(element: Element | None) -> str:
    """Return all text within an element."""
    return "" if element is None else "".join(map(str, element.itertext()))


def size(text: str) -> int:
    """Return the number of characters of a text that are not whitespace."""
    return sum(map(len, text.split()))


def remove(element: Element) -> None:
    """Remove an element from its tree, but not the text after it."""
    parent, before = element.getparent(), element.getprevious()
    if parent is None:
        return
    if before is not None:
        before.tail = (before.tail or "") + (element.tail or "")
    else:
        parent.text = (parent.text or "") + (element.tail or "")
    element.tail = None
    parent.remove(element)


def tag(element: Element) -> str:
    """Return the lower-case name of an element without its namespace; empty for comments and the like."""
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""


def attr(element: Element, name: str) -> str:
    """Return an attribute by its name without a namespace; empty if there is none."""
    if (value := element.get(name)) is not None:
        return value
    end = f"}}{name}"
    return next((str(value) for key, value in element.items() if str(key).endswith(end)), "")


_MAX_BYTES = 400_000_000
_MAX_PART_BYTES = 200_000_000
_ENCRYPTED = 0x1
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError, RuntimeError)


class Archive:
    """The parts of a zip archive by name; the total unpacked size is limited."""

    def __init__(self, data: bytes, place: str) -> None:
        self._place = place
        self._left = _MAX_BYTES
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            self.names = self._zip.namelist()
        except _BROKEN as error:
            raise self._error() from error
        self._by_key = {name.casefold(): name for name in self.names} | {name: name for name in self.names}

    def has(self, name: str) -> bool:
        return self._name(name) is not None

    def size(self, name: str) -> int:
        """Return the size of a part in bytes, as the archive declares it."""
        name = self._name(name) or ""
        return min(self._zip.getinfo(name).file_size, _MAX_PART_BYTES) if name else 0

    def part(self, name: str) -> bytes:
        """Return the content of a part."""
        stored_name = self._name(name)
        if stored_name is None:
            raise DocumentError(f"its part {name} is missing", place=self._place, hint="get the file again")
        if self._zip.getinfo(stored_name).flag_bits & _ENCRYPTED:
            raise DocumentError("it is encrypted", place=self._place, hint="save it without a password first")
        limit = min(self._left, _MAX_PART_BYTES)
        try:
            with self._zip.open(stored_name) as file:
                content = file.read(limit + 1)
        except _BROKEN as error:
            raise self._error() from error
        self._left -= len(content)
        if len(content) > limit:
            raise DocumentError(
                "unpacked it is larger than 200 MB in one part, or than 400 MB in all",
                place=self._place,
                hint="such a file is malicious, or contains no text; convert it to .txt first",
            )
        return content

    def _name(self, name: str) -> str | None:
        return self._by_key.get(name) or self._by_key.get(name.casefold())

    def _error(self) -> DocumentError:
        return DocumentError("the archive is broken or cut off", place=self._place, hint="get the file again")


def zipped(parts: Mapping[str, bytes]) -> io.BytesIO:
    """Return an archive of these parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file


def resolve(part: str, href: str) -> tuple[str, str]:
    """Return the part that a reference in another part points to, and the fragment in it."""
    path, _, fragment = href.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(part), unquote(path))) if path else part
    return target.lstrip("/"), unquote(fragment)
