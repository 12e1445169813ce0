"""Words in a picture. They are foreign: made harmless here, and cut where there is no room for them.

Nobody knows which font a reader has, so widths are estimated, and rather too wide than too narrow.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import takewhile

from redraft.text.cleaning import clean, one_line

LONGEST = 300
"""More of a name is not told anywhere."""

_LONGEST_SENTENCE = 4000
# XML has no place for them; what else is harmful is taken out of any text.
_NO_TEXT = re.compile("[\ufffe\uffff\U0001fffe\U0001ffff]")
_NARROW, _WIDE = frozenset("fijlrtI.,:;'|!()[]{}/ -·"), frozenset("mwMW@%—…")
_FIRST_STRONG, _END = "\u2068", "\u2069"
_NO_WIDTH = frozenset((_FIRST_STRONG, _END))
_ISOLATES = re.compile(f"([{_FIRST_STRONG}{_END}])")
_SPACES = re.compile(r"\s+")


def plain(text: str) -> str:
    """Foreign text as one harmless line; not as markup, which is seen to where it is written."""
    return one_line(_NO_TEXT.sub(" ", text), LONGEST)


def isolated(text: str) -> str:
    """Foreign text within a sentence: whichever way it is read, the words around it stay where they are."""
    return f"{_FIRST_STRONG}{plain(text)}{_END}"


def composed(text: str) -> str:
    """A sentence of ours with names in it, harmless as a whole, with its names as isolated as they were."""
    kept, open_ = [], 0
    for part in _ISOLATES.split(text[:_LONGEST_SENTENCE]):
        if part == _END and not open_:
            continue
        open_ += (part == _FIRST_STRONG) - (part == _END)
        kept.append(part if _ISOLATES.fullmatch(part) else clean(_NO_TEXT.sub(" ", part)))
    return _SPACES.sub(" ", "".join(kept)).strip() + _END * open_


def width(text: str, size: float) -> float:
    """About how wide a line of text is at a font size."""
    return size * sum(map(_width, text))


def fitted(text: str, room: float, size: float) -> str:
    """As much of a line as there is room for, with an ellipsis where it is not all."""
    if width(text, size) <= room:
        return text
    used = _width("…") * size
    for at, character in enumerate(text):
        used += _width(character) * size
        if used > room:
            return text[:at].rstrip() + "…"
    return text


def apart(names: Iterable[str]) -> dict[str, str]:
    """Names by which something is told apart where there is no room for all of them: without the words with which all
    of them begin."""
    words = {name: name.split(" ") for name in names}
    columns = zip(*(one[:-1] for one in words.values()), strict=False)
    shared = sum(1 for _ in takewhile(lambda column: len({*column}) == 1, columns)) if len(words) > 1 else 0
    return {name: "…" * bool(shared) + " ".join(one[shared:]) for name, one in words.items()}


def wrapped(text: str, room: float, size: float, lines: int) -> list[str]:
    """A text in at most so many lines, the last of them cut where that is not enough."""
    found: list[str] = []
    words = text.split(" ")
    while words and len(found) < lines - 1:
        taken = 1
        while taken < len(words) and width(" ".join(words[: taken + 1]), size) <= room:
            taken += 1
        found.append(fitted(" ".join(words[:taken]), room, size))
        words = words[taken:]
    return [*found, fitted(" ".join(words), room, size)] if words else found


def _width(character: str) -> float:
    if character in _NARROW:
        return 0.37
    if character in _WIDE or unicodedata.east_asian_width(character) in "WF":
        return 1.02
    if character in _NO_WIDTH:
        return 0.0
    if unicodedata.combining(character):
        # It takes no room, but a thousand of them are no name.
        return 0.1
    return 0.72 if character.isupper() else 0.6
