"""Reading a reviser's reply: a section on the points, and the revised summary.

It is read leniently. A reply without sections is the summary, as weak models write it; of the points that it passes
over nothing is known, and they count as mended. What stands in the summary's section is handed on to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from redraft.rulings import Became

_POINTS, _POINTS_END = (re.compile(tag, re.IGNORECASE) for tag in (r"<points>", r"</points>"))
_REVISION, _REVISION_END = (re.compile(tag, re.IGNORECASE) for tag in (r"<revision>\n?", r"\n?</revision>"))
_LINE = re.compile(
    r"\W*(?:(?:id|point)\W+){0,2}(?P<tag>[^\W\d_]+)\W+(?P<became>mended|kept|left)\b(?P<said>.*)", re.IGNORECASE
)
_BEFORE_SAID = " \t:,;.-–—=→"
_QUOTES = {'"': '"', "“": "”", "„": "“”", "«": "»", "»": "«", "‘": "’", "'": "'", "`": "`", "「": "」"}


@dataclass(frozen=True, slots=True)
class RevisionReply:
    """A reply apart: the revised summary, and what it says of each point, by what it calls the point."""

    text: str
    points: Mapping[str, tuple[Became, str]] = field(default_factory=dict)
    """What became of it, and the words that go with that."""


def revision_of(reply: str) -> str:
    """The revised summary alone."""
    return read_reply(reply).text


def read_reply(reply: str) -> RevisionReply:
    """Take a reply apart."""
    revision = _REVISION.search(reply)
    points = _POINTS.search(reply, 0, revision.start() if revision else len(reply))
    if revision is None and points is None:
        return RevisionReply(reply)
    said, rest = "", reply
    if points is not None:
        end = _POINTS_END.search(reply, points.end())
        stop = end.start() if end else revision.start() if revision else len(reply)
        said = reply[points.end() : stop]
        # Without a section of its own the summary is what stands beside that of the points.
        rest = reply[end.end() :] if end else ""
        if not rest.strip():
            rest = reply[: points.start()]
    if revision is not None:
        ends = list(_REVISION_END.finditer(reply, revision.end()))
        rest = reply[revision.end() : ends[-1].start() if ends else len(reply)]
    return RevisionReply(rest, _lines(said))


def _lines(said: str) -> dict[str, tuple[Became, str]]:
    """What is said of each point; the first word on one stands."""
    found: dict[str, tuple[Became, str]] = {}
    for line in said.splitlines():
        if match := _LINE.match(line):
            found.setdefault(match["tag"].casefold(), (_became(match["became"]), _unquoted(match["said"])))
    return found


def _became(word: str) -> Became:
    kinds: dict[str, Became] = {"mended": "mended", "kept": "kept", "left": "left"}
    return kinds[word.casefold()]


def _unquoted(said: str) -> str:
    """The words behind a verdict, without the marks around them."""
    text = said.strip().lstrip(_BEFORE_SAID).rstrip()
    closing = _QUOTES.get(text[:1], "")
    return text[1:-1].strip() if len(text) > 1 and closing and text[-1] in closing else text
