"""How a summary introduces those whom it names: with a word on who they are, or without."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from redraft.builtin.coherence.reading import Line
from redraft.builtin.details import TITLES, Detail
from redraft.builtin.verbs import AUXILIARIES, is_past, is_present
from redraft.text.wording import carries, keys, listed

Introduction = Literal["told", "a thing", "hardly", "bare"]
"""What is said of somebody beside the name: who it is; no more than "a man named", or a title; nothing. Of what is
named without doing anything that people do, nobody asks who it is."""

_PLACED = listed("in at to near from into through across around towards toward throughout")
_JOINING = listed(
    "of and or but by with for on onto as after before during while when where who whom that which than the a an his"
    " her their its against between among about over under behind beside like upon despite without within along"
    " including because if so then not also only even both either neither per"
)
_SOMEBODY = listed("man woman girl boy person child stranger guy lady figure character")
_CALLED = listed("named called nicknamed dubbed")
_BEHIND = re.compile(
    r",? (?:\(|(?:who|whose|which|where)\b)"
    r"|(?:['’]s?)?, (?:a|an|the|his|her|their|its|also known|known|one of|formerly|now|both)\b"
    r"|, [A-Z]\w+['’]s\b|, [a-z]+ (?:of|to|in|and)\b"
    r"| (?:is|was|are|were|becomes?|works?|serves?) (?:as )?(?:a|an|the|one|his|her|their)\b"
)
_ROLE = re.compile(
    r"(?:Dr|Prof|Professor|Lady|Lord|King|Queen|Prince|Princess|Captain|General|Emperor|President|Detective|Officer"
    r"|Agent|Sheriff|Judge|Uncle|Aunt|Mr|Mrs|Ms|Miss|Sir)\b"
)
# A name before a noun only says which: "her Muslim friends".
_DESCRIBES = re.compile(
    r" (?!(?:and|or|but|who|whose|in|at|on|of|to|as|for|from|with|by|while|when|after|before)\b)[a-z]"
)
THING = re.compile(
    r"(?:Market|Street|Road|Avenue|Square|City|Town|Village|Island|Islands|Isle|Park|River|Lake|Sea|Ocean|Bay|Mountains?"
    r"|Valley|Forest|House|Hotel|Hall|Castle|Palace|Church|School|College|Academy|University|Institute|Hospital|World"
    r"|Earth|Realm|Kingdom|Empire|Country|Lands?|Coast|Bridge|Club|Company|War|Day|Prize|Award|Act|Project|Court|Gate"
    r"|America|Africa|Europe|Asia|England|France|Germany|Italy|Spain|Russia|China|Japan|India|Canada|Mexico|London|Paris"
    r"|York|God|Internet)$"
)
"""How the names of places and things end, and nobody's."""

_COMPANY = listed("with by and meets met encounters confronts visits joins marries including between")
_LISTED = frozenset({" and ", ", and ", ", ", " or "})
_WORDS_BEFORE = 3


def introduction(line: Line, number: int) -> Introduction:
    """What a sentence says of one whom it names; of those in a list, what it says of the one beside counts too."""
    detail = line.mentions[number].detail
    found = _alone(line, detail)
    if found != "bare":
        return found
    for beside in (number + 1, number - 1):
        if 0 <= beside < len(line.mentions):
            other = line.mentions[beside].detail
            first, last = sorted((detail, other), key=lambda one: one.start)
            if line.text[first.end : last.start] in _LISTED and (how := _alone(line, other)) in ("told", "a thing"):
                return how
    return "bare" if _is_somebody(line, detail) else "a thing"


def acts(line: Line, detail: Detail) -> bool:
    """Whether a name stands where those stand who do something, or have something."""
    following = line.surface(detail.last + 1)
    does = is_past(following) or is_present(following) or following in AUXILIARIES
    return does or line.text[detail.end : detail.end + 2] in ("'s", "’s")


def _is_somebody(line: Line, detail: Detail) -> bool:
    """Whether a name stands where those stand who act, or are met, and is no other kind of name."""
    name = line.text[detail.start : detail.end]
    if name.isupper() or THING.search(name) or _DESCRIBES.match(line.text, detail.end):
        return acts(line, detail) and not name.isupper() and not THING.search(name)
    return acts(line, detail) or (detail.first > 0 and line.surface(detail.first - 1) in _COMPANY)


def _alone(line: Line, detail: Detail) -> Introduction:
    if _BEHIND.match(line.text, detail.end):
        return "told"
    if detail.first > 0:
        word = line.surface(detail.first - 1)
        gap = line.text[line.words[detail.first - 1].end : detail.start]
        if word.lower() in _PLACED or word.lower() == "the":
            return "a thing"
        if word in _CALLED and gap.strip(' "“') == "":
            before = {other.key for other in line.words[max(0, detail.first - _WORDS_BEFORE) : detail.first]}
            return "told" if before.isdisjoint(_anybody()) else "hardly"
        if gap.strip(' ,"“') == "" and _is_role(word, line.words[detail.first - 1].key):
            return "told"
    titled = line.words[detail.first].key in TITLES or _ROLE.match(line.text, detail.start)
    return "hardly" if titled else "bare"


def _is_role(word: str, key: str) -> bool:
    """Whether a word before a name is a noun that says who it is, as in "her brother Joe"."""
    verb = is_past(word) or is_present(word) or word in AUXILIARIES
    return word.islower() and carries(key) and not verb and word not in _JOINING and not word.endswith(("ing", "ly"))


@cache
def _anybody() -> frozenset[str]:
    return frozenset(key for word in _SOMEBODY for key in keys(word))
