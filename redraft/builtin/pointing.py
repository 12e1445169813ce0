"""What a sentence points back to, and whether it may stand where the sentences before it do not.

A sentence that is taken out of a text keeps its meaning only if whom its "he" is, and when its "next day" was, can be
told from what stands before it in its new place. One rule holds for drafts, for revisions and for the judging of how a
summary reads: a sentence stands by itself, or with the name of whom it speaks in brackets for the pronoun that it
begins with; otherwise it is of no use elsewhere. English; a text in another language has nothing here that points, and
is taken as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from redraft.builtin.cast import OBJECT, OPENS_WITH, PRONOUN, Cast, Gender, Mention, gender_of
from redraft.builtin.prose import Sentence
from redraft.builtin.verbs import is_past
from redraft.text.languages import is_foreign

Pointer = Literal["he", "she", "they", "it", "who", "when", "back"]
"""What points: a pronoun; "the man"; "the next day"; a word that only goes on from what was said."""

_MEN = (
    "man|boy|gentleman|fellow|father|son|brother|husband|uncle|nephew|grandfather|grandson|king|prince|guy|lad|priest"
)
_WOMEN = (
    "woman|girl|lady|mother|daughter|sister|wife|aunt|niece|grandmother|granddaughter|queen|princess|widow|nurse|nun"
)
_EITHER = (
    "person|child|kid|youth|stranger|visitor|creature|figure|teacher|doctor|captain|officer|soldier|driver|pilot|guard"
    "|clerk|professor|friend|leader|chief|boss|colonel|lieutenant|sergeant|engineer|narrator|protagonist|servant"
    "|student|patient|victim|detective|policeman|alien|robot|agent|thief|partner|companion|couple|baby|twin|cousin|hero"
)
_NOUNS: Mapping[Gender, re.Pattern[str]] = {
    "he": re.compile(rf"\b(?:{_MEN}|{_EITHER})\b", re.IGNORECASE),
    "she": re.compile(rf"\b(?:{_WOMEN}|heroine|girlfriend|{_EITHER})\b", re.IGNORECASE),
}
_PEOPLE = re.compile(rf"\b(?:{_MEN}|{_WOMEN}|{_EITHER})s?\b|\b(?:men|women|people|children|wives)\b", re.IGNORECASE)
_SOMEBODY = re.compile(
    r"\b(?:[Tt]he|[Tt]his|[Tt]hat|[Tt]hese|[Tt]hose)(?: [a-z-]+){0,2}"
    r" (?:man|men|woman|women|boys?|girls?|gentlem[ae]n|fellows?|lady|ladies|guys?|lads?|persons?|people|kids?|youths?"
    r"|child|children|strangers?|visitors?|aliens?|creatures?|robots?|things?|figures?|victims?|others?|two|three|four|five"
    r"|pair|couple|trio|group|crowd|voice|Martian|Venusian|Terran|Earthman|Englishman|Frenchman|German|American"
    r"|Russian|Chinese|Indian)\b(?!-| [A-Z])"
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
    r"|before long|(?:was|were) suddenly"
    r"|(?:after|within|in) (?:an?|another|some|several|a few|a couple of|\w+) (?:more )?"
    r"(?:(?:moment|second|minute|hour|day|week|month|year|while)s?)(?! (?:of|in|at|on)\b)"
    r"|(?:moment|second|minute|hour|day|week|month|year)s? (?:passed|went by)|once more)\b"
    r"|^(?:suddenly|instantly|immediately|abruptly|at once|at last|finally|presently|soon|again|still|already)\b",
    re.IGNORECASE,
)
# What went on is told of the moment that is being told of, unless the sentence itself says when.
_WENT_ON = re.compile(
    r"\b(?:was|were) (?:\w+ly |still |already |again |now |just )?"
    r"(?!(?:some|any|no|every)?thing\b|king\b)[a-z]{2,}ing\b"
)
_WHEN = re.compile(r"\b(?:when|while|as|after|before|until|since|once)\b", re.IGNORECASE)
# Of somebody, who has to be named.
_PART = re.compile(
    r"\b(?:the|an?|these|those|two|both) (?:[a-z-]+ ){0,2}(?:hand|finger|thumb|fist|arm|elbow|shoulder|leg|knee"
    r"|f[oe]{2}t|toe|face|eye|ear|nose|cheek|mouth|lip|tooth|teeth|tongue|throat|chin|beard|hair|head|neck|chest|tail|paw|voice"
    r"|footstep|breathing|heartbeat|smile|grin)s?\b(?! of\b)(?![’'-])",
    re.IGNORECASE,
)
_JOINING = (
    "but|and|or|so|nor|yet|thus|hence|therefore|however|moreover|furthermore|additionally|instead|otherwise|besides"
    "|nevertheless|consequently"
)
_BACK = re.compile(
    rf"^(?:{_JOINING}|for|also|too|perhaps|maybe|anyway|indeed|well|yes|no|only|because|which|who|here|this|that|these"
    r"|those|such)\b"
    r"|\b(?:this|these|those)\b(?! (?:who|of)\b)|\b(?:at|of|to|by|in|for|with|from|after|before|on|like) that\b"
    r"|\bthat (?:kind|sort|type|way|manner|was|is|had|would|could|meant|wasn|isn)\b|, too\b|\btoo[.!]"
    r"|\b(?:his|hers|theirs|mine|ours)[,.;:]|\bfor (?:instance|example)\b|\bsuch\b|\bhere\b|^there,",
    re.IGNORECASE,
)
# What somebody did or thought, of whom no more is said: "The decision was made".
_DEED = re.compile(
    r"The (?:[a-z-]+ )?[a-z]{2,}(?:[ts]ion|ment|[ae]nce)s?\b(?! (?:of|to|that|in|by|for|from|between|on|at|with)\b)"
)
_GOES_ON = re.compile(rf"(?:{_JOINING})\b", re.IGNORECASE)
_NEW_SUBJECT = re.compile(r"\b(?:that|who|which|when|while|as|because|if|until|where|what|how|whether|though)\b")
_THING = re.compile(
    r"\b(?:(?:an?|every|each) [\w-]{3,}"
    r"|(?:the|his|her|their|its|my|our|no|any|some|[A-Z]\w+[’']s) (?!\w+[^siu’']s\b)[\w-]{3,})"
)
_PLURAL = re.compile(
    r"\b(?:[a-z]{3,}[^s’'\W]s|men|women|people|children|crew|family|team|both)\b|\b[A-Z]\w+(?: [A-Z]\w+)* and "
)
# "Rice and he" are two.
_BESIDE = (" and ", " or ", " nor ", " than ", ", not ")
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
_I = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Ww]e|[Oo]ur)\b")
_SMALL = re.compile(r"\b[a-z]{2,}\b")
# Who does something, known by what he is alone: the reader has to have met him.
_DOER = re.compile(
    rf"The (?:[a-z-]+ )?(?i:{_MEN}|{_WOMEN}|{_EITHER}|[a-z]{{3,}}(?:er|or|ist|m[ae]n)s?) (?:\w+ly )?(?P<verb>[a-z]+)\b"
)
_SPEECH = re.compile(r"[\"“”«»]")


def anchored(sentences: Sequence[Sentence], language: str) -> list[str | None]:
    """How each sentence of a text may stand elsewhere; None where its meaning would be lost."""
    aloud = [one.spoken or bool(_SPEECH.search(one.text)) for one in sentences]
    if is_foreign(language):
        return [None if spoken else one.text for spoken, one in zip(aloud, sentences, strict=True)]
    cast = Cast([one.text for one in sentences if not one.spoken])
    found: list[str | None] = []
    topic: Mention | None = None
    for spoken, one in zip(aloud, sentences, strict=True):
        if spoken:
            found.append(None)
            topic = None
            continue
        loose = pointers(one.text, cast)
        named = _with_name(one.text, topic if one.follows else None)
        topic = _topic(one.text, cast.mentions(one.text), topic if named else None)
        known = named if len(loose) == 1 and loose <= {"he", "she"} else ""
        found.append((known or None) if loose else one.text)
    return found


def _with_name(text: str, topic: Mention | None) -> str:
    """A sentence with the name of whom it speaks for the pronoun that it begins with; nothing where that is unsure."""
    opening = OPENS_WITH.match(text)
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
    mentions = cast.mentions(text)
    if _SOMEBODY.search(text) or _is_unnamed(text, mentions):
        found.add("who")
    if _TIME.search(text) or _goes_on_then(text):
        found.add("when")
    if points_back(text) or _DEED.match(text):
        found.add("back")
    for one in PRONOUN.finditer(text):
        kind = one.lastgroup
        if kind in ("he", "she"):
            gender = gender_of(kind)
            if not _is_within(one, text, gender, mentions):
                found.add(gender)
        elif kind == "they" and not _PLURAL.search(text, 0, one.start()):
            found.add("they")
        elif kind == "it" and not _THING.search(text, 0, one.start()):
            found.add("it")
    return found


def points_back(text: str) -> bool:
    """Whether a sentence goes on from what was said, or speaks of "this"."""
    return bool(_BACK.search(text))


def _is_unnamed(text: str, mentions: Sequence[Mention]) -> bool:
    """Whether somebody is only known by what he is, or by a part of him, of whom no more is said before it."""
    doer, part = _DOER.match(text), _PART.search(text)
    if doer and is_past(doer["verb"]):
        return True
    if part is None:
        return False
    end = part.start()
    owned = _PEOPLE.search(text, 0, end) or PRONOUN.search(text, 0, end) or _I.search(text, 0, end)
    return not owned and not any(one.end <= end for one in mentions)


def _goes_on_then(text: str) -> bool:
    """Whether a sentence tells what went on, and not when."""
    found = _WENT_ON.search(text)
    if not found or _WHEN.search(text):
        return False
    return not any(is_past(word) for word in _SMALL.findall(text[: found.start()]))


def _is_within(pronoun: re.Match[str], text: str, gender: Gender, mentions: Sequence[Mention]) -> bool:
    """Whether the one for whom a pronoun stands is in its sentence, before it, and not only as whose something is."""
    at = pronoun.start()
    before = [
        one for one in mentions if one.end <= at and _may_be(one, gender, text) and text[one.end : at] not in _BESIDE
    ]
    if len({one.name for one in before}) > 1 or any(
        not _owns(text, one.end()) for one in _NOUNS[gender].finditer(text, 0, at)
    ):
        return True
    if not before or not OBJECT.match(text, at) or before[0].start:
        return bool(before)
    # Who does something to "him" is another.
    return bool(_NEW_SUBJECT.search(text, before[0].end, at))


def _owns(text: str, end: int) -> bool:
    """Whether only something of somebody is spoken of, who is named up to there."""
    return text.startswith(("'", "’"), end)


def _may_be(mention: Mention, gender: Gender, text: str) -> bool:
    if _owns(text, mention.end):
        return False
    # A lone word that has its capital from its place is a name only where that is known from elsewhere.
    if mention.gender or mention.start or " " not in mention.name:
        return mention.gender == gender
    # One of whom nothing is known is not he and she at once.
    return all(one.lastgroup in (gender, "they", "it") for one in PRONOUN.finditer(text))


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
    return any(one.lastgroup == gender for one in PRONOUN.finditer(text)) or any(
        cast.gender(name) in (None, gender) and not _BEFORE_THING.search(text, 0, start)
        for name, start, _ in cast.named(text)
    )
