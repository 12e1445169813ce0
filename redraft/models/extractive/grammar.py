"""A little English grammar: where the subject of a sentence ends, and phrases of time and of reason.

It puts questions into good English. Where it finds nothing, a question asks to fill a gap instead, in any language.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from redraft.models.extractive.wording import DAYS, MONTHS, listed
from redraft.prompts.judging import Kind
from redraft.text.vectors import stop_words

_AUXILIARIES = listed("was were is are had has have could would should might must did does do will can may")
_VERBS = _AUXILIARIES | listed(
    "became began bent blew bore bought broke brought built burnt came caught chose clung crept cut dealt drank"
    " drew drove ate fed fell felt fled flew forbade forgot fought found froze gave got grew heard held hid hit"
    " hung hurt kept knelt knew laid lay leapt learnt led left lent let lit lost made meant met paid put ran rang"
    " read rode rose said sang sank sat saw sent set shook shone shot showed shut slept slid smelt sold sought"
    " spent spoke spread sprang stole stood stuck struck swam swept swore swung taught threw told took tore"
    " understood went wept woke won wore wound wrote says takes makes gives goes comes finds tells leads leaves"
    " becomes begins lives works wants meets sees dies helps tries decides learns discovers"
)
_DOES = listed(
    "said asked told thought knew felt saw heard went came walked ran turned looked took gave smiled laughed nodded"
    " sat stood wanted decided wondered spoke replied answered shook wrote read met says asks tells thinks knows"
)
_SAYS = listed("said asked cried replied answered whispered shouted muttered murmured called says asks")
_BEFORE_PLACE = listed("the of in at to from and")
_PAST = re.compile(r"[a-z]{2,}ed")
# What follows a verb in -ed that is one, and not a word before a noun, as in "the tarred posts".
_AFTER_VERB = listed(
    "a an the to at in on of for from with by up down out off away back into over under through his her its their him"
    " them it that not all no some as and but about across along after before because until one two three"
)
_BEFORE_NOUN = listed("a an the this that these those his her its their every each some any old new first last")
_BEGINS_SUBJECT = listed("the a an this these those every each all both some many two three four five six most several")
_BEGINS_CLAUSE = listed("who which that if when where but or")
_WITHIN_SUBJECT = listed("of and the a an for in at on")
_LONGEST_SUBJECT = 8
_APOSTROPHE = re.compile(r"['’]")
_MARK = re.compile(r"[,;:!?—–()\"“”]")
_TIME_WORD = re.compile(
    r"\b(?:"
    + "|".join(sorted((MONTHS - {"may", "march"}) | DAYS))
    + r"|May|March|\d{4}|o['’]clock|noon|midnight|dawn|dusk|(?:that|the|next|same|following|one|this|every)"
    r" (?:day|night|morning|evening|afternoon|week|month|year|spring|summer|autumn|winter))\b",
    re.IGNORECASE,
)
_OPENS_PHRASE = listed("on in at by after before during until from")
_LONGEST_PHRASE = 9
_CLOSING_PHRASE = re.compile(r"^(?P<rest>.*\w),? (?P<phrase>(?:on|in|at|by|since|until|during) [^,;:]{3,40})\.$")
_REASON = re.compile(r"^(?P<rest>.*\w),? (?P<phrase>(?:because|so that|in order to|for fear of) .{8,})\.$")
_CLAUSE_END = re.compile(
    r",? (?:—|–|-) ?|[;:—] ?"
    r"|, (?:and|but|or|so|yet|which|who|whose|where|while|though|although|as|for) "
)
_SHORTEST_CLAUSE = 6


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
    opening = tokens[0] if tokens else ""
    article = opening.lower() in _BEGINS_SUBJECT
    if not article and (not opening[:1].isupper() or _APOSTROPHE.split(opening.lower())[0] in stop_words()):
        return None
    for at, word in enumerate(tokens[: _LONGEST_SUBJECT + 1]):
        if at and _is_verb(word, tokens[at + 1 : at + 2]) and tokens[at - 1].lower() not in _BEFORE_NOUN:
            return " ".join(tokens[:at]), " ".join(tokens[at:])
        if _MARK.search(word) or (at and not _may_be_in_subject(word, after_article=article)):
            return None
    return None


def _may_be_in_subject(word: str, *, after_article: bool) -> bool:
    """A name goes on with names; what begins with an article goes on with any words but those of another clause."""
    if word[:1].isupper() or word.lower() in _WITHIN_SUBJECT or word == "&":
        return True
    return after_article and word.lower() not in _BEGINS_CLAUSE


def _is_verb(word: str, following: list[str]) -> bool:
    if word in _VERBS:
        return True
    bare = word.rstrip(",")
    after = following[0].strip(".,;:").lower() if following else "a"
    certain = bare != word or after in _AFTER_VERB or after.endswith(("ly", "ing")) or following[0][:1].isupper()
    return bool(_PAST.fullmatch(bare)) and certain


def has_verb(sentence: str) -> bool:
    """Whether a sentence has one of the commonest verbs, or a past tense in -ed, behind its first word."""
    following = [word.strip('.,;:!?"”’') for word in sentence.split()[1:]]
    return any(word in _VERBS or _PAST.fullmatch(word) for word in following)


def acts(before: str, behind: str) -> bool:
    """Whether a name between these two words is somebody's: it does or says what people do and say."""
    verb = behind.strip('.,;:!?"”’')
    does = verb in _DOES or bool(_PAST.fullmatch(verb))
    return before in _SAYS or (does and before.lower() not in _BEFORE_PLACE)


def time_in(sentence: str) -> Parted | None:
    """A phrase at either end that says when, and the rest, which can stand by itself."""
    tokens = sentence.split()
    if tokens and tokens[0].lower() in _OPENS_PHRASE:
        for end in range(2, min(_LONGEST_PHRASE, len(tokens))):
            phrase, rest = " ".join(tokens[:end]).rstrip(","), " ".join(tokens[end:])
            if _TIME_WORD.search(phrase) and subject_of(rest):
                return Parted("when", phrase, rest)
        return None
    closing = _CLOSING_PHRASE.match(sentence)
    if closing and _TIME_WORD.search(closing.group("phrase")) and subject_of(sentence):
        return Parted("when", closing.group("phrase"), closing.group("rest"))
    return None


def reason_in(sentence: str) -> Parted | None:
    """A clause at the end that says why."""
    found = _REASON.match(sentence)
    return Parted("why", found.group("phrase"), found.group("rest")) if found and subject_of(sentence) else None


def within_sentence(clause: str, *, named: bool) -> str:
    """A clause as it goes on within a sentence: without a capital, unless it begins with a name, and without an end."""
    clause = clause.rstrip(" .")
    return clause if named else clause[:1].lower() + clause[1:]
