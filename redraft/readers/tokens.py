"""Splits a page or an XML file into tags and texts as they occur in the source, however broken it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Literal, NamedTuple

from redraft.errors import DocumentError

MOST_ATTRIBUTES = 500
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
        if len(given) > 2 * MOST_ATTRIBUTES and (count := len(_ATTRIBUTE.findall(given))) > MOST_ATTRIBUTES:
            raise DocumentError(
                f"one of its tags has {count:,} attributes",
                place=self._place,
                hint=f"such a file is malicious: up to {MOST_ATTRIBUTES} are read; convert it to .txt first",
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
