"""Telling headings from sentences, one line at a time."""

from __future__ import annotations

import re

from redraft.text.sentences import ends_sentence
from redraft.text.words import count_words

_MARKED = re.compile(r"#{1,6}\s|(\*\*|__)[^*_]+\1:?$")
_ITEM = re.compile(r"(?:[-*+•–—]|\d{1,3}[.)])\s")
# Words that stand small within a title.
_SMALL = re.compile(r"(?:an?|and|as|at|but|by|for|from|in|into|nor|of|off|on|or|the|to|up|with)$")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_LONGEST = 8


def is_heading(line: str) -> bool:
    """Whether a line is a title: marked as one in Markdown, or short, without an end, and written as titles are."""
    line = line.strip()
    if _MARKED.match(line):
        return True
    if _ITEM.match(line) or ends_sentence(line) or not 0 < count_words(line) <= _LONGEST:
        return False
    words = _WORD.findall(line)
    told = [word for word in words if not _SMALL.match(word)]
    return bool(told) and all(word[0].isupper() for word in told)
