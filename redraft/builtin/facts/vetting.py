"""Whether key facts are borne out by their excerpt, free of opinion, and worth having."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from redraft.builtin.consistency.holding import Ground, Verdict, ground_of
from redraft.builtin.facts.statements import Statement, read_statement
from redraft.builtin.facts.verifying import reason
from redraft.builtin.lexicon import ATTRIBUTED, GUESSING, OPINION
from redraft.builtin.registry import answers
from redraft.prompts.contract import UNSURE, Unsure
from redraft.prompts.factual import (
    FACTS_FAITHFUL,
    FACTS_OBJECTIVE,
    FACTS_SIGNIFICANT,
    Opinion,
    Opinions,
    Pass,
    Support,
    Supports,
    TreeFact,
    VetGiven,
)
from redraft.text.ranking import rank
from redraft.text.sentences import sentences
from redraft.text.vectors import SentenceVectors

# What is not central, and about nobody and nothing that recurs, is trivial.
_LEAST_WEIGHT, _RECURS = 0.5, 3
_SAYS: dict[Verdict, Pass | Unsure] = {"borne out": "pass", "contradicted": "fail", "absent": "fail"}
_FOR_NAME, _FOR_NUMBER, _FOR_DEED, _AGAINST_SETTING = 0.25, 0.15, 0.2, 0.25


@answers(FACTS_FAITHFUL)
def facts_faithful(given: VetGiven) -> Supports:
    """A fact passes where the sentence of the excerpt that says most of it has nothing else in its place."""
    ground = ground_of((given.excerpt,))
    return Supports(facts=[_support(ground, fact) for fact in given.facts])


@answers(FACTS_OBJECTIVE)
def facts_objective(given: VetGiven) -> Opinions:
    """A fact fails where it guesses or judges, and does not say who in the text does so."""
    return Opinions(facts=[_objective(fact) for fact in given.facts])


@answers(FACTS_SIGNIFICANT)
def facts_significant(given: VetGiven) -> Opinions:
    """A fact passes where what it says is central to the excerpt, or about those who recur in it."""
    salience = _Salience([given.excerpt[span.start : span.end] for span in sentences(given.excerpt)])
    return Opinions(facts=[salience.judge(fact) for fact in given.facts])


def _support(ground: Ground, fact: TreeFact) -> Support:
    held = ground.hold(fact.fact)
    verdict = _SAYS.get(held.verdict, UNSURE)
    said = reason(held).replace("The sentence", "The fact").replace("passages have", "excerpt has")
    said = said.replace("The passages", "The excerpt").replace("the passages", "the excerpt")
    return Support(id=fact.id, reason=said, quote=ground.text_of(held), verdict=verdict)


def _objective(fact: TreeFact) -> Opinion:
    for pattern, what in ((GUESSING, "guesses or interprets"), (OPINION, "judges")):
        found = next((one for one in pattern.finditer(fact.fact) if not _is_named(one)), None)
        if found and not ATTRIBUTED.search(fact.fact, 0, found.start()):
            return Opinion(id=fact.id, reason=f"With “{found.group()}” the fact {what}.", verdict="fail")
    return Opinion(id=fact.id, reason="The fact reports and does not judge.", verdict="pass")


def _is_named(found: re.Match[str]) -> bool:
    """Whether it is part of a name, as "Great" of the Great Reservoir."""
    return found.start() > 0 and found.group()[0].isupper() and not found.group().startswith("I ")


class _Salience:
    """What matters in an excerpt."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._statements = [read_statement(line) for line in lines]
        self._vectors = SentenceVectors(list(lines))
        ranks = rank(self._vectors)
        # How large a share of the sentences is less central.
        self._standing = np.argsort(np.argsort(ranks, kind="stable")) / max(1, len(lines) - 1) if len(lines) else ranks

    @cached_property
    def _recurring(self) -> Counter[str]:
        return Counter(key for one in self._statements for name in one.names if name.sure for key in name.keys)

    def judge(self, fact: TreeFact) -> Opinion:
        """Whether a fact matters."""
        statement = read_statement(fact.fact)
        if not statement.words:
            return Opinion(id=fact.id, reason="The fact says nothing.", verdict="fail")
        weight, reason = self._weigh(fact.fact, statement)
        if weight >= _LEAST_WEIGHT:
            return Opinion(id=fact.id, reason=reason, verdict="pass")
        return Opinion(id=fact.id, reason="A detail on which nothing else in the excerpt hangs.", verdict="fail")

    def _weigh(self, text: str, statement: Statement) -> tuple[float, str]:
        alike = self._vectors.similarity_to(text)
        standing = float(self._standing[int(np.argmax(alike))]) if len(alike) and alike.any() else 0.0
        recurs = any(self._recurring[key] >= _RECURS for name in statement.names for key in name.keys)
        weight = standing + _FOR_NAME * recurs + _FOR_NUMBER * bool(statement.numbers)
        weight += _FOR_DEED * (statement.verb is not None)
        weight -= _AGAINST_SETTING * (not statement.names and not statement.numbers)
        reason = "It is about those who recur in the excerpt." if recurs else "It is central to the excerpt."
        return weight, reason
