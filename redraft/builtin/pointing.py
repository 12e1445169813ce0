"""What a sentence points back to, and whether it may stand where the sentences before it do not.

A sentence that is taken out of a text keeps its meaning only if whom its "he" is, and when its "next day" was, can be
told from what stands before it in its new place. One rule holds for drafts, for revisions and for the judging of how a
summary reads: a sentence stands by itself, or directly behind the one before it, or with the name of whom it speaks in
brackets for the pronoun that it begins with; otherwise it is of no use elsewhere. English; a text in another language
has nothing here that points, and is taken as it stands.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from redraft.builtin.prose import Sentence
from redraft.builtin.verbs import is_past, is_present
from redraft.text.wording import listed

Pointer = Literal["he", "she", "they", "it", "who", "when", "back"]
"""What points: a pronoun; "the man"; "the next day"; a word that only goes on from what was said."""
Gender = Literal["he", "she"]

_TITLES: Mapping[str, Gender | None] = {
    **dict.fromkeys(("Mr", "Sir", "Lord", "King", "Prince", "Father", "Brother", "Uncle", "Herr", "Count"), "he"),
    **dict.fromkeys(("Mrs", "Ms", "Miss", "Lady", "Queen", "Princess", "Mother", "Sister", "Aunt", "Madame"), "she"),
    **dict.fromkeys(("Dr", "Doctor", "Prof", "Professor", "Captain", "Capt", "Colonel", "Col", "General", "Lt",
                     "Lieutenant", "Sergeant", "Judge", "Senator", "Major", "Commander", "Rev"), None),
}  # fmt: skip
_WORD = r"[A-Z][\w’'-]*[a-z](?<![’']s)"
_NAME = re.compile(rf"\b(?:(?:{'|'.join(_TITLES)})\b\.? )*{_WORD}(?:(?: (?:de|van|von|der|la))? (?:[A-Z]\. )?{_WORD})*")
NO_NAMES = listed(
    "The This That These Those There Then They When Where While With Without What Who Why How His Her Their Its Our"
    " After Before Behind Below Above Although Among And Another Any Around Because Both But Beside Between Beyond"
    " Despite Down During Each Either Even Every Everyone Everybody Few Finally For From Half Here However In Inside"
    " Instead Into Its Just Later Like Many Maybe Meanwhile More Most Much Near Neither Never Next Nobody None Nothing"
    " Not Now Of Off On Once One Only Or Other Others Out Outside Over Perhaps Several She He It Since Slowly Some"
    " Somebody Someone Something Soon Still Such Suddenly Ten Two Three Four Five Six Under Until Up Upon Very We"
    " Yes Yet You Your My As At By If No So To An All God Earth Sunday Monday Tuesday Wednesday Thursday Friday"
    " Saturday January February March April May June July August September October November December"
)
"""Words with a capital that are nobody's name."""
_PRONOUN = re.compile(
    r"\b(?:(?P<he>he|him|his|himself)|(?P<she>she|her|hers|herself)|(?P<they>they|them|their|theirs|themselves)"
    r"|(?P<it>it|its|itself))\b(?![’'](?=[a-z]*[A-Z]))",
    re.IGNORECASE,
)
_OBJECT = re.compile(
    r"(?:him|them|her(?= (?:to|and|in|on|at|with|from|for|into|up|down|out|off|as|that|by|about|away|back|over|again|go"
    r"|come|the|a|an|was|had)\b|[.,;:!?]|$))",
    re.IGNORECASE,
)
_MEN = (
    "man|boy|gentleman|fellow|father|son|brother|husband|uncle|nephew|grandfather|grandson|king|prince|guy|lad|priest"
)
_WOMEN = (
    "woman|girl|lady|mother|daughter|sister|wife|aunt|niece|grandmother|granddaughter|queen|princess|widow|nurse|nun"
)
_EITHER = (
    "person|child|kid|youth|stranger|visitor|creature|figure|teacher|doctor|captain|officer|soldier|driver|pilot|guard"
    "|clerk|professor|friend|leader|chief|boss|colonel|lieutenant|sergeant|engineer|narrator|protagonist|servant"
    "|student|patient|detective|policeman|alien|robot|agent|thief|partner|companion|couple|baby|twin|cousin|hero"
)
_NOUNS: Mapping[Gender, re.Pattern[str]] = {
    "he": re.compile(rf"\b(?:{_MEN}|{_EITHER})\b", re.IGNORECASE),
    "she": re.compile(rf"\b(?:{_WOMEN}|heroine|girlfriend|{_EITHER})\b", re.IGNORECASE),
}
_PEOPLE = re.compile(rf"\b(?:{_MEN}|{_WOMEN}|{_EITHER})s?\b|\b(?:men|women|people|children|wives)\b", re.IGNORECASE)
_SOMEBODY = re.compile(
    r"\b(?:[Tt]he|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose)(?: [a-z-]+){0,2}"
    r" (?:man|men|woman|women|boys?|girls?|gentlem[ae]n|fellows?|lady|ladies|guys?|lads?|persons?|people|kids?|youths?"
    r"|child|children|strangers?|visitors?|aliens?|creatures?|robots?|things?|figures?|others?|two|three|four|five"
    r"|pair|couple|trio|group|crowd|voice|Martian|Venusian|Terran|Earthman|Englishman|Frenchman|German|American"
    r"|Russian|Chinese|Indian)\b(?![’'-]| [A-Z])"
    r"(?! (?:who|whom|whose|of|with|in|from|named|called|on|behind|beside|I|we|that|which)\b)"
    r"|\b(?:[Tt]he|[Tt]his|[Tt]hat) (?:other|latter|former|same|rest|second|third|younger|older|elder|taller|bigger"
    r"|smaller)\b|\b[Aa]nother\b"
    r"|^(?:Both|Neither|Each|One|Some|All|Most|None|Others|Everybody|Everyone|Nobody)\b"
    r"(?! (?:of (?!the[ms]\b)|day|morning|night|evening))|\bof them\b"
)
_TIME = re.compile(
    r"\b(?:(?:that|this|these|those|the (?:next|following|previous|same|first|second|third|other|very))"
    r" (?:day|night|morning|evening|afternoon|week|month|year|winter|summer|spring|autumn|time|moment|instant|hour"
    r"|minute|occasion|weeks|days|years)"
    r"|the (?:day|night|morning|evening|afternoon)(?! (?:of|when|before|after|he|she|I|we|they)\b)"
    r"|(?:next|following|previous) (?:day|night|morning|evening|week|month|year|time|moment)|then|later|earlier"
    r"|afterwards?|meanwhile|now|ago|yesterday|tomorrow|today|tonight|nowadays|last (?:night|week|month|year|time)"
    r"|before long)\b",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"^(?:but|and|or|so|nor|for|yet|thus|hence|therefore|however|moreover|instead|otherwise|besides|also|too|perhaps"
    r"|maybe|anyway|indeed|well|yes|no|only|because|which|who|here|this|that|these|those|such)\b"
    r"|\b(?:this|these|those)\b(?! (?:who|of)\b)|\b(?:at|of|to|by|in|for|with|from|after|before|on|like) that\b"
    r"|\bsuch\b|\bhere\b|^there,",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"(?:but|and|or|so|nor|yet|thus|hence|therefore|however|moreover|furthermore|additionally|instead|otherwise"
    r"|besides|nevertheless|consequently)\b",
    re.IGNORECASE,
)
_NEW_SUBJECT = re.compile(r"\b(?:that|who|which|when|while|as|because|if|until|where|what|how|whether|though)\b")
_THING = re.compile(r"\b(?:an?|the|his|her|their|its|my|our|no|any|some|every|each|[A-Z]\w+[’']s) [\w-]{3,}")
_PLURAL = re.compile(
    r"\b(?:[a-z]{3,}[^s’'\W]s|men|women|people|children|crew|family|team|both)\b|\b[A-Z]\w+(?: [A-Z]\w+)* and "
)
# "Rice and he" are two.
_BESIDE = (" and ", " or ", " nor ", " than ", ", not ")
_BEFORE_PLACE = re.compile(r"\b(?:in|at|into|near|through|across|around|of|on|from|throughout) $")
_BEFORE_THING = re.compile(r"\b(?:the|in|at|into|through|across|throughout) $", re.IGNORECASE)
# A pronoun that begins a sentence.
_OPENER = re.compile(r"(?:he|she|his|hers?|they|theirs?|its)\b", re.IGNORECASE)
# Who somebody is or does, by the ending; what ends so and is no person's word is left out.
_ROLE = re.compile(
    r"\b(?:an?|the|his|her|their) (?:[a-z-]+ )?(?!(?:(?:wat|riv|lett|pap|pow|tow|numb|corn|ord|matt|wint|summ|weath"
    r"|dang|answ|dinn|ladd|lev|murd|flow|cov|chapt|comput|oth|latt|form|und|ov|aft|nev|ev)er|door|floor|mirror)s?\b)"
    r"[a-z]{2,}(?:er|or|ist|ian|m[ae]n)s?\b",
    re.IGNORECASE,
)
_SPEECH = re.compile(r"[\"“”«»]")
_SMALL = re.compile(r"\b[a-z]{3,}\b")
_OPENS_WITH = re.compile(r"(?P<pronoun>He|She|His|Her)(?= [a-z])")
_DEPTH = 3
# What shows whether a name is a man's: a pronoun behind it counts for two, one that begins the next sentence for one.
_WITHIN, _NEXT = 2, 1
_EVIDENCE, _CERTAIN = 3, 0.8


