"""DOCX: converted to HTML by mammoth, with tracked changes accepted, headings by their styles, and notes in place."""

from __future__ import annotations

import re
from typing import Any
from xml.parsers.expat import ExpatError

import mammoth
from lxml import etree

from redraft.errors import DocumentError
from redraft.readers.archive import Archive, zipped
from redraft.readers.builder import ReadCoverage, ReadText, TextBuilder
from redraft.readers.html import HtmlWalker
from redraft.readers.markup import Element, child, coverage, elements, remove, size, tag, text_of, xml
from redraft.text.sanitizer import one_line

_SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_W = f"{{{_SPACE}}}"
_MAIN = "word/document.xml"
_LEFT_OUT = {
    "//w:del[not(parent::w:rPr)]": "tracked deletions",
    "//w:r[w:rPr/w:vanish[not(contains('|0|false|off|none|', concat('|', @w:val, '|')))]]": "hidden parts",
    "//w:rt": "phonetic readings",
    "//w:drawing|//w:pict": "pictures",
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
_HINT = "save it again as .docx with the program that made it"


def read(data: bytes, name: str) -> ReadText:
    """Return the content of a DOCX document."""
    archive, builder = Archive(data, name), TextBuilder()
    if not archive.has(_MAIN):
        raise DocumentError("this is not a DOCX document", place=name, hint=_HINT)
    roots = {part: xml(archive.part(part), name) for part in archive.names if part.endswith((".xml", ".rels"))}
    for part in roots.keys() & {_MAIN, "word/footnotes.xml", "word/endnotes.xml"}:
        builder.extents.append(coverage(archive.part(part), roots[part], part, name))
        _prepare(roots[part], roots.get("word/styles.xml"), builder)
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
    _place_notes(page)
    HtmlWalker(builder).walk(page)

    for part, root in roots.items():
        if kind := next((kind for start, kind in _OTHER_PARTS.items() if part.startswith(start)), ""):
            count = len(root) if kind == "comments" else 1
            builder.leave_out(kind, count, text=" ".join(text_of(text) for text in elements(root, "t")))
    inserted = (".htm", ".html", ".xhtml", ".mht", ".txt", ".rtf", ".docx")
    for part in (part for part in archive.names if part.startswith("word/") and part.endswith(inserted)):
        builder.oddities.append(f"a file inserted in it was not read: {part}, {archive.size(part):,} bytes")
    properties = {tag(element): element.text or "" for element in roots.get("docProps/core.xml", page).iter()}
    title = builder.first_title or one_line(properties.get("title", ""))
    return builder.reading(title, one_line(properties.get("language", "")))


def _prepare(root: Element, styles: Element | None, builder: TextBuilder) -> None:
    """Remove what is not part of the text, and give mammoth what it looks for: boxes after their paragraph, and heading
    styles that it knows, also where a style is based on that of a heading."""
    etree.strip_tags(root, *(_W + wrapper for wrapper in _WRAPPERS))
    etree.strip_elements(root, "{*}Fallback", f"{_W}moveFrom", with_tail=False)
    for box in list(root.iter(f"{_W}txbxContent")):
        paragraph = next(box.iterancestors(f"{_W}p"), None)
        if paragraph is not None:
            for content in reversed(box):
                paragraph.addnext(content)
    for path, reason in _LEFT_OUT.items():
        matches: Any = root.xpath(path, namespaces={"w": _SPACE})
        for element in matches:
            builder.leave_out(reason, text=" ".join(map(text_of, elements(element, "t", "deltext"))))
            remove(element)
    ranks: dict[str, int] = {}
    for style in elements(styles, "style"):
        values = {tag(element): element.get(f"{_W}val") or "" for element in style.iter()}
        match, outline = (
            re.fullmatch(r"(?i)\s*heading\s*([1-9])\s*", values.get("name", "")),
            values.get("outlinelvl", ""),
        )
        if not values.get("name", "").strip().lower().startswith("toc "):
            rank = int(outline) + 1 if outline in set("012345678") else ranks.get(values.get("basedon", ""), 0)
            ranks[style.get(f"{_W}styleId") or ""] = int(match[1]) if match else rank
    for properties in elements(root, "ppr"):
        style_element = child(properties, "pstyle")
        if style_element is not None and (heading_rank := ranks.get(style_element.get(f"{_W}val") or "")):
            style_element.set(f"{_W}val", f"Heading{min(heading_rank, 6)}")


def _place_notes(page: Element) -> None:
    """Put each note after the paragraph, list or table that refers to it."""
    notes = {note.get("id"): note for note in elements(page, "li") if "note-" in (note.get("id") or "")}
    last_notes: dict[Element, Element] = {}
    for number, anchor in enumerate([a for a in elements(page, "a") if "note-ref-" in (a.get("id") or "")], 1):
        note, block = notes.get((anchor.get("href") or "").removeprefix("#")), [anchor, *anchor.iterancestors()][-4]
        remove(anchor)
        if note is not None:
            note.tag = "aside"
            note.attrib.update({"class": "footnote"})
            for back in [a for a in elements(note, "a") if "note-ref-" in (a.get("href") or "")]:
                remove(back)
            first = next(elements(note, "p"), note)
            first.text = f"[{number}] {first.text or ''}"
            last_notes.get(block, block).addnext(note)
            last_notes[block] = note
