"""EPUB: the parts of a book in spine order, the chapters of its table of contents, and its printed pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from redraft.document import Mark, MarkKind, Span
from redraft.errors import DocumentError
from redraft.readers.builder import TITLE_WIDTH, Heading, ReadCoverage, ReadText, TextBuilder
from redraft.readers.formats import MAX_ENTRIES
from redraft.readers.html import MATTER, HtmlWalker, body_of, kinds
from redraft.readers.markup import Archive, attr, child, elements, page, resolve, size, tag, text_of, xml
from redraft.text.sanitizer import one_line

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONTS = ("obfuscation", "fonts", "ns.adobe.com/pdf/enc")
_BLANK = re.compile(r"\s*")
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
        container, encryption = (
            xml(archive.part(part), name) if archive.has(part) else None for part in (_CONTAINER, _ENCRYPTION)
        )
        package = next((element.get("full-path") or "" for element in elements(container, "rootfile")), "")
        if not archive.has(package):
            package = next((part for part in archive.names if part.endswith(".opf")), "")
        if not package:
            raise DocumentError("this is not an EPUB book: it has no list of its parts", place=name, hint=_BAD_BOOK)
        # A book with only obfuscated fonts can be read.
        methods = [attr(element, "Algorithm").lower() for element in elements(encryption, "encryptionmethod")]
        if not all(any(font in method for font in _FONTS) for method in methods):
            raise DocumentError(
                "the book is encrypted, and only its seller's programs can open it",
                place=name,
                hint="give a copy without protection",
            )

        self._package = xml(archive.part(package), name)
        self._items = {
            element.get("id"): _Item(
                resolve(package, element.get("href") or "")[0],
                *(element.get(attribute) or "" for attribute in ("media-type", "properties", "fallback")),
            )
            for element in elements(self._package, "item")
            if element.get("id") and element.get("href")
        }
        references = elements(self._package, "reference")
        guide = [(element, _MATTER.get((element.get("type") or "").lower())) for element in references]
        targets = ((resolve(package, element.get("href") or ""), kind) for element, kind in guide if kind)
        self._guide = {part: kind for (part, fragment), kind in targets if not fragment}
        """The parts that the book declares as front matter, contents, notes or index."""
        self._starts: dict[str, int] = {}
        self._places: dict[tuple[str, str], int] = {}

    def read(self) -> ReadText:
        """Return the content of the book: its sections are the entries of its table of contents, as far as they point
        into the text, with the headings found only in the text one level below."""
        self._read_parts()
        builder, text = self._builder, "".join(self._builder.parts)
        if len(builder.pages) < 2:
            # The pages of the page list, unless the text itself marks where they begin.
            places = ((self._place(entry, text), entry) for entry in self._listed("page-list"))
            begins = sorted((at, entry) for at, entry in places if at is not None)
            ends = [*(at for at, _ in begins[1:]), len(text)]
            for (at, entry), end in zip(begins, ends, strict=False):
                href = f"{entry.part}#{entry.fragment}" if entry.fragment else entry.part
                builder.mark("page", Span(at, end), one_line(entry.title, 20), href)
        title, language = (
            one_line(text_of(next(elements(self._package, name), None))) for name in ("title", "language")
        )
        reading = replace(builder.reading(title, language), title=title)

        contents = list(islice(self._contents(), MAX_ENTRIES + 1))
        if len(contents) > MAX_ENTRIES:
            message = f"its contents have more than {MAX_ENTRIES:,} entries"
            raise DocumentError(message, place=self._name, hint=_BAD_BOOK)
        listed = {
            Heading(place, entry.level, entry.title)
            for entry in contents
            if entry.title and (place := self._place(entry, text)) is not None and place < len(text)
        }
        listed_at = {heading.at for heading in listed}
        if len(listed_at) < 2 <= len(reading.headings):
            return reading
        headings: list[Heading] = []
        last: Heading | None = None
        inner = (heading for heading in reading.headings if heading.at not in listed_at)
        for heading in sorted([*sorted(listed), *inner], key=lambda heading: heading.at):
            if heading.at in listed_at:
                last = heading
            elif last is not None and heading.title.casefold() == last.title.casefold():
                continue
            elif last is not None:
                heading = heading._replace(level=min(6, last.level + 1))
            headings.append(heading)
        return replace(reading, headings=tuple(headings))

    def _read_parts(self) -> None:
        """Read the parts that the spine names, then those that only the manifest names, and leave out those that it
        does not name either."""
        spine, oddities = list(elements(self._package, "itemref")), self._builder.oddities
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

        pages = [item for item in self._items.values() if "html" in item.kind and "nav" not in item.properties]
        added = [item.part for item in pages if self._archive.has(item.part) and self._read_part(item)]
        if added:
            names = one_line(", ".join(added), TITLE_WIDTH)
            oddities.append(f"{len(added):,} parts that the spine does not name are at the end: {names}")
        item_parts = {item.part.casefold() for item in self._items.values()}
        pages_in_archive = [name for name in self._archive.names if name.endswith((".html", ".xhtml", ".htm"))]
        for name in (name for name in pages_in_archive if name.casefold() not in item_parts):
            text = text_of(page(self._archive.part(name), self._name)[0])
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

    def _place(self, entry: _Entry, text: str) -> int | None:
        """Return where the text of an entry begins, after blank lines; None if the book has no such place."""
        at = self._places.get((entry.part, entry.fragment), self._starts.get(entry.part))
        match = _BLANK.match(text, at) if at is not None else None
        return match.end() if match else None

    def _contents(self) -> Iterator[_Entry]:
        """Yield the entries of the navigation document (EPUB 3), else of the NCX file (EPUB 2)."""
        if entries := list(islice(self._listed("toc"), MAX_ENTRIES + 1)):
            yield from entries
            return
        part = next((item.part for item in self._items.values() if "ncx" in item.kind), "")
        root = xml(self._archive.part(part), self._name) if self._archive.has(part) else None
        for point in elements(root, "navpoint"):
            level = 1 + sum(1 for element in point.iterancestors() if tag(element) == "navpoint")
            label, content = child(point, "navlabel"), child(point, "content")
            if label is not None and content is not None:
                title = one_line(text_of(label), TITLE_WIDTH)
                yield _Entry(level, title, *resolve(part, content.get("src") or ""))

    def _listed(self, kind: str) -> Iterator[_Entry]:
        """Yield the entries of a list of the navigation document."""
        part = next((item.part for item in self._items.values() if "nav" in item.properties), "")
        root = page(self._archive.part(part), self._name)[0] if self._archive.has(part) else None
        nav = next((element for element in elements(root, "nav") if kind in kinds(element)), None)
        for link in elements(nav, "a", "span"):
            around = [tag(element) for element in link.iterancestors()]
            if "ol" not in around or (tag(link) == "span" and "a" in around):
                continue
            href = link.get("href")
            if href is None:
                # A heading of the contents without a target gets that of the first entry below it.
                below = (element.get("href") for element in elements(link.getparent(), "a"))
                href = next(filter(None, below), None)
            if href:
                yield _Entry(around.count("ol"), one_line(text_of(link), TITLE_WIDTH), *resolve(part, href))
