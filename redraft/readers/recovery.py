"""The tags of a page or XML file, and the tree of a broken one: no text is lost, and the depth is limited.

libxml2 is faster, but drops elements deeper than 256, text after the end of a page, and whatever it cannot parse. As in
browsers, an element that would be too deep becomes a sibling of its parent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from typing import Literal, NamedTuple

from lxml import etree

from redraft.errors import DocumentError

MAX_ATTRIBUTES = 500
RAW = frozenset({"script", "style"})
"""Elements of a page whose content is not text."""
# A tag without `<` and `>` in its values, as nearly all are; no two alternatives match the same letters.
_PLAIN = re.compile(r"<(/?)([A-Za-z][^\s<>/]*)((?:[^<>\"']|\"[^\"<>]*+\"|'[^'<>]*+')*+)>")
_NAME = re.compile(r"<(/?)([A-Za-z][^\s<>/]*)")
_STOP = re.compile(r"[<>]|=\s*+[\"']")
_ATTRIBUTE = re.compile(r"([^\s=/>\"']+)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"']*+)))?")
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in RAW}
# A script that begins within another one, after a tag and not in a string: the outer one has no end tag.
_RAW_AGAIN = {name: re.compile(rf">\s*<{name}[\s>]", re.IGNORECASE) for name in RAW}
_CDATA, _COMMENT = "<![CDATA[", "<!--"
_BEHIND_VALUE = frozenset(" \t\r\n\f/>")
_LONGEST_CUT = 300
"""The longest tag that the end of a file may cut off; anything longer is text after a `<`."""


class Token(NamedTuple):
    """A stretch of text, or a tag, whose name is in lower case and without its prefix."""

    kind: Literal["text", "start", "empty", "end"]
    value: str
    attributes: str = ""


def attributes(given: str) -> dict[str, str]:
    """Return the attributes of a tag by name without prefix; for equal names the first one."""
    found: dict[str, str] = {}
    for name, *values in _ATTRIBUTE.findall(given):
        found.setdefault(name.rpartition(":")[2].lower(), unescape(next(filter(None, values), "")))
    return found


def tokens(source: str, place: str, *, xml: bool) -> Iterator[Token]:
    """Yield the tokens of a source in order, without comments and scripts, in linear time."""
    return _Scanner(source, place, xml=xml).tokens()


class _Scanner:
    def __init__(self, source: str, place: str, *, xml: bool) -> None:
        self._source = source
        self._place = place
        self._xml = xml
        self._absent: set[str] = set()

    def tokens(self) -> Iterator[Token]:
        at = 0
        token: Token | None
        while (mark := self._source.find("<", at)) >= 0:
            if mark > at:
                yield Token("text", unescape(self._source[at:mark]))
            at = mark
            if (plain := _PLAIN.match(self._source, at)) is not None:
                token, at = self._tag(plain[1], plain[2], plain[3]), plain.end()
            elif (name := _NAME.match(self._source, at)) is not None and (end := self._end_of_tag(name.end())):
                token = self._tag(name[1], name[2], self._source[name.end() : max(name.end(), end - 1)])
                at = end
            else:
                token, at = self._other(at)
            if token is not None and token.kind == "start" and token.value in RAW and not self._xml:
                if (end := self._end_of_raw(token.value, at)) < 0:
                    continue
                at = end
            if token is not None:
                yield token
        if rest := self._source[at:]:
            yield Token("text", unescape(rest))

    def _tag(self, slash: str, name: str, given: str) -> Token:
        name = name.rpartition(":")[2].lower()
        if slash:
            return Token("end", name)
        if len(given) > 2 * MAX_ATTRIBUTES and (count := len(_ATTRIBUTE.findall(given))) > MAX_ATTRIBUTES:
            raise DocumentError(
                f"one of its tags has {count:,} attributes",
                place=self._place,
                hint=f"such a file is malicious: up to {MAX_ATTRIBUTES} are read; convert it to .txt first",
            )
        return Token("empty" if given.endswith("/") else "start", name, given)

    def _end_of_tag(self, at: int) -> int:
        """Return the end of a tag with unusual values, 0 if it is not a tag; an unclosed quotation mark swallows no
        text."""
        while (stop := _STOP.search(self._source, at)) is not None:
            if stop[0] == "<":
                return 0
            if stop[0] == ">":
                return stop.end()
            close = self._find(stop[0][-1], stop.end())
            if close < 0 or self._source[close + 1 : close + 2] not in _BEHIND_VALUE:
                # The next quotation mark opens another value; end the tag as if it had no quoted value.
                return self._find(">", stop.end()) + 1 or len(self._source)
            at = close + 1
        return len(self._source) if len(self._source) - at < _LONGEST_CUT else 0

    def _other(self, at: int) -> tuple[Token | None, int]:
        """Return the token and end of a comment, a declaration, or a `<` that opens nothing."""
        source = self._source
        if source.startswith(_COMMENT, at):
            end = self._find("-->", at + 2)
            return None, end + 3 if end >= 0 else at + len(_COMMENT)
        if self._xml and source.startswith(_CDATA, at):
            end = self._find("]]>", at)
            end = len(source) if end < 0 else end
            return Token("text", source[at + len(_CDATA) : end]), end + 3
        if source.startswith(("<!", "<?", "</"), at):
            end = self._find(">", at)
            return None, end + 1 if end >= 0 else at + 2
        return Token("text", "<"), at + 1

    def _end_of_raw(self, name: str, at: int) -> int:
        """Return where a script ends, -1 if it has no end; in that case the text after it is kept."""
        end = None if name in self._absent else _RAW_END[name].search(self._source, at)
        if end is None:
            self._absent.add(name)
            return -1
        return -1 if _RAW_AGAIN[name].search(self._source, at, end.start()) else end.start()

    def _find(self, sign: str, at: int) -> int:
        """Return the offset of a string, -1 if it does not occur; an absent one is searched for only once."""
        if sign in self._absent:
            return -1
        found = self._source.find(sign, at)
        if found < 0:
            self._absent.add(sign)
        return found


_WHITE = " \t\r\n\f\v\xa0"


def size(text: str) -> int:
    """Return the number of characters of a text that are not whitespace."""
    return len(text) - sum(map(text.count, _WHITE))


Element = etree._Element
DEEPEST, _BASE, _ROOM = 240, 160, 20
"""The largest depth of a tree; the depth to which too deep elements are moved; how far below it a paragraph may start.
"""
_UNITS = frozenset({"p", "h", "h1", "h2", "h3", "h4", "h5", "h6", "tbl", "table", "pre", "ul", "ol"})
_LOOKED_AT = 300
"""The number of open elements that are searched for one with an implied end tag."""
_ODD_NAME = re.compile(r"[^a-z0-9_.-]|\A[^a-z_]")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OF_EMPTY = "area base br col embed hr img input link meta param source track wbr"
_EMPTY = frozenset(_OF_EMPTY.split())
_ONCE = frozenset({"html", "body"})
_TABLES = frozenset({"table", "td", "th", "caption", "template", "object"})
_P = frozenset({"p"})
_OF_INLINE = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp small span strike"
    " strong sub sup time tt u var"
)
_INLINE = frozenset(_OF_INLINE.split())
_OF_BLOCKS = (
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3"
    " h4 h5 h6 header hgroup hr main menu nav ol p pre section summary ul table"
)
# For each start tag, the elements that it closes, and those that it does not reach beyond.
_ENDS: dict[str, tuple[frozenset[str], frozenset[str]]] = dict.fromkeys(_OF_BLOCKS.split(), (_P, _TABLES)) | {
    "li": (frozenset({"li"}), _TABLES | {"ul", "ol", "menu"}),
    "dt": (frozenset({"dt", "dd"}), _TABLES | {"dl"}),
    "dd": (frozenset({"dt", "dd"}), _TABLES | {"dl"}),
    "option": (frozenset({"option"}), frozenset({"select"})),
    "td": (frozenset({"td", "th"}), frozenset({"table"})),
    "th": (frozenset({"td", "th"}), frozenset({"table"})),
    "tr": (frozenset({"tr"}), frozenset({"table"})),
    "body": (frozenset({"head"}), frozenset()),
}


def tree(found: Iterable[Token], *, xml: bool) -> Element:
    """Return the tree of tags and texts; in `xml` every element has its own end tag."""
    found = list(found)
    surplus = Counter(one.value for one in found if one.kind == "end")
    surplus.subtract(one.value for one in found if one.kind == "start")
    builder = _TreeBuilder(surplus, xml=xml)
    for token in found:
        builder.take(token)
    return builder.done()


@dataclass(slots=True)
class _OpenElement:
    """An open element and its depth, and the element that takes its next content, with the depth of that one."""

    name: str
    element: Element
    depth: int
    holder: Element
    holder_depth: int


class _TreeBuilder:
    def __init__(self, surplus: Counter[str], *, xml: bool) -> None:
        self._xml = xml
        self._surplus = surplus
        """By name, how many more end tags than start tags there are: surplus end tags are ignored."""
        self._root = etree.Element("document" if xml else "html")
        self._open = [_OpenElement("", self._root, 0, self._root, 0)]
        self._bases: list[Element] = []
        self._counts: Counter[str] = Counter()
        self._place = self._root
        self._is_tail = False
        self._texts: list[str] = []

    def take(self, token: Token) -> None:
        if token.kind == "text":
            self._texts.append(token.value)
        elif token.kind == "end":
            self._end(token.value)
        else:
            self._start(token)

    def done(self) -> Element:
        self._put_text()
        return self._root

    def _start(self, token: Token) -> None:
        name = token.value
        if not self._xml:
            if name in _ONCE and self._counts[name]:
                return
            if name == "html":
                self._counts[name] += 1
                self._take_attributes(self._root, token)
                return
            self._end_before(name)
        self._put_text()
        holder = self._holder(name)
        element = etree.SubElement(holder.holder, _ODD_NAME.sub("_", name) or "_")
        self._take_attributes(element, token)
        is_empty = token.kind == "empty" if self._xml else name in _EMPTY
        if not is_empty:
            depth = holder.holder_depth + 1
            self._open.append(_OpenElement(name, element, depth, element, depth))
            self._counts[name] += 1
            if depth == _BASE:
                self._bases.append(element)
        self._place, self._is_tail = element, is_empty

    def _holder(self, name: str) -> _OpenElement:
        """Return the element that takes a new one; too deep ones, and the rest of their open ancestors, go into the
        base."""
        top = self._open[-1]
        depth = top.holder_depth + 1
        if depth > DEEPEST or (depth > _BASE + _ROOM and name in _UNITS):
            base = self._bases[-1]
            for element in reversed(self._open):
                if element.holder is base:
                    break
                element.holder, element.holder_depth = base, _BASE
        return top

    def _take_attributes(self, one: Element, token: Token) -> None:
        for key, value in attributes(token.attributes).items():
            one.set(_ODD_NAME.sub("_", key) or "_", _NOT_XML.sub(" ", value))

    def _end_before(self, name: str) -> None:
        """Close the element whose end is implied by this start tag."""
        ended, across = _ENDS.get(name, (frozenset(), frozenset()))
        if not any(self._counts[one] for one in ended):
            return
        for back, element in enumerate(self._open[: -_LOOKED_AT - 1 : -1], 1):
            if element.name in ended:
                self._close(len(self._open) - back)
                return
            if element.name in across:
                return

    def _end(self, name: str) -> None:
        top = self._open[-1].name
        if name == top:
            self._close(len(self._open) - 1)
        elif self._counts[name] and name not in _ONCE:
            if self._xml and self._surplus[name] > 0:
                self._surplus[name] -= 1
                return
            across = _TABLES if name in _INLINE and not self._xml else frozenset()
            for back in range(len(self._open) - 1, 0, -1):
                one = self._open[back].name
                if one == name:
                    self._close(back)
                    return
                if one in across:
                    return
        elif self._surplus[name] > 0:
            self._surplus[name] -= 1

    def _close(self, first: int) -> None:
        """Close an element, and all open ones within it."""
        if self._open[first].name in _ONCE:
            return
        self._put_text()
        for element in self._open[first:]:
            self._counts[element.name] -= 1
            if element.depth == _BASE:
                self._bases.pop()
        element = self._open[first]
        del self._open[first:]
        self._place, self._is_tail = (
            (element.element if element.holder is element.element else element.holder[-1]),
            True,
        )

    def _put_text(self) -> None:
        if not self._texts:
            return
        text = _NOT_XML.sub(" ", "".join(self._texts))
        self._texts.clear()
        if self._is_tail:
            self._place.tail = (self._place.tail or "") + text
        else:
            self._place.text = (self._place.text or "") + text
