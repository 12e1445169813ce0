"""HTML: the main content of a page without what a site puts around it, with headings, lists and tables as lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from redraft.document import MarkKind
from redraft.readers.builder import BREAK, Anchor, ReadCoverage, ReadText, Run, TextBuilder, cell_text
from redraft.readers.markup import Element, attr, child, elements, page, tag, text_in, text_of
from redraft.readers.recovery import RAW, size
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words

_ITEM = re.compile(r"\s*(?:-|\d{1,6}\.) ")
_COMMENTS, _NAVIGATION = "comments", "navigation"
_NAMES = {
    "cookie banners": "cookie cookies cookiebanner cookiebot consent gdpr ccpa onetrust didomi usercentrics",
    "share bars": "share shares sharing sharebar sharebuttons sharedaddy social addtoany addthis",
    "advertisements": "ad ads advert adverts advertisement advertisements advertising adslot adsbygoogle sponsored"
    " sponsor promoted outbrain taboola dfp",
    "appeals to subscribe": "newsletter subscribe subscription signup paywall promo donate",
    _COMMENTS: "comments commentlist disqus respond",
    _NAVIGATION: "related recommended recommendations trending recirculation mostread sidebar widget widgets footer nav"
    " navbar navigation menu breadcrumb breadcrumbs pagination toolbar tags tagcloud editsection toast skiplink",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_WORD = re.compile(r"[a-z]+|[A-Z][a-z]*")
_LONGEST = 1_000
_DIALOGS = frozenset({"dialog", "alertdialog"})
_LARGEST = 0.3
"""A larger share of the words of a page is not clutter, whatever its name; comments may be longer."""
_MIN_REMAINING, _LEFT_BESIDE = 60, 0.1
"""The least words, and the least words relative to the comments, of an article; with fewer, comments are the content.
"""
_FEW_IN_SHARE_BAR = 60


def clutter(body: Element) -> Mapping[Element, str]:
    """Return the outermost elements that are not part of the page's content, each with its kind."""
    total = removed = 0
    found: dict[Element, str] = {}
    comments: dict[Element, int] = {}
    stack = [body]
    while stack:
        element = stack.pop()
        kind = kind_of(element) if element is not body else ""
        words = _word_count(element) if kind else 0
        total = total or (_word_count(body) if kind else 0)
        if kind == _COMMENTS:
            comments[element] = words
        elif kind and words <= _LARGEST * total and not (kind == "share bars" and words > _FEW_IN_SHARE_BAR):
            found[element] = kind
            removed += words
        else:
            stack.extend(reversed(element))
    beside = total - removed - sum(comments.values())
    if beside >= max(_MIN_REMAINING, _LEFT_BESIDE * sum(comments.values())):
        found |= dict.fromkeys(comments, _COMMENTS)
    return found


def kind_of(element: Element) -> str:
    """Return the kind of clutter by an element's name, class and role; empty if it is part of the text."""
    if not element.attrib or tag(element) in ("html", "body", "main", "article", "h1", "h2", "a", "span", "td", "th"):
        return _NAVIGATION if "editsection" in (element.get("class") or "") else ""
    if element.get("role") in _DIALOGS:
        return next(_of_names(element), _NAVIGATION)
    kind = next(_of_names(element), "")
    if kind == _NAVIGATION and next(elements(element, "h1"), None) is not None:
        return ""
    return kind


def _of_names(element: Element) -> Iterator[str]:
    """Yield the kinds of clutter that the words of an element's class and id name."""
    names = _WORD.findall(f"{element.get('id') or ''} {element.get('class') or ''}"[:_LONGEST])
    return (_KINDS[name.lower()] for name in names if name.lower() in _KINDS)


def _word_count(element: Element) -> int:
    return count_words(" ".join(str(text) for text in element.itertext()))


