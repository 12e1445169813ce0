"""Where an English sentence might have ended."""

from __future__ import annotations

import re

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
