"""The width of text on a terminal, and lines of limited width.

East Asian letters take two columns, combining marks none. A line may break between wide letters, except before closing
and after opening marks.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from functools import lru_cache

_OPENS = "「『（［｛〈《【〔“‘"
_CLOSES = "、。，．：；？！」』）］｝〉》】〕”’…ー々ゝゞ"
_WIDE = "\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff"
_WIDE += "\ufe30-\ufe4f\uff01-\uff60\uffe0-\uffe6\U0001f300-\U0001faff\U00020000-\U0003fffd"
_PIECE = rf"\s+|[{_OPENS}]*[{_WIDE}][{_CLOSES}]*|[^\s{_WIDE}]+[{_CLOSES}]*"
_LAST_OF_ONE_EACH = "\u02ff"


def columns(text: str) -> int:
    """Return the number of columns that a text takes."""
    return len(text) if text.isascii() or max(text) <= _LAST_OF_ONE_EACH else sum(map(_columns, text))


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return a text padded with spaces to this many columns, on its `right` side or the left."""
    spaces = " " * (width - columns(text))
    return spaces + text if right else text + spaces


def lines_of(text: str, width: int, first: str = "", later: str = "") -> list[str]:
    """Return a text in lines of at most this many columns, with a prefix for the first line and one for later lines."""
    if all(_columns(character) == 1 for character in text):
        return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
    made: list[str] = []
    line, empty = first, True
    for piece in _pieces(text, width - max(columns(first), columns(later))):
        if not empty and columns(line) + columns(piece.rstrip()) > width:
            made.append(line.rstrip())
            line, empty = later, True
        if not (empty and piece.isspace()):
            line, empty = line + (" " if piece.isspace() else piece), False
    return made if empty else [*made, line.rstrip()]


def _pieces(text: str, room: int) -> list[str]:
    """Return the unbreakable pieces of a text; a word too long for a line is cut."""
    found: list[str] = []
    for piece in re.findall(_PIECE, text):
        while columns(piece) > max(room, 2):
            taken = next(at for at in range(1, len(piece) + 1) if columns(piece[: at + 1]) > max(room, 2))
            found.append(piece[:taken])
            piece = piece[taken:]
        found.append(piece)
    return found


@lru_cache(maxsize=4096)
def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