_HEADINGS = {f"h{rank}": rank for rank in range(1, 7)}
_LEFT_OUT = {
    "script": "scripts",
    "style": "style sheets",
    "template": "hidden parts",
    "noscript": "hidden parts",
    "svg": "pictures",
    "img": "pictures",
    "picture": "pictures",
    "canvas": "pictures",
    "video": "audio and video",
    "audio": "audio and video",
    "iframe": "embedded pages",
    "object": "embedded pages",
    "embed": "embedded pages",
    "button": "form fields",
    "select": "form fields",
    "input": "form fields",
    "textarea": "form fields",
    "dialog": "hidden parts",
    "head": "",
    "rt": "phonetic readings",
    "rp": "",
}
_OF_BLOCKS = (
    "address article aside blockquote body center dd details div dl dt fieldset figure footer form header hgroup hr"
    " html legend li main nav ol p pre section summary table tbody td tfoot th thead tr ul figcaption caption"
)
_BLOCKS = frozenset(_OF_BLOCKS.split())
_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])", re.IGNORECASE
)
_HIDDEN_CLASS = frozenset({"sr-only", "visually-hidden", "screen-reader-text", "visuallyhidden"})
_AROUND_NAMES = frozenset({"nav", "header", "footer"})
_AROUND = frozenset({"navigation", "banner", "contentinfo", "search", "complementary"})
_AROUND_CLASS = frozenset({"nav", "navbar", "menu", "breadcrumb", "breadcrumbs", "sidebar", "headerlink", "related"})
_MAIN_IDS = frozenset({"content", "main", "main-content", "mw-content-text", "bodycontent", "maincontent"})
_MAIN_SHARE = 0.5
_PAGE_CLASS = frozenset({"pagenum", "pageno", "page-number", "pagebreak", "page-break"})
_PERMALINKS = frozenset("#¶§🔗⚓")
_LONG_CELL = 400
_LONGEST_NUMBER = 30
"""The most characters of the number of a page or note, with what stands around it; a longer one is text."""
_MATTER: dict[str, MarkKind] = {
    "toc": "contents",
    "landmarks": "contents",
    "lot": "contents",
    "loi": "contents",
    "index": "index",
    "endnotes": "notes",
    "footnotes": "notes",
    "rearnotes": "notes",
    "frontmatter": "front",
    "titlepage": "front",
    "halftitlepage": "front",
    "copyright-page": "front",
    "dedication": "front",
    "acknowledgments": "front",
    "pg-header": "gutenberg",
    "pg-footer": "gutenberg",
}
_NOTES = frozenset({"footnote", "endnote", "rearnote", "note"})
_PAGE_NUMBER = re.compile(r"[\[({]?\s*(?:p(?:g|age)?\.?\s*)?([0-9]{1,5}|[ivxlcdm]{1,8})\s*[\])}]?", re.IGNORECASE)


def read(data: bytes, name: str) -> ReadText:
    """Return the content of a page, or of several in one file."""
    found = page(data, name)
    odd = [] if found.encoding == "utf-8" else [f"the page is in {found.encoding}"]
    builder = TextBuilder(oddities=[*odd, *found.notes])
    seen = 0
    for root in found.roots:
        body = body_of(root)
        main = _main(body)
        if main is not body and (outside := max(0, count_words(_words(body)) - count_words(_words(main)))):
            builder.leave_out("words outside the main content", outside)
        walker = HtmlWalker(builder, clutter=clutter(main))
        walker.walk(main)
        seen += text_in(root) - text_in(main) + walker.seen
    builder.extents.append(ReadCoverage(name, found.held, seen))
    first = found.roots[0]
    return builder.reading(title_of(first, builder), attr(first, "lang"))


def body_of(root: Element) -> Element:
    """Return the body of a page, or its root if there is text outside the body."""
    body = next(elements(root, "body"), root)
    heads = sum(text_in(element) for element in root.iterchildren() if tag(element) == "head")
    return body if text_in(root) <= text_in(body) + heads else root


def title_of(root: Element, builder: TextBuilder) -> str:
    """Return the first heading of level 1, unless it is a chapter's, else the page's title. Where that is the heading
    of a chapter, what the page calls itself elsewhere comes first."""
    heads, title = builder.headings, one_line(text_of(next(elements(root, "title"), None)))
    if heads and heads[0].level == 1 and builder.first_title:
        return builder.first_title
    # A first heading further in may well repeat the name of the page.
    if title == builder.first_title or title not in {
        heading.title for heading in heads if heading is not heads[0] or heading.level == 1
    }:
        return title
    inside = {heading.title for heading in heads}
    called = [
        one_line(element.get("content") or "")
        for element in elements(root, "meta")
        if element.get("property") == "og:title"
    ]
    called += [builder.first_title, *(one_line(text_of(element)) for element in elements(root, "h1"))]
    return next((one for one in called if one and one not in inside - {builder.first_title}), title)


def _words(element: Element | None) -> str:
    return "" if element is None else " ".join(map(str, element.itertext()))


def _main(body: Element) -> Element:
    """Return the element with the main content of a page, without what surrounds it."""
    whole = max(1, len(_words(body)))
    for wanted in (
        lambda one: tag(one) == "main" or one.get("role") == "main",
        lambda one: tag(one) == "article",
        lambda one: tag(one) == "div" and (one.get("id") or "").lower() in _MAIN_IDS,
    ):
        found = [element for element in body.iter() if wanted(element)]
        largest = max(found, key=lambda one: len(_words(one)), default=None)
        if largest is not None and len(_words(largest)) >= _MAIN_SHARE * whole:
            return largest
    return body


