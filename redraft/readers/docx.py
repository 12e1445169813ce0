"""DOCX: its elements are renamed to those of HTML, with tracked changes accepted, and headings by their styles."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from lxml import etree

from redraft.errors import DocumentError
from redraft.readers.archive import Archive
from redraft.readers.builder import ReadText, TextBuilder
from redraft.readers.markup import Element, attr, child, coverage, elements, tag, text_of, xml
from redraft.readers.office import leave_out, put_behind, put_note_behind, read_tree

_MAIN, _NOTES = "word/document.xml", {"word/footnotes.xml": "footnote", "word/endnotes.xml": "endnote"}
_LEFT_OUT = {
    "del": "tracked deletions",
    "drawing": "pictures",
    "pict": "pictures",
    "commentreference": "comments",
    "rt": "phonetic readings",
    "movefrom": "",
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
_NAMES = {"tbl": "table", "tr": "tr", "tc": "td", "cr": "br", "footnote": "aside", "endnote": "aside"}
_SIGNS = {"tab": " ", "nobreakhyphen": "-"}
_WRAPPER = "wrapper"


class _Style(NamedTuple):
    """What a style, or a paragraph, says of its paragraphs: its name, its level as a heading (0 for text), and the list
    and the level in it."""

    name: str = ""
    rank: int = 0
    numbering: tuple[str, str] = ("", "0")


def read(data: bytes, name: str) -> ReadText:
    """Return the content of a DOCX document."""
    archive, builder = Archive(data, name), TextBuilder()
    if not archive.has("[Content_Types].xml") or not archive.has(_MAIN):
        hint = "save it again as .docx with the program that made it"
        raise DocumentError("this is not a DOCX document", place=name, hint=hint)
    roots = {part: xml(archive.part(part), name) for part in archive.names if part.endswith(".xml")}
    notes = {
        (kind, attr(note, "id")): note
        for part, kind in _NOTES.items()
        for note in (elements(roots[part], kind) if part in roots else ())
        if attr(note, "type") in ("", "normal")
    }
    converter = _Converter(roots.get("word/styles.xml"), roots.get("word/numbering.xml"), builder)
    for part in (part for part in (*_NOTES, _MAIN) if part in roots):
        builder.extents.append(coverage(archive.part(part), roots[part], part, name))
        converter.convert(roots[part])
    for number, (kind, key, reference) in enumerate(converter.references, 1):
        if (note := notes.pop((kind, key), None)) is not None:
            reference.append(note)
            put_note_behind(note, str(number))
    for (kind, _), note in notes.items():
        builder.leave_out(f"{kind}s that the text does not cite", text=text_of(note))
    for part, root in roots.items():
        if kind := next((kind for start, kind in _OTHER_PARTS.items() if part.startswith(start)), ""):
            count = max(0, len(root) - builder.left_out[kind]) if kind == "comments" else 1
            builder.leave_out(kind, count, text=" ".join(text_of(text) for text in elements(root, "t")))
    for part in archive.names:
        if part.startswith("word/") and part.endswith((".htm", ".html", ".xhtml", ".mht", ".txt", ".rtf", ".docx")):
            builder.oddities.append(f"a file inserted in it was not read: {part}, {archive.size(part):,} bytes")
    return read_tree(roots[_MAIN], builder, roots.get("docProps/core.xml"))


def _reason_to_leave_out(element: Element) -> str | None:
    """Return what an element is, empty if that needs no word; None if it is part of the text."""
    kind, parent = tag(element), element.getparent()
    if kind == "r":
        vanish = child(child(element, "rpr"), "vanish")
        is_hidden = vanish is not None and attr(vanish, "val") not in ("0", "false", "off", "none")
        return "hidden parts" if is_hidden else None
    if kind == "tr":
        return _LEFT_OUT["del"] if child(child(element, "trpr"), "del") is not None else None
    # In the properties of a paragraph, it says that the end of the paragraph is deleted.
    is_property = kind == "del" and parent is not None and tag(parent) in ("rpr", "trpr")
    return None if is_property else _LEFT_OUT.get(kind)


class _Converter:
    """Gives the elements of the parts of one document their names in HTML."""

    def __init__(self, styles: Element | None, numbering: Element | None, builder: TextBuilder) -> None:
        self._builder = builder
        self._styles = {attr(style, "styleId"): style for style in _listed(styles, "style")}
        self._read_styles: dict[str, _Style] = {}
        formats = {
            (attr(abstract, "abstractNumId"), attr(level, "ilvl")): _value(child(level, "numfmt"))
            for abstract in _listed(numbering, "abstractnum")
            for level in elements(abstract, "lvl")
        }
        self._formats = {
            (attr(number, "numId"), level): form
            for number in _listed(numbering, "num")
            for (abstract, level), form in formats.items()
            if abstract == _value(child(number, "abstractnumid"))
        }
        self._numbers: Counter[tuple[str, str]] = Counter()
        self.references: list[tuple[str, str, Element]] = []
        """The references to notes in the part converted last: kind and key of the note, and where it is cited."""

    def convert(self, root: Element) -> None:
        """Rename the elements of a part, and remove what is not part of the text."""
        for element in root.iter():
            element.tail = None
            if tag(element) not in ("t", "deltext"):
                element.text = None
        for box in list(elements(root, "txbxcontent")):
            if not any(tag(outer) == "fallback" for outer in box.iterancestors()):
                put_behind(box)
        leave_out(root, self._builder, _reason_to_leave_out)
        self.references.clear()
        page = 1
        for element in list(root.iter()):
            kind = tag(element)
            if kind == "lastrenderedpagebreak":
                page += 1
                _mark_page(element, page)
            elif kind == "p":
                self._name_paragraph(element)
            elif kind in ("footnotereference", "endnotereference"):
                self.references.append((kind.removesuffix("reference"), attr(element, "id"), element))
                element.tag = "span"
            elif kind not in ("div", "aside"):
                is_break = kind == "br" and attr(element, "type") not in ("page", "column")
                element.tag = "br" if is_break else _NAMES.get(kind, _WRAPPER)
                element.text = _SIGNS.get(kind, element.text)
        if page > 1:
            self._builder.oddities.append("its page numbers are from the last layout by its word processor")
            root.insert(0, etree.Element("span"))
            _mark_page(root[0], 1)
        etree.strip_tags(root, _WRAPPER)

    def _name_paragraph(self, paragraph: Element) -> None:
        """Name a paragraph by its style; one of which the end is deleted is joined to the next."""
        properties, following = child(paragraph, "ppr"), paragraph.getnext()
        style = _Style()
        if properties is not None:
            style = self._style(properties)
            paragraph.remove(properties)
            is_joined = child(child(properties, "rpr"), "del") is not None
            if is_joined and following is not None and tag(following) == "p":
                for content in reversed(paragraph):
                    following.insert(0, content)
        paragraph.tag = "p"
        if style.rank:
            paragraph.tag = f"h{min(style.rank, 6)}"
        elif style.name.startswith(("toc ", "table of figures")):
            paragraph.tag, paragraph.attrib["class"] = "div", "toc"
        elif style.name == "caption":
            paragraph.tag = "figcaption"
        elif style.numbering in self._formats:
            self._name_item(paragraph, *style.numbering)

    def _name_item(self, paragraph: Element, key: str, level: str) -> None:
        """Put a paragraph into as many lists as its level says."""
        for number in [number for number in self._numbers if number[0] == key and number[1] > level]:
            del self._numbers[number]
        self._numbers[key, level] += 1
        is_numbered = self._formats[key, level] not in ("bullet", "none")
        item_list = etree.Element("ol", start=str(self._numbers[key, level])) if is_numbered else etree.Element("ul")
        outer = item_list
        for _ in range(min(int(level), 8)):
            inner, outer = outer, etree.Element("ul")
            outer.append(inner)
        paragraph.addprevious(outer)
        item_list.append(paragraph)
        paragraph.tag = "li"

    def _style(self, properties: Element) -> _Style:
        """Return what a style, or the properties of a paragraph, says, with the style that it is based on."""
        # What was before a tracked change follows, and does not count.
        values = {tag(element): _value(element) for element in reversed(list(properties.iter()))}
        key = values.get("pstyle", values.get("basedon", ""))
        if key not in self._read_styles:
            # A style may be based on itself.
            self._read_styles[key] = _Style()
            if key in self._styles:
                self._read_styles[key] = self._style(self._styles[key])
        base = self._read_styles[key]
        name = values.get("name", base.name).strip().lower()
        numbering = values.get("numid", base.numbering[0]), values.get("ilvl", base.numbering[1])
        outline = values.get("outlinelvl", "")
        if name.startswith("toc "):
            return _Style(name)
        if match := re.fullmatch(r"heading\s*([1-9])", name) if "name" in values else None:
            return _Style(name, int(match[1]), numbering)
        rank = (int(outline) + 1) % 10 if outline in set("0123456789") else 1 if name == "title" else base.rank
        return _Style(name, rank, numbering)


def _listed(root: Element | None, name: str) -> list[Element]:
    return [] if root is None else list(elements(root, name))


def _value(element: Element | None) -> str:
    return "" if element is None else attr(element, "val")


def _mark_page(element: Element, number: int) -> None:
    element.tag = "span"
    element.attrib.update({"class": "pagebreak", "title": str(number)})
