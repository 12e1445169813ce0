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
    for part in (_MAIN, *_NOTES):
        if part in roots:
            builder.extents.append(coverage(archive.part(part), roots[part], part, name))
            _name_headings(roots[part], _ranks(roots.get("word/styles.xml")))
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
    _record_other_parts(archive, roots, builder)
    properties = {tag(element): element.text or "" for element in roots.get("docProps/core.xml", page).iter()}
    title = builder.first_title or one_line(properties.get("title", ""))
    return builder.reading(title, one_line(properties.get("language", "")))


def _ranks(styles: Element | None) -> dict[str, int]:
    """Return the heading levels of the paragraph styles by their keys, also of those based on a heading style."""
    ranks: dict[str, int] = {}
    bases: dict[str, str] = {}
    for style in elements(styles, "style") if styles is not None else ():
        values = {tag(element): element.get(f"{_W}val") or "" for element in style.iter()}
        name, outline = values.get("name", "").strip(), values.get("outlinelvl", "9")
        if not name.lower().startswith("toc "):
            match, key = re.fullmatch(r"(?i)heading\s*([1-9])", name), style.get(f"{_W}styleId") or ""
            ranks[key] = int(match[1]) if match else int(outline) + 1 if outline in set("012345678") else 0
            bases[key] = values.get("basedon", "")
    for key in ranks:
        base = key
        for _ in range(_LONGEST_CHAIN):
            base = base if ranks.get(base) else bases.get(base, "")
        ranks[key] = min(ranks.get(base, 0), 6)
    return ranks


def _name_headings(root: Element, ranks: dict[str, int]) -> None:
    """Give headings the styles that mammoth knows."""
    for properties in list(elements(root, "ppr")):
        style, outline = child(properties, "pstyle"), child(properties, "outlinelvl")
        rank = ranks.get(style.get(f"{_W}val") or "", 0) if style is not None else 0
        if outline is not None and (level := outline.get(f"{_W}val") or "") in set("0123456789"):
            rank = (int(level) + 1) % 10
        if rank:
            style = etree.SubElement(properties, f"{_W}pStyle") if style is None else style
            style.set(f"{_W}val", f"Heading{min(rank, 6)}")


def _prepare(root: Element, builder: TextBuilder) -> None:
    """Remove what is not part of the text, and what mammoth does not look into."""
    etree.strip_tags(root, *(_W + wrapper for wrapper in _WRAPPERS))
    for box in [box for box in elements(root, "txbxcontent") if not _is_within(box, "fallback")]:
        paragraph = next((outer for outer in box.iterancestors() if tag(outer) == "p"), None)
        if paragraph is not None:
            for content in reversed(box):
                paragraph.addnext(content)
    for element in list(root.iter()):
        kind = tag(element)
        if kind == "lastrenderedpagebreak":
            element.tag = f"{_W}bookmarkStart"
            element.set(f"{_W}name", "pagebreak")
        elif (reason := _reason_to_leave_out(element, kind)) is not None:
            if reason:
                texts = elements(element, "t") if reason == "pictures" else [element]
                builder.leave_out(reason, text=" ".join(map(text_of, texts)))
            remove(element)


def _reason_to_leave_out(element: Element, kind: str) -> str | None:
    """Return what an element is, empty if that needs no word; None if it is part of the text."""
    if kind == "r":
        vanish = child(child(element, "rpr"), "vanish")
        is_hidden = vanish is not None and vanish.get(f"{_W}val") not in ("0", "false", "off", "none")
        return "hidden parts" if is_hidden else None
    if kind in ("drawing", "pict"):
        return "pictures" if not _is_within(element, "fallback") else None
    # In the properties of a paragraph, it says that the end of the paragraph is deleted.
    return None if kind == "del" and _is_within(element, "ppr") else _LEFT_OUT.get(kind)


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


def _record_other_parts(archive: Archive, roots: dict[str, Element], builder: TextBuilder) -> None:
    for part, root in roots.items():
        if kind := next((kind for start, kind in _OTHER_PARTS.items() if part.startswith(start)), ""):
            count = max(0, len(root) - builder.left_out[kind]) if kind == "comments" else 1
            builder.leave_out(kind, count, text=" ".join(text_of(text) for text in elements(root, "t")))
        elif kind := _NOTES.get(part, ""):
            cited = {key.get(f"{_W}id") for key in elements(roots[_MAIN], f"{kind}reference")}
            for note in elements(root, kind):
                if note.get(f"{_W}id") not in cited and note.get(f"{_W}type") in (None, "normal"):
                    builder.leave_out(f"{kind}s that the text does not cite", text=text_of(note))
    for part in archive.names:
        if part.startswith("word/") and part.endswith((".htm", ".html", ".xhtml", ".mht", ".txt", ".rtf", ".docx")):
            builder.oddities.append(f"a file inserted in it was not read: {part}, {archive.size(part):,} bytes")
