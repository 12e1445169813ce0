"""Finds speakers and times in transcripts, as in "[00:24:00] MS. DOYLE: I saw it." and "Ann Lee 0:12:40"."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from redraft.document import Span
from redraft.marks import Mark

_CLOCK = r"(?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?"
_STAMP = re.compile(
    rf"[ \t]*(?:>>+[ \t]*)?(?:[\[(](?P<marked>{_CLOCK})[\])]|(?P<bare>{_CLOCK})(?=[ \t]))[ \t]*(?:[-–—]\s)?"
)
_NAMED = re.compile(r"[ \t]*(?:>>+[ \t]*)?(?P<name>[^\W_][^:\n\[\]]{0,60}):(?=\s|\Z)")
_NAMED_BEFORE = re.compile(
    rf"[ \t]*(?P<name>[^\W\d_][^:\n\d\[\]]{{0,50}}?)[ \t]+[\[(]?(?P<time>{_CLOCK})[\])]?[ \t]*(?=\n|\Z)"
)
_UNNAMED = re.compile(r"[ \t]*(?:>>+[ \t]*|[QA][.:][ \t]+(?=[^\W\d_a-z]))")
_ASIDE = re.compile(r"\([^()]*\)")
_MOST_WORDS = 6
_FEWEST = 3
LINE = r"[^\S\n]*(?:\[(?:\d{1,3}:)?\d{1,2}:\d\d[^\]\n]{0,9}\]|>>|[A-Z][A-Z0-9 .'’&-]{1,40}:\s)"
"""A pattern of the beginning of a line with another speaker."""


class SpeakerLabel(NamedTuple):
    """A speaker label: the offset of the speech after it, the name, and the time as hours, minutes and seconds."""

    end: int
    name: str
    time: str


def speaker_at(text: str, start: int, end: int) -> SpeakerLabel | None:
    """Return the label that a paragraph begins with; None if there is none.

    A name is in capitals, or next to a time with all its words capitalized.
    """
    if (before := _NAMED_BEFORE.match(text, start, end)) and _is_name(before["name"]):
        return SpeakerLabel(before.end(), before["name"], clock(before["time"]))
    stamp = _STAMP.match(text, start, end)
    at = stamp.end() if stamp else start
    named = _NAMED.match(text, at, end)
    if named and (_is_loud(named["name"]) or (stamp and _is_name(named["name"]))):
        return SpeakerLabel(named.end(), named["name"], clock(stamp["marked"] or stamp["bare"]) if stamp else "")
    if stamp and (stamp["marked"] or stamp["bare"].count(":") > 1):
        return SpeakerLabel(at, "", clock(stamp["marked"] or stamp["bare"]))
    unnamed = _UNNAMED.match(text, start, end)
    return SpeakerLabel(unnamed.end(), "", "") if unnamed else None


def clock(time: str) -> str:
    """Return a time as hours, minutes and seconds, such as 00:12:40."""
    parts = [int(one) for one in re.split(r"[.,]", time)[0].split(":")]
    hours, minutes, seconds = [0, *parts][-3:]
    return f"{hours:02}:{minutes:02}:{seconds:02}"


def times_in(text: str) -> list[Mark]:
    """Return time marks on what is said after each time, if several paragraphs or lines of a text begin with one."""
    found: list[tuple[int, str]] = []
    for line in re.finditer(r"^[^\n]*\d:\d\d[^\n]*", text, re.MULTILINE):
        label = speaker_at(text, line.start(), line.end())
        if label and label.time:
            found.append((line.start(), label.time))
    rising = sum(a[1] <= b[1] for a, b in pairwise(found))
    if len(found) < _FEWEST or rising < 0.9 * (len(found) - 1):
        return []
    ends = [at for at, _ in found[1:]] + [len(text)]
    spans = (Span(at, at + len(text[at:end].rstrip())) for (at, _), end in zip(found, ends, strict=True))
    return [Mark(*span, "time", time) for span, (_, time) in zip(spans, found, strict=True)]


def _is_loud(name: str) -> bool:
    """Return whether a name is in capitals, such as THE CHAIRMAN and SPEAKER 1, ignoring brackets."""
    plain = _ASIDE.sub("", name)
    letters = [one for one in plain if one.isalpha()]
    return len(letters) > 1 and all(one.isupper() for one in letters) and len(plain.split()) <= _MOST_WORDS


def _is_name(name: str) -> bool:
    words = _ASIDE.sub("", name).split()
    return 0 < len(words) <= _MOST_WORDS and all(not word[0].islower() for word in words)
