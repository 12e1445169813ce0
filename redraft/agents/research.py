"""What whoever decides looks up: passages on something, and places to read, in a model's own words.

They are asked for in a reply like any other and answered in the next prompt, by the functions that the tools of an
agent have. Whatever cannot be meant is answered by a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redraft.agents import library
from redraft.agents.evidence import EvidenceDesk
from redraft.domain import Finding, Span
from redraft.errors import UsageError
from redraft.rulings import Lookup
from redraft.text.cleaning import one_line

AT_ONCE = 3
"""How many searches are answered at once, and how many places read."""
_PASSAGES = 6
# Beside the place that somebody names by a percentage or a finding.
_BESIDE = 1
_LONGEST_SEARCH, _LONGEST_SHOWN = 200, 80
_PERCENT = re.compile(r"(\d{1,9})(?:[.,]\d{1,9})? ?%")
_FROM_TO = re.compile(r"(\d{1,12})\s*(?:-|–|—|to|\.{2,3}|,)\s*(\d{1,12})")
# 1,200 is one number; a comma and a space stand between two.
_THOUSANDS = re.compile(r"(?<=\d)[,'’\u202f](?=\d{3}(?!\d))")
_NO_PLACE = 'that is no place: name one such as "40 %" or "1200-2400", or the id of a finding'


@dataclass(frozen=True, slots=True)
class Answered:
    """A request, and the places that answer it."""

    lookup: Lookup
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Research:
    """Looks things up at one desk for somebody who sees some findings. No place is longer than `room` tokens."""

    desk: EvidenceDesk
    room: int
    finding: Callable[[str], Finding | None]
    """The finding that goes by an id."""

    def answers(self, searches: Sequence[str], places: Sequence[str]) -> list[Answered]:
        """What is found, request by request."""
        count = max(1, _PASSAGES // max(1, min(AT_ONCE, len(searches))))
        return [
            *(self._search(one, count) for one in searches[:AT_ONCE]),
            *_too_many(len(searches), "search", "searches"),
            *(self._read(one) for one in places[:AT_ONCE]),
            *_too_many(len(places), "place", "places"),
        ]

    def _search(self, said: str, count: int) -> Answered:
        asked = f"search: {one_line(said, _LONGEST_SHOWN)}"
        search = library.Search(query=one_line(said, _LONGEST_SEARCH), count=count)
        found = library.find_passages(self.desk.document, self.desk.passages, search)
        if not found:
            return Answered(Lookup(asked, 0, "nothing in the document has to do with these words; others may find it"))
        return Answered(Lookup(asked, len(found)), tuple(Span(one.start, one.end) for one in found))

    def _read(self, said: str) -> Answered:
        asked = f"read: {one_line(said, _LONGEST_SHOWN)}"
        try:
            found = library.read_span(self.desk.document, self._place(said))
        except UsageError as error:
            return Answered(Lookup(asked, 0, ": ".join(filter(None, (error.message, error.hint)))))
        return Answered(Lookup(asked, 1), (Span(found.start, found.start + self._fitting(found.text)),))

    def _place(self, said: str) -> library.Place:
        """The place that is named: a percentage of the document, characters from and to, or what a finding rests on."""
        finding = self.finding(said)
        if finding is not None:
            if finding.evidence is None or finding.evidence.span is None:
                raise UsageError("that finding rests on no place of the document", hint="search for what it is about")
            return self._around(finding.evidence.span)
        plain = _THOUSANDS.sub("", said)
        if percent := _PERCENT.search(plain):
            length, part = len(self.desk.document.text), int(percent[1])
            if part > 100:
                raise UsageError("a document ends at 100 %")
            at = min(length * part // 100, length - 1)
            return self._around(Span(at, at + 1))
        if between := _FROM_TO.search(plain):
            start, end = int(between[1]), int(between[2])
            if end:
                return library.Place(start=start, end=end)
        raise UsageError(_NO_PLACE)

    def _around(self, span: Span) -> library.Place:
        """Whole passages about a place."""
        near = [one.span for one in self.desk.passages.around(span, _BESIDE)] or [span]
        return library.Place(start=min(one.start for one in near), end=max(one.end for one in near))

    def _fitting(self, text: str) -> int:
        """How many characters of a text there is room for."""
        return min(len(text), max(1, self.desk.tokenizer.measure(text).reach(0, self.room)))


def _too_many(number: int, one: str, many: str) -> list[Answered]:
    left = number - AT_ONCE
    if left <= 0:
        return []
    asked = f"{left:,} more {one if left == 1 else many}"
    return [Answered(Lookup(asked, 0, f"no more than {AT_ONCE} {many} are answered at once"))]
