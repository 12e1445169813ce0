"""Sanitizes text: uniform line ends, no control characters, and no paths in texts sent to others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_LINE_ENDS = ("\r\n", "\r", "\x85", "\u2028", "\u2029", "\v", "\f")

# Control characters move cursors, hide text and forge terminal output; bidirectional overrides reorder what a reader
# sees. Surrogates cannot be stored as UTF-8.
_DROP = (
    [c for c in range(0x20) if c not in (0x09, 0x0A)]
    + list(range(0x7F, 0xA0))
    + list(range(0x202A, 0x202F))
    + list(range(0x2066, 0x206A))
    + [0xFEFF]
)
# Terminal escapes for colours, cursor movements, titles and links. An unterminated one is ignored, so that the text
# after it is not lost.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x00-\x1f\x7f-\x9f]{0,2000}(?:\x07|\x1b\\)"
    r"|[PX^_][^\x00-\x1f\x7f-\x9f]{0,2000}\x1b\\)"
)
_HARMFUL = re.compile("[" + "".join(re.escape(chr(code)) for code in _DROP) + "]")
_SURROGATES = re.compile("[\ud800-\udfff]")
# A long text is processed in parts, to save memory and to let other threads run.
_BLOCK = 1_000_000


class CleanText(NamedTuple):
    """A sanitized text, and sentences about what was removed from it or could not be read."""

    text: str
    notes: tuple[str, ...]


def clean(text: str) -> str:
    """Return `text` with `\\n` line ends, without terminal escapes, and with spaces for control characters."""
    return clean_with_notes(text).text


def clean_with_notes(text: str) -> CleanText:
    """Return the text as `clean` does, with notes on what was removed."""
    notes = []
    if "\x1b" in text:
        before = len(text)
        text, escapes = _ESCAPES.subn("", text)
        if escapes:
            were = "terminal escape was" if escapes == 1 else "terminal escapes were"
            notes.append(f"{escapes:,} {were} removed from the text, {before - len(text):,} characters in all")
    for end in _LINE_ENDS:
        if end in text:
            text = text.replace(end, "\n")
    if not text.isascii():
        text, _ = _replaced(_SURROGATES, "?", text)
    text, spaces = _replaced(_HARMFUL, " ", text)
    if spaces:
        became = "control character became a space" if spaces == 1 else "control characters became spaces"
        notes.append(f"{spaces:,} {became}")
    return CleanText(text, tuple(notes))


def one_line(text: str, width: int = 0, *, middle: bool = False) -> str:
    """Return the text with whitespace collapsed, cut to `width` characters if it is given: at its end, or in its
    middle."""
    line = " ".join(clean(text).split())
    if not width or len(line) <= width:
        return line
    end = width // 2 if middle else 0
    return f"{line[: width - 1 - end].rstrip()}…{line[len(line) - end :].lstrip()}"


_EMPHASIS = re.compile(r"(?<!\w)([*_]{1,3})(?=\S)((?:[^*_]|(?<=\w)[*_](?=\w))++)(?<=\S)\1(?!\w)")
_AT_AN_END = re.compile(r"\A[*_]{1,3}|(?<![*_])[*_]{1,3}\Z")


def bare_quote(text: str) -> str:
    """Return a quotation without the marks of Markdown's emphasis: those in pairs, and others at its ends."""
    bare = text = text.strip()
    for _ in range(2):
        # Bold text may have italics in it.
        bare = _EMPHASIS.sub(r"\2", bare)
    return _AT_AN_END.sub("", bare).strip() or text


def _replaced(pattern: re.Pattern[str], by: str, text: str) -> tuple[str, int]:
    """Return the text with each matching character replaced, and their number."""
    starts = range(0, len(text), _BLOCK)
    if not any(pattern.search(text, start, start + _BLOCK) for start in starts):
        return text, 0
    parts = [pattern.subn(by, text[start : start + _BLOCK]) for start in starts]
    return "".join(part for part, _ in parts), sum(count for _, count in parts)


# A path has at least two names, and is not part of an address or a word.
_PATH = re.compile(r"(?<![\w/.~\\])(?:(?<!:)|(?!//))(?:~|[A-Za-z]:)?(?:[/\\]+[^\s/\\\"'<>|:;,()]+){2,}[/\\]?")
_USER = re.compile(r"(?<=://)[^/@\s]*@")


def scrubbed(text: str) -> str:
    """Return the text with each path shortened to its last name, and addresses without a user."""
    return _PATH.sub(lambda match: re.split(r"[/\\]", match[0].rstrip("/\\"))[-1], _USER.sub("", text))


def scrubbed_all(value: Any) -> Any:
    """Return a value with all its texts scrubbed."""
    if isinstance(value, str):
        return scrubbed(value)
    if isinstance(value, Mapping):
        return {scrubbed(str(key)): scrubbed_all(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [scrubbed_all(item) for item in value]
    return value
