"""What follows the verb of a clause, piece by piece: whom or what it is done to, and why, when, where and how."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from redraft.builtin.coverage.clauses import BEGINS_SUBJECT, PREPOSITIONS, TIME, Clause
from redraft.builtin.verbs import BE, HAVE_INFINITIVE, KNOWN, MAKE_OTHERS
from redraft.builtin.wording import listed

PhraseKind = Literal["object", "what", "why", "when", "where", "how", "other"]

_PLACES = listed(
    "to in on at into onto upon from inside outside near beside beneath under behind beyond above below aboard"
    " through across along toward towards around over against between among out"
)
_PARTICLES = listed(
    "back away round up down off out in on over around along through together home there here forward apart"
)
_CAUSES = re.compile(
    r"\b(?:because|so that|in order to|for fear|owing to|due to|thanks to|so as to)\b .*", re.IGNORECASE
)
_CAUSE_AFTER = re.compile(
    r"((?:because|so that|in order to|for fear|owing to|due to|thanks to|so as to)\b [^,;:—]{6,120}[^,;:—.\s])", re.I
)
_TIME_AFTER = re.compile(r"((?:when|after|before|until|as soon as|once)\b [^,;:—]{6,90}[^,;:—.\s])", re.I)
# "The time to go", "no reason to stay": what is done for nothing.
_BEFORE_INFINITIVE = listed(
    "time way chance order attempt right reason need decision effort ability desire wish plan permission"
    " opportunity power nothing something anything everything place one first last person man able ready likely how"
    " what where when whether enough too place thing things urge tendency intention refusal trouble bound fit"
)
_HAVE_CLAUSE = listed(
    "discover find learn realize know believe say explain reveal announce admit confess claim decide suggest"
    " suspect think tell declare insist promise hear understand see notice remember conclude report warn convince"
    " fear hope agree propose prove swear"
)
_NUMERALS = listed("one two three four five six")
_SHORTEST_PURPOSE = 2
_MANNER = listed(
    "well best better hard fast still straight first last so very too more most less him narrowly late early"
)
_BEFORE_TIME = listed("in on at by during after before since until")
_NOUN_OPENS = BEGINS_SUBJECT | listed("this that these those him them it me us you one no some any which whom what")


class Phrase(NamedTuple):
    """A piece of what follows a verb: the object, or what begins with a preposition."""

    kind: PhraseKind
    """What it says; "what" is an infinitive or a clause."""
    text: str


def phrases(clause: Clause) -> Iterator[Phrase]:
    """What follows the verb, piece by piece."""
    text = clause.rest
    if clause.reason:
        yield from _pieces(clause, text.split())
        yield Phrase("why", clause.reason)
        return
    if found := _TIME_AFTER.match(clause.beyond):
        yield from _pieces(clause, text.split())
        yield Phrase("when", found.group(1))
        return
    if found := _CAUSE_AFTER.match(clause.beyond):
        yield from _pieces(clause, text.split())
        yield Phrase("why", found.group(1))
        return
    if cause := _CAUSES.search(text):
        yield from _pieces(clause, text[: cause.start()].split())
        yield Phrase("why", cause.group())
        return
    yield from _pieces(clause, text.split())


def _pieces(clause: Clause, tokens: Sequence[str]) -> Iterator[Phrase]:
    first = 0
    for at in range(1, len(tokens) + 1):
        if at < len(tokens) and not _starts_piece(tokens, at):
            continue
        if at > first:
            whole = at
            piece = tokens[first:at]
            if _is_open(piece[0], tokens, first):
                piece, whole = tokens[first:], len(tokens)
            while piece and piece[-1] in ("and", "or", "but"):
                piece = piece[:-1]
            if piece and not (len(piece) == 1 and piece[0] in PREPOSITIONS - _PARTICLES):
                yield Phrase(_kind(clause, piece, tokens[:first]), " ".join(piece))
            first = at
            if whole == len(tokens):
                return


def _starts_piece(tokens: Sequence[str], at: int) -> bool:
    word = tokens[at].lower()
    if word in ("to", "past") and tokens[at - 1].lower() in ("minutes", "quarter", "half"):
        return False
    if word == "of" or tokens[at - 1].lower() in PREPOSITIONS:  # "the king of France", "out of", "from under"
        return False
    return word in PREPOSITIONS or word == "that"


def _is_open(word: str, tokens: Sequence[str], first: int) -> bool:
    """Whether a piece goes on to the end: an infinitive or a clause."""
    word = word.lower()
    following = tokens[first + 1] if first + 1 < len(tokens) else ""
    if word == "that" or (word in ("by", "for") and following.endswith("ing")):
        return True
    return word == "to" and _is_infinitive(following, " ".join(tokens[first + 2 : first + 3]))


def _is_infinitive(word: str, behind: str) -> bool:
    """Whether a word behind "to" is a verb: a well-known one, or one with something to be done to behind it."""
    plain = word.isalpha() and word.islower() and word not in _NOUN_OPENS and not word.endswith("ing")
    return plain and (word in KNOWN or behind in _NOUN_OPENS - _NUMERALS or behind[:1].isupper())


def _kind(clause: Clause, piece: Sequence[str], before: Sequence[str]) -> PhraseKind:
    opening = piece[0].lower()
    following = piece[1] if len(piece) > 1 else ""
    if opening == "that":
        return "what" if clause.plain in _HAVE_CLAUSE else "other"
    if opening == "to" and _is_infinitive(following, " ".join(piece[2:3])):
        return _kind_of_infinitive(clause, piece, before)
    if opening not in PREPOSITIONS:
        return "object" if not before and _may_be_object(piece) else "other"
    if not before and opening in _PARTICLES - {"in", "on"} and following not in ("of", "from", "to"):
        return "other"
    return _kind_of_phrase(opening, following, " ".join(piece))


def _kind_of_infinitive(clause: Clause, piece: Sequence[str], before: Sequence[str]) -> PhraseKind:
    """What somebody decided to do, or what something was done for."""
    if not before and clause.plain in HAVE_INFINITIVE:
        return "what"
    does = clause.plain not in HAVE_INFINITIVE | MAKE_OTHERS | BE and clause.verb not in BE
    for_it = len(piece) > _SHORTEST_PURPOSE and not (before and before[-1] in _BEFORE_INFINITIVE)
    return "why" if does and for_it else "other"


def _may_be_object(piece: Sequence[str]) -> bool:
    """Whether it is somebody or something, and does not say how: "still", "shouting", "very fast"."""
    alone = len(piece) == 1 and piece[0].islower() and not piece[0].endswith("s")
    return not alone and not piece[0].endswith("ly") and piece[0].lower() not in _PARTICLES | _MANNER


def _kind_of_phrase(opening: str, following: str, text: str) -> PhraseKind:
    """What a phrase with a preposition says."""
    timed = TIME.search(text) is not None
    if timed and opening in _BEFORE_TIME and following.lower() not in ("it", "them", "him", "her"):
        return "when"
    if following.endswith("ing") and opening in ("by", "for"):
        return "how" if opening == "by" else "why"
    to_noun = following.lower() in _NOUN_OPENS or following[:1].isupper()
    return "where" if opening in _PLACES and to_noun and not timed else "other"