class Mention(NamedTuple):
    """A name where it stands in a sentence, and whether it is that of a man or a woman, where that is known."""

    name: str
    start: int
    end: int
    gender: Gender | None


class Anchored(NamedTuple):
    """A sentence as it may stand elsewhere, and whether it does so only directly behind the one before it."""

    text: str
    needs: bool


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
            opening = _OPENS_WITH.match(text)
            if opening and subject and not named:
                seen[subject][gender_of(opening.group())] += _NEXT
            if len({name for name, _, _ in named}) == 1:
                name, start, end = named[0]
                seen[name].update(_WITHIN * list(_genders_in(text, end)))
                subject = "" if start else name
            elif named or not opening:
                subject = ""
        for name in list(seen):
            for part in {name.split()[0], name.split()[-1]} - {name, *_TITLES}:
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
            if name in self._people or self.gender(name) or name.split()[0].rstrip(".") in _TITLES
        ]

    def gender(self, name: str) -> Gender | None:
        """Whether a name is that of a man or a woman."""
        title = _TITLES.get(name.split()[0].rstrip("."))
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
    for one in _PRONOUN.finditer(text, start):
        if one.lastgroup in ("he", "she") and not _OBJECT.match(text, one.start()):
            yield one.lastgroup


def _surely(counts: Counter[str]) -> Gender | None:
    gender, most = counts.most_common(1)[0] if counts else ("", 0)
    if most < _EVIDENCE or most < _CERTAIN * counts.total():
        return None
    return "he" if gender == "he" else "she"


