"""ODT: paragraphs, headings, lists, tables and notes, with all tracked changes accepted."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.errors import DocumentError
from redraft.readers.builder import BREAK, ReadCoverage, ReadText, TextBuilder, cell_text
from redraft.readers.markup import (
    Archive,
    Element,
    attr,
    elements,
    outermost,
    part,
    tag,
    text_in,
    text_of,
    texts_by_name,
    xml,
)
from redraft.readers.recovery import size
from redraft.text.sanitizer import one_line

_CONTENT, _META, _MANIFEST, _STYLES = "content.xml", "meta.xml", "META-INF/manifest.xml", "styles.xml"
_LEFT_OUT = {
    "annotation": "comments",
    "tracked-changes": "tracked deletions",
    "frame": "pictures",
    "forms": "form fields",
    "ruby-text": "phonetic readings",
    "automatic-styles": "",
    "font-face-decls": "",
    "scripts": "",
    "hidden-text": "hidden parts",
    "hidden-paragraph": "hidden parts",
}
_SIGNS = {"s": " ", "tab": " ", "line-break": BREAK, "soft-page-break": ""}


def read(data: bytes, name: str) -> ReadText:
    """Return the content of an ODT document."""
    archive = Archive(data, name)
    if archive.has(_MANIFEST) and b"encryption-data" in archive.part(_MANIFEST):
        raise DocumentError("it is encrypted", place=name, hint="save it without a password first")
    if not archive.has(_CONTENT):
        raise DocumentError("this is not an ODT document", place=name, hint="save it again as .odt, or as .docx")
    xml_part = part(archive.part(_CONTENT), name, _CONTENT)
    said = texts_by_name(xml(archive.part(_META), name)) if archive.has(_META) else {}
    reader = _OdtReader()
    reader.read(xml_part.root)
    _leave_out_other_parts(archive, reader.builder)
    reader.builder.oddities.extend(xml_part.notes)
    reader.builder.extents.append(ReadCoverage(_CONTENT, xml_part.held, reader.seen))
    return reader.builder.reading(reader.builder.first_title or said.get("title", ""), said.get("language", ""))


def _leave_out_other_parts(archive: Archive, builder: TextBuilder) -> None:
    """Record headers and footers, which stand in the styles, and embedded objects, which have their own parts."""
    for element in archive.unread(_STYLES).iter() if archive.has(_STYLES) else ():
        kind = tag(element).partition("-")[0]
        if kind in ("header", "footer") and (text := text_of(element).strip()):
            builder.leave_out(f"{kind}s", text=text)
    for name in archive.names():
        if name.endswith(f"/{_CONTENT}"):
            builder.leave_out("embedded objects", text=text_of(archive.unread(name)))


class _OdtReader:
    def __init__(self) -> None:
        self.builder = TextBuilder()
        self._notes: list[tuple[str, list[str]]] = []
        self._after_item = False
        self.seen = 0
        """The number of characters that were read or deliberately omitted."""

    def read(self, body: Element) -> None:
        stack: list[tuple[Element, int]] = [(one, 0) for one in reversed(body)]
        while stack:
            element, depth = stack.pop()
            name = tag(element)
            if name == "tracked-changes":
                deletions = list(elements(element, "deletion"))
                deleted = " ".join(text_of(line) for deletion in deletions for line in elements(deletion, "p", "h"))
                self.builder.leave_out(_LEFT_OUT[name], len(deletions), text=deleted)
                self.seen += text_in(element)
            elif name in ("p", "h"):
                self._paragraph(element, name, depth)
            elif name == "table":
                self._table(element)
            elif name in ("table-of-content", "alphabetical-index"):
                start, seen = self.builder.length, self.seen + text_in(element)
                for line in elements(element, "p", "h"):
                    self._paragraph(line, "p", 0)
                self.builder.mark(
                    "index" if name == "alphabetical-index" else "contents", self.builder.span_since(start)
                )
                self.seen = seen
            elif name in _LEFT_OUT:
                stack.extend((box, depth) for box in reversed(self._leave_out(element)))
            else:
                stack.extend((sub, depth + (name == "list")) for sub in reversed(element))

    def _paragraph(self, one: Element, name: str, depth: int) -> None:
        runs = list(self._runs(one))
        level = attr(one, "outline-level")
        if name == "h":
            self.builder.heading(int(level) if level.isascii() and level.isdigit() and len(level) < 3 else 1, runs)
        elif depth:
            between = "\n" if self._after_item else "\n\n"
            self.builder.add(runs, between=between, before="  " * min(depth - 1, 8) + "- ")
        else:
            self.builder.add(runs)
        self._after_item = bool(depth) and name == "p"
        notes, self._notes = self._notes, []
        for label, text in notes:
            self.builder.mark("note", self.builder.add(text, before=f"[{label}] " if label else ""), label)

    def _table(self, table: Element) -> None:
        rows = outermost(table, "table-row")
        self.builder.table([cell_text(self._runs(cell)) for cell in outermost(row, "table-cell")] for row in rows)

    def _runs(self, paragraph: Element) -> Iterator[str]:
        """Yield the text of a paragraph in order."""
        stack: list[Element | str] = [paragraph]
        while stack:
            element = stack.pop()
            if isinstance(element, str):
                self.seen += size(element)
                yield element
                continue
            name = tag(element)
            if element is not paragraph and element.tail:
                stack.append(element.tail)
            if name == "note":
                self._note(element)
            elif name in _LEFT_OUT:
                stack.extend(reversed(self._leave_out(element)))
            elif name in _SIGNS:
                self.seen += text_in(element)
                yield _SIGNS[name]
            elif name:
                yield " " if name in ("p", "h") and element is not paragraph else ""
                stack.extend(reversed(element))
                self.seen += size(element.text or "")
                yield element.text or ""

    def _leave_out(self, one: Element) -> list[Element]:
        """Record that an element is not read, and return the text boxes in it, which are."""
        name = tag(one)
        boxes = list(outermost(one, "text-box")) if name == "frame" else []
        self.seen += text_in(one) - sum(map(text_in, boxes))
        if (what := _LEFT_OUT[name]) and not boxes:
            self.builder.leave_out(what, text=text_of(one))
        return boxes

    def _note(self, note: Element) -> None:
        label, runs = "", list[str]()
        for element in note.iterchildren():
            if tag(element) == "note-citation":
                label = one_line(text_of(element), 10)
                self.seen += text_in(element)
            elif tag(element) == "note-body":
                runs += self._runs(element)
        self._notes.append((label, runs))
