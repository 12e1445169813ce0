"""A little English grammar: where the subject of a sentence ends, and phrases of time, place and reason.

It is used to put questions into good English. Where it finds nothing, a question asks to fill a gap instead.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from redraft.models.extractive.wording import DAYS, MONTHS, listed
from redraft.prompts.judging import Kind

_AUXILIARIES = "was were is are had has have could would should might must did does will can"
_VERBS = frozenset(
    (
        f"{_AUXILIARIES} became began bent blew bore bought broke brought built burnt came caught chose clung crept cut"
        " dealt drank drew drove ate fed fell felt fled flew forbade forgot fought found froze gave got grew heard held"
        " hid hit hung hurt kept knelt knew laid lay leapt learnt led left lent let lit lost made meant met paid put"
        " ran rang read rode rose said sang sank sat saw sent set shook shone shot showed shut slept slid smelt sold"
        " sought spent spoke spread sprang stole stood stuck struck swam swept swore swung taught threw told took tore"
        " understood went wept woke won wore wound wrote says takes makes gives goes comes finds tells leads leaves"
        " becomes begins lives works wants meets sees dies helps tries decides learns discovers"
    ).split()
)
_PARTICIPLE = re.compile(r"[a-z]{2,}ed$")
# What follows a verb in -ed that is one, and not a word before a noun ("the tarred posts").
_AFTER_VERB = listed(
    "a an the to at in on of for from with by up down out off away back into over under through his her its their him"
    " them it that not all no some as and but about across along after before because until one two three"
)
_EMPTY = listed("a an the this that these those his her its their every each some any old new first last")
_ENDS_SUBJECT = listed("who which that whose where when if because but or")
_LONGEST_SUBJECT = 9
_TIME_WORD = re.compile(
    r"\b(?:" + "|".join(sorted(MONTHS - {"may", "march"} | DAYS)) + r"|May|March|\d{4}|o'clock|o’clock|noon|midnight"
    r"|(?:that|the next|the same|the following) (?:day|night|morning|evening|afternoon|year|week)|(?:spring|summer"
    r"|autumn|winter|morning|evening|afternoon|night|century|January))\b",
    re.IGNORECASE,
)
_OPENING_PHRASE = re.compile(
    r"^(?P<phrase>(?:On|In|At|By|After|Before|During|Until|From)\s[^,;:.!?]{3,60}),\s(?P<rest>\S.*)$"
)
_CLOSING_TIME = re.compile(r"^(?P<rest>.*\w)\s(?P<phrase>(?:on|in|at|by|since|until)\s[^,;:]{3,40})[.]$")
_REASON = re.compile(r"^(?P<rest>.*\w),?\s(?P<phrase>(?:because|so that|in order to|for fear of)\s.{8,})[.]$")


class Parted(NamedTuple):
    """A sentence taken apart: what a question would ask for, what it would say, and which kind it would be."""

    kind: Kind
    answer: str
    rest: str


def subject_of(sentence: str) -> tuple[str, str] | None:
    """The subject and all that follows it, where the sentence begins with a subject that is not hard to tell."""
    tokens = sentence.split()
    for at, token in enumerate(tokens[: _LONGEST_SUBJECT + 1]):
        if at and _is_verb(token, tokens[at + 1 : at + 2]) and tokens[at - 1].lower() not in _EMPTY:
            return " ".join(tokens[:at]), " ".join(tokens[at:])
        if token.lower() in _ENDS_SUBJECT or token[-1] in ",;:!?—–" or "—" in token or (at and token[0] in '"“‘('):
            return None
    return None


def _is_verb(token: str, following: list[str]) -> bool:
    if token in _VERBS:
        return True
    after = following[0].strip('.,;:!?"”’').lower() if following else "a"
    return bool(_PARTICIPLE.search(token)) and token.islower() and (after in _AFTER_VERB or following[0][0].isupper())


def time_in(sentence: str) -> Parted | None:
    """A phrase at either end that says when."""
    for found in (_OPENING_PHRASE.match(sentence), _CLOSING_TIME.match(sentence)):
        if found and _TIME_WORD.search(found.group("phrase")):
            return Parted("when", found.group("phrase"), found.group("rest"))
    return None


def reason_in(sentence: str) -> Parted | None:
    """A clause at the end that says why."""
    found = _REASON.match(sentence)
    return Parted("why", found.group("phrase"), found.group("rest")) if found else None


def opened_as_clause(text: str, *, name: bool) -> str:
    """`text` as it goes on within a sentence, and without the full stop at its end."""
    text = text.rstrip(" .")
    return text if name or text[:2] in ("I ", "I'") else text[:1].lower() + text[1:]
