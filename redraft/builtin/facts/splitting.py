"""The facts of a sentence, as far as it can be taken apart without understanding it: at the seams of its clauses."""

from __future__ import annotations

import re

from redraft.builtin.consistency.claims import states
from redraft.builtin.facts.statements import read_statement
from redraft.builtin.registry import answers
from redraft.prompts.facts import SPLIT_FACTS, AllFacts, FactsGiven, SentenceFacts
from redraft.text.wording import keys

_SEAM = re.compile(r";\s+|,\s+(?:and|but|while|yet|so)\s+", re.IGNORECASE)


@answers(SPLIT_FACTS)
def split_facts(given: FactsGiven) -> AllFacts:
    """A sentence that claims something is one fact, or several where each clause has a name and a verb of its own."""
    return AllFacts(sentences=[SentenceFacts(id=one.id, facts=_facts(one.sentence)) for one in given.sentences])


def _facts(sentence: str) -> list[str]:
    text = " ".join(sentence.split())
    if not states(text, keys(text)):
        return []
    found: list[str] = []
    begin = 0
    for seam in _SEAM.finditer(text):
        if _stands_alone(text[begin : seam.start()]) and _stands_alone(text[seam.end() :]):
            found.append(text[begin : seam.start()])
            begin = seam.end()
    return [_closed(one) for one in (*found, text[begin:])]


def _stands_alone(clause: str) -> bool:
    """Whether a clause says whom it is about and what is done: it has a name first, and a verb behind it."""
    statement = read_statement(clause)
    name = next((name for name in statement.names if name.sure), None)
    return name is not None and statement.verb is not None and name.first <= 1 and name.last < statement.verb.at


def _closed(clause: str) -> str:
    clause = clause.strip().rstrip(",;")
    return clause if clause[-1:] in ".!?…\"'”’»)" else f"{clause}."
