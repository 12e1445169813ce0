"""Makes foreign text harmless: one kind of line end, no control characters."""

from __future__ import annotations

import re

_LINE_ENDS = ("\r\n", "\r", "\x85", "\u2028", "\u2029", "\v", "\f")

# Control characters move cursors, hide text and forge terminal output; none of them means anything in prose. The
# bidirectional overrides reorder what a reader sees. Surrogates cannot be stored as UTF-8.
_DROP = (
    [c for c in range(0x20) if c not in (0x09, 0x0A)]
    + list(range(0x7F, 0xA0))
    + list(range(0x202A, 0x202F))
    + list(range(0x2066, 0x206A))
    + [0xFEFF]
)
# Colours, cursor movements, window titles and links, as programs write them to a terminal.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?)")
_HARMFUL = re.compile("[" + "".join(re.escape(chr(code)) for code in _DROP) + "]")


def clean(text: str) -> str:
    """Return `text` with `\\n` line ends, without terminal escapes, and with a space for every control character."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    for end in _LINE_ENDS:
        if end in text:
            text = text.replace(end, "\n")
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return _HARMFUL.sub(" ", text)


def one_line(text: str, width: int = 0) -> str:
    """Collapse whitespace, and cut to `width` characters when it is given."""
    line = " ".join(clean(text).split())
    return line if not width or len(line) <= width else line[: width - 1].rstrip() + "…"
