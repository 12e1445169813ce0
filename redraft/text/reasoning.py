"""The reasoning in a model's reply, by the marks that various model families put around it."""

from __future__ import annotations

import re

from redraft.lazy import pattern

_NAMES = "think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad|seed:think"
_MARKS = (
    (rf"<(?:{_NAMES})>", rf"</(?:{_NAMES})>"),
    (r"\[think(?:ing)?\]", r"\[/think(?:ing)?\]"),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    (r"◁think▷", r"◁/think▷"),
    (r"<unused94>", r"<unused95>"),
)
_OPENINGS, _CLOSINGS = ("|".join(marks) for marks in zip(*_MARKS, strict=True))
OPENING = pattern(_OPENINGS, re.IGNORECASE)
"""The start of reasoning."""
CLOSING = pattern(_CLOSINGS, re.IGNORECASE)
"""The end of reasoning."""
_LINE_OPENING = pattern(rf"^[ \t]*(?:{_OPENINGS})", re.IGNORECASE | re.MULTILINE)

# gpt-oss writes channels, one of which is the reply; a server may have removed the marks and left the names.
_CHANNEL = pattern(r"<\|channel\|>([^<]{0,200})(?:<\|constrain\|>[^<]{0,50})?<\|message\|>")
_END_OF_CHANNEL = pattern(r"<\|(?:end|return|call|start|channel)\|>")
_BARE_CHANNELS = pattern(r"\s*analysis(?=[A-Z\s\"'{\[]).*assistant\s*final", re.DOTALL)


def final_channel(text: str) -> str:
    """Return the text of the final channel, if a text has channels; empty if none of them is final."""
    channels = list(_CHANNEL.finditer(text))
    if not channels:
        bare = _BARE_CHANNELS.match(text)
        return text[bare.end() :] if bare else text
    final = [match for match in channels if match[1].strip().startswith("final") or "to=functions" in match[1]]
    if not final:
        return ""
    end = _END_OF_CHANNEL.search(text, final[-1].end())
    return text[final[-1].end() : end.start() if end else len(text)]


def strip_reasoning(text: str) -> str:
    """Return the prose of a reply without its reasoning; unfinished reasoning leaves no reply."""
    text = final_channel(text).strip()
    while OPENING.match(text):
        closing = CLOSING.search(text)
        if closing is None:
            return ""
        text = text[closing.end() :].strip()
    # Some servers remove the opening mark.
    alone = None if text.startswith(("{", "[")) or OPENING.search(text) else CLOSING.search(text)
    if alone:
        return text[alone.end() :].strip()
    # Within a line a mark is part of the text.
    while opening := _LINE_OPENING.search(text):
        closing = CLOSING.search(text, opening.end())
        if closing is None:
            return ""
        text = text[: opening.start()] + text[closing.end() :]
    return text.strip()
