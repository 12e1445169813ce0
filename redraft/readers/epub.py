"""EPUB: the parts of a book in spine order, the chapters of its table of contents, and its printed pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from redraft.document import Mark, MarkKind
from redraft.errors import DocumentError
from redraft.readers.archive import Archive, resolve
from redraft.readers.builder import TITLE_WIDTH, Anchor, Heading, ReadCoverage, ReadText, TextBuilder
from redraft.readers.formats import MAX_ENTRIES
from redraft.readers.html import HtmlWalker, body_of, kinds
from redraft.readers.markup import Element, attr, child, elements, page, size, tag, text_of, xml
from redraft.text.sanitizer import one_line

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONTS = ("obfuscation", "fonts", "ns.adobe.com/pdf/enc")
_BAD_BOOK = "get the book again, or convert it to .txt"
# The older landmarks of a book (its guide) have other names than the newer ones.
_MATTER: dict[str, MarkKind] = {
    "toc": "contents",
    "index": "index",
    "notes": "notes",
    "footnotes": "notes",
    "endnotes": "notes",
    "rearnotes": "notes",
    "title-page": "front",
    "titlepage": "front",
    "copyright-page": "front",
    "dedication": "front",
    "frontmatter": "front",
}


class _Entry(NamedTuple):
    """An entry of the table of contents: its level, title, part and fragment."""

    level: int
    title: str
    part: str
    fragment: str


class _Item(NamedTuple):
    part: str
    kind: str
    properties: frozenset[str]
    fallback: str

    @property
    def is_text(self) -> bool:
        return "html" in self.kind or "xml" in self.kind


def read(data: bytes, name: str) -> ReadText:
    """Return the content of a book."""
    return _Book(Archive(data, name), name).read()


class _Book:
    def __init__(self, archive: Archive, name: str) -> None:
        self._archive = archive
        self._name = name
        self._package_part = self._find_package()
        self._package = xml(archive.part(self._package_part), name)
        self._items = dict(self._manifest())
        self._builder = TextBuilder()
        self._starts: dict[str, int] = {}
        self._places: dict[tuple[str, str], int] = {}

    def read(self) -> ReadText:
        self._refuse_encrypted()
        spine = list(elements(self._package, "itemref"))
        if not spine:
            raise DocumentError("the book has no spine", place=self._name, hint=_BAD_BOOK)
        guide = self._guide()
        missing = 0
        for ref in spine:
            item = self._items.get(ref.get("idref") or "")
            if item is not None and not item.is_text:
                item = self._items.get(item.fallback, item)
            if item is None or not self._archive.has(item.part):
                missing += 1
            elif not item.is_text:
                self._builder.oddities.append(f"a part of the book is not text: {item.part}, {item.kind}")
            elif item.part not in self._starts:
                self._chapter(item, guide.get(item.part), linear=ref.get("linear") != "no")
        if missing:
            self._builder.oddities.append(f"{missing:,} parts that the spine names are not in the book")
        self._add_parts_outside_the_spine(guide)
        title, language = self._metadata("title"), self._metadata("language")
        self._add_pages()
        reading = self._builder.reading(title, language)
        headings = self._headings(reading) or reading.headings
        return replace(reading, title=title, headings=headings)

    def _add_parts_outside_the_spine(self, guide: Mapping[str, MarkKind]) -> None:
        """Read the pages that only the manifest names at the end, and leave out those that it does not name either."""
        added: list[str] = []
        for item in self._items.values():
            is_page = "html" in item.kind and "nav" not in item.properties
            if is_page and item.part not in self._starts and self._archive.has(item.part):
                start = self._builder.length
                self._chapter(item, guide.get(item.part), linear=True)
                added += [item.part] * (self._builder.length > start)
        if added:
            names = one_line(", ".join(added), TITLE_WIDTH)
            self._builder.oddities.append(f"{len(added):,} parts that the spine does not name are at the end: {names}")
        parts = {item.part.casefold() for item in self._items.values()}
        for name in self._archive.names:
            if name.endswith((".html", ".xhtml", ".htm")) and name.casefold() not in parts:
                text = text_of(page(self._archive.part(name), self._name).root)
                self._builder.leave_out("pages that the book does not name", text=text)

    def _chapter(self, item: _Item, matter: MarkKind | None, *, linear: bool) -> None:
        """Read one file of the book."""
        builder, start = self._builder, self._builder.length
        self._starts[item.part] = start
        try:
            root, _, notes = page(self._archive.part(item.part), self._name)
        except DocumentError as error:
            if any(reason in error.message for reason in ("encrypted", "unpacked", "attributes")):
                raise
            builder.oddities.append(f"a part of the book cannot be read: {item.part}: {error.message}")
            builder.extents.append(ReadCoverage(item.part, self._archive.size(item.part), 0))
            return
        builder.oddities.extend(f"{item.part}: {note}" for note in notes)
        length = size(text_of(root))
        builder.extents.append(ReadCoverage(item.part, length, length))
        body = body_of(root)
        walker = HtmlWalker(builder, item.part)
        walker.walk(body)
        self._places |= {(item.part, key): at for key, at in walker.ids.items()}
        kind = matter or ("contents" if "nav" in item.properties else None)
        kind = kind or next((_MATTER[name] for name in sorted(kinds(body)) if name in _MATTER), None)
        if builder.length > start:
            if kind:
                builder.marks.append(Mark(start, builder.length, kind, "", item.part))
            if not linear:
                builder.oddities.append("its parts outside the reading order are placed where the spine names them")

    def _find_package(self) -> str:
        if self._archive.has(_CONTAINER):
            root = xml(self._archive.part(_CONTAINER), self._name)
            part = next((element.get("full-path") for element in elements(root, "rootfile")), None)
            if part and self._archive.has(part):
                return part
        part = next((name for name in self._archive.names if name.endswith(".opf")), None)
        if part is None:
            raise DocumentError(
                "this is not an EPUB book: it has no list of its parts", place=self._name, hint=_BAD_BOOK
            )
        return part

    def _manifest(self) -> Iterator[tuple[str, _Item]]:
        for element in elements(self._package, "item"):
            if (key := element.get("id")) and (href := element.get("href")):
                part, _ = resolve(self._package_part, href)
                properties = frozenset((element.get("properties") or "").split())
                yield key, _Item(part, element.get("media-type") or "", properties, element.get("fallback") or "")

    def _guide(self) -> dict[str, MarkKind]:
        """Return the parts that the book declares as front matter, contents, notes or index."""
        guide: dict[str, MarkKind] = {}
        for element in elements(self._package, "reference"):
            if kind := _MATTER.get((element.get("type") or "").lower()):
                part, fragment = resolve(self._package_part, element.get("href") or "")
                if not fragment:
                    guide[part] = kind
        return guide

    def _refuse_encrypted(self) -> None:
        """Raise for an encrypted book; one with only obfuscated fonts can be read."""
        if not self._archive.has(_ENCRYPTION):
            return
        root = xml(self._archive.part(_ENCRYPTION), self._name)
        methods = [attr(element, "Algorithm") for element in elements(root, "encryptionmethod")]
        if any(not any(font in method.lower() for font in _FONTS) for method in methods):
            raise DocumentError(
                "the book is encrypted, and only its seller's programs can open it",
                place=self._name,
                hint="give a copy without protection",
            )

    def _metadata(self, what: str) -> str:
        """Return an element of the book's metadata."""
        return one_line(text_of(next(elements(self._package, what), None)))

    def _headings(self, reading: ReadText) -> tuple[Heading, ...]:
        """Return the sections of the table of contents, as far as its entries point into the text."""
        contents = list(islice(self._contents(), MAX_ENTRIES + 1))
        if len(contents) > MAX_ENTRIES:
            raise DocumentError(
                f"its contents have more than {MAX_ENTRIES:,} entries", place=self._name, hint=_BAD_BOOK
            )
        headings = [
            Heading(at, entry.level, entry.title)
            for entry in contents
            if entry.title and (at := self._place(entry.part, entry.fragment)) is not None and at < len(reading.text)
        ]
        settled = sorted({heading._replace(at=_after_blank(reading.text, heading.at)) for heading in headings})
        if len({heading.at for heading in settled}) < 2 <= len(reading.headings):
            return ()
        return tuple(_with_inner(settled, reading.headings))

    def _place(self, part: str, fragment: str) -> int | None:
        if fragment and (part, fragment) in self._places:
            return self._places[part, fragment]
        return self._starts.get(part)

    def _contents(self) -> Iterator[_Entry]:
        """Yield the entries of the navigation document (EPUB 3), else of the NCX file (EPUB 2)."""
        nav = next((item.part for item in self._items.values() if "nav" in item.properties), None)
        if nav and self._archive.has(nav):
            root = page(self._archive.part(nav), self._name).root
            lists = [element for element in elements(root, "nav") if "toc" in kinds(element)]
            if entries := [entry for element in lists[:1] for entry in islice(_nav(element, nav), MAX_ENTRIES + 1)]:
                yield from entries
                return
        ncx = next((item.part for item in self._items.values() if "ncx" in item.kind), None)
        if ncx and self._archive.has(ncx):
            yield from _ncx(xml(self._archive.part(ncx), self._name), ncx)

    def _add_pages(self) -> None:
        """Add the pages of the page list, unless the text itself marks where they begin."""
        nav = next((item.part for item in self._items.values() if "nav" in item.properties), None)
        if any(mark.kind == "page" for mark in self._builder.marks) or not nav or not self._archive.has(nav):
            return
        root = page(self._archive.part(nav), self._name).root
        lists = [element for element in elements(root, "nav") if "page-list" in kinds(element)]
        begins = []
        for link in (link for element in lists for link in elements(element, "a")):
            part, fragment = resolve(nav, link.get("href") or "")
            if (at := self._place(part, fragment)) is not None:
                label = one_line(text_of(link), 20)
                begins.append((at, Anchor(label, f"{part}#{fragment}" if fragment else part)))
        text = "".join(self._builder.parts)
        begins = sorted((_after_blank(text, at), anchor) for at, anchor in begins)
        ends = [*(at for at, _ in begins[1:]), self._builder.length][: len(begins)]
        for (at, anchor), end in zip(begins, ends, strict=True):
            if end > at:
                self._builder.marks.append(Mark(at, end, "page", anchor.label, anchor.href))


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
