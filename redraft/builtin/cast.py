"""Who is named in a text, and who of them are he and she."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from redraft.builtin.verbs import is_past, is_present
from redraft.text.wording import DAYS, MONTHS, listed

Gender = Literal["he", "she"]

TITLES: Mapping[str, Gender | None] = {
    **dict.fromkeys(("Mr", "Sir", "Lord", "King", "Prince", "Father", "Brother", "Uncle", "Herr", "Count"), "he"),
    **dict.fromkeys(("Mrs", "Ms", "Miss", "Lady", "Queen", "Princess", "Mother", "Sister", "Aunt", "Madame"), "she"),
    **dict.fromkeys(("Dr", "Doctor", "Prof", "Professor", "Captain", "Capt", "Colonel", "Col", "General", "Lt",
                     "Lieutenant", "Sergeant", "Judge", "Senator", "Major", "Commander", "Rev"), None),
}  # fmt: skip
"""What stands before a name, and whether it makes it a man's or a woman's."""
_WORD = r"[A-Z][\w’'-]*[a-z](?<![’']s)"
_NAME = re.compile(rf"\b(?:(?:{'|'.join(TITLES)})\b\.? )*{_WORD}(?:(?: (?:de|van|von|der|la))? (?:[A-Z]\. )?{_WORD})*")
NO_NAMES = listed(
    "The This That These Those There Then They When Where While With Without What Who Why How His Her Their Its Our"
    " After Before Behind Below Above Although Among And Another Any Around Because Both But Beside Between Beyond"
    " Despite Down During Each Either Even Every Everyone Everybody Few Finally For From Half Here However In Inside"
    " Instead Into Its Just Later Like Many Maybe Meanwhile More Most Much Near Neither Never Next Nobody None Nothing"
    " Not Now Of Off On Once One Only Or Other Others Out Outside Over Perhaps Several She He It Since Slowly Some"
    " Somebody Someone Something Soon Still Such Suddenly Ten Two Three Four Five Six Under Until Up Upon Very We"
    " Yes Yet You Your My As At By If No So To An All God Earth"
) | {name.title() for name in DAYS | MONTHS}
"""Words with a capital that are nobody's name."""
PRONOUN = re.compile(
    r"\b(?:(?P<he>he|him|his|himself)|(?P<she>she|her|hers|herself)|(?P<they>they|them|their|theirs|themselves)"
    r"|(?P<it>it|its|itself))\b(?![’'](?=[a-z]*[A-Z]))",
    re.IGNORECASE,
)
"""Pronouns; the group says which."""
OBJECT = re.compile(
    r"(?:him|them|her(?= (?:to|and|or|but|in|on|at|with|from|for|into|up|down|out|off|as|that|when|while|by|about|away"
    r"|back|over|through|across|along|around|past|toward|towards|again|go|come|the|a|an|was|had)\b|[.,;:!?]|$))",
    re.IGNORECASE,
)
"""One to whom something is done."""
_BEFORE_PLACE = re.compile(r"\b(?:in|at|into|near|through|across|around|of|on|from|throughout) $")
_SMALL = re.compile(r"\b[a-z]{3,}\b")
OPENS_WITH = re.compile(r"(?P<pronoun>He|She|His|Her)(?= [a-z])")
"""A pronoun in whose place a name may be put."""
# What shows whether a name is a man's: a pronoun behind it counts for two, one that begins the next sentence for one.
_WITHIN, _NEXT = 2, 1
_EVIDENCE, _CERTAIN = 3, 0.8


class Mention(NamedTuple):
    """A name where it stands in a sentence, and whether it is that of a man or a woman, where that is known."""

    name: str
    start: int
    end: int
    gender: Gender | None


class Cast:
    """Who is named in a text, and who of them are he and she, so far as its own pronouns and titles show it."""

    def __init__(self, texts: Sequence[str]) -> None:
        within = (
            found.group() for text in texts for found in _NAME.finditer(text, 1) if text[found.start() - 1] == " "
        )
        self._words = {word for name in within for word in name.split()}
        self._small = {word for text in texts for word in _SMALL.findall(text)}
        self._people: set[str] = set()
        seen: dict[str, Counter[str]] = defaultdict(Counter)
        subject = ""
        for text in texts:
            named = list(self.named(text))
            self._people.update(name for name, start, end in named if _acts(text, start, end))
            opening = OPENS_WITH.match(text)
            if opening and subject and not named:
                seen[subject][gender_of(opening.group())] += _NEXT
            if len({name for name, _, _ in named}) == 1:
                name, start, end = named[0]
                seen[name].update(_WITHIN * list(_genders_in(text, end)))
                subject = "" if start else name
            elif named or not opening:
                subject = ""
        for name in list(seen):
            for part in {name.split()[0], name.split()[-1]} - {name, *TITLES}:
                seen[part].update(seen[name])
        self._genders = {name: _surely(counts) for name, counts in seen.items()}

    def named(self, text: str) -> Iterator[tuple[str, int, int]]:
        """The names in a sentence with where they stand, be they of people or not."""
        for found in _NAME.finditer(text):
            name, start = found.group(), found.start()
            first, _, rest = name.partition(" ")
            if first in NO_NAMES:
                if not rest:
                    continue
                name, start = rest, start + len(first) + 1
            elif start == 0 and " " not in name and not self._is_name(name, text):
                continue
            if name not in NO_NAMES:
                yield name, start, found.end()

    def _is_name(self, word: str, text: str) -> bool:
        """Whether a lone word that begins a sentence is a name: it is one elsewhere, or somebody who does something."""
        if word.lower() in self._small or word.endswith(("ly", "ing", "ed")):
            return False
        return word in self._words or _acts(text, 0, len(word))

    def mentions(self, text: str) -> list[Mention]:
        """The people named in a sentence."""
        return [
            Mention(name, start, end, self.gender(name))
            for name, start, end in self.named(text)
            if name in self._people or self.gender(name) or name.split()[0].rstrip(".") in TITLES
        ]

    def gender(self, name: str) -> Gender | None:
        """Whether a name is that of a man or a woman."""
        title = TITLES.get(name.split()[0].rstrip("."))
        return title or self._genders.get(name) or (self._genders.get(name.split()[0]) if " " in name else None)


def _acts(text: str, start: int, end: int) -> bool:
    """Whether a name stands where those of people do: before what somebody did, or owns."""
    if _BEFORE_PLACE.search(text, 0, start):
        return False
    behind = text[end:].split()[:1] if text[end : end + 1] == " " else []
    verb = behind[0].strip(",.;") if behind else ""
    return is_past(verb) or is_present(verb) or text[end : end + 2] in ("'s", "’s")


def _genders_in(text: str, start: int) -> Iterator[str]:
    """What the pronouns behind a name say of whom it is."""
    for one in PRONOUN.finditer(text, start):
        if one.lastgroup in ("he", "she") and not OBJECT.match(text, one.start()):
            yield one.lastgroup


def _surely(counts: Counter[str]) -> Gender | None:
    gender, most = counts.most_common(1)[0] if counts else ("", 0)
    if most < _EVIDENCE or most < _CERTAIN * counts.total():
        return None
    return "he" if gender == "he" else "she"


def gender_of(pronoun: str) -> Gender:
    """Whether a pronoun stands for a man or a woman."""
    return "he" if pronoun.lower() in ("he", "his", "him") else "she"
