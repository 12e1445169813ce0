"""A little English grammar: whether there is a verb, and where a sentence might have ended."""

from __future__ import annotations

import re

from redraft.builtin.verbs import AUXILIARIES, KNOWN, is_past, is_present, plain_form

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
    """Whether a sentence has an auxiliary or a past tense, or one of the commonest verbs, behind its first word."""
    following = [word.strip('.,;:!?"”’') for word in sentence.split()[1:]]
    return any(word in AUXILIARIES or is_past(word) or _is_known_present(word) for word in following)


def _is_known_present(word: str) -> bool:
    return is_present(word) and plain_form(word) in KNOWN
