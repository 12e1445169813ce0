"""Who somebody is, where a text says so: "Isaac Thorne, the keeper", "the carrier Tobias Wren"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from redraft.builtin.wording import keys, listed

_NAME = (
    r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Capt|Col|Gen|Lt|Sgt|Prof|Rev)\.? )?(?:[A-Z]\. )*[A-Z][\w’'-]+"
    r"(?: (?:[A-Z]\.|de|van|von|[A-Z][\w’'-]+)){0,3}"
)
_BEFORE = (
    r"\b(?:[Tt]he|[Aa]n?|[Hh]is|[Hh]er|[Tt]heir|[Mm]y|[Oo]ur|[Oo]ne of the|[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)?['’]s?)"
)
_NOUNS = r"(?:[\w’'-]+ ){0,4}?[a-z][\w’'-]+(?: (?:of|at|in|on|from|to) (?:[\w’'-]+ ?){1,4})?"
_APART = r"(?!(?:of|at|in|on|from|to|for|the|with|by|into|before|and|as|named|called)\b)"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<who>{_NAME}), (?P<what>{_BEFORE} {_NOUNS})(?=[,.;:—)]| who\b)",
        rf"(?P<who>{_NAME}) (?:was|is|had been|became|has been|had become) (?:now |once |only |still )?"
        rf"(?P<what>{_BEFORE} {_NOUNS})(?=[,.;:—)]| (?:who|and|but|that|when|with)\b|$)",
        rf"(?P<what>{_BEFORE} (?:[a-z][\w-]* ){{0,3}}[a-z][\w-]+)(?: (?:was|is))? (?:named|called) (?P<who>{_NAME})",
        rf"(?P<what>{_BEFORE} (?:[a-z][\w-]* )?[a-z][\w-]+)['’]s name (?:was|is) (?P<who>{_NAME})",
        rf"(?P<what>{_BEFORE} (?:{_APART}[\w’'-]+ ){{0,3}}{_APART}[a-z][\w-]+),? (?P<who>{_NAME})",
        rf"(?P<who>{_NAME}) \((?P<what>{_BEFORE} {_NOUNS})\)",
    )
)
# "Sarn was an island", "the Aphrodite, a surge-circuit monitor of twenty guns,".
_IS = re.compile(
    rf"(?P<who>{_NAME})(?: (?:was|is|were|are) (?=an? |the |one )|, (?=an? ))"
    r"(?P<what>(?:an?|the|one of the) (?:[\w’'-]+ ){0,8}?[\w’'-]+)"
    r"(?=[,.;:—)]| (?:who|and|but|that|which|when|where|as)\b|$)"
)
_SAYS_LITTLE = re.compile(
    r"\b(?:one|lot|bit|little|matter|kind|sort|same|moment|minute|time|day|night|way|thing|first|last|other|only|few|more"
    r"|most|name|that|this|he|she|I|you|they|we|his|her|him|it|if|not|while|with|then)\b|\w+(?:ing|ed|ly)$",
    re.IGNORECASE,
)
_TITLED = re.compile(
    r"(?P<what>(?:[A-Z][a-z]+[ -])?(?:Captain|Admiral|Commander|Colonel|Major|General|Sergeant|Lieutenant"
    r"|Doctor|Professor|President|Consul"
    r"|Ambassador|Secretary|Senator|Governor|Judge|Inspector|Detective|King|Queen|Prince|Princess|Lord|Lady|Bishop"
    r"|Reverend|Chief|Councillor|Minister|Trader)) (?P<who>[A-Z][a-z]+(?: [A-Z][a-z]+)?)"
)
# What people are to each other and to the world. The endings take in "-man", "accountant", "scientist" and the like.
_ROLES = listed(
    "father mother brother sister son daughter wife husband child uncle aunt nephew niece cousin grandson"
    " granddaughter grandfather grandmother widow widower friend enemy rival lover fiance fiancee bride neighbour"
    " neighbor partner boss captain clerk doctor nurse king queen prince princess priest monk chief leader guard"
    " guide host guest boy girl man woman person alien robot pilot judge thief spy slave servant maid cook clerk"
    " colonel general major sergeant lieutenant commander admiral mate member owner heir student pupil professor"
    " author poet artist agent cop detective hero hostess hermit mayor president secretary director expert stranger"
    " native colonist human android creature dog cat horse mare assistant apprentice twin ghost witch wizard hunter"
    " fellow bachelor veteran"
)
_ROLE_ENDING = re.compile(r"(?:man|woman|ist|ician|ant|[^ae]er|eer|or|keeper|maker|smith)$")
_NO_ROLES = listed(
    "order number water winter summer matter letter paper answer power other another river tower corner centre"
    " center chamber door floor member shoulder finger silver whisper murmur wonder moment cover front hammer error"
    " mirror terror horror color colour favor honor tremor timber weather leather feather danger anger hunger"
    " thunder offer border quarter rather later after over under never former latter inner outer upper lower proper"
    " remainder bigger smaller older younger want grant plant helicopter computer container counter meter rudder"
    " cylinder trigger ladder boulder locker transmitter receiver revolver propeller elevator reactor motor sensor"
    " tractor vapor armor parlor starter monster ledger current giant distant instant constant important"
)
_HEAD = re.compile(r"^(?P<nouns>.*?)(?: (?:of|at|in|on|from|to) .*)?$")


class Description(NamedTuple):
    """What a text says that somebody is."""

    name: str
    text: str


def descriptions(sentence: str) -> Iterator[Description]:
    """Who is who and what is what, as far as a sentence says so in so many words."""
    for pattern in _PATTERNS:
        for found in pattern.finditer(sentence):
            what = found.group("what").strip()
            if is_role(what) and not _opens(found.group("who")):
                yield Description(found.group("who"), what)
    for found in _IS.finditer(sentence):
        long_enough = len(found.group("what").split()) > 2
        if long_enough and not _opens(found.group("who")) and not _SAYS_LITTLE.search(found.group("what")):
            yield Description(found.group("who"), found.group("what"))
    for found in _TITLED.finditer(sentence):
        yield Description(found.group("who"), found.group("what"))


def is_role(what: str) -> bool:
    """Whether a noun with what belongs to it says who somebody is: "the owner's only son"."""
    head = _HEAD.match(what)
    assert head is not None, "all of it is optional"
    noun = head.group("nouns").split()[-1].lower().removesuffix("s")
    return noun in _ROLES or (bool(_ROLE_ENDING.search(noun)) and noun not in _NO_ROLES)


def _opens(name: str) -> bool:
    return name.lower() in ("he", "she", "it", "this", "that", "there", "who", "i", "they", "one", "but", "what")


def described(sentence: str, name: frozenset[str]) -> str:
    """What the sentence says that the bearer of a name is; nothing where it does not say it."""
    for found in descriptions(sentence):
        own = {key for key in keys(found.name) if len(key) > 1}
        if own and (own <= name or name <= own):
            return found.text
    return ""
