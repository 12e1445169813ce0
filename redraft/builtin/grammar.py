"""A little English grammar: whether there is a verb, and where a sentence might have ended."""

from __future__ import annotations

import re

from redraft.text.wording import listed

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
_PAST = re.compile(r"[a-z]{2,}ed")
_CLAUSE_END = re.compile(
    r",? (?:—|–|-) ?|[;:—] ?"
    r"|, (?:and|but|or|so|yet|which|who|whose|where|while|though|although|as|for) "
)
_SHORTEST_CLAUSE = 6


def first_clause(sentence: str) -> str:
    """The sentence up to where it might have ended, where that is not too early."""
    for found in _CLAUSE_END.finditer(sentence):
        clause = sentence[: found.start()]
        if len(clause.split()) >= _SHORTEST_CLAUSE and clause.count(",") != 1:
            return f"{clause}."
    return sentence


def has_verb(sentence: str) -> bool:
    """Whether a sentence has one of the commonest verbs, or a past tense in -ed, behind its first word."""
    following = [word.strip('.,;:!?"”’') for word in sentence.split()[1:]]
    return any(word in _VERBS or _PAST.fullmatch(word) for word in following)
