"""Where a stretch of a text had better end: at a chapter or a scene, else at a paragraph, and not amid talk."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from redraft.text.headings import is_heading
from redraft.text.sentences import paragraph_seams

# A chunk may be shorter by so much of its room for a chapter or a scene, and by so much for a paragraph.
_FOR_A_SCENE, _FOR_A_PARAGRAPH = 0.4, 0.25
_SCENE = re.compile(r"[ \t]*(?:[*#•·⁂※~_=—–-][ \t]*){1,12}\n?[ \t]*\Z")
_SPEAKS = re.compile(r"[\s>*_]*[\"“„«「『‘—–―]")
_LONGEST_LINE = 120


@dataclass(frozen=True, slots=True)
class Ends:
    """Places in their order: where chapters and scenes begin, and where paragraphs do that answer no speech."""

    scenes: Sequence[int]
    paragraphs: Sequence[int]

    @classmethod
    def of(cls, text: str, sections: Sequence[int] = ()) -> Ends:
        """Those of a text, in which these are known to begin sections. It is looked through once."""
        starts = [0, *paragraph_seams(text), len(text)]
        known, scenes, calm = frozenset(sections), list[int](), list[int]()
        before = ""
        for start, end in pairwise(starts):
            line = text[start : min(end, start + _LONGEST_LINE)].strip()
            heads = start in known or (end - start <= _LONGEST_LINE and is_heading(line))
            if (heads and not _is_heading(before)) or _SCENE.fullmatch(before):
                scenes.append(start)
            if not (_SPEAKS.match(before) and _SPEAKS.match(line)) and not _is_heading(before):
                calm.append(start)
            before = line
        return cls(scenes, calm)

    def last(self, start: int, limit: int) -> int | None:
        """The last place at which a stretch from `start` that may go on to `limit` had better end."""
        for places, share in ((self.scenes, _FOR_A_SCENE), (self.paragraphs, _FOR_A_PARAGRAPH)):
            at = bisect_right(places, limit) - 1
            if at >= 0 and places[at] > start and places[at] >= limit - share * (limit - start):
                return places[at]
        return None


def _is_heading(line: str) -> bool:
    return bool(line) and is_heading(line)
