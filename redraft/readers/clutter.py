"""Finds what a site puts around the article of a page: cookie banners, share bars, advertisements, comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from redraft.readers.markup import Element, elements, tag
from redraft.text.words import count_words

_COMMENTS, _AROUND = "comments", "navigation"
_NAMES = {
    "cookie banners": "cookie cookies cookiebanner cookiebot consent gdpr ccpa onetrust didomi usercentrics",
    "share bars": "share shares sharing sharebar sharebuttons sharedaddy social addtoany addthis",
    "advertisements": "ad ads advert adverts advertisement advertisements advertising adslot adsbygoogle sponsored"
    " sponsor promoted outbrain taboola dfp",
    "appeals to subscribe": "newsletter subscribe subscription signup paywall promo donate",
    _COMMENTS: "comments commentlist disqus respond",
    _AROUND: "related recommended recommendations trending recirculation mostread sidebar widget widgets footer nav"
    " navbar navigation menu breadcrumb breadcrumbs pagination toolbar tags tagcloud editsection toast skiplink",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_WORD = re.compile(r"[a-z]+|[A-Z][a-z]*")
_LONGEST = 1_000
_DIALOGS = frozenset({"dialog", "alertdialog"})
_LARGEST = 0.3
"""A larger share of the words of a page is not clutter, whatever its name; comments may be longer."""
_FEWEST_LEFT, _LEFT_BESIDE = 60, 0.1
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
        one = stack.pop()
        kind = kind_of(one) if one is not body else ""
        words = _words(one) if kind else 0
        total = total or (_words(body) if kind else 0)
        if kind == _COMMENTS:
            comments[one] = words
        elif kind and words <= _LARGEST * total and not (kind == "share bars" and words > _FEW_IN_SHARE_BAR):
            found[one] = kind
            removed += words
        else:
            stack.extend(reversed(one))
    beside = total - removed - sum(comments.values())
    if beside >= max(_FEWEST_LEFT, _LEFT_BESIDE * sum(comments.values())):
        found |= dict.fromkeys(comments, _COMMENTS)
    return found


def kind_of(element: Element) -> str:
    """Return the kind of clutter by an element's name, class and role; empty if it is part of the text."""
    if not element.attrib or tag(element) in ("html", "body", "main", "article", "h1", "h2", "a", "span", "td", "th"):
        return _AROUND if "editsection" in (element.get("class") or "") else ""
    if element.get("role") in _DIALOGS:
        return next(_of_names(element), _AROUND)
    kind = next(_of_names(element), "")
    if kind == _AROUND and next(elements(element, "h1"), None) is not None:
        return ""
    return kind


def _of_names(element: Element) -> Iterator[str]:
    """Yield the kinds of clutter that the words of an element's class and id name."""
    names = _WORD.findall(f"{element.get('id') or ''} {element.get('class') or ''}"[:_LONGEST])
    return (_KINDS[name.lower()] for name in names if name.lower() in _KINDS)


def _words(element: Element) -> int:
    return count_words(" ".join(str(text) for text in element.itertext()))
