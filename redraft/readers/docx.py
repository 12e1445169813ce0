"""DOCX: paragraphs, headings, lists, tables and notes, with all tracked changes accepted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from redraft.errors import DocumentError
from redraft.readers.builder import BREAK, Anchor, ReadCoverage, ReadText, Run, TextBuilder, cell_text
from redraft.readers.markup import (
    Archive,
    Element,
    attr,
    child,
    elements,
    outermost,
    part,
    resolve,
    tag,
    text_in,
    texts_by_name,
    xml,
)
from redraft.readers.recovery import size
from redraft.text.sanitizer import one_line

_CONTENT_TYPES = "[Content_Types].xml"
_HEADING_STYLE = re.compile(r"heading\s*([1-9])", re.IGNORECASE)
_OFF = frozenset({"0", "false", "off", "none"})
# Elements whose content is not part of the text, by name.
_LEFT_OUT = {
    "del": "tracked deletions",
    "movefrom": "",
    "commentreference": "comments",
    "drawing": "pictures",
    "pict": "",
    "object": "embedded objects",
    "instrtext": "",
    "deltext": "",
    "rt": "phonetic readings",
    "fallback": "",
    "sdtpr": "",
    "ppr": "",
    "tblpr": "",
    "prooferr": "",
}
# Other parts with text that is not part of the document's, by the beginning of their names.
_OTHER_PARTS = {
    "word/header": "headers",
    "word/footer": "footers",
    "word/comments.": "comments",
    "word/charts/chart": "charts",
    "word/diagrams/data": "diagrams",
    "word/glossary/document.": "building blocks",
}
_INSERTED = (".htm", ".html", ".xhtml", ".mht", ".txt", ".rtf", ".docx")
_NO_BLOCKS = frozenset({"del", "movefrom", "sectpr", "sdtpr", "fallback", "ppr", "tblpr"})
_SIGNS = {"tab": "\t", "nobreakhyphen": "-", "softhyphen": "", "cr": BREAK}
_HINT = "save it again as .docx with the program that made it"


@dataclass(frozen=True, slots=True)
class _Style:
    """The properties of a paragraph style: the heading level (0 for none), and whether it is the title."""

    rank: int = 0
    is_title: bool = False
    is_caption: bool = False
    is_contents: bool = False
    is_hidden: bool = False


@dataclass(slots=True)
class _Notes:
    """The footnotes and endnotes to be placed after the paragraph that refers to them."""

    texts: dict[tuple[str, str], list[list[Run]]] = field(default_factory=dict)
    waiting: list[tuple[str, str]] = field(default_factory=list)
    count: int = 0


def read(data: bytes, name: str) -> ReadText:
    """Return the content of a DOCX document."""
    archive = Archive(data, name)
    if not archive.has(_CONTENT_TYPES):
        raise DocumentError("this is not a DOCX document", place=name, hint=_HINT)
    types = xml(archive.part(_CONTENT_TYPES), name)
    main = next((_part(element) for element in types.iter() if _is_main(element)), "word/document.xml")
    return _DocxReader(archive, main, name).read()


def _part(override: Element) -> str:
    return (override.get("PartName") or "").lstrip("/")


def _is_main(one: Element) -> bool:
    kind = one.get("ContentType") or ""
    return tag(one) == "override" and ("document.main+xml" in kind or "template.main+xml" in kind)


class _DocxReader:
    def __init__(self, archive: Archive, main: str, name: str) -> None:
        self._archive = archive
        self._main = main
        self._name = name
        self._builder = TextBuilder()
        self._styles = self._read_styles()
        self._ordered = self._read_numbering()
        self._numbers: dict[tuple[str, int], int] = {}
        self._notes = _Notes()
        self._title = ""
        self._page = 1
        self._contents: int | None = None
        self._last_was_item = False
        self._carried: list[Run] = []
        self._held = self._seen = 0
        """The number of characters in the current part, and how many of them were read or deliberately omitted."""

    def read(self) -> ReadText:
        for kind in ("footnote", "endnote"):
            self._read_notes(kind)
        root = self._root(self._main)
        has_pages = any(tag(element) == "lastrenderedpagebreak" for element in root.iter())
        if has_pages:
            self._builder.begin_page(Anchor("1", ""))
            self._builder.oddities.append("its page numbers are from the last layout by its word processor")
        self._seen = 0
        for block in self._blocks(root, "p", "tbl"):
            self._block(block)
        self._builder.add(self._carried)
        for (kind, _), runs in self._notes.texts.items():
            if text := "".join(run for run in chain(*runs) if isinstance(run, str)).strip():
                self._builder.leave_out(f"{kind}s that the text does not cite", text=text)
        self._builder.extents.append(ReadCoverage(self._main, self._held, self._seen))
        self._end_contents()
        self._say_what_was_not_read()
        said, language = self._properties()
        title = self._title or self._builder.first_title or said
        return self._builder.reading(title, language)

    def _root(self, name: str) -> Element:
        """Return the root of a part with text."""
        xml_part = part(self._archive.part(name), self._name, name)
        self._builder.oddities.extend(xml_part.notes)
        self._held = xml_part.held
        return xml_part.root

    def _block(self, block: Element) -> None:
        if tag(block) == "tbl":
            self._table(block)
            self._put_notes()
        else:
            self._paragraph(block)

    def _blocks(self, holder: Element, *names: str) -> Iterator[Element]:
        """Iterate over the outermost elements of these names; text that is skipped counts as seen."""
        return outermost(holder, *names, skip=_NO_BLOCKS, skipped=self._skip)

    def _skip(self, one: Element) -> None:
        self._seen += text_in(one)
        if what := _LEFT_OUT.get(tag(one), ""):
            self._builder.leave_out(what, text=_text_of(one))

    def _paragraph(self, paragraph: Element) -> None:
        style = self._style(paragraph)
        runs = [*self._carried, *self._runs(paragraph)]
        self._carried = runs if _is_joined_to_next(paragraph) else []
        if self._carried:
            return
        if style.is_contents and self._contents is None:
            self._contents = self._builder.length
        elif not style.is_contents:
            self._end_contents()
        item, is_item = self._item(paragraph), False
        if style.rank:
            self._builder.heading(style.rank, runs)
        elif style.is_title and not self._title:
            self._builder.heading(1, runs)
            self._title = self._builder.headings[-1].title if self._builder.headings else ""
        elif item:
            between = "\n" if self._last_was_item else "\n\n"
            added = self._builder.add(runs, between=between, before=item)
            is_item = added.end > added.start
        else:
            added = self._builder.add(runs)
            if style.is_caption and added.end > added.start:
                self._builder.mark("caption", added, self._builder.parts[-1])
        self._last_was_item = is_item or (
            self._last_was_item and not any(isinstance(r, str) and r.strip() for r in runs)
        )
        self._put_notes()

    def _end_contents(self) -> None:
        if self._contents is not None:
            start = self._contents
            self._builder.mark("contents", self._builder.span_since(start))
            self._contents = None

    def _put_notes(self) -> None:
        """Add the notes that the paragraph refers to after it."""
        waiting, self._notes.waiting = self._notes.waiting, []
        for kind, key in waiting:
            texts = self._notes.texts.pop((kind, key), [])
            self._notes.count += bool(texts)
            for at, runs in enumerate(texts):
                number = "" if at else f"[{self._notes.count}] "
                added = self._builder.add(runs, before=number)
                self._builder.mark("note", added, str(self._notes.count))

    def _table(self, table: Element) -> None:
        rows = self._blocks(table, "tr")
        self._builder.table([cell_text(self._cell(cell)) for cell in self._blocks(row, "tc")] for row in rows)

    def _cell(self, cell: Element) -> Iterator[str]:
        for paragraph in self._blocks(cell, "p"):
            yield from (run for run in self._runs(paragraph) if isinstance(run, str))
            yield " "

    def _runs(self, paragraph: Element) -> Iterator[Run]:
        """Yield the text of a paragraph in order."""
        stack = list(reversed(paragraph))
        while stack:
            element = stack.pop()
            name = tag(element)
            if name == "t":
                self._seen += size(element.text or "")
                yield element.text or ""
            elif name in _SIGNS:
                yield _SIGNS[name]
            elif name == "br":
                yield BREAK if attr(element, "type") not in ("page", "column") else " "
            elif name == "lastrenderedpagebreak":
                self._page += 1
                yield Anchor(str(self._page), "")
            elif name in ("footnotereference", "endnotereference"):
                self._notes.waiting.append((name.removesuffix("reference"), attr(element, "id")))
            elif self._is_text(element, name):
                # A nested paragraph is that of a text box.
                stack.extend(reversed(element))
                yield BREAK if name == "p" else ""
            elif name in ("drawing", "pict", "object"):
                # The fallback for older programs repeats the same box.
                boxes = list(outermost(element, "txbxcontent", skip=frozenset({"fallback"})))
                self._seen += text_in(element) - sum(map(text_in, boxes))
                stack.extend(reversed(boxes))
            else:
                self._seen += text_in(element)

    def _is_text(self, one: Element, name: str) -> bool:
        """Return whether an element may have text; what other elements contain is recorded."""
        if name == "r" and self._is_hidden(one):
            self._builder.leave_out("hidden parts", text=_text_of(one))
            return False
        if (what := _LEFT_OUT.get(name, "")) and next(elements(one, "txbxcontent"), None) is None:
            self._builder.leave_out(what, text=_text_of(one))
        return bool(name) and name not in _LEFT_OUT

    def _is_hidden(self, run: Element) -> bool:
        of_run = child(run, "rpr")
        if of_run is None:
            return False
        hides = [attr(element, "val") not in _OFF for element in of_run.iterchildren() if tag(element) == "vanish"]
        return hides[-1] if hides else self._styles.get(_value(of_run, "rstyle"), _Style()).is_hidden

    def _style(self, paragraph: Element) -> _Style:
        properties = child(paragraph, "ppr")
        own = _value(properties, "outlinelvl")
        if own.isascii() and own.isdigit():
            return _Style(rank=int(own) + 1 if int(own) < 9 else 0)
        return self._styles.get(_value(properties, "pstyle"), _Style()) if properties is not None else _Style()

    def _item(self, paragraph: Element) -> str:
        """Return the list marker of a paragraph; empty outside of lists."""
        numbered = child(child(paragraph, "ppr"), "numpr")
        if numbered is None:
            return ""
        said = {tag(element): attr(element, "val") for element in numbered.iterchildren()}
        key, level = said.get("numid", "0"), _number(said.get("ilvl", "0"))
        if key == "0":
            return ""
        self._numbers = {at: n for at, n in self._numbers.items() if at[0] != key or at[1] <= level}
        self._numbers[key, level] = self._numbers.get((key, level), 0) + 1
        ordered = (key, level) in self._ordered
        return "  " * min(level, 8) + (f"{self._numbers[key, level]}. " if ordered else "- ")

    def _read_styles(self) -> dict[str, _Style]:
        name, _ = resolve(self._main, "styles.xml")
        if not self._archive.has(name):
            return {f"Heading{rank}": _Style(rank=rank) for rank in range(1, 7)}
        raw = {
            attr(element, "styleId"): element
            for element in elements(xml(self._archive.part(name), self._name), "style")
        }
        return {key: _style_of(key, raw) for key in raw}

    def _read_numbering(self) -> set[tuple[str, int]]:
        """Return the numbered lists by key and level."""
        name, _ = resolve(self._main, "numbering.xml")
        if not self._archive.has(name):
            return set()
        root = xml(self._archive.part(name), self._name)
        ordered: dict[str, set[int]] = {}
        for element in elements(root, "abstractnum"):
            levels = {
                _number(attr(level, "ilvl"))
                for level in element.iterchildren()
                if tag(level) == "lvl"
                and any(tag(form) == "numfmt" and attr(form, "val") not in ("bullet", "none") for form in level)
            }
            ordered[attr(element, "abstractNumId")] = levels
        lists = elements(root, "num")
        means = {attr(one, "numId"): next((attr(sub, "val") for sub in one), "") for one in lists}
        return {(key, level) for key, abstract in means.items() for level in ordered.get(abstract, ())}

    def _read_notes(self, kind: str) -> None:
        name, _ = resolve(self._main, f"{kind}s.xml")
        if not self._archive.has(name):
            return
        root, self._seen = self._root(name), 0
        for element in elements(root, kind):
            if attr(element, "type") in ("", "normal"):
                texts = [list(self._runs(paragraph)) for paragraph in self._blocks(element, "p")]
                self._notes.texts[kind, attr(element, "id")] = texts
            else:
                self._seen += text_in(element)
        self._builder.extents.append(ReadCoverage(name, self._held, self._seen))

    def _say_what_was_not_read(self) -> None:
        cited_comments = self._builder.left_out["comments"]
        for name in self._archive.names():
            what = next((kind for start, kind in _OTHER_PARTS.items() if name.startswith(start)), "")
            if what and name.endswith(".xml"):
                root = self._archive.unread(name)
                count = max(0, len(root) - cited_comments) if what == "comments" else 1
                self._builder.leave_out(what, count, text=_text_of(root))
            elif name.startswith("word/") and name.endswith(_INSERTED):
                size_of_file = f"{self._archive.size(name):,} bytes"
                self._builder.oddities.append(f"a file inserted in it was not read: {name}, {size_of_file}")

    def _properties(self) -> tuple[str, str]:
        """Return the title and language in the document's properties."""
        if not self._archive.has("docProps/core.xml"):
            return "", ""
        said = texts_by_name(xml(self._archive.part("docProps/core.xml"), self._name))
        return one_line(said.get("title", "")), one_line(said.get("language", ""))