def gender_of(pronoun: str) -> Gender:
    """Whether a pronoun stands for a man or a woman."""
    return "he" if pronoun.lower() in ("he", "his", "him") else "she"


def anchored(sentences: Sequence[Sentence]) -> list[Anchored | None]:
    """How each sentence of a text may stand elsewhere; None where its meaning would be lost."""
    cast = Cast([one.text for one in sentences if not one.spoken])
    found: list[Anchored | None] = []
    topic: Mention | None = None
    depth = 0
    for at, one in enumerate(sentences):
        topic = topic if one.follows and not one.spoken else None
        if one.spoken or _SPEECH.search(one.text):
            found.append(None)
            topic = None
            continue
        loose = pointers(one.text, cast)
        named = _with_name(one.text, topic)
        topic = _topic(one.text, cast.mentions(one.text), topic if named else None)
        before = found[at - 1] if at and one.follows and depth < _DEPTH else None
        if not loose or (named and len(loose) == 1 and loose <= {"he", "she"}):
            found.append(Anchored(named if loose else one.text, False))
            depth = 1
        elif before and all(_is_met(kind, sentences[at - 1].text, before.text, cast) for kind in loose):
            found.append(Anchored(one.text, True))
            depth += 1
        else:
            found.append(None)
    return found


def _with_name(text: str, topic: Mention | None) -> str:
    """A sentence with the name of whom it speaks for the pronoun that it begins with; nothing where that is unsure."""
    opening = _OPENS_WITH.match(text)
    if not topic or not opening or topic.gender != gender_of(opening.group()) or topic.name in text:
        return ""
    ending = ("’s" if "’" in text else "'s") if opening.group() in ("His", "Her") else ""
    return f"[{topic.name}{ending}]{text[opening.end() :]}"


def following(gone: str, text: str, cast: Cast) -> str:
    """A sentence whose "he" is named by the one before it, with that name, so that it can do without it; or nothing."""
    return _with_name(text, _topic(gone, cast.mentions(gone), None))