def kinds(element: Element) -> set[str]:
    """Return the kinds that an element declares by its role and its EPUB type."""
    if not element.attrib:
        return set()
    roles = {role.removeprefix("doc-") for role in (element.get("role") or "").lower().split()}
    return roles | set(attr(element, "type").lower().split())


class HtmlWalker:
    """Walks a page in order, without recursion, since an untrusted page may be nested arbitrarily deeply."""

    def __init__(self, builder: TextBuilder, place: str = "", clutter: Mapping[Element, str] | None = None) -> None:
        self._builder = builder
        self._clutter = clutter or {}
        self._place = place
        self._runs: list[Run] = []
        self._lists: list[tuple[str, int]] = []
        self._item = ""
        self._heading = 0
        self._open: list[tuple[Element, MarkKind, int]] = []
        self.ids: dict[str, int] = {}
        self.seen = 0
        """The number of characters that were read or deliberately omitted."""

    def walk(self, root: Element) -> None:
        """Read an element and everything in it."""
        stack: list[tuple[Element, bool]] = [(root, False)]
        while stack:
            element, done = stack.pop()
            if done:
                self._leave(element)
            elif self._enter(element):
                stack.append((element, True))
                stack.extend((child, False) for child in reversed(element))
                self._say(element.text)
                continue
            else:
                self.seen += text_in(element)
            if element is not root:
                self._say(element.tail)
        self._flush()

    def _say(self, text: str | None) -> None:
        if text:
            self.seen += size(text)
            self._runs.append(text)

    def _enter(self, element: Element) -> bool:
        """Return whether the contents of an element are to be read."""
        name = tag(element)
        if not name or name in _LEFT_OUT:
            if what := _LEFT_OUT.get(name, ""):
                self._builder.leave_out(what, text="" if name in RAW else text_of(element))
            return False
        if around := self._clutter.get(element) or _not_shown(element, name):
            self._builder.leave_out(around, text=text_of(element))
            return False
        if name == "br":
            self._runs.append(BREAK)
            return False
        if self._is_apart(element, name):
            return False
        if name in _BLOCKS or name in _HEADINGS:
            self._flush()
            self._begin(element, name)
        if (key := element.get("id") or (element.get("name") if name == "a" else "")) and key not in self.ids:
            self.ids[key] = self._builder.length
        return True

    def _is_apart(self, element: Element, name: str) -> bool:
        """Return whether an element was handled separately: a page number, a table, or preformatted text."""
        if (anchor := self._page(element, name)) is not None:
            self._runs.append(anchor)
        elif name == "a" and "noteref" in kinds(element) and size(text_of(element)) <= _LONGEST_NUMBER:
            self._builder.leave_out("note numbers")
        elif name == "a" and len(element) == 0 and (element.text or "").strip() in _PERMALINKS:
            pass
        elif name == "pre":
            self._flush()
            self._builder.verbatim(text_of(element))
        elif name == "table" and _is_data(element):
            self._flush()
            self._table(element)
        else:
            return False
        return True

    def _begin(self, element: Element, name: str) -> None:
        if name in _HEADINGS:
            self._heading = _HEADINGS[name]
        elif name in ("ul", "ol"):
            start = element.get("start") or "1"
            self._lists.append((name, int(start) if start.isascii() and start.isdigit() and len(start) < 7 else 1))
        elif name == "li":
            kind, number = self._lists[-1] if self._lists else ("ul", 1)
            self._item = "  " * max(0, len(self._lists) - 1) + (f"{number}. " if kind == "ol" else "- ")
            if self._lists:
                self._lists[-1] = (kind, number + 1)
        if (of_it := _mark_of(element, name)) is not None:
            self._open.append((element, of_it, self._builder.length))

    def _leave(self, element: Element) -> None:
        name = tag(element)
        if name in _BLOCKS or name in _HEADINGS:
            self._flush()
        if name in ("ul", "ol") and self._lists:
            self._lists.pop()
        if name == "li":
            self._item = ""
        if self._open and self._open[-1][0] is element:
            _, of_it, start = self._open.pop()
            self._builder.mark(of_it, self._builder.span_since(start), _label(element), self._address(element))

    def _flush(self) -> None:
        runs, self._runs = self._runs, []
        if self._heading:
            rank, self._heading = self._heading, 0
            self._builder.heading(rank, runs)
        elif self._item:
            between = "\n" if self._builder.parts and _ITEM.match(self._builder.parts[-1]) else "\n\n"
            added = self._builder.add(runs, between=between, before=self._item)
            self._item = "" if added.end > added.start else self._item
        else:
            self._builder.add(runs)

    def _table(self, table: Element) -> None:
        label = one_line(_words(child(table, "caption")))
        if label:
            self._builder.mark("caption", self._builder.add([label]), label)
        rows = ([_cell(element) for element in cells] for cells in _rows(table))
        self._builder.table(rows, label, self._address(table))

    def _page(self, element: Element, name: str) -> Anchor | None:
        """Return the page that begins at an element, with its label; None if none does."""
        if not element.attrib:
            return None
        classes = set((element.get("class") or "").lower().split())
        if "pagebreak" not in kinds(element) and not (classes & _PAGE_CLASS and name in ("span", "a", "div", "p")):
            return None
        if size(text_of(element)) > _LONGEST_NUMBER:
            return None
        said = element.get("aria-label") or element.get("title") or one_line(_words(element)) or element.get("id") or ""
        match = _PAGE_NUMBER.fullmatch(said.strip().rstrip(".")) or re.search(r"(\d{1,5}|[ivxlcdm]{1,8})\W*\Z", said)
        if not match:
            return None
        inner = next((one.get("id") for one in element.iter() if one.get("id")), "") or ""
        return Anchor(match[1], f"{self._place}#{inner}" if inner else self._place)

    def _address(self, element: Element) -> str:
        key = element.get("id")
        return f"{self._place}#{key}" if key else self._place


