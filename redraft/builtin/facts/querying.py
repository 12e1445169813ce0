"""The question that a tree of key facts answers, made of the names that its facts are about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from redraft.builtin.details import TITLES
from redraft.builtin.facts.statements import Name, read_statement
from redraft.builtin.registry import answers
from redraft.prompts.factual import QUERY_ANALYTICAL, QUERY_NARRATIVE, LevelledFact, Query, QueryGiven
from redraft.text.wording import keys
from redraft.text.words import count_words

_WEIGHT = {"root": 3, "branch": 2, "leaf": 1}
_MOST_NAMES = 3
_LONGEST_NAME, _LONGEST_QUERY = 5, 40
_LONGEST_QUOTE = 60


@answers(QUERY_ANALYTICAL)
def query_analytical(given: QueryGiven) -> Query:
    """How those whom the facts are about stand to each other."""
    names = _names(given.facts)[:_MOST_NAMES]
    several = f"How do {_listed(names)} stand to each other" if len(names) > 1 else ""
    alone = f"What is known of {names[0] if names else _first_words(given.facts)}"
    return _query(f"{several or alone}, and what is it that shows this?")


@answers(QUERY_NARRATIVE)
def query_narrative(given: QueryGiven) -> Query:
    """What happens to those whom the facts are about."""
    names = _names(given.facts)[:_MOST_NAMES]
    around = f"What happened to {_listed(names)}" if names else f"What happens around {_first_words(given.facts)}"
    return _query(f"{around}, and in which order?")


def _query(question: str) -> Query:
    """The question, or one about nothing in particular where it is too long or speaks of what nobody knows."""
    if count_words(question) <= _LONGEST_QUERY:
        try:
            return Query(query=question)
        except ValueError:  # a name in the text is a word by which the reply is refused
            pass
    return Query(query="What happens, and why?")


def _first_words(facts: Sequence[LevelledFact]) -> str:
    """How the first fact begins, quoted: of texts without names, or not in English."""
    first = next((" ".join(fact.fact.split()) for fact in facts if keys(fact.fact)), "it")
    return f"“{first[:_LONGEST_QUOTE].rstrip(' .。')}”"


def _names(facts: Sequence[LevelledFact]) -> list[str]:
    """Whom and what the facts are about, those first that weigh most, each as it is written out most fully."""
    weight: Counter[frozenset[str]] = Counter()
    surface: dict[frozenset[str], str] = {}
    found: list[tuple[Name, int]] = []
    for fact in facts:
        names = [name for name in read_statement(fact.fact).names if name.sure and name.keys - TITLES]
        found += [(name, _WEIGHT[fact.level]) for name in names if count_words(name.spelt) <= _LONGEST_NAME]
    for name, own in sorted(found, key=lambda one: -len(one[0].keys)):
        known = next((other for other in surface if name.keys - TITLES <= other), name.keys)
        surface.setdefault(known, "the " * (name.before == "the") + name.spelt)
        weight[known] += own
    order = sorted(surface, key=lambda one: -weight[one])
    return [surface[one] for one in order]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
