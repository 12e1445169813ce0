"""HTML: the main content of a page without what a site puts around it, with headings, lists and tables as lines."""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice

from redraft.document import MarkKind
from redraft.readers.builder import BREAK, Anchor, ReadText, Run, TextBuilder
from redraft.readers.markup import Element, attr, child, elements, page, remove, size, tag, text_of
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words

_COMMENTS, _NAVIGATION, _LINKS = "comments", "navigation", "boxes of links"
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
_NEVER_CLUTTER = frozenset({"html", "body", "main", "article", "h1", "h2", "a", "span", "td", "th"})
_OF_BOXES = "aside center details div dl footer header menu nav ol section ul"
_BOXES = frozenset(_OF_BOXES.split())
_WORD = re.compile(r"[a-z]+|[A-Z][a-z]*")
_LARGEST = 0.3
"""A larger share of the words of a page is not clutter, whatever its name; comments may be longer."""
_MIN_REMAINING, _LEFT_BESIDE = 60, 0.1
"""The least words, and the least words relative to the comments, of an article; with fewer, comments are the content.
"""
_FEW_IN_SHARE_BAR = 60
_LINKED, _MIN_LINKS = 0.5, 2
"""The share of words in links, and the number of links, of a box with teasers to other pages."""
_HEADINGS = {f"h{rank}": rank for rank in range(1, 7)}
_ITEM = re.compile(r"\s*(?:-|\d{1,6}\.) ")
_LEFT_OUT = {
    **dict.fromkeys(("template", "noscript", "dialog"), "hidden parts"),
    **dict.fromkeys(("svg", "img", "picture", "canvas"), "pictures"),
    **dict.fromkeys(("video", "audio"), "audio and video"),
    **dict.fromkeys(("iframe", "object", "embed"), "embedded pages"),
    **dict.fromkeys(("button", "select", "input", "textarea"), "form fields"),
    "script": "scripts",
    "style": "style sheets",
    "rt": "phonetic readings",
    "rp": "",
    "head": "",
    "title": "",
}
_UNSPOKEN = frozenset({"script", "style"})
_OF_BLOCKS = (
    "address article aside blockquote body center dd details div dl dt fieldset figure footer form header hgroup hr"
    " html legend li main nav ol p pre section summary table tbody td tfoot th thead tr ul figcaption caption"
)
_BLOCKS = frozenset(_OF_BLOCKS.split())
_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])", re.IGNORECASE
)
_HIDDEN_CLASS = frozenset({"sr-only", "visually-hidden", "screen-reader-text", "visuallyhidden"})
_AROUND = frozenset({"navigation", "banner", "contentinfo", "search", "complementary"})
_AROUND_CLASS = frozenset({"nav", "navbar", "menu", "breadcrumb", "breadcrumbs", "sidebar", "headerlink", "related"})
_MAIN_IDS = frozenset({"content", "main", "main-content", "mw-content-text", "bodycontent", "maincontent"})
_MAIN_SHARE = 0.5
_PAGE_CLASS = frozenset({"pagenum", "pageno", "page-number", "pagebreak", "page-break"})
_PERMALINKS = frozenset("#¶§🔗⚓")
_LONG_CELL = 400
_LONGEST_NUMBER = 30
"""The most characters of the number of a page or note, with what stands around it; a longer one is text."""
MATTER: dict[str, MarkKind] = {
    **dict.fromkeys(("toc", "landmarks", "lot", "loi"), "contents"),
    "index": "index",
    **dict.fromkeys(("endnotes", "footnotes", "rearnotes"), "notes"),
    **dict.fromkeys(
        ("frontmatter", "titlepage", "halftitlepage", "copyright-page", "dedication", "acknowledgments"), "front"
    ),
    **dict.fromkeys(("pg-header", "pg-footer"), "gutenberg"),
}
_NOTES = frozenset({"footnote", "endnote", "rearnote", "note"})
_PAGE_NUMBER = re.compile(r"[\[({]?\s*(?:p(?:g|age)?\.?\s*)?([0-9]{1,5}|[ivxlcdm]{1,8})\s*[\])}]?", re.IGNORECASE)
_LAST_NUMBER = re.compile(r"(\d{1,5}|[ivxlcdm]{1,8})\W*\Z")