def _not_shown(element: Element, name: str) -> str:
    """Return the kind of an element that readers do not see; empty if they do."""
    if not element.attrib and name not in _AROUND_NAMES:
        return ""
    classes = set((element.get("class") or "").lower().split())
    said = kinds(element)
    if (
        element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or classes & _HIDDEN_CLASS
        or _HIDDEN_STYLE.search(element.get("style") or "")
    ):
        return "hidden parts" if text_of(element).strip() else ""
    if said & _MATTER.keys() or {element.get("id") or ""} & _MATTER.keys():
        return ""
    if name == "nav" or said & _AROUND or classes & _AROUND_CLASS:
        return "navigation"
    parent = element.getparent()
    if name in ("header", "footer") and parent is not None and tag(parent) == "body":
        return "headers and footers" if name == "footer" or next(elements(element, "h1"), None) is None else ""
    return ""


def _mark_of(element: Element, name: str) -> MarkKind | None:
    if not element.attrib:
        return "caption" if name == "figcaption" else None
    said = kinds(element) | {element.get("id") or ""}
    classes = set((element.get("class") or "").lower().split())
    if matter := next((_MATTER[one] for one in sorted(said) if one in _MATTER), None):
        return matter
    if name in ("div", "nav", "section", "ul", "table") and "toc" in classes:
        return "contents"
    if said & _NOTES or (classes & _NOTES and name in ("p", "li", "div", "aside")):
        return "note"
    return "caption" if name == "figcaption" else None


def _label(element: Element) -> str:
    match = re.match(r"\W*(\d{1,4}|[*†‡§])\W", _words(element)[:20].strip() + " ")
    return match[1] if match and tag(element) not in ("section", "nav") else ""


def _is_data(table: Element) -> bool:
    """Return whether a table holds data, and is not used for layout."""
    if table.get("role") == "presentation":
        return False
    cells = list(elements(table, "td", "th"))
    rows = len(list(elements(table, "tr")))
    nested = any(True for cell in cells for _ in elements(cell, "table", "h1", "h2", "h3", "ul", "ol", "pre"))
    if not cells or nested or len(cells) <= rows or any(len(_words(element)) > _LONG_CELL for element in cells):
        return False
    read = [cell for cells in _rows(table) for cell in cells]
    captions = [element for element in table.iterchildren() if tag(element) == "caption"][:1]
    return text_in(table) <= sum(map(text_in, (*read, *captions)))


def _rows(table: Element) -> Iterator[list[Element]]:
    """Yield the cells of each row of a table."""
    for row in elements(table, "tr"):
        yield [element for element in row.iterchildren() if tag(element) in ("td", "th")]


def _cell(cell: Element) -> str:
    """Return the text of a cell on one line."""
    unread = list(elements(cell, "script", "style"))
    if not unread:
        return cell_text(text_of(cell))
    read = (element for element in cell.iter() if element not in unread)
    return cell_text(f"{element.text or ''}{element.tail or ''}" for element in read)