def _is_joined_to_next(paragraph: Element) -> bool:
    """Return whether the end of a paragraph was deleted in a tracked change."""
    of_end = child(child(paragraph, "ppr"), "rpr")
    return child(of_end, "del") is not None or child(of_end, "movefrom") is not None


def _text_of(element: Element) -> str:
    """Return the text in an element, deleted text included, with a space for the end of a paragraph."""
    return "".join(" " if tag(one) == "p" else one.text or "" for one in elements(element, "t", "deltext", "p"))


def _value(holder: Element | None, name: str) -> str:
    """Return the value of a property; empty if it is not set."""
    element = child(holder, name)
    return "" if element is None else attr(element, "val")


def _style_of(key: str, raw: dict[str, Element]) -> _Style:
    """Return a style with what it inherits from the styles it is based on."""
    seen: set[str] = set()
    rank = 0
    name = ""
    hidden = False
    while key in raw and key not in seen:
        seen.add(key)
        said = {tag(element): attr(element, "val") for element in raw[key].iter()}
        name = name or said.get("name", "")
        if match := _HEADING_STYLE.fullmatch(said.get("name", "").strip()):
            rank = rank or int(match[1])
        if (outline := said.get("outlinelvl", "")).isdigit() and int(outline) < 9:
            rank = rank or int(outline) + 1
        hidden = hidden or ("vanish" in said and said["vanish"] not in _OFF)
        key = said.get("basedon", "")
    lower = name.casefold()
    is_contents = lower.startswith(("toc ", "toc heading", "table of figures")) and lower != "toc heading "
    return _Style(0 if is_contents else rank, lower == "title", lower == "caption", is_contents, hidden)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
