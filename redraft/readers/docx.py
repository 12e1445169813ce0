"""DOCX: converted to HTML by mammoth, with tracked changes accepted, headings by their styles, and notes in place."""

from __future__ import annotations

import re
from xml.parsers.expat import ExpatError

import mammoth
from lxml import etree

from redraft.errors import DocumentError
from redraft.readers.archive import Archive, zipped
from redraft.readers.builder import ReadCoverage, ReadText, TextBuilder
from redraft.readers.html import HtmlWalker
from redraft.readers.markup import Element, child, coverage, elements, remove, size, tag, text_of, xml
from redraft.text.sanitizer import one_line

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MAIN = "word/document.xml"
_NOTES = {"word/footnotes.xml": "footnote", "word/endnotes.xml": "endnote"}
_LEFT_OUT = {
    "del": "tracked deletions",
    "movefrom": "",
    "commentreference": "comments",
    "rt": "phonetic readings",
    "fallback": "",
}
_OTHER_PARTS = {
    "word/header": "headers",
    "word/footer": "footers",
    "word/comments.": "comments",
    "word/charts/chart": "charts",
    "word/diagrams/data": "diagrams",
    "word/glossary/document.": "building blocks",
}
_WRAPPERS = (
    *("sdt", "sdtContent", "ins", "moveTo", "smartTag", "customXml", "hyperlink"),
    *("ruby", "rubyBase", "fldSimple", "dir", "bdo"),
)
_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='caption'] => figcaption:fresh
p[style-name^='toc '] => div.toc > p:fresh
p[style-name^='TOC '] => div.toc > p:fresh
p[style-name^='table of figures'] => div.toc > p:fresh
"""
_LONGEST_CHAIN = 20
"""The most styles that are based on each other in turn."""
_HINT = "save it again as .docx with the program that made it"


def read(data: bytes, name: str) -> ReadText:
    """Return the content of a DOCX document."""
    archive = Archive(data, name)
    if not archive.has("[Content_Types].xml") or not archive.has(_MAIN):
        raise DocumentError("this is not a DOCX document", place=name, hint=_HINT)
    builder = TextBuilder()
    roots = {part: xml(archive.part(part), name) for part in archive.names if part.endswith((".xml", ".rels"))}
    for part in roots.keys() & {_MAIN, *_NOTES}:
        builder.extents.append(coverage(archive.part(part), roots[part], part, name))
        _name_headings(roots[part], roots.get("word/styles.xml"))
        _prepare(roots[part], builder)
    parts = {part: etree.tostring(root) for part, root in roots.items() if not part.startswith(tuple(_OTHER_PARTS))}
    try:
        converted = mammoth.convert_to_html(
            zipped(parts), style_map=_STYLES, include_embedded_style_map=False, convert_image=lambda _: []
        )
    except (ExpatError, LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DocumentError(f"its parts do not fit together ({error})", place=name, hint=_HINT) from error
    page = etree.fromstring(f"<div>{converted.value}</div>", etree.HTMLParser(huge_tree=True))
    texts = "".join(text_of(text) for text in elements(roots[_MAIN], "t"))
    builder.extents.append(ReadCoverage(_MAIN, size(texts), size(text_of(page))))
    _place_pages_and_notes(page, builder)
    HtmlWalker(builder).walk(page)

    for part, root in roots.items():
        if kind := next((kind for start, kind in _OTHER_PARTS.items() if part.startswith(start)), ""):
            count = max(0, len(root) - builder.left_out[kind]) if kind == "comments" else 1
            builder.leave_out(kind, count, text=" ".join(text_of(text) for text in elements(root, "t")))
        kind = _NOTES.get(part, "")
        cited = {key.get(f"{_W}id") for key in elements(roots[_MAIN], f"{kind}reference")}
        notes = [note for note in elements(root, kind) if note.get(f"{_W}type") in (None, "normal")] if kind else []
        for note in (note for note in notes if note.get(f"{_W}id") not in cited):
            builder.leave_out(f"{kind}s that the text does not cite", text=text_of(note))
    inserted = (".htm", ".html", ".xhtml", ".mht", ".txt", ".rtf", ".docx")
    for part in (part for part in archive.names if part.startswith("word/") and part.endswith(inserted)):
        builder.oddities.append(f"a file inserted in it was not read: {part}, {archive.size(part):,} bytes")
    properties = {tag(element): element.text or "" for element in roots.get("docProps/core.xml", page).iter()}
    title = builder.first_title or one_line(properties.get("title", ""))
    return builder.reading(title, one_line(properties.get("language", "")))


def _name_headings(root: Element, styles: Element | None) -> None:
    """Give headings the styles that mammoth knows, also those whose style is based on that of a heading."""
    ranks: dict[str, int] = {}
    bases: dict[str, str] = {}
    for style in elements(styles, "style"):
        values = {tag(element): element.get(f"{_W}val") or "" for element in style.iter()}
        name, outline = values.get("name", "").strip(), values.get("outlinelvl", "9")
        if not name.lower().startswith("toc "):
            match, key = re.fullmatch(r"(?i)heading\s*([1-9])", name), style.get(f"{_W}styleId") or ""
            ranks[key] = int(match[1]) if match else int(outline) + 1 if outline in set("012345678") else 0
            bases[key] = values.get("basedon", "")
    for properties in list(elements(root, "ppr")):
        style_element, outline_element = child(properties, "pstyle"), child(properties, "outlinelvl")
        base = "" if style_element is None else style_element.get(f"{_W}val") or ""
        for _ in range(_LONGEST_CHAIN):
            base = base if ranks.get(base) else bases.get(base, "")
        rank = ranks.get(base, 0)
        if outline_element is not None and (level := outline_element.get(f"{_W}val") or "") in set("0123456789"):
            rank = (int(level) + 1) % 10
        if rank:
            style_element = etree.SubElement(properties, f"{_W}pStyle") if style_element is None else style_element
            style_element.set(f"{_W}val", f"Heading{min(rank, 6)}")


def _prepare(root: Element, builder: TextBuilder) -> None:
    """Remove what is not part of the text, and what mammoth does not look into."""
    etree.strip_tags(root, *(_W + wrapper for wrapper in _WRAPPERS))
    for box in [box for box in elements(root, "txbxcontent") if not _is_within(box, "fallback")]:
        around = [outer for outer in box.iterancestors() if tag(outer) == "p"]
        for content in reversed(box) if around else ():
            around[0].addnext(content)
    for element in list(root.iter()):
        kind = tag(element)
        # None if it is part of the text; empty if it needs no word.
        reason = _LEFT_OUT.get(kind)
        if kind == "lastrenderedpagebreak":
            element.tag = f"{_W}bookmarkStart"
            element.set(f"{_W}name", "pagebreak")
        elif kind == "r":
            vanish = child(child(element, "rpr"), "vanish")
            is_hidden = vanish is not None and vanish.get(f"{_W}val") not in ("0", "false", "off", "none")
            reason = "hidden parts" if is_hidden else None
        elif kind in ("drawing", "pict"):
            reason = "pictures" if not _is_within(element, "fallback") else None
        elif kind == "del" and _is_within(element, "ppr"):
            # In the properties of a paragraph, it says that the end of the paragraph is deleted.
            reason = None
        if reason:
            texts = elements(element, "t") if reason == "pictures" else [element]
            builder.leave_out(reason, text=" ".join(map(text_of, texts)))
        if reason is not None:
            remove(element)


def _is_within(element: Element, name: str) -> bool:
    return any(tag(outer) == name for outer in element.iterancestors())


def _place_pages_and_notes(page: Element, builder: TextBuilder) -> None:
    """Number the page breaks, and put each note after the paragraph, list or table that refers to it."""
    breaks = [anchor for anchor in elements(page, "a") if anchor.get("id") == "pagebreak"]
    if breaks:
        builder.oddities.append("its page numbers are from the last layout by its word processor")
        breaks.insert(0, etree.Element("a"))
        page[0][0].insert(0, breaks[0])
    for number, anchor in enumerate(breaks, 1):
        anchor.attrib.clear()
        anchor.attrib.update({"class": "pagebreak", "title": str(number)})
    notes = {note.get("id"): note for note in elements(page, "li") if "note-" in (note.get("id") or "")}
    places: dict[Element, Element] = {}
    for number, anchor in enumerate([a for a in elements(page, "a") if "note-ref-" in (a.get("id") or "")], 1):
        note = notes.get((anchor.get("href") or "").removeprefix("#"))
        block = [anchor, *anchor.iterancestors()][-4]
        remove(anchor)
        if note is not None:
            note.tag = "aside"
            note.attrib.update({"class": "footnote"})
            for back in [a for a in elements(note, "a") if "note-ref-" in (a.get("href") or "")]:
                remove(back)
            first = next(elements(note, "p"), note)
            first.text = f"[{number}] {first.text or ''}"
            places.get(block, block).addnext(note)
            places[block] = note
