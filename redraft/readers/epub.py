"""EPUB: the parts of a book in spine order, the chapters of its table of contents, and its printed pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from redraft.document import Mark, MarkKind, Span
from redraft.errors import DocumentError
from redraft.readers.archive import Archive, resolve
from redraft.readers.builder import TITLE_WIDTH, Heading, ReadCoverage, ReadText, TextBuilder
from redraft.readers.formats import MAX_ENTRIES
from redraft.readers.html import MATTER, HtmlWalker, body_of, kinds
from redraft.readers.markup import Element, attr, child, elements, page, size, tag, text_of, xml
from redraft.text.sanitizer import one_line

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONTS = ("obfuscation", "fonts", "ns.adobe.com/pdf/enc")
_BAD_BOOK = "get the book again, or convert it to .txt"
# The older landmarks of a book (its guide) have some names of their own.
_MATTER: dict[str, MarkKind] = {**MATTER, "notes": "notes", "title-page": "front"}


class _Entry(NamedTuple):
    """An entry of the table of contents or the list of pages: its level, title, part and fragment."""

    level: int
    title: str
    part: str
    fragment: str


class _Item(NamedTuple):
    """A file that the package of a book names."""

    part: str
    kind: str
    properties: str
    fallback: str


def read(data: bytes, name: str) -> ReadText:
    """Return the content of a book."""
    return _Book(Archive(data, name), name).read()


class _Book:
    def __init__(self, archive: Archive, name: str) -> None:
        self._archive, self._name, self._builder = archive, name, TextBuilder()
        package = self._find_package()
        self._package = xml(archive.part(package), name)
        self._items = {
            element.get("id"): _Item(
                resolve(package, element.get("href") or "")[0],
                *(element.get(attribute) or "" for attribute in ("media-type", "properties", "fallback")),
            )
            for element in elements(self._package, "item")
            if element.get("id") and element.get("href")
        }
        guide = [(element, _MATTER.get((element.get("type") or "").lower())) for element in self._named("reference")]
        targets = ((resolve(package, element.get("href") or ""), kind) for element, kind in guide if kind)
        self._guide = {part: kind for (part, fragment), kind in targets if not fragment}
        """The parts that the book declares as front matter, contents, notes or index."""
        self._starts: dict[str, int] = {}
        self._places: dict[tuple[str, str], int] = {}

    def read(self) -> ReadText:
        self._refuse_encrypted()
        spine, oddities = list(self._named("itemref")), self._builder.oddities
        if not spine:
            raise DocumentError("the book has no spine", place=self._name, hint=_BAD_BOOK)
        missing = 0
        for ref in spine:
            item = self._items.get(ref.get("idref") or "")
            if item is not None and "html" not in item.kind and "xml" not in item.kind:
                item = self._items.get(item.fallback, item)
            if item is None or not self._archive.has(item.part):
                missing += 1
            elif "html" not in item.kind and "xml" not in item.kind:
                oddities.append(f"a part of the book is not text: {item.part}, {item.kind}")
            elif self._read_part(item) and ref.get("linear") == "no":
                oddities.append("its parts outside the reading order are placed where the spine names them")
        if missing:
            oddities.append(f"{missing:,} parts that the spine names are not in the book")
        self._read_parts_outside_the_spine()
        title, language = (one_line(text_of(next(self._named(what), None))) for what in ("title", "language"))
        self._mark_pages()
        reading = self._builder.reading(title, language)
        return replace(reading, title=title, headings=self._headings(reading) or reading.headings)

    def _named(self, name: str) -> Iterator[Element]:
        """Return the elements of the package that have this name."""
        return elements(self._package, name)

    def _read_parts_outside_the_spine(self) -> None:
        """Read the pages that only the manifest names at the end, and leave out those that it does not name either."""
        pages = [item for item in self._items.values() if "html" in item.kind and "nav" not in item.properties]
        added = [item.part for item in pages if self._archive.has(item.part) and self._read_part(item)]
        if added:
            names = one_line(", ".join(added), TITLE_WIDTH)
            self._builder.oddities.append(f"{len(added):,} parts that the spine does not name are at the end: {names}")
        parts = {item.part.casefold() for item in self._items.values()}
        for name in self._archive.names:
            if name.endswith((".html", ".xhtml", ".htm")) and name.casefold() not in parts:
                text = text_of(page(self._archive.part(name), self._name).root)
                self._builder.leave_out("pages that the book does not name", text=text)

    def _read_part(self, item: _Item) -> bool:
        """Read one file of the book, unless it has been read, and return whether it has text."""
        builder, start = self._builder, self._builder.length
        if item.part in self._starts:
            return False
        self._starts[item.part] = start
        try:
            root, _, notes = page(self._archive.part(item.part), self._name)
        except DocumentError as error:
            if any(reason in error.message for reason in ("encrypted", "unpacked", "attributes")):
                raise
            builder.oddities.append(f"a part of the book cannot be read: {item.part}: {error.message}")
            builder.extents.append(ReadCoverage(item.part, self._archive.size(item.part), 0))
            return False
        builder.oddities.extend(f"{item.part}: {note}" for note in notes)
        length = size(text_of(root))
        builder.extents.append(ReadCoverage(item.part, length, length))
        walker = HtmlWalker(builder, item.part)
        walker.walk(body_of(root))
        self._places |= {(item.part, key): at for key, at in walker.ids.items()}
        matter = self._guide.get(item.part) or ("contents" if "nav" in item.properties else None)
        matter = matter or next((_MATTER[name] for name in sorted(kinds(body_of(root))) if name in _MATTER), None)
        if matter and builder.length > start:
            builder.marks.append(Mark(start, builder.length, matter, "", item.part))
        return builder.length > start

    def _find_package(self) -> str:
        """Return the part that lists the others."""
        if self._archive.has(_CONTAINER):
            root = xml(self._archive.part(_CONTAINER), self._name)
            part = next((element.get("full-path") for element in elements(root, "rootfile")), None)
            if part and self._archive.has(part):
                return part
        if part := next((name for name in self._archive.names if name.endswith(".opf")), None):
            return part
        raise DocumentError("this is not an EPUB book: it has no list of its parts", place=self._name, hint=_BAD_BOOK)

    def _refuse_encrypted(self) -> None:
        """Raise for an encrypted book; one with only obfuscated fonts can be read."""
        root = xml(self._archive.part(_ENCRYPTION), self._name) if self._archive.has(_ENCRYPTION) else None
        for element in elements(root, "encryptionmethod") if root is not None else ():
            if not any(font in attr(element, "Algorithm").lower() for font in _FONTS):
                raise DocumentError(
                    "the book is encrypted, and only its seller's programs can open it",
                    place=self._name,
                    hint="give a copy without protection",
                )

    def _headings(self, reading: ReadText) -> tuple[Heading, ...]:
        """Return the sections of the table of contents, as far as its entries point into the text."""
        contents = list(islice(self._contents(), MAX_ENTRIES + 1))
        if len(contents) > MAX_ENTRIES:
            message = f"its contents have more than {MAX_ENTRIES:,} entries"
            raise DocumentError(message, place=self._name, hint=_BAD_BOOK)
        headings = {
            Heading(_after_blank(reading.text, at), entry.level, entry.title)
            for entry in contents
            if entry.title and (at := self._place(entry)) is not None and at < len(reading.text)
        }
        if len({heading.at for heading in headings}) < 2 <= len(reading.headings):
            return ()
        return tuple(_with_inner(sorted(headings), reading.headings))

    def _place(self, entry: _Entry) -> int | None:
        return self._places.get((entry.part, entry.fragment), self._starts.get(entry.part))

    def _contents(self) -> Iterator[_Entry]:
        """Yield the entries of the navigation document (EPUB 3), else of the NCX file (EPUB 2)."""
        if entries := list(islice(self._listed("toc"), MAX_ENTRIES + 1)):
            yield from entries
            return
        ncx = next((item.part for item in self._items.values() if "ncx" in item.kind), None)
        if ncx and self._archive.has(ncx):
            yield from _ncx(xml(self._archive.part(ncx), self._name), ncx)

    def _listed(self, kind: str) -> Iterator[_Entry]:
        """Yield the entries of a list of the navigation document."""
        nav = next((item.part for item in self._items.values() if "nav" in item.properties), None)
        if nav and self._archive.has(nav):
            root = page(self._archive.part(nav), self._name).root
            element = next((element for element in elements(root, "nav") if kind in kinds(element)), None)
            yield from () if element is None else _nav(element, nav)

    def _mark_pages(self) -> None:
        """Mark the pages of the page list, unless the text itself marks where they begin."""
        if any(mark.kind == "page" for mark in self._builder.marks):
            return
        text = "".join(self._builder.parts)
        places = ((self._place(entry), entry) for entry in self._listed("page-list"))
        begins = sorted((_after_blank(text, at), entry) for at, entry in places if at is not None)
        ends = [*(at for at, _ in begins[1:]), len(text)]
        for (at, entry), end in zip(begins, ends, strict=False):
            href = f"{entry.part}#{entry.fragment}" if entry.fragment else entry.part
            self._builder.mark("page", Span(at, end), one_line(entry.title, 20), href)


def _with_inner(listed: Sequence[Heading], in_text: Sequence[Heading]) -> Iterator[Heading]:
    """Yield the headings of the table of contents, with those found only in the text one level below, unless one
    repeats the title of the entry that it follows."""
    places = {heading.at for heading in listed}
    entry: Heading | None = None
    for heading in sorted([*listed, *(heading for heading in in_text if heading.at not in places)], key=lambda h: h.at):
        if heading.at in places:
            entry = heading
            yield heading
        elif entry is None:
            yield heading
        elif heading.title.casefold() != entry.title.casefold():
            yield heading._replace(level=min(6, entry.level + 1))


def _after_blank(text: str, at: int) -> int:
    """Return the offset after the blank lines, which do not belong to a part."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _nav(nav: Element, part: str) -> Iterator[_Entry]:
    for link in elements(nav, "a", "span"):
        level = sum(1 for element in link.iterancestors() if tag(element) == "ol")
        if not level or (tag(link) == "span" and any(tag(element) == "a" for element in link.iterancestors())):
            continue
        href = link.get("href")
        if href is None:
            # A heading of the contents without a target gets that of the first entry below it.
            parent = link.getparent()
            below = (element.get("href") for element in elements(link if parent is None else parent, "a"))
            href = next(filter(None, below), None)
        if href:
            yield _Entry(level, one_line(text_of(link), TITLE_WIDTH), *resolve(part, href))


def _ncx(root: Element, part: str) -> Iterator[_Entry]:
    for point in elements(root, "navpoint"):
        level = 1 + sum(1 for element in point.iterancestors() if tag(element) == "navpoint")
        label, content = child(point, "navlabel"), child(point, "content")
        if label is not None and content is not None:
            title = one_line(text_of(label), TITLE_WIDTH)
            yield _Entry(level, title, *resolve(part, content.get("src") or ""))
