"""Makes foreign text harmless: one kind of line end, no control characters."""

from __future__ import annotations

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
_TABLE = dict.fromkeys(_DROP, " ")


def clean(text: str) -> str:
    """Return `text` with `\\n` line ends and every control character replaced by a space."""
    for end in _LINE_ENDS:
        if end in text:
            text = text.replace(end, "\n")
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text.translate(_TABLE)


def one_line(text: str, width: int = 0) -> str:
    """Collapse whitespace, and cut to `width` characters when it is given."""
    line = " ".join(clean(text).split())
    return line if not width or len(line) <= width else line[: width - 1].rstrip() + "…"
