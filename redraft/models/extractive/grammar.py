"""A little English grammar: where the subject of a sentence ends, and phrases of time and of reason.

It puts questions into good English. Where it finds nothing, a question asks to fill a gap instead, in any language.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from redraft.models.extractive.wording import DAYS, MONTHS, listed
from redraft.prompts.judging import Kind

_AUXILIARIES = listed("was were is are had has have could would should might must did does do will can may")
_VERBS = _AUXILIARIES | listed(
    "became began bent blew bore bought broke brought built burnt came caught chose clung crept cut dealt drank drew"
    " drove ate fed fell felt fled flew forbade forgot fought found froze gave got grew heard held hid hit hung hurt kept"
    " knelt knew laid lay leapt learnt led left lent let lit lost made meant met paid put ran rang read rode rose said"
    " sang sank sat saw sent set shook shone shot showed shut slept slid smelt sold sought spent spoke spread sprang"
    " stole stood stuck struck swam swept swore swung taught threw told took tore understood went wept woke won wore"
    " wound wrote says takes makes gives goes comes finds tells leads leaves becomes begins lives works wants meets sees"
    " dies helps tries decides learns discovers"
)
_DOES = listed(
    "said asked told thought knew felt saw heard went came walked ran turned looked took gave smiled laughed nodded sat"
    " stood wanted decided wondered spoke replied answered shook wrote read met says asks tells thinks knows"
)
_PAST = re.compile(r"[a-z]{2,}ed")
# What follows a verb in -ed that is one, and not a word before a noun, as in "the tarred posts".
_AFTER_VERB = listed(
    "a an the to at in on of for from with by up down out off away back into over under through his her its their him"
    " them it that not all no some as and but about across along after before because until one two three"
)
_BEFORE_NOUN = listed("a an the this that these those his her its their every each some any old new first last")
_BEGINS_SUBJECT = listed("the a an this these those every each all both some many two three four five six most several")
_WITHIN_SUBJECT = listed("of and the a an for in at on")
_LONGEST_SUBJECT = 8
_MARK = re.compile(r"[,;:!?—–()\"“”]")
_TIME_WORD = re.compile(
    r"\b(?:"
    + "|".join(sorted((MONTHS - {"may", "march"}) | DAYS))
    + r"|May|March|\d{4}|o['’]clock|noon|midnight|dawn|dusk|(?:that|the|next|same|following|one|this|every)"
    r" (?:day|night|morning|evening|afternoon|week|month|year|spring|summer|autumn|winter))\b",
    re.IGNORECASE,
)
_OPENING_PHRASE = re.compile(r"^(?P<phrase>(?:On|In|At|By|After|Before|During|Until|From) [^,;:.!?]{3,60}),? (?P<rest>\S.*)$")
_CLOSING_PHRASE = re.compile(r"^(?P<rest>.*\w),? (?P<phrase>(?:on|in|at|by|since|until|during) [^,;:]{3,40})\.$")
_REASON = re.compile(r"^(?P<rest>.*\w),? (?P<phrase>(?:because|so that|in order to|for fear of) .{8,})\.$")
_CLAUSE_END = re.compile(r"(?:,? (?:—|–|-) ?|[;:—] ?|, (?:and|but|or|so|yet|which|who|whose|where|while|though|although|as|for) )")
_SHORTEST_CLAUSE = 7


class Parted(NamedTuple):
    """A sentence taken apart: what a question would ask for, what it would say, and which kind it would be."""

    kind: Kind
    answer: str
    rest: str


def first_clause(sentence: str) -> str:
    """The sentence up to where it might have ended, where that is not too early."""
    for found in _CLAUSE_END.finditer(sentence):
        clause = sentence[: found.start()]
        if len(clause.split()) >= _SHORTEST_CLAUSE and clause.count(",") != 1:
            return f"{clause}."
    return sentence


def subject_of(sentence: str) -> tuple[str, str] | None:
    """The subject and all that follows it, where the sentence begins with a subject that is not hard to tell."""
    tokens = sentence.rstrip(".").split()
    if not tokens or not (tokens[0][0].isupper() or tokens[0].lower() in _BEGINS_SUBJECT):
        return None
    for at, token in enumerate(tokens[: _LONGEST_SUBJECT + 1]):
        if at and _is_verb(token, tokens[at + 1 : at + 2]) and tokens[at - 1].lower() not in _BEFORE_NOUN:
            return " ".join(tokens[:at]), " ".join(tokens[at:])
        bare = token.rstrip(".")
        if _MARK.search(token) or (at and not _may_be_in_subject(bare, tokens[0])):
            return None
    return None


def _may_be_in_subject(token: str, opening: str) -> bool:
    """A name goes on with names; what begins with an article goes on with any words but those of another clause."""
    if token[:1].isupper() or token.lower() in _WITHIN_SUBJECT or token == "&":
        return True
    return opening.lower() in _BEGINS_SUBJECT and token.lower() not in ("who", "which", "that", "if", "when", "but", "or")


def _is_verb(token: str, following: list[str]) -> bool:
    if token in _VERBS:
        return True
    after = following[0].strip(".,;:").lower() if following else "a"
    return bool(_PAST.fullmatch(token)) and (after in _AFTER_VERB or following[0][:1].isupper())


def acts(before: str, verb: str) -> bool:
    """Whether a name between these two words is somebody's: it has a title, or does what people do."""
    return verb.strip(".,;:!?\"”’") in _DOES and before.lower() not in ("the", "of", "in", "at", "to", "from")


def time_in(sentence: str) -> Parted | None:
    """A phrase at either end that says when, and the rest, which can stand by itself."""
    opening = _OPENING_PHRASE.match(sentence)
    if opening and _TIME_WORD.search(opening.group("phrase")) and subject_of(opening.group("rest")):
        return Parted("when", opening.group("phrase"), opening.group("rest"))
    closing = _CLOSING_PHRASE.match(sentence)
    if closing and _TIME_WORD.search(closing.group("phrase")) and subject_of(sentence):
        return Parted("when", closing.group("phrase"), closing.group("rest"))
    return None


def reason_in(sentence: str) -> Parted | None:
    """A clause at the end that says why."""
    found = _REASON.match(sentence)
    return Parted("why", found.group("phrase"), found.group("rest")) if found and subject_of(sentence) else None


def within_sentence(clause: str, *, named: bool) -> str:
    """A clause as it goes on within a sentence: without a capital, unless it begins with a name, and without its end."""
    clause = clause.rstrip(" .")
    return clause if named else clause[:1].lower() + clause[1:]
