"""Whether there is somebody for whom a pronoun at the beginning of a sentence may stand."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal

from redraft.builtin.coherence.introductions import THING
from redraft.builtin.coherence.reading import Line
from redraft.builtin.details import Detail
from redraft.builtin.wording import listed

Gender = Literal["he", "she"]
Cast = Mapping[str, Gender | None]
"""The names of people in a summary, and whether its pronouns show that they are a man's or a woman's."""

OPENER = re.compile(r"(?:he|she|his|hers?|they|theirs?|its)\b", re.IGNORECASE)
"""A pronoun that begins a sentence, and stands for somebody or something named before."""

_PRONOUNS: Mapping[Gender, re.Pattern[str]] = {
    "he": re.compile(r"\b(?:he|him|his|himself)\b", re.IGNORECASE),
    "she": re.compile(r"\b(?:she|hers?|herself)\b", re.IGNORECASE),
}
_WORDS: Mapping[Gender, re.Pattern[str]] = {
    "he": re.compile(
        r"\b(?:man|boy|king|prince|lord|father|son|brother|husband|uncle|nephew|grandfather|grandson|widower"
        r"|gentleman|priest|monk|boyfriend|mr|sir)(?:['’]s)?\b",
        re.IGNORECASE,
    ),
    "she": re.compile(
        r"\b(?:woman|girl|queen|princess|lady|mother|daughter|sister|wife|aunt|niece|grandmother|granddaughter"
        r"|widow|heroine|nun|girlfriend|mrs|ms|miss)(?:['’]s)?\b",
        re.IGNORECASE,
    ),
}
_EITHER = re.compile(
    r"\b(?:protagonist|narrator|author|hero|child|children|couple|person|people|doctor|teacher|captain|friend|stranger"
    r"|soldier|student|baby|twin|cousin|parent|guard|chief|thief|boss|servant|patient|somebody|someone)s?\b",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"\b(?:an?|the|his|her|their|old|young|another|this|that) (?:[a-z-]+ )?([a-z]{2,}(?:er|or|ist|ian))s?\b",
    re.IGNORECASE,
)
_NO_ROLES = listed(
    "river water letter paper power tower order matter corner center quarter number winter summer weather dinner supper"
    " lantern ladder harbor danger anger hunger manner chapter timber lever fever border mirror error terror favor"
    " labor other after over under never ever whether rather together counter computer corridor motor vapor rumor humor"
    " color door floor shelter shoulder finger leather silver copper theater newspaper answer offer murder disaster"
    " monster"
)
_BEFORE_THINGS = listed("the in at into through across throughout")
# So many sentences have to name nobody else and speak of a man alone, or of a woman alone.
_EVIDENCE = 2


def cast(lines: Sequence[Line]) -> Cast:
    """The names that stand where those of people do. Gender shows in sentences that name nobody else."""
    people: set[str] = set()
    seen: defaultdict[str, list[Gender]] = defaultdict(list)
    for line in lines:
        for mention in line.mentions:
            if not _is_thing(line, mention.detail):
                people.update(mention.own)
        if len({mention.own for mention in line.mentions}) == 1:
            shown: list[Gender] = [gender for gender, pattern in _PRONOUNS.items() if pattern.search(line.text)]
            for name in line.names:
                seen[name] += shown
    return {name: _gender(seen[name]) for name in people}


def _is_thing(line: Line, detail: Detail) -> bool:
    before = line.surface(detail.first - 1).lower() if detail.first > 0 else ""
    return before in _BEFORE_THINGS or THING.search(line.text[detail.start : detail.end]) is not None


def _gender(seen: Sequence[Gender]) -> Gender | None:
    return seen[0] if len(seen) >= _EVIDENCE and len(set(seen)) == 1 else None


def opens_with_nobody(line: Line, before: Sequence[Line], people: Cast) -> bool:
    """Whether a sentence begins with a pronoun, and those before it speak of nobody for whom it may stand."""
    opener = OPENER.match(line.text)
    if opener is None or line.text.isupper():
        return False
    if not before:
        return True
    word = opener.group().lower()
    if word.startswith(("th", "it")):  # stands for whatever there was
        return False
    gender: Gender = "he" if word.startswith("hi") or word == "he" else "she"
    return not any(_may_be(gender, one, people) for one in before)


def _may_be(gender: Gender, line: Line, people: Cast) -> bool:
    if any(pattern.search(line.text) for pattern in (_PRONOUNS[gender], _WORDS[gender], _EITHER)):
        return True
    if any(role.lower() not in _NO_ROLES for role in _ROLE.findall(line.text)):
        return True
    return any(name in people and people[name] in (gender, None) for name in line.names)
