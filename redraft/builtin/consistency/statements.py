"""Which lines of a text say that something is so; headings, questions and scraps do not."""

from __future__ import annotations

import re
from collections.abc import Sequence

from redraft.builtin.grammar import has_verb
from redraft.text.sentences import ends_sentence
from redraft.text.wording import carries

_HEADING_WORDS = 12
_FEWEST_WORDS = 2
_HEADING_MARK = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*]+\*\*\s*$|[-=*_]{3,}\s*$)")
_ITEM_MARK = re.compile(r"\s*(?:[-+*•]|\d{1,3}[.)])\s")
_ASKS = re.compile(r"\?[\"'”’»)\]*_]*\s*$")


def states(text: str, keys: Sequence[str]) -> bool:
    """Whether a sentence with these words says that something is so."""
    if len(keys) < _FEWEST_WORDS or not any(map(carries, keys)) or is_heading(text) or _ASKS.search(text):
        return False
    return ends_sentence(text) or len(keys) > _HEADING_WORDS or bool(_ITEM_MARK.match(text)) or _reads_on(text)


def is_heading(text: str) -> bool:
    """Whether a line is marked as a heading, or as what parts a text."""
    return bool(_HEADING_MARK.match(text))


def _reads_on(text: str) -> bool:
    """Whether a line without an end is a sentence all the same: it has a verb, and not the capitals of a title."""
    capitals = sum(word[:1].isupper() for word in text.split())
    return has_verb(text) and 2 * capitals <= len(text.split())
