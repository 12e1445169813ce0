"""Disarming foreign text: what looks like a fence of a prompt, or like a word that a model's chat template is made of.

Only what goes into a prompt is changed, a bracket for one that means nothing: the text keeps its length, and the stored
document stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import cache
from itertools import accumulate

_HARMLESS = {"<": "‹", "[": "⁅"}

# Blanks, control characters, accents and others that show nothing by themselves, and so hide within a tag.
_UNSEEN = (
    (0x00, 0x08), (0x0E, 0x1F), (0x7F, 0x84), (0x86, 0x9F), (0xAD, 0xAD), (0x300, 0x36F), (0x61C, 0x61C),
    (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x200B, 0x200F),
    (0x202A, 0x202E), (0x2060, 0x206F), (0x20D0, 0x20FF), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F),
    (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
# Where the characters are that Unicode itself takes for letters or marks of ASCII in another dress.
_DRESSED = (
    (0x41, 0x5A), (0xA0, 0x24F), (0x250, 0x2FF), (0x1D00, 0x1DBF), (0x1E00, 0x1EFF), (0x2000, 0x214F), (0x2150, 0x218F),
    (0x226E, 0x226E),
    (0x2460, 0x24FF), (0x2C60, 0x2C7F), (0x3200, 0x33FF), (0xA640, 0xA7FF), (0xFB00, 0xFB06), (0xFE30, 0xFE6F),
    (0xFF01, 0xFFEE), (0x10780, 0x107BA), (0x1D400, 0x1D7FF), (0x1F100, 0x1F1FF),
)  # fmt: skip
# Letters of other alphabets, and marks, that look like one of ASCII.
_LOOKALIKES = str.maketrans(
    "аϲсԁеɡһіıјӏοοорԛѕυνԝхуɑαεικρτωχАВЕЅІЈКМНОРСТХҮԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧոսօց⁄∕⧸╱ǀ∣│",
    "accdeghiijlooopqsuvwxyaaeikptwxabesijkmhopctxywabezhikmnoptyxnuog////|||",
)
_TAG_ENDS = r"(?![^\W_])"
_BETWEEN = r"[\x00\s]*"

# What chat templates are made of. A server may take these words for what they are wherever they stand.
_TOKENS = (
    r"<(?=\|[^<>|\s]{1,80}\|?>)",
    r"<(?=/?(?:s|sys|bos|eos|pad|unk|mask|sep|cls|sop|eop|eod|(?:begin|start|end)_of_[a-z_]{1,40}|think|thinking"
    r"|tools|tool_calls?|tool_responses?|fim_[a-z]{1,20}|seed:[a-z_]{1,40}|im_(?:start|end))>)",
    r"\[(?=\|[^\[\]|\s]{1,80}\|\])",
    r"\[(?=/?(?:inst|system_prompt|available_tools|tool_calls|tool_results|tool_content|think|bos|eos|gmask|img"
    r"|prefix|suffix|middle|args)\])",
)


_MOST_REMEMBERED = 10_000
"""Characters: a book has a few hundred, a hostile text may have all that there are."""


class _Plain(dict[int, str]):
    """What each character comes to that is not what it seems: a small letter or a mark of ASCII, or nothing to see.

    It is asked of `str.translate`, and looks at a character when it first comes up.
    """

    def __missing__(self, code: int) -> str:
        if _within(code, _UNSEEN):
            plain = "\x00"
        elif code in _LOOKALIKES:
            plain = chr(_LOOKALIKES[code])
        else:
            plain = (_within(code, _DRESSED) and _plain(chr(code))) or chr(code)
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        self[code] = plain
        return plain


_PLAIN = _Plain()


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= code <= last for first, last in ranges)


def _plain(character: str) -> str:
    """The character in ASCII, where Unicode has it for the same; else nothing."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", character).casefold())
    folded = "".join(one for one in folded if not unicodedata.combining(one))
    return folded if folded.isascii() and folded != character and not folded.isspace() else ""


def _spelled(tag: str) -> str:
    return _BETWEEN.join(map(re.escape, tag.lower()))


@cache
def _suspicious(tags: frozenset[str]) -> re.Pattern[str]:
    """Whatever looks like one of the tags, or like a word of a chat template, in text that was made plain."""
    fence = rf"<(?=[\x00\s/\\]*+(?:{'|'.join(map(_spelled, sorted(tags)))}){_TAG_ENDS})"
    return re.compile("|".join((fence, *_TOKENS)))


def disarmed(text: str, tags: frozenset[str]) -> str:
    """The text with a harmless bracket before whatever could pass for one of the tags, or a word of a chat template."""
    if "<" not in text and "[" not in text and text.isascii():
        return text
    plain = text.translate(_PLAIN)
    found = {match.start(): _HARMLESS[match[0]] for match in _suspicious(tags).finditer(plain)}
    if not found:
        return text
    if len(plain) != len(text):
        # One character may stand for several letters.
        ends = list(accumulate(len(_PLAIN[ord(one)]) for one in text))
        found = {bisect_right(ends, at): harmless for at, harmless in found.items()}
    parts, before = [], 0
    for at, harmless in found.items():
        parts += [text[before:at], harmless]
        before = at + 1
    return "".join([*parts, text[before:]])