def read(data: bytes, name: str) -> ReadText:
    """Return the content of a page. It is called after its first heading, if that is of level 1 and not a chapter's,
    or else by its title."""
    root, encoding, notes = page(data, name)
    builder = TextBuilder(oddities=[*([] if encoding == "utf-8" else [f"the page is in {encoding}"]), *notes])
    title, body = one_line(text_of(next(elements(root, "title"), None))), body_of(root)
    # What surrounds the main content is left out, if that is at least half of the page.
    main, length = body, max(1, size(text_of(body)))
    for is_main in (
        lambda element: tag(element) == "main" or element.get("role") == "main",
        lambda element: tag(element) == "article",
        lambda element: tag(element) == "div" and (element.get("id") or "").lower() in _MAIN_IDS,
    ):
        sizes = {element: size(text_of(element)) for element in body.iter() if is_main(element)}
        largest = max(sizes, key=lambda element: sizes[element], default=None)
        if largest is not None and sizes[largest] >= _MAIN_SHARE * length:
            main = largest
            break
    if outside := count_words(" ".join(map(str, body.itertext()))) - count_words(" ".join(map(str, main.itertext()))):
        builder.leave_out("words outside the main content", outside)
    _remove_clutter(main, builder)
    HtmlWalker(builder).walk(main)
    is_headed = bool(builder.headings) and builder.headings[0].level == 1
    return builder.reading((builder.first_title if is_headed else "") or title, attr(root, "lang"))


def body_of(root: Element) -> Element:
    """Return the body of a page, or its root where it has none."""
    return next(elements(root, "body"), root)


def kinds(element: Element) -> set[str]:
    """Return the kinds that an element declares by its role and its EPUB type."""
    if not element.attrib:
        return set()
    roles = {role.removeprefix("doc-") for role in (element.get("role") or "").lower().split()}
    return roles | set(attr(element, "type").lower().split())


def _remove_clutter(body: Element, builder: TextBuilder) -> None:
    """Remove the outermost elements that are not part of the page's content, and record them."""
    for element in [element for element in elements(body, *_UNSPOKEN) if element is not body]:
        builder.leave_out(_LEFT_OUT[tag(element)])
        remove(element)

    # The numbers of words in all elements, and of those in links to other pages; children precede their parents.
    words: Counter[Element] = Counter()
    linked: Counter[Element] = Counter()
    for element in reversed(list(body.iter())):
        words[element] += count_words(element.text or "")
        linked[element] = words[element] if _is_link(element) else linked[element]
        parent = element.getparent()
        if element is not body and parent is not None:
            words[parent] += words[element] + count_words(element.tail or "")
            linked[parent] += linked[element]

    clutter: dict[Element, str] = {}
    comments: list[Element] = []
    stack = list(reversed(body))
    while stack:
        element = stack.pop()
        kind = _clutter_of(element, words[element], linked[element])
        is_article = kind == "share bars" and words[element] > _FEW_IN_SHARE_BAR
        if kind == _COMMENTS:
            comments.append(element)
        elif kind and words[element] <= _LARGEST * words[body] and not is_article:
            clutter[element] = kind
        else:
            stack.extend(reversed(element))
    in_comments = sum(words[element] for element in comments)
    remaining = words[body] - in_comments - sum(words[element] for element in clutter)
    is_article = remaining >= max(_MIN_REMAINING, _LEFT_BESIDE * in_comments)
    clutter |= dict.fromkeys(comments if is_article else (), _COMMENTS)

    for element, kind in clutter.items():
        title = element.getprevious()
        if kind == _LINKS and title is not None and tag(title) in _HEADINGS:
            builder.leave_out(kind, 0, text=text_of(title))
            remove(title)
        if text_of(element).strip():
            builder.leave_out(kind, text=text_of(element))
        remove(element)


def _is_link(element: Element) -> bool:
    return tag(element) == "a" and not (element.get("href") or "#").startswith("#")


