"""Reading XML and HTML that strangers have written: nothing in it is looked up, fetched, or blown up."""

from __future__ import annotations

import re
from functools import lru_cache
from html.entities import html5
from typing import TypeAlias

from lxml import etree, html

from redraft.errors import DocumentError
from redraft.readers.decoding import decode

Element: TypeAlias = etree._Element
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31};)")
_OF_XML = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})
_OWN_ENTITIES = re.compile(rb"<!ENTITY", re.IGNORECASE)
_CHARSET = re.compile(
    rb"""<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,100}?encoding)\s*=\s*["']?\s*([\w.:-]{2,40})""", re.I
)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_HEAD = 4096


def xml(data: bytes, place: str) -> Element:
    """The root of an XML file. One that has entities of its own is refused."""
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


def page(data: bytes, name: str) -> tuple[Element, str, tuple[str, ...]]:
    """The root of an HTML page, the encoding that it was in, and what there is to say of that."""
    text, encoding, notes = _decoded(data, name)
    root = _parsed(text)
    if root is None:
        raise DocumentError("there is no text in the page", place=name, hint="give a page that holds text")
    return root, encoding, notes


def tag(element: Element) -> str:
    """The name of an element without its namespace, in small letters; empty for what is none."""
    name = element.tag
    return _plain(name) if isinstance(name, str) else ""


@lru_cache(maxsize=1000)
def _plain(name: str) -> str:
    return name.rpartition("}")[2].lower()


def local(element: Element, name: str) -> str:
    """An attribute by its name without a namespace; empty where there is none."""
    if (found := element.get(name)) is not None:
        return found
    end = f"}}{name}"
    return next((str(value) for key, value in element.items() if str(key).endswith(end)), "")


def _parsed(text: str) -> Element | None:
    """XHTML is read as XML, since empty elements mean something else in HTML."""
    data = _DECLARATION.sub("", text).encode("utf-8", "replace")
    if "http://www.w3.org/1999/xhtml" in text[:_HEAD] and not _OWN_ENTITIES.search(data):
        known = _ENTITY.sub(_character, _DECLARATION.sub("", text)).encode("utf-8", "replace")
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
    """As the page says that it is encoded, if it can be; else as its bytes look."""
    said = _CHARSET.search(data[:_HEAD])
    if said and not data.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        encoding = said[1].decode("ascii").lower()
        # What browsers take it for.
        encoding = "cp1252" if encoding in ("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii") else encoding
        try:
            return data.decode(encoding), encoding, ()
        except (UnicodeDecodeError, LookupError, UnicodeError):
            pass
    found = decode(data.replace(b"\x00", b" ") if not data.startswith((b"\xff\xfe", b"\xfe\xff")) else data, name)
    return found.text, found.encoding, found.notes