def _topic(text: str, mentions: Sequence[Mention], before: Mention | None) -> Mention | None:
    """Of whom a sentence speaks, and of no other of whom the same pronoun could be said."""
    if before:
        subject, others = before, mentions
    elif (
        mentions
        and mentions[0].start == 0
        and mentions[0].gender
        and text[mentions[0].end : mentions[0].end + 1] == " "
    ):
        subject, others = mentions[0], mentions[1:]
    else:
        return None
    rivals = [one for one in others if one.name != subject.name and one.gender in (None, subject.gender)]
    assert subject.gender
    return None if rivals or _NOUNS[subject.gender].search(text) else subject


def pointers(text: str, cast: Cast) -> set[Pointer]:
    """What in a sentence points out of it."""
    found: set[Pointer] = set()
    if _SOMEBODY.search(text):
        found.add("who")
    if _TIME.search(text):
        found.add("when")
    if _BACK.search(text):
        found.add("back")
    mentions = cast.mentions(text)
    for one in _PRONOUN.finditer(text):
        kind = one.lastgroup
        if kind in ("he", "she"):
            gender: Gender = "he" if kind == "he" else "she"
            if not _is_within(one, text, gender, mentions):
                found.add(gender)
        elif kind == "they" and not _PLURAL.search(text, 0, one.start()):
            found.add("they")
        elif kind == "it" and not _THING.search(text, 0, one.start()):
            found.add("it")
    return found


def _is_within(pronoun: re.Match[str], text: str, gender: Gender, mentions: Sequence[Mention]) -> bool:
    """Whether the one for whom a pronoun stands is in its sentence, before it."""
    before = [
        one
        for one in mentions
        if one.end <= pronoun.start() and _may_be(one, gender, text) and text[one.end : pronoun.start()] not in _BESIDE
    ]
    nouns = _NOUNS[gender].search(text, 0, pronoun.start())
    if not before and not nouns:
        return False
    if (
        not _OBJECT.match(text, pronoun.start(), len(text))
        or nouns
        or len({one.name for one in before}) > 1
        or before[0].start
    ):
        return True
    # Who does something to "him" is another.
    return bool(_NEW_SUBJECT.search(text, before[0].end, pronoun.start()))


def _may_be(mention: Mention, gender: Gender, text: str) -> bool:
    if text.startswith(("'", "’"), mention.end):
        return False
    # A lone word that has its capital from its place is a name only where that is known from elsewhere.
    return mention.gender == gender or (mention.gender is None and mention.start == 0 and " " in mention.name)


def points_at_nobody(text: str, before: Sequence[str], cast: Cast) -> re.Match[str] | None:
    """The pronoun that a sentence begins with, where those before it speak of nobody for whom it may stand.

    This is what can be said of a summary without its document: who is meant may be another than the one who may be.
    """
    opening = _OPENER.match(text)
    if opening is None or text.isupper():
        return None
    word = opening.group().lower()
    if before and word.startswith(("th", "it")):  # stands for whatever there was
        return None
    return None if any(_may_speak_of(gender_of(word), one, cast) for one in before) else opening


def goes_on(text: str) -> bool:
    """Whether a sentence begins with a word that only joins it to the one before it."""
    return bool(_GOES_ON.match(text))


def _may_speak_of(gender: Gender, text: str, cast: Cast) -> bool:
    if _NOUNS[gender].search(text) or _ROLE.search(text):
        return True
    if any(one.lastgroup == gender for one in _PRONOUN.finditer(text)):
        return True
    return any(
        cast.gender(name) in (None, gender) and not _BEFORE_THING.search(text, 0, start)
        for name, start, _ in cast.named(text)
    )


def _is_met(kind: Pointer, before: str, written: str, cast: Cast) -> bool:
    """Whether what points may well point to the sentence before it."""
    if kind in ("he", "she"):
        gender: Gender = "he" if kind == "he" else "she"
        there = any(
            _may_be(one, gender, written) and written[one.end : one.end + 1] not in "'’"
            for one in cast.mentions(written)
        )
        return there or any(one.lastgroup == kind for one in _PRONOUN.finditer(before))
    if kind == "they":
        return bool(_PLURAL.search(before)) or any(one.lastgroup == kind for one in _PRONOUN.finditer(before))
    if kind == "who":
        return bool(cast.mentions(written) or _PEOPLE.search(before))
    return True
