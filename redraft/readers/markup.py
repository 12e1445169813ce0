"""Reads untrusted XML and HTML: no references are resolved, nothing is fetched, and no entities are expanded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from html.entities import html5
from typing import NamedTuple, TypeAlias

from lxml import etree, html

from redraft.errors import DocumentError
from redraft.readers.encoding import decode
from redraft.readers.matter import Extent
from redraft.readers.recovery import RAW, Token, size, tokens, tree

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
_MOST_PAGES = 100
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
    if root is None or Extent(name, held, text_in(root)).is_short:
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
    parsed = [_parsed(piece) for piece in pieces] if len(pieces) <= _MOST_PAGES else []
    roots = tuple(one for one in parsed if one is not None)
    ends_early = len(_END_OF_BODY.findall(text)) > max(1, len(_BODY.findall(text)))
    if ends_early or Extent(name, held, sum(map(text_in, roots))).is_short:
        roots = (tree(found, xml=False),)
    if not roots:
        raise DocumentError("there is no text in the page", place=name, hint="give a page that holds text")
    return Page(roots, encoding, notes, held)


def elements(root: Element, *names: str) -> Iterator[Element]:
    """Iterate over an element and all within it that have one of these names."""
    return (one for one in root.iter() if tag(one) in names)


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
        one = stack.pop()
        name = tag(one)
        if name in names:
            yield one
        elif name in skip:
            skipped(one)
        else:
            stack.extend(reversed(one))


def texts_by_name(root: Element) -> dict[str, str]:
    """Return the texts of all elements by name; for equal names the last one."""
    return {tag(one): one.text or "" for one in root.iter()}


def text_of(element: Element | None) -> str:
    """Return all text within an element."""
    return "" if element is None else "".join(map(str, element.itertext()))


def text_in(root: Element) -> int:
    """Return the number of characters of text in an element, without scripts and style sheets."""
    return size(text_of(root)) - sum(
        size(str(one.text or "")) for one in root.iter() if tag(one) in RAW and _is_of_page(one)
    )


def _is_of_page(one: Element) -> bool:
    """Return whether an element belongs to a web page, and not to a word processor's namespace."""
    return str(one.tag).startswith(("script", "style", f"{{{_XHTML}}}", "{http://www.w3.org/2000/svg}"))


def _size(found: list[Token]) -> int:
    return sum(size(one.value) for one in found if one.kind == "text")


def _pieces(text: str) -> list[str]:
    """Return the pages of a file that holds several; each ends with its end tag."""
    ends = [0, *(found.end() for found in _END_OF_PAGE.finditer(text))]
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


def local(element: Element, name: str) -> str:
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
    said = _CHARSET.search(data[:_HEAD])
    if said and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        encoding = said[1].decode("ascii").lower()
        # Browsers do the same.
        encoding = "cp1252" if encoding in ("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii") else encoding
        try:
            return data.decode(encoding), encoding, ()
        except (UnicodeDecodeError, LookupError, UnicodeError):
            pass
    found = decode(data.replace(b"\x00", b" ") if not data.startswith((b"\xff\xfe", b"\xfe\xff")) else data, name)
    return found.text, found.encoding, found.notes