def _clutter_of(element: Element, words: int, linked: int) -> str:
    """Return the kind of clutter that an element is, by its name, class and role, or as a box of links to other pages,
    such as the most viewed ones; empty if it is part of the text."""
    kind = ""
    if not element.attrib or tag(element) in _NEVER_CLUTTER:
        kind = _NAVIGATION if "editsection" in (element.get("class") or "") else ""
    else:
        names = _WORD.findall(f"{element.get('id') or ''} {element.get('class') or ''}"[:1_000])
        kind = next((_KINDS[name.lower()] for name in names if name.lower() in _KINDS), "")
        if element.get("role") in ("dialog", "alertdialog"):
            kind = kind or _NAVIGATION
        elif kind == _NAVIGATION and next(elements(element, "h1"), None) is not None:
            kind = ""
    if kind or tag(element) not in _BOXES or linked < max(1, _LINKED * words) or _mark_of(element) == "contents":
        return kind
    links = sum(1 for _ in islice(filter(_is_link, element.iter()), _MIN_LINKS))
    return _LINKS if links == _MIN_LINKS else ""


class HtmlWalker:
    """Walks a page in order, without recursion, since an untrusted page may be nested deeply."""

    def __init__(self, builder: TextBuilder, place: str = "") -> None:
        self._builder = builder
        self._place = place
        self._runs: list[Run] = []
        self._lists: list[tuple[str, int]] = []
        self._item = ""
        self._heading = 0
        self._open_marks: list[tuple[Element, MarkKind, int]] = []
        self.ids: dict[str, int] = {}

    def walk(self, root: Element) -> None:
        """Read an element and everything in it."""
        stack: list[tuple[Element, bool]] = [(root, False)]
        while stack:
            element, is_end = stack.pop()
            name = tag(element)
            if is_end:
                self._leave(element)
            elif not self._is_apart(element, name):
                if name in _BLOCKS or name in _HEADINGS:
                    self._flush()
                    self._begin(element, name)
                if (key := element.get("id") or (element.get("name") if name == "a" else "")) and key not in self.ids:
                    self.ids[key] = self._builder.length
                stack.append((element, True))
                stack.extend((child, False) for child in reversed(element))
                self._runs.append(element.text or "")
                continue
            if element is not root:
                self._runs.append(element.tail or "")
        self._flush()

    def _is_apart(self, element: Element, name: str) -> bool:
        """Return whether an element was left out, or handled separately: a break, a page number, a table, or
        preformatted text."""
        reason = _LEFT_OUT.get(name) or _not_shown(element, name)
        if reason:
            self._builder.leave_out(reason, text="" if name in _UNSPOKEN else text_of(element))
        if reason or name in _LEFT_OUT:
            return True
        if name == "br":
            self._runs.append(BREAK)
        elif (anchor := self._page(element, name)) is not None:
            self._runs.append(anchor)
        elif name == "a" and "noteref" in kinds(element) and size(text_of(element)) <= _LONGEST_NUMBER:
            self._builder.leave_out("note numbers")
        elif name == "a" and len(element) == 0 and (element.text or "").strip() in _PERMALINKS:
            pass
        elif name == "pre":
            self._flush()
            self._builder.verbatim(text_of(element))
        else:
            return name == "table" and self._add_table(element)
        return True

    def _begin(self, element: Element, name: str) -> None:
        if name in _HEADINGS:
            self._heading = _HEADINGS[name]
        elif name in ("ul", "ol"):
            start = element.get("start") or "1"
            self._lists.append((name, int(start) if start.isascii() and start.isdigit() and len(start) < 7 else 1))
        elif name == "li":
            kind, number = self._lists[-1] if self._lists else ("ul", 1)
            self._item = "  " * min(8, max(0, len(self._lists) - 1)) + (f"{number}. " if kind == "ol" else "- ")
            if self._lists:
                self._lists[-1] = (kind, number + 1)
        if (mark := _mark_of(element)) is not None:
            self._open_marks.append((element, mark, self._builder.length))

    def _leave(self, element: Element) -> None:
        name = tag(element)
        if name in _BLOCKS or name in _HEADINGS:
            self._flush()
        if name in ("ul", "ol") and self._lists:
            self._lists.pop()
        if name == "li":
            self._item = ""
        if self._open_marks and self._open_marks[-1][0] is element:
            _, mark, start = self._open_marks.pop()
            match = re.match(r"\W*(\d{1,4}|[*†‡§])\W", text_of(element)[:20].strip() + " ")
            label = match[1] if match and name not in ("section", "nav") else ""
            self._builder.mark(mark, self._builder.span_since(start), label, self._address(element))

    def _flush(self) -> None:
        runs, self._runs = self._runs, []
        if self._heading:
            rank, self._heading = self._heading, 0
            self._builder.heading(rank, runs)
        elif self._item:
            between = "\n" if self._builder.parts and _ITEM.match(self._builder.parts[-1]) else "\n\n"
            span = self._builder.add(runs, between=between, before=self._item)
            self._item = "" if span.end > span.start else self._item
        else:
            self._builder.add(runs)

    def _add_table(self, table: Element) -> bool:
        """Add a table that holds data, and is not used for layout; return whether it does."""
        rows = [[cell for cell in row.iterchildren() if tag(cell) in ("td", "th")] for row in elements(table, "tr")]
        cells = [cell for row in rows for cell in row]
        is_nested = any(True for cell in cells for _ in elements(cell, "table", "h1", "h2", "h3", "ul", "ol", "pre"))
        is_long = any(len(text_of(cell)) > _LONG_CELL for cell in cells)
        in_cells = sum(size(text_of(part)) for part in (*cells, *elements(table, "caption")))
        is_layout = table.get("role") == "presentation" or len(cells) <= len(rows)
        if is_layout or is_nested or is_long or size(text_of(table)) > in_cells:
            return False
        self._flush()
        label = one_line(text_of(child(table, "caption")))
        if label:
            self._builder.mark("caption", self._builder.add([label]), label)
        texts = ([one_line(text_of(cell)).replace("|", "/") for cell in row] for row in rows)
        self._builder.table(texts, label, self._address(table))
        return True

    def _page(self, element: Element, name: str) -> Anchor | None:
        """Return the page that begins at an element, with its label; None if none does."""
        if not element.attrib:
            return None
        is_named = bool(_classes(element) & _PAGE_CLASS) and name in ("span", "a", "div", "p")
        if not (is_named or "pagebreak" in kinds(element)) or size(text := text_of(element)) > _LONGEST_NUMBER:
            return None
        label = element.get("aria-label") or element.get("title") or one_line(text) or element.get("id") or ""
        match = _PAGE_NUMBER.fullmatch(label.strip().rstrip(".")) or _LAST_NUMBER.search(label)
        key = next((inner.get("id") for inner in element.iter() if inner.get("id")), "")
        return Anchor(match[1], f"{self._place}#{key}" if key else self._place) if match else None

    def _address(self, element: Element) -> str:
        key = element.get("id")
        return f"{self._place}#{key}" if key else self._place


def _classes(element: Element) -> set[str]:
    return set((element.get("class") or "").lower().split())


def _not_shown(element: Element, name: str) -> str:
    """Return the kind of an element that readers do not see, or that surrounds the text; empty if it is text."""
    if not element.attrib and name not in ("nav", "header", "footer"):
        return ""
    roles, classes = kinds(element), _classes(element)
    if (
        element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or classes & _HIDDEN_CLASS
        or _HIDDEN_STYLE.search(element.get("style") or "")
    ):
        return "hidden parts" if text_of(element).strip() else ""
    if _mark_of(element) is not None:
        return ""
    if name == "nav" or roles & _AROUND or classes & _AROUND_CLASS:
        return _NAVIGATION
    parent = element.getparent()
    if name in ("header", "footer") and parent is not None and tag(parent) == "body":
        return "headers and footers" if name == "footer" or next(elements(element, "h1"), None) is None else ""
    return ""


def _mark_of(element: Element) -> MarkKind | None:
    """Return the kind of mark that an element has by its role, type, id or class."""
    name = tag(element)
    if name == "figcaption" or not element.attrib:
        return "caption" if name == "figcaption" else None
    roles, classes = kinds(element) | {element.get("id") or ""}, _classes(element)
    if matter := next((MATTER[role] for role in sorted(roles) if role in MATTER), None):
        return matter
    if name in ("div", "nav", "section", "ul", "table") and "toc" in classes:
        return "contents"
    is_note = roles & _NOTES or (classes & _NOTES and name in ("p", "li", "div", "aside"))
    return "note" if is_note else None
